"""`suite run` on the command line, with the in-memory engine: options, refusals, exit codes, going on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from esac_ag.agents.judge_client import JUDGE_KEY_VARIABLE
from esac_ag.agents.settings import BASE_URL_VARIABLE, ChatSettings
from esac_ag.artifacts import StudyFolder
from esac_ag.cli import main
from esac_ag.cli import suite_run_command as command
from esac_ag.cli.app import app
from esac_ag.cli.suite_options import PoolName
from esac_ag.cli.suite_request import JUDGE_URL_VARIABLE, decoding_of
from esac_ag.cli.suite_running import sealed_plan
from esac_ag.conduct.audit import audit
from esac_ag.errors import InputRefused, UsageError
from esac_ag.manifest.plan import AgentKind, Decoding
from esac_ag.report.suite_machine import read_suite_json
from esac_ag.rooms.workspace import Workspace
from esac_ag.suite.bank import bank
from esac_ag.suite.constitution import PINNED_JUDGE, WALL_CLOCK_S, Pool
from esac_ag.suite.plan import SuitePlan, play_order
from esac_ag.suite.pools import ENVIRONMENT_NAME
from esac_ag.suite.selftest import REFERENCE
from esac_ag.suite.verdict import Verdict
from tests.builders_manifest import write
from tests.builders_suite_run import (
    HELD_OUT_SEED,
    JUDGE_KEY,
    JUDGED,
    MODEL_KEY,
    NO_ENDPOINT,
    QUICK,
    a_sealed_run,
    a_skill,
    a_suite_workspace,
    an_engine,
)
from tests.playing_server import MODEL, PlayingServer, shortcut

REFUND, NAME, COUNT = QUICK
SCRIPTED = ("-a", "scripted", "--items", REFUND)


@dataclass(frozen=True)
class Place:
    """A workspace to run commands in."""

    workspace: Workspace

    def run(self, *argv: str | Path) -> Result:
        """`suite run` with these arguments in the workspace."""
        words = [str(word) for word in argv]
        return CliRunner().invoke(app, ["suite", "run", "--root", str(self.workspace.root), *words])

    def refused(self, *argv: str | Path) -> UsageError | InputRefused:
        """The refusal of a command; it has sealed nothing."""
        done = self.run(*argv)
        assert isinstance(done.exception, UsageError | InputRefused), done.output
        assert list(self.workspace.results.rglob("manifest.json")) == []
        return done.exception

    @property
    def folder(self) -> StudyFolder:
        """The only run's folder."""
        (manifest,) = self.workspace.results.glob("*/manifest.json")
        return StudyFolder(manifest.parent)

    @property
    def plan(self) -> SuitePlan:
        """The only run's plan."""
        return SuitePlan.model_validate_json(self.folder.manifest.read_bytes())


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A workspace on the in-memory engine, with no endpoint, key or seed in the environment."""
    for name in (BASE_URL_VARIABLE, JUDGE_URL_VARIABLE, ENVIRONMENT_NAME):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", MODEL_KEY)
    monkeypatch.setenv("ESAC_AG_JUDGE_API_KEY", JUDGE_KEY)
    workspace = a_suite_workspace(tmp_path / "workspace")
    engine = an_engine()
    monkeypatch.setattr("esac_ag.cli.suite_running.engine_of", lambda _: engine)
    monkeypatch.chdir(tmp_path)
    return Place(workspace)


def test_the_commands_own_names_are_those_of_the_suite() -> None:
    """They are written down apart, so that the help page needs no suite."""
    assert command.PINNED_JUDGE == PINNED_JUDGE
    assert command.WALL_CLOCK_S == WALL_CLOCK_S
    assert command.JUDGE_KEY_VARIABLE == JUDGE_KEY_VARIABLE
    assert ChatSettings().api_key_env == command.MODEL_KEY_VARIABLE
    assert command.REFERENCE == REFERENCE
    assert [name.value for name in PoolName] == [pool.value for pool in Pool]
    assert {name.value for name in command.AgentName} < {kind.value for kind in AgentKind}


@pytest.mark.parametrize(
    ("temperature", "top_p", "cap", "provider", "expected"),
    [
        (None, None, None, False, Decoding(temperature=0.0, top_p=1.0)),
        (0.7, None, None, False, Decoding(temperature=0.7, top_p=1.0)),
        (None, 0.5, 900, False, Decoding(temperature=0.0, top_p=0.5, max_output_tokens=900)),
        (None, None, None, True, Decoding()),
        (None, None, 900, True, Decoding(max_output_tokens=900)),
    ],
)
def test_decoding_is_the_suites_own_unless_given(
    temperature: float | None, top_p: float | None, cap: int | None, *, provider: bool, expected: Decoding
) -> None:
    """Zero is a temperature that was given; the provider's is none at all."""
    assert decoding_of(temperature, top_p, cap, provider_decoding=provider) == expected


