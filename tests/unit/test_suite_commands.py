"""`esac-ag suite`: what a user sees, what stays secret, and the exit code."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from esac_ag.canonical import sha256_of_bytes
from esac_ag.cli import main
from esac_ag.cli.app import app
from esac_ag.cli.suite_options import PoolName
from esac_ag.errors import InputRefused, UsageError
from esac_ag.report.suite_machine import read_suite_json, render_suite_json
from esac_ag.rooms.heldout import make_seed, read_seed
from esac_ag.suite.bank import bank
from esac_ag.suite.constitution import ITEMS, Pool
from esac_ag.suite.inspection import AnswerKey, Inspection
from esac_ag.suite.pools import ENVIRONMENT_NAME, seed_fingerprint
from esac_ag.suite.selftest import SuiteSelftest
from esac_ag.suite.verdict import Verdict
from tests.builders_suite import a_view, results

SEED = "held-out seed for the tests of the commands"


def run(*argv: str) -> Result:
    """A command, in this process."""
    return CliRunner().invoke(app, ["suite", *argv])


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, and no seed in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(ENVIRONMENT_NAME, raising=False)
    return tmp_path


def mode(path: Path) -> int:
    """Permission bits."""
    return stat.S_IMODE(path.stat().st_mode)


def test_pools_are_named_as_the_constitution_does() -> None:
    """The command line's names, which are written down apart, are the suite's."""
    assert [name.value for name in PoolName] == [pool.value for pool in Pool]


def test_the_list_names_every_item() -> None:
    """As a table and as JSON."""
    names = [item.id for item in bank()]
    table = run("list").stdout
    assert [name for name in names if name not in table] == []
    assert max(map(len, table.splitlines())) <= 80
    assert [item.id for item in bank() if not re.search(rf"{item.id} +{item.category.value} ", table)] == []
    listed = json.loads(run("list", "--json").stdout)
    assert [item["id"] for item in listed["items"]] == names


@pytest.mark.parametrize("item", ["planning-day", "code-log-report", "ambiguity-ask"])
def test_an_inspection_shows_all_parts_of_a_public_item(item: str) -> None:
    """Prompt, tools, state, checks, envelope and reference, the prompt line by line as it is."""
    shown = Inspection.model_validate_json(run("inspect", item, "--json").stdout)
    text = run("inspect", item).stdout
    assert shown.prompt in text
    for part in ("Tools", "Initial state", "Checks", "Efficiency", "Reference", "Expected"):
        assert f"\n{part}" in text


def test_an_inspection_of_a_held_out_item_tells_no_answer() -> None:
    """Neither the answers nor the reference nor the seed are printed."""
    for more in ((), ("--pool", "held-out"), ("--json",)):
        done = run("inspect", "ambiguity-ask", "--seed", SEED, *more)
        assert done.exit_code == 0
        assert SEED not in done.output
        assert "\nReference" not in done.stdout
    assert json.loads(done.stdout)["answers"] is None


@pytest.mark.parametrize(
    "argv",
    [
        ("inspect", "no-such-item"),
        ("inspect", "planning-day", "--pool", "held-out"),
        ("inspect", "planning-day", "--pool", "public", "--seed", SEED),
        ("seed", "show"),
        ("key", "-o", "key.json"),
        ("key", "-o", "-", "--seed", SEED),
    ],
)
def test_usage_errors_end_with_64(argv: tuple[str, ...], nowhere: Path) -> None:
    """No such item, no seed, or a seed for the public pool; nothing is written."""
    assert main(["suite", *argv]) == 64
    assert list(nowhere.iterdir()) == []


def test_the_held_out_pool_is_not_exported(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And it is told why."""
    assert main(["suite", "export", "held-out", "-o", "pool.jsonl"]) == 64
    assert list(nowhere.iterdir()) == []
    said = capsys.readouterr().err
    assert "held out no longer" in said
    assert "public" in said


def test_the_public_pool_is_exported(nowhere: Path) -> None:
    """A line per item; its digest is told."""
    done = run("export", "public", "-o", "pool.jsonl")
    data = (nowhere / "pool.jsonl").read_bytes()
    assert len(data.splitlines()) == ITEMS
    assert sha256_of_bytes(data) in done.output


def test_a_new_seed_is_private_and_is_never_printed(nowhere: Path) -> None:
    """Mode 0600, ignored by git, 256 bits, and only its fingerprint is told."""
    done = run("seed", "new")
    path = nowhere / ".heldout" / "seed"
    seed = path.read_text().removesuffix("\n")
    assert mode(path) == 0o600
    assert (nowhere / ".heldout" / ".gitignore").read_text() == "*\n"
    assert len(seed) == 64
    for output in (done.output, run("seed", "show").output, run("seed", "show", "--json").output):
        assert seed not in output
        assert seed_fingerprint(seed) in output


