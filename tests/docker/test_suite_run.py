"""Suite runs end to end: sealed by the command line, in real containers, over the real protocol."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from esac_ag.attempt import Outcome
from esac_ag.clock import sleep_s
from esac_ag.conduct.audit import audit
from esac_ag.conduct.suite_mcp_tools import STUDY as MCP_STUDY
from esac_ag.conduct.suite_results import SuiteRecords, read_suite
from esac_ag.ledger import read_state
from esac_ag.report.suite_machine import read_suite_json, without_times
from esac_ag.report.suite_view import ItemRow, SuiteView
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.docker import DockerEngine
from esac_ag.suite.constitution import Category
from esac_ag.suite.contract import RunEnd
from esac_ag.suite.scoring import Standing
from esac_ag.suite.verdict import Verdict
from tests.builders_commands import command, started
from tests.model_server import ModelServer, Scripted, completion, refuses, says
from tests.playing_server import MODEL, PlayingServer, shortcut

pytestmark = pytest.mark.docker

ROOT = Path(__file__).parents[2]
KEY = "sk-test-a-key-of-the-model"
JUDGE_KEY = "sk-test-a-key-of-the-judge"
KEYS = {"OPENAI_API_KEY": KEY, "ESAC_AG_JUDGE_API_KEY": JUDGE_KEY}
HELD_OUT = "0f1e2d3c4b5a69788796a5b4c3d2e1f0" * 2
ANOTHER = "5a" * 32


@dataclass(frozen=True, slots=True)
class Ran:
    """A finished command and the run's folder."""

    folder: Path
    done: subprocess.CompletedProcess[str]

    @property
    def view(self) -> SuiteView:
        """The report."""
        path = self.folder / "report" / "suite-report.json"
        return read_suite_json(path.read_bytes(), str(path))

    @property
    def records(self) -> SuiteRecords:
        """What the ledger vouches for."""
        return read_suite(self.folder)

    def item(self, item_id: str) -> ItemRow:
        """One item of the report."""
        return next(item for item in self.view.items if item.id == item_id)

    def ends(self, item_id: str) -> list[RunEnd]:
        """How the item's runs ended."""
        return [run.end for run in self.item(item_id).runs]


def suite_run(folder: Path, *more: str | Path, environ: Mapping[str, str] | None = None) -> Ran:
    """`esac-ag suite run` with results in `folder`, from an empty place beside it."""
    argv = ("suite", "run", "--root", ROOT, "-o", folder, *more)
    return Ran(folder, command(*argv, folder=folder.parent, more={**KEYS, **(environ or {})}))


def chat(server: ModelServer) -> tuple[str, ...]:
    """Options of a chat run against a server."""
    return ("-m", MODEL, "--base-url", server.base_url)


def leftovers() -> set[str]:
    """This checkout's studies that left something in the engine; sessions over MCP may go on beside them."""
    engine = DockerEngine(Workspace(ROOT).label)
    try:
        return {*engine.studies(Workspace(ROOT).label)} - {MCP_STUDY}
    finally:
        engine.close()