@pytest.mark.parametrize(("temperature", "top_p"), [(0.0, None), (None, 1.0), (0.7, 0.9)])
def test_decoding_is_not_given_and_left_to_the_provider(
    temperature: float | None, top_p: float | None
) -> None:
    """The suite's own values, when given, are given, too."""
    with pytest.raises(UsageError) as caught:
        decoding_of(temperature, top_p, None, provider_decoding=True)
    assert (caught.value.exit_code, caught.value.where) == (64, "--provider-decoding")


def test_a_plan_is_named_once_or_made_anew(tmp_path: Path) -> None:
    """`--manifest`, `--resume`, or neither; a folder without a plan is refused."""
    path = write(tmp_path / "run" / "manifest.json", "{}")
    assert sealed_plan(None, None, given=("model",)) is None
    assert sealed_plan(path, None, given=("manifest", "n", "output")) == path
    assert sealed_plan(None, path.parent, given=("resume", "json")) == path
    for manifest, resume in ((path, path.parent), (None, tmp_path), (None, tmp_path / "nowhere")):
        with pytest.raises(UsageError) as caught:
            sealed_plan(manifest, resume, given=())
        assert caught.value.exit_code == 64


@pytest.mark.parametrize("option", ["model", "items", "arm", "judge", "temperature", "agent", "prices"])
def test_a_sealed_plan_is_not_changed_by_options(tmp_path: Path, option: str) -> None:
    """What the plan has settled is refused, and not silently ignored."""
    path = write(tmp_path / "run" / "manifest.json", "{}")
    for manifest, resume in ((path, None), (None, path.parent)):
        with pytest.raises(UsageError, match="sealed") as caught:
            sealed_plan(manifest, resume, given=("json", option))
        assert caught.value.where == f"--{option}"
    with pytest.raises(UsageError):
        sealed_plan(None, path.parent, given=("output",))


def test_a_run_of_policies_seals_runs_and_reports(place: Place) -> None:
    """The text of the report, where it lies, and the verdict's exit code."""
    done = place.run("-a", "scripted", "--items", f"{REFUND}, {NAME}", "--items", f"{COUNT},{REFUND}")
    assert done.exit_code == 1, done.output
    assert place.plan.item_ids == (NAME, COUNT, REFUND)
    assert done.stdout.startswith((place.folder.report / "suite-report.txt").read_text())
    assert f"report: {place.folder.report}" in done.stdout
    assert "INCOMPLETE" in done.stdout
    assert "[3/3]" in done.stderr
    assert "policies act, no model" in done.stderr
    assert place.folder.path.name.startswith("esac-ag-public-")
    assert audit(place.folder.path).clean


def test_json_is_the_report_and_nothing_else(place: Place) -> None:
    """Standard output can be piped."""
    done = place.run(*SCRIPTED, "--json", "-q")
    assert done.exit_code == 1
    assert done.stdout.encode() == (place.folder.report / "suite-report.json").read_bytes() + b"\n"
    assert read_suite_json(done.stdout.encode(), "stdout").decision.verdict is Verdict.INCOMPLETE
    assert "[1/1]" not in done.stderr