def test_a_seed_that_is_there_is_not_overwritten(nowhere: Path) -> None:
    """The second call fails and leaves the first seed alone."""
    run("seed", "new")
    before = (nowhere / ".heldout" / "seed").read_bytes()
    assert main(["suite", "seed", "new"]) == 1
    assert (nowhere / ".heldout" / "seed").read_bytes() == before


def test_the_environment_goes_before_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the rule book has it; the source is told."""
    run("seed", "new")
    monkeypatch.setenv(ENVIRONMENT_NAME, SEED)
    shown = json.loads(run("seed", "show", "--json").stdout)
    assert shown == {"source": ENVIRONMENT_NAME, "seed_fingerprint": seed_fingerprint(SEED), "weak": False}


def test_a_seed_file_that_others_may_read_is_refused(nowhere: Path) -> None:
    """A seed that could have been read is no secret."""
    path = make_seed(nowhere)
    path.chmod(0o640)
    with pytest.raises(UsageError) as failure:
        read_seed(nowhere)
    assert path.read_text().strip() not in str(failure.value)


def test_a_seed_behind_a_link_is_refused(nowhere: Path) -> None:
    """The file itself has to be there."""
    (nowhere / ".heldout").mkdir()
    (nowhere / "elsewhere").write_text(SEED)
    (nowhere / ".heldout" / "seed").symlink_to(nowhere / "elsewhere")
    with pytest.raises(UsageError):
        read_seed(nowhere)


def test_the_key_goes_to_a_private_file_and_nowhere_else(nowhere: Path) -> None:
    """Mode 0600; the terminal gets the file's name."""
    done = run("key", "-o", "key.json", "--seed", SEED)
    written = AnswerKey.model_validate_json((nowhere / "key.json").read_bytes())
    assert mode(nowhere / "key.json") == 0o600
    assert len(written.items) == ITEMS
    assert done.output == "key.json: the answer key, mode 0600\n"


@pytest.mark.parametrize("target", ["/dev/stdout", "/dev/tty", "there.json"])
def test_the_key_is_written_to_no_terminal_and_over_no_file(
    target: str, nowhere: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What is there already, a device too, is left as it is."""
    (nowhere / "there.json").write_text("mine")
    assert main(["suite", "key", "-o", target, "--seed", SEED]) == 1
    assert capfd.readouterr().out == ""
    assert (nowhere / "there.json").read_text() == "mine"


def test_the_selftest_covers_everything_and_says_who_judged() -> None:
    """It exits 0 when nothing missed, leaves nothing out, and calls the rules what they are."""
    done = run("selftest")
    assert done.exit_code == 0
    assert (
        "judged by fixed rules, no model: ambiguity-ask, ambiguity-default, ambiguity-either" in done.stdout
    )
    assert " 0 missed, 0 not run in memory " in done.stdout


def test_the_selftest_writes_the_oracles_report(nowhere: Path) -> None:
    """JSON on standard output, and the report in four forms."""
    done = run("selftest", "--json", "-o", "oracle")
    assert SuiteSelftest.model_validate_json(done.stdout).holds
    assert sorted(path.name for path in (nowhere / "oracle").iterdir()) == [
        f"suite-report.{form}" for form in ("html", "json", "md", "txt")
    ]
    view = read_suite_json((nowhere / "oracle" / "suite-report.json").read_bytes(), "oracle")
    assert (view.counts.not_run, view.total.points) == (0, 75.0)
    assert view.decision.verdict is Verdict.NOT_VALID


def test_a_missed_policy_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """An item whose reference does nothing is shown as missed."""
    monkeypatch.setattr(type(bank()[0]), "reference", lambda _self, _instance: lambda _view: "Done.")
    done = run("selftest")
    assert done.exit_code == 1
    assert "MISSED tool-call-meeting, reference: the reference does not solve its item" in done.stdout


def test_two_reports_are_put_side_by_side(nowhere: Path) -> None:
    """Totals of both, and their difference."""
    (nowhere / "a.json").write_bytes(render_suite_json(a_view()))
    (nowhere / "b.json").write_bytes(render_suite_json(a_view(results({"code-2": 0.0}))))
    assert "-5.00" in run("compare", "a.json", "b.json").stdout
    compared = json.loads(run("compare", "a.json", "b.json", "--json").stdout)
    assert compared["total"]["a"] == 75


@pytest.mark.parametrize("content", [None, "{}", "not JSON"])
def test_what_is_no_report_is_not_compared(content: str | None, nowhere: Path) -> None:
    """A missing file and a foreign one are refused with the file's name."""
    (nowhere / "a.json").write_bytes(render_suite_json(a_view()))
    if content is not None:
        (nowhere / "b.json").write_text(content)
    done = run("compare", "a.json", "b.json")
    assert isinstance(done.exception, InputRefused)
    assert done.exception.where == "b.json"