def texts(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Every file below a folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path, path.read_bytes()


@pytest.fixture(scope="module")
def oracles(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ran, Ran]:
    """The reference policies on one sealed plan, twice; the judge is a server on loopback."""
    place = tmp_path_factory.mktemp("oracle")
    with PlayingServer() as server:
        sealed = suite_run(
            place / "sealed", "-a", "scripted", "--judge-base-url", server.base_url, "--seal-only"
        )
        assert sealed.done.returncode == 0, sealed.done.stderr
        plan = place / "plan.json"
        (place / "sealed" / "manifest.json").rename(plan)
        (place / "sealed" / "manifest.probe.json").rename(place / "manifest.probe.json")
        one, two = (
            suite_run(place / name, "--manifest", plan, "-n", concurrency)
            for name, concurrency in (("one", "2"), ("two", "1"))
        )
    return one, two


@pytest.fixture(scope="module")
def mediocre(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A model that is right on some items, wrong on others, and fails in every way that is scored."""
    wrong = {
        "tool-call-refund": "twin-tool",
        "tool-call-stock": "look-up-first",
        "planning-stock": "no-successor",
        "code-room-bookings": "unchanged",
        "state-stock-count": "uncorrected",
        "injection-file": "obey",
        "injection-log": "refuse-once-met",
    }
    instead: dict[str, list[Scripted | None]] = {
        "tool-call-ticket": [completion({"content": None, "refusal": "I cannot help with that."})],
        "planning-day": [says("")],
        "code-table-import": [says("def main():", finish="length")],
        "ambiguity-either": [says(""), None],
    }
    with PlayingServer(
        policies={item: shortcut(name) for item, name in wrong.items()},
        instead=instead,
        before={1: refuses(429, retry_after="0"), 2: refuses(429), 10: refuses(502)},
        score=lambda item: 2 if item == "ambiguity-default" else 4,
    ) as server:
        return suite_run(tmp_path_factory.mktemp("mediocre") / "run", *chat(server))


def test_the_oracle_earns_every_point(oracles: tuple[Ran, Ran]) -> None:
    """Exactly 75.00, level 6 everywhere, PASS; and every output says that no model acted."""
    for run in oracles:
        view = run.view
        assert run.done.returncode == 0, run.done.stderr
        assert (view.decision.verdict, view.total.points) == (Verdict.PASS, 75.0)
        assert {item.standing for item in view.items} == {Standing.FULL}
        levels = [one.levels for item in view.items if item.eligible for one in item.runs]
        assert len(levels) == 20
        assert {(level.action_level, level.token_level) for level in levels if level} == {(6, 6)}
        for path in (run.folder / "report").iterdir():
            assert "no model" in path.read_text(), path
        assert "no model" in run.done.stderr


def test_the_oracles_report_is_the_same_to_the_byte(oracles: tuple[Ran, Ran]) -> None:
    """One plan run twice, one at a time or two: but for the times, the same bytes."""
    one, two = (without_times(run.view) for run in oracles)
    assert one == two


def test_a_suite_run_is_audited_like_any_study(oracles: tuple[Ran, Ran], mediocre: Ran) -> None:
    """Plan, ledger, attempts, archives, gradings and reports hold; nothing is left in the engine."""
    for run in (*oracles, mediocre):
        found = audit(run.folder)
        assert found.findings == ()
        assert found.cells_done == found.cells_planned == 26
    assert leftovers() == set()


def test_a_mediocre_model_gets_what_is_computed_by_hand(mediocre: Ran) -> None:
    """Per category, the modifier and the total, from the predeclared fractions."""
    view = mediocre.view
    earned = {row.id: row.earned for row in view.categories}
    assert earned == pytest.approx(
        {
            Category.TOOL_CALL: 2 * 2.0,  # two of five right; a wrong first call earns nothing
            Category.PLANNING: 10 / 3 * (1 + 5 / 9),  # one right, one at 5 of 9, one empty
            Category.CODE: 5.0,  # one right, one handed in unchanged, one cut off
            Category.RECOVERY: 10.0,
            Category.STATE: 5.0 + 0.3 * 5.0,
            Category.AMBIGUITY: 5 / 3 * (1 + 0.5 + 0.5),  # all; half by the judge; one run of two empty
            Category.INJECTION: 2.0 * (3 + 0.5 + 0.5),
        }
    )
    # Ten of the twenty eligible items are complete, each at level 6 on both scales.
    assert view.modifier.action_points == pytest.approx(3.5 * 10 / 20)
    assert view.modifier.token_points == pytest.approx(1.5 * 10 / 20)
    assert view.total.points == pytest.approx(4 + 140 / 27 + 5 + 10 + 6.5 + 10 / 3 + 8 + 2.5)
    assert view.decision.verdict is Verdict.FAIL
    assert mediocre.done.returncode == 1


def test_a_mediocre_models_failures_are_classed(mediocre: Ran) -> None:
    """Refusal, silence and a cap are the model's and are scored; 429 and 502 are not, and only counted."""
    assert mediocre.ends("tool-call-ticket") == [RunEnd.REFUSED]
    assert mediocre.ends("planning-day") == [RunEnd.EMPTY]
    assert mediocre.ends("code-table-import") == [RunEnd.OUTPUT_CAP]
    assert mediocre.ends("ambiguity-either") == [RunEnd.EMPTY, RunEnd.ANSWERED]
    assert mediocre.view.retries == 3
    attempts = mediocre.records.state.attempts.values()
    assert {attempt.outcome for attempt in attempts} == {Outcome.COMPLETED, Outcome.LIMIT}
    assert {attempt.ordinal for attempt in attempts} == {1}
    assert sum(len(grading.judgments) for grading in mediocre.records.gradings.values()) == 10


def test_the_tally_tells_every_item_as_it_ends(mediocre: Ran) -> None:
    """The cheapest first; sums so far; the last line is the sum of the categories."""
    lines = [line for line in mediocre.done.stderr.splitlines() if line.startswith("[")]
    assert len(lines) == 26
    assert lines[0].startswith("[1/26] injection-error: 2.00 of 2.00 points")
    assert lines[-1].endswith("so far 42.02 of 70.00")


def test_no_key_is_in_any_file_or_output(mediocre: Ran) -> None:
    """Neither the model's nor the judge's."""
    for path, data in texts(mediocre.folder):
        assert KEY.encode() not in data, path
        assert JUDGE_KEY.encode() not in data, path
    assert KEY not in mediocre.done.stdout + mediocre.done.stderr


@pytest.fixture(scope="module")
def held_out(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A held-out run of a few items, the seed from the environment."""
    with PlayingServer(seed=HELD_OUT) as server:
        return suite_run(
            tmp_path_factory.mktemp("held-out") / "run",
            *chat(server),
            *("--pool", "held-out", "--items", "tool-call-refund,code-log-report,ambiguity-ask"),
            environ={"ESAC_HELD_OUT_SEED": HELD_OUT},
        )


def test_a_held_out_run_never_tells_its_seed_or_its_answers(held_out: Ran) -> None:
    """The seed is in no file and no output; the report has no text of an instance; the folder is private."""
    assert held_out.done.returncode == 1, held_out.done.stderr
    assert held_out.view.decision.verdict is Verdict.INCOMPLETE
    for path, data in texts(held_out.folder):
        assert HELD_OUT.encode() not in data, path
    assert HELD_OUT not in held_out.done.stdout + held_out.done.stderr
    item = held_out.item("tool-call-refund")
    assert item.fraction == 1.0
    assert {call.arguments for run in item.runs for call in run.calls} == {None}
    assert {run.final_text for run in item.runs} == {None}
    assert stat.S_IMODE(held_out.folder.stat().st_mode) == 0o700


def test_a_held_out_run_goes_on_with_its_own_seed_only(held_out: Ran) -> None:
    """Without the seed, or with another, nothing starts."""
    for environ in ({}, {"ESAC_HELD_OUT_SEED": ANOTHER}):
        argv = ("suite", "run", "--resume", held_out.folder, "--root", ROOT)
        done = command(*argv, folder=held_out.folder.parent, more={**KEYS, **environ})
        assert done.returncode == 64
        assert "seed" in done.stderr
        assert ANOTHER not in done.stderr


@pytest.mark.parametrize(
    ("status", "launches", "told"),
    [(404, 3, "no such thing"), (401, 1, "OPENAI_API_KEY")],
    ids=["a model that is not there", "a refused key"],
)
def test_a_service_that_stays_down_aborts_without_a_score_and_the_run_goes_on_later(
    status: int, launches: int, told: str, tmp_path: Path
) -> None:
    """Exit code 2, no report; the same folder is finished by --resume, and what was done is not redone.

    A refused key is no worse a moment later, so that no retry is spent on it.
    """
    down = {number: refuses(status, message="no such thing") for number in range(3, 3 + launches)}
    with PlayingServer(before=down) as server:
        run = suite_run(tmp_path / "run", *chat(server), "--items", "tool-call-refund,tool-call-meeting")
        assert run.done.returncode == 2
        assert not (run.folder / "report").exists()
        assert "Verdict" not in run.done.stdout
        assert "resume" in run.done.stderr
        assert told in run.done.stderr
        argv = ("suite", "run", "--resume", run.folder, "--root", ROOT)
        again = Ran(run.folder, command(*argv, folder=tmp_path, more=KEYS))
    assert again.done.returncode == 1
    assert {item.id for item in again.view.items if item.standing is Standing.FULL} == {
        "tool-call-refund",
        "tool-call-meeting",
    }
    outcomes = [attempt.outcome for attempt in again.records.state.attempts.values()]
    assert outcomes.count(Outcome.COMPLETED) == 2
    assert outcomes.count(Outcome.INFRA) == launches


def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """SIGKILL in the middle: every run counts once, nothing is left behind."""
    folder = tmp_path / "run"
    items = "tool-call-refund,tool-call-meeting,planning-day,injection-file,code-log-report,state-stock-count"
    argv = ("suite", "run", "-a", "scripted", "--items", items, "--root", ROOT, "-o", folder, "-n", "2")
    process = started(*argv, folder=tmp_path)
    ledger = folder / "ledger.jsonl"
    while not ledger.is_file() or ledger.read_bytes().count(b"attempt-graded") < 2:
        assert process.poll() is None, process.communicate()
        sleep_s(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    before = {name for name, one in read_state(ledger).attempts.items() if one.grading is not None}
    done = command("suite", "run", "--resume", folder, "--root", ROOT, folder=tmp_path)
    assert done.returncode == 1, done.stderr
    records = read_suite(folder)
    assert before <= set(records.gradings)
    assert len(records.gradings) == 6
    assert records.state.finished
    assert audit(folder).findings == ()
    assert leftovers() == set()


def test_an_instruction_bundle_is_compared_on_the_suite(tmp_path: Path) -> None:
    """Each item once with and once without it, in one run; only the arm's requests hold its text."""
    with PlayingServer(policies={"injection-file": shortcut("obey")}) as server:
        run = suite_run(
            tmp_path / "run",
            *chat(server),
            *("--arm", "markskill", "--items", "tool-call-refund,injection-file,planning-day"),
        )
        requests = [request.json["messages"] for request in server.requests]
    assert run.done.returncode == 1, run.done.stderr
    skill = (ROOT / "arms" / "markskill" / "SKILL.md").read_text()
    telling = skill.splitlines()[-1]
    told = [messages[0]["role"] == "system" and telling in messages[0]["content"] for messages in requests]
    assert True in told
    assert False in told
    assert all(
        messages[0]["role"] == "user" for messages, is_arm in zip(requests, told, strict=True) if not is_arm
    )
    arms: dict[str, Any] = json.loads((run.folder / "report" / "arms.json").read_text())
    assert [arm["arm"] for arm in arms["arms"]] == ["markskill"]
    assert arms["arms"][0]["overall"]["mean"]["value"] == 0.0
    assert {path.name for path in (run.folder / "report").iterdir()} == {
        "arms.html",
        "arms.json",
        "arms.md",
        "arms.txt",
        "neutral",
        "markskill",
    }
    assert "points" not in run.done.stderr
    assert audit(run.folder).findings == ()
    loaded = [
        json.loads((run.folder / "attempts" / name / "loaded-instructions.json").read_text())
        for name in run.records.attempts
    ]
    assert {bool(one.get("files")) for one in loaded} == {True, False}


def test_another_judge_is_refused_or_makes_the_run_not_valid(tmp_path: Path) -> None:
    """Exit code 64 before anything is sealed; with the option there are numbers and no valid verdict."""
    with PlayingServer() as server:
        options = (*chat(server), "--items", "ambiguity-ask", "--judge", "cheaper/judge")
        refused = suite_run(tmp_path / "one", *options)
        assert refused.done.returncode == 64
        assert not refused.folder.exists()
        run = suite_run(tmp_path / "two", *options, "--allow-unpinned-judge")
    assert run.done.returncode == 3, run.done.stderr
    assert run.view.decision.verdict is Verdict.NOT_VALID
    assert run.view.header.judge == "cheaper/judge"
    assert run.item("ambiguity-ask").fraction == 1.0


def test_other_decoding_is_sent_recorded_and_marked(tmp_path: Path) -> None:
    """The run is made as asked, and its report says that it is not strictly comparable."""
    with PlayingServer() as server:
        run = suite_run(
            tmp_path / "run", *chat(server), "--items", "tool-call-refund", "--temperature", "0.7"
        )
        assert {request.json["temperature"] for request in server.requests} == {0.7}
    assert not run.view.header.strictly_comparable
    assert run.view.header.decoding.temperature == 0.7


def test_an_edited_grading_is_neither_reported_nor_overlooked(tmp_path: Path) -> None:
    """The report is refused, the audit names the file."""
    run = suite_run(tmp_path / "run", "-a", "scripted", "--items", "tool-call-refund")
    assert run.done.returncode == 1, run.done.stderr
    (attempt,) = run.records.attempts
    path = run.folder / "attempts" / attempt / "grading" / "result.json"
    graded = path.read_bytes()
    path.write_bytes(graded.replace(b'"fraction":1', b'"fraction":0', 1))
    assert path.read_bytes() != graded
    done = command("report", run.folder, folder=tmp_path)
    assert done.returncode == 1
    assert "not the one that the ledger names" in done.stderr
    assert command("audit", run.folder, folder=tmp_path).returncode == 1


def test_auto_takes_the_only_model_and_runs(tmp_path: Path) -> None:
    """`suite auto --yes` finds endpoint and model, and does as `suite run`."""
    with PlayingServer() as server:
        environ = {**KEYS, "ESAC_AG_BASE_URL": server.base_url}
        argv = ("suite", "auto", "--yes", "--root", ROOT, "-o", tmp_path / "run", "--json")
        done = command(*argv, folder=tmp_path, more=environ)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["header"]["model"] == MODEL
    assert report["total"]["points"] == 75.0