def test_without_items_the_whole_bank_is_planned(place: Place) -> None:
    """In the order of play, with the pinned judge at the model's endpoint."""
    done = place.run("-m", "m", "--base-url", NO_ENDPOINT + "/", "--seal-only")
    assert done.exit_code == 0, done.output
    assert place.plan.item_ids == tuple(item.id for item in play_order(bank()))
    assert place.plan.judge is not None
    assert (place.plan.judge.model, place.plan.judge.base_url) == (PINNED_JUDGE, NO_ENDPOINT)
    assert place.plan.judge.api_key_env == "ESAC_AG_JUDGE_API_KEY"
    assert (place.plan.model.name, place.plan.agent.settings) == ("m", {"base_url": NO_ENDPOINT})
    assert not place.folder.ledger.exists()
    assert f"sealed {place.folder.manifest}" in done.stderr


def test_options_of_a_run_are_sealed(place: Place, tmp_path: Path) -> None:
    """Decoding, time, prices, and the names of the keys' variables; no key."""
    prices = {
        "source": "a list",
        "currency": "EUR",
        "date": "2026-01-01",
        "version": "1",
        "per_million": {"m": {"input": 1.0, "output": 2.0}},
    }
    table = write(tmp_path / "prices.json", json.dumps(prices))
    done = place.run(
        *("-m", "m", "--base-url", NO_ENDPOINT, "--items", JUDGED, "--seal-only", "--prices", table),
        *("--api-key-env", "MY_KEY", "--judge-api-key-env", "JUDGE", "--judge-base-url", NO_ENDPOINT + "/j"),
        *("--temperature", "0.5", "--top-p", "0.9", "--max-output-tokens", "512", "--wall-clock-s", "60"),
    )
    assert done.exit_code == 0, done.output
    plan = place.plan
    assert plan.model.decoding == Decoding(temperature=0.5, top_p=0.9, max_output_tokens=512)
    assert plan.agent.settings == {"base_url": NO_ENDPOINT, "api_key_env": "MY_KEY"}
    assert plan.judge is not None
    assert (plan.judge.base_url, plan.judge.api_key_env) == (NO_ENDPOINT + "/j", "JUDGE")
    assert plan.limits.wall_clock_s == 60
    assert plan.prices is not None
    assert plan.prices.per_million["m"].output == 2.0


@pytest.mark.parametrize("option", ["--api-key-env", "--judge-api-key-env"])
def test_a_key_in_place_of_its_variable_is_neither_sealed_nor_shown(place: Place, option: str) -> None:
    """A mistake that is easily made; the message names the option."""
    key = "sk-mistaken-4711"
    error = place.refused("-m", "m", "--base-url", NO_ENDPOINT, "--items", JUDGED, option, key)
    assert key not in str(error)
    assert option.removeprefix("--").replace("-", "_").removeprefix("judge_") in str(error).replace("-", "_")


def test_endpoints_of_the_environment_are_taken(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the model and of the judge."""
    monkeypatch.setenv(BASE_URL_VARIABLE, NO_ENDPOINT)
    monkeypatch.setenv(JUDGE_URL_VARIABLE, NO_ENDPOINT + "/judge")
    assert place.run("-m", "m", "--items", JUDGED, "--seal-only").exit_code == 0
    assert place.plan.agent.settings == {"base_url": NO_ENDPOINT}
    assert place.plan.judge is not None
    assert place.plan.judge.base_url == NO_ENDPOINT + "/judge"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--base-url", NO_ENDPOINT), "-m/--model"),
        (("-m", "", "--base-url", NO_ENDPOINT), "-m/--model"),
        (("-m", "m"), "--base-url"),
        (("-m", "m", "--base-url", "nonsense"), "--base-url"),
        (("-m", "m", "--base-url", "http://me:secret@x/v1"), "--base-url"),
        (("-m", "m", "--base-url", NO_ENDPOINT, "--judge-base-url", "x"), "--judge-base-url"),
        (("-m", "m", "--base-url", NO_ENDPOINT, "--judge", "cheap/judge"), "--judge"),
        (("-a", "scripted"), "--judge-base-url"),
        (("-a", "scripted", "--items", "no-such-item"), "no-such-item"),
        (("-a", "scripted", "--items", f"{REFUND},nothing"), "nothing"),
        ((*SCRIPTED, "--pool", "held-out"), "seed"),
        ((*SCRIPTED, "--seed", "anything"), "--seed"),
        ((*SCRIPTED, "--provider-decoding", "--temperature", "0"), "--provider-decoding"),
        ((*SCRIPTED, "--manifest", "x.json", "--resume", "x"), "--resume"),
        (("--resume", "nowhere"), "nowhere"),
        ((*SCRIPTED, "--arm", "no-such-bundle"), "--arm"),
        ((*SCRIPTED, "--arm", "mine=nowhere"), "--arm"),
        ((*SCRIPTED, "--arm", "mine="), "--arm"),
        ((*SCRIPTED, "--arm", ""), "--arm"),
        ((*SCRIPTED, "--arm", "careful", "--arm", "careful"), "--arm"),
        (("-m", "m", "--base-url", NO_ENDPOINT + "/chat/completions"), "/chat/completions at its end"),
        (("-m", "m", "--base-url", NO_ENDPOINT, "--items", ""), "--items"),
        ((*SCRIPTED[:2], "--items", " , "), "--items"),
        (("-m", "m", "--base-url", NO_ENDPOINT, "--policy", "null"), "--policy"),
        ((*SCRIPTED, "-m", "m", "--base-url", NO_ENDPOINT), "--model, --base-url"),
        ((*SCRIPTED, "--temperature", "0"), "--temperature"),
        ((*SCRIPTED, "--setting", "attempts=2"), "--setting"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_sealed(
    place: Place, argv: Sequence[str], said: str
) -> None:
    """Exit code 64, with the option that it is about."""
    error = place.refused(*argv)
    assert error.exit_code == 64
    assert said in str(error)
    assert "secret" not in str(error)


def test_exit_codes_of_refusals_reach_the_shell(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """What, where and the remedy on standard error, and nothing on standard output."""
    code = main(["suite", "run", "--root", str(place.workspace.root), "--base-url", NO_ENDPOINT])
    shown = capsys.readouterr()
    assert code == 64
    assert "No model is named." in shown.err
    assert "remedy:" in shown.err
    assert shown.out == ""


def test_bundles_are_named_in_three_ways(place: Place, tmp_path: Path) -> None:
    """`ID=DIR`, a folder, and an id in `arms/`; each is copied into the run's folder."""
    a_skill(tmp_path / "Terse", "---\nname: terse\ndescription: d\n---\nBe terse.\n")
    a_skill(tmp_path / "other", "---\nname: other\ndescription: d\n---\nOther.\n")
    done = place.run(
        *SCRIPTED,
        "--seal-only",
        "--arm",
        f"mine={tmp_path / 'other'}",
        "--arm",
        "./Terse",
        "--arm",
        "careful",
    )
    assert done.exit_code == 0, done.output
    assert [(arm.id, arm.bundle) for arm in place.plan.arms] == [
        ("neutral", None),
        ("mine", "arms/mine"),
        ("terse", "arms/terse"),
        ("careful", "arms/careful"),
    ]
    assert (place.folder.path / "arms" / "terse" / "SKILL.md").read_text().endswith("Be terse.\n")


@pytest.mark.parametrize("arm", ["neutral", "Not-an-id", "../up"])
def test_an_id_of_an_arm_that_cannot_be_is_refused(place: Place, tmp_path: Path, arm: str) -> None:
    """Nothing is copied anywhere."""
    skill = a_skill(tmp_path / "skill")
    error = place.refused(*SCRIPTED, "--arm", f"{arm}={skill}")
    assert (error.exit_code, error.where) == (64, "--arm")
    assert "ID=DIR" in error.remedy
    assert list(place.workspace.results.rglob("*")) == []


def test_a_folder_whose_name_is_no_id_is_refused_with_the_form_to_use(place: Place, tmp_path: Path) -> None:
    """`my rules` is a fine folder, and no id."""
    a_skill(tmp_path / "my rules")
    error = place.refused(*SCRIPTED, "--arm", "my rules")
    assert (error.where, error.found) == ("--arm", "my rules")
    assert "ID=DIR" in error.remedy
    assert place.run(*SCRIPTED, "--arm", "mine=my rules", "--seal-only").exit_code == 0


@pytest.mark.parametrize(
    ("files", "kind"), [({}, "scripted"), ({}, "chat"), ({"AGENTS.md": b"\xff\xfe"}, "chat")]
)
def test_a_bundle_that_cannot_be_used_is_refused_before_the_probe(
    place: Place, tmp_path: Path, files: Mapping[str, bytes], kind: str
) -> None:
    """Nothing is probed and nothing made; the option is named."""
    (tmp_path / "mine").mkdir()
    for name, data in files.items():
        (tmp_path / "mine" / name).write_bytes(data)
    agent = SCRIPTED if kind == "scripted" else ("-m", "m", "--base-url", NO_ENDPOINT)
    done = place.run(*agent, "--arm", "mine")
    assert isinstance(done.exception, InputRefused)
    assert done.exception.where.startswith("--arm")
    assert done.exception.remedy
    assert "probing" not in done.stderr
    assert list(place.workspace.results.rglob("*")) == []


def test_the_run_folder_is_told_when_the_plan_is_sealed(place: Place) -> None:
    """On standard error, with `--json` too, and not with `-q`."""
    done = place.run(*SCRIPTED, "--json")
    assert f"run folder: {place.folder.path}\n" in done.stderr
    assert "run folder" not in done.stdout
    assert "run folder" not in place.run(*SCRIPTED, "-q").stderr


def test_a_sealed_plan_is_told_as_json(place: Place) -> None:
    """Where the manifest and its folder are."""
    done = place.run(*SCRIPTED, "--seal-only", "--json")
    assert json.loads(done.stdout) == {
        "manifest": str(place.folder.manifest),
        "folder": str(place.folder.path),
    }


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ((), True),
        (("--judge-base-url", NO_ENDPOINT + "/"), True),
        (("--judge-base-url", "http://127.0.0.1:9/judge"), False),
        (("--items", REFUND), False),
    ],
)
def test_a_judge_at_the_models_own_endpoint_is_told(place: Place, more: Sequence[str], *, told: bool) -> None:
    """Before anything is sealed, and only where there is a judge."""
    done = place.run("-m", "m", "--base-url", NO_ENDPOINT, *more, "--seal-only")
    assert done.exit_code == 0, done.output
    assert ("the judge is asked at the model's own endpoint" in done.stderr) is told


@pytest.mark.parametrize("output", ["a-file", "a-file/run", "/proc/nothing-can-be-made-here", "dangling"])
def test_a_folder_that_cannot_be_written_is_told_before_the_probe(
    place: Place, tmp_path: Path, output: str
) -> None:
    """With a remedy; what is there stays."""
    write(tmp_path / "a-file", "mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere" / "else")
    done = place.run(*SCRIPTED, "-o", output)
    assert isinstance(done.exception, InputRefused)
    assert done.exception.where == output
    assert "-o" in done.exception.remedy
    assert "probing" not in done.stderr
    assert (tmp_path / "a-file").read_text() == "mine"


def test_hints_to_go_on_can_be_pasted_into_a_shell(place: Place, tmp_path: Path) -> None:
    """Whatever the folder is called."""
    output = tmp_path / "my runs; echo"
    assert place.run(*SCRIPTED, "-o", output).exit_code == 1
    error = place.refused(*SCRIPTED, "-o", output)
    assert f"--resume '{output}'" in error.remedy


def test_the_hint_to_go_on_tells_what_going_on_does_not_cure(tmp_path: Path) -> None:
    """Quoted for a shell; address, model and decoding are sealed."""
    run = a_sealed_run(tmp_path / "two words", REFUND)
    told = run.opened().go_on
    assert f"--resume '{run.folder.path}'" in told
    assert "start a new run" in told


def test_arms_are_compared_at_the_end_and_not_before(place: Place) -> None:
    """Standard error tells no score while the run lasts; standard output ends with the comparison."""
    done = place.run(*SCRIPTED, "--arm", "careful")
    assert done.exit_code == 1
    assert "careful minus neutral" in done.stdout
    assert "points" not in done.stderr
    assert "careful" not in done.stderr


def test_arms_as_json(place: Place) -> None:
    """The comparison, and nothing else."""
    done = place.run(*SCRIPTED, "--arm", "careful", "--json")
    assert json.loads(done.stdout) == json.loads((place.folder.report / "arms.json").read_text())


def test_a_folder_that_is_taken_is_refused(place: Place, tmp_path: Path) -> None:
    """A sealed plan is never overwritten."""
    output = tmp_path / "out"
    assert place.run(*SCRIPTED, "-o", output).exit_code == 1
    before = (output / "manifest.json").read_bytes()
    error = place.refused(*SCRIPTED, "-o", output)
    assert isinstance(error, InputRefused)
    assert error.where == str(output / "manifest.json")
    assert (output / "manifest.json").read_bytes() == before


def test_a_sealed_plan_runs_where_it_lies(place: Place, tmp_path: Path) -> None:
    """Sealed only, then run, then named again: finished, and nothing is done twice."""
    output = tmp_path / "out"
    assert place.run(*SCRIPTED, "-o", output, "--seal-only").exit_code == 0
    assert place.run("--manifest", output / "manifest.json").exit_code == 1
    ledger = (output / "ledger.jsonl").read_text()
    again = place.run("--resume", output)
    assert again.exit_code == 1
    assert "1 run, 1 done" in again.stderr
    assert (output / "ledger.jsonl").read_text().count("attempt-started") == ledger.count("attempt-started")


def test_a_run_goes_on_without_the_folder_its_plan_came_from(place: Place, tmp_path: Path) -> None:
    """Bundles and the probe's record are copied beside the results, each whole or not at all."""
    source, results = tmp_path / "plans", tmp_path / "results"
    assert place.run(*SCRIPTED, "--arm", "careful", "-o", source, "--seal-only").exit_code == 0
    plan = (source / "manifest.json").rename(source / "plan.json")
    other = write(results / "arms" / "careful" / "SKILL.md", "another skill")
    error = place.run("--manifest", plan, "-o", results).exception
    assert isinstance(error, InputRefused)
    assert not (results / "ledger.jsonl").exists()
    other.unlink()
    assert place.run("--manifest", plan, "-o", results).exit_code == 1
    shutil.rmtree(source)
    again = place.run("--resume", results)
    assert (again.exit_code, "2 runs, 2 done" in again.stderr) == (1, True)


def test_a_plan_beside_its_results_is_not_run_into_another_folder(place: Place, tmp_path: Path) -> None:
    """Two folders for one run are a mistake that is told, not one of them dropped."""
    output = tmp_path / "out"
    assert place.run(*SCRIPTED, "-o", output, "--seal-only").exit_code == 0
    error = place.refused("--manifest", output / "manifest.json", "-o", tmp_path / "other")
    assert error.exit_code == 64
    assert not (tmp_path / "other").exists()
    assert not (output / "ledger.jsonl").exists()
    assert place.run("--resume", output, "-o", tmp_path / "elsewhere" / ".." / "out").exit_code == 1


def place_plan(folder: Path) -> SuitePlan:
    """The plan in a run's folder."""
    return SuitePlan.model_validate_json((folder / "manifest.json").read_bytes())


def test_a_held_out_run_needs_its_seed_at_every_start(place: Place, tmp_path: Path) -> None:
    """And tells it nowhere: neither on the terminal nor in a file."""
    output = tmp_path / "out"
    seed = ("--seed", HELD_OUT_SEED)
    shown = [place.run(*SCRIPTED, "--pool", "held-out", *seed, "-o", output, "--seal-only")]
    for argv in ((), ("--seed", "another seed of the tests, long enough")):
        error = place.refused("--resume", output, *argv)
        assert error.exit_code == 64
        assert HELD_OUT_SEED not in str(error)
        assert "seed new" not in error.remedy
        assert place_plan(output).seed_fingerprint in str(error)
    shown.append(place.run("--resume", output, *seed))
    assert [done.exit_code for done in shown] == [0, 1]
    assert [done for done in shown if HELD_OUT_SEED in done.output] == []
    assert [
        path for path in output.rglob("*") if path.is_file() and HELD_OUT_SEED.encode() in path.read_bytes()
    ] == []


def test_a_policy_that_no_item_has_is_refused(place: Place) -> None:
    """Exit code 64 and the names that there are; no attempt is started."""
    error = place.refused(*SCRIPTED, "--policy", "no-such-policy")
    assert error.exit_code == 64
    assert "whole-amount" in error.expected


def test_a_shortcut_can_be_played(place: Place) -> None:
    """The report names it, and the item is not full."""
    done = place.run(*SCRIPTED, "--policy", "whole-amount", "--json")
    view = read_suite_json(done.stdout.encode(), "stdout")
    (item,) = [item for item in view.items if item.id == REFUND]
    assert (item.fraction or 0.0) < 1.0
    assert "whole-amount" in view.header.agent


def test_an_unpinned_judge_makes_no_valid_verdict(place: Place) -> None:
    """It has to be allowed, and the exit code is 3."""
    with PlayingServer() as server:
        argv = ("-m", MODEL, "--base-url", server.base_url, "--judge", "cheap/judge")
        done = place.run(*argv, "--items", JUDGED, "--allow-unpinned-judge", "--json")
    assert done.exit_code == 3, done.output
    view = read_suite_json(done.stdout.encode(), "stdout")
    assert view.decision.verdict is Verdict.NOT_VALID
    assert (view.header.judge, view.header.judge_pinned) == ("cheap/judge", False)


def test_other_decoding_is_carried_out_and_told(place: Place) -> None:
    """What is sent is what was sealed; the report is not strictly comparable."""
    with PlayingServer() as server:
        argv = ("-m", MODEL, "--base-url", server.base_url, "--items", REFUND)
        done = place.run(*argv, "--provider-decoding", "--max-output-tokens", "321", "--json")
    sent = server.requests[0].json
    assert ("temperature" in sent, "top_p" in sent) == (False, False)
    assert 321 in sent.values()
    assert read_suite_json(done.stdout.encode(), "stdout").header.strictly_comparable is False


def test_auto_runs_the_whole_suite_without_a_question(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The only model of the endpoint, the pinned judge there too: references pass, with exit code 0."""
    with PlayingServer() as server:
        monkeypatch.setenv(BASE_URL_VARIABLE, server.base_url)
        argv = ["suite", "auto", "--yes", "--root", str(place.workspace.root), "--json"]
        done = CliRunner().invoke(app, argv)
    assert done.exit_code == 0, done.output
    view = read_suite_json(done.stdout.encode(), "stdout")
    assert view.decision.verdict is Verdict.PASS
    assert (view.header.model, view.header.judge_pinned) == (MODEL, True)
    assert view.counts.full == len(bank())
    assert view.retries == 0
    assert MODEL_KEY not in done.output
    assert JUDGE_KEY not in done.output
    lines = [line for line in done.stderr.splitlines() if line.startswith("[")]
    assert len(lines) == len(place.plan.cells())
    assert lines[-1].endswith("so far 70.00 of 70.00")
    assert audit(place.folder.path).clean


def test_a_model_that_takes_shortcuts_fails(place: Place) -> None:
    """Every item by `null`, or the like: no points, FAIL, exit code 1."""
    policies = {item.id: shortcut("null") for item in bank()}
    with PlayingServer(policies=policies, score=lambda _: 0) as server:
        done = place.run("-m", MODEL, "--base-url", server.base_url, "--json")
    assert done.exit_code == 1, done.output
    assert read_suite_json(done.stdout.encode(), "stdout").decision.verdict is Verdict.FAIL


def test_a_price_table_that_is_none_is_refused(place: Place, tmp_path: Path) -> None:
    """With the file's name."""
    table = write(tmp_path / "prices.json", '{"currency": "euro"}')
    error = place.refused(*SCRIPTED, "--prices", table)
    assert str(table) in str(error)
    assert error.what == "The price table cannot be used."
    assert "currency" in error.found
    assert "prices.json" in str(place.refused(*SCRIPTED, "--prices", tmp_path / "gone" / "prices.json"))


def test_a_quiet_report_tells_only_where_it_is(place: Place) -> None:
    """The files are written all the same."""
    assert place.run(*SCRIPTED).exit_code == 1
    folder = place.folder.path
    done = CliRunner().invoke(app, ["report", str(folder), "--quiet"])
    assert done.exit_code == 0
    assert done.stdout.replace("\n", "") == f"report: {folder / 'report'}"
