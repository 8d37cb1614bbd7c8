"""`compare` on the command line, with the in-memory engine and a model on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from esac_ag.agents.settings import BASE_URL_VARIABLE
from esac_ag.attempt import Outcome
from esac_ag.cli import main
from esac_ag.cli.app import app
from esac_ag.conduct.audit import audit
from esac_ag.errors import StudyPaused, UsageError
from esac_ag.ledger import read_state
from esac_ag.rooms.workspace import Workspace
from tests.builders_compare import (
    MODEL,
    SKILL,
    WorkingServer,
    a_compare_workspace,
    a_price_table,
    a_skill,
    an_engine,
)
from tests.builders_manifest import write
from tests.model_server import refuses

ONE_TASK = ("--tasks", "task-1", "-k", "1", "--repeats", "1", "--study-id", "compared")


@dataclass(frozen=True)
class Place:
    """A workspace, a skill elsewhere, and a model."""

    workspace: Workspace
    skill: Path
    server: WorkingServer

    def arguments(self, *more: str) -> list[str]:
        """A comparison of the skill on one task."""
        who = ["-a", "chat", "-m", MODEL, "--base-url", self.server.base_url]
        return ["compare", *who, "--arm", "neutral", "--arm", str(self.skill), *ONE_TASK, *more]

    def run(self, *more: str, typed: str = "") -> Result:
        """Run it, with what a person types."""
        return CliRunner().invoke(app, self.arguments(*more), input=typed)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """The current folder is the workspace."""
    for name in (BASE_URL_VARIABLE, "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    workspace = a_compare_workspace(tmp_path / "workspace")
    engine = an_engine()
    monkeypatch.setattr("esac_ag.cli.compare_running.engine_of", lambda _: engine)
    monkeypatch.chdir(workspace.root)
    with WorkingServer() as server:
        yield Place(workspace, a_skill(tmp_path), server)


def told(result: Result) -> dict[str, Any]:
    """The JSON on standard output, all of it."""
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_one_command_leads_from_a_skill_to_a_report(place: Place) -> None:
    """It tells runs, claim, time and cost before it runs, and ends with the summary and the report's path."""
    result = place.run("-y", "-n", "1")
    assert result.exit_code == 0, result.output
    for words in (
        "runs: 2 = 1 task x 2 arms x 1 repetition",
        "no general claim",
        "time: at most",
        "cost: no upper",
    ):
        assert words in result.stderr
    report = place.workspace.results / "compared" / "report" / "report.html"
    assert f"report: {report}" in result.stdout
    assert "A look at 1 task" in report.read_text()
    assert len(place.server.requests) == 4
    assert audit(place.workspace.results / "compared").clean


def test_the_same_command_goes_on_and_does_nothing_twice(place: Place) -> None:
    """With the same id; what is done stays, and the report is made again."""
    place.run("-y", "-q")
    sealed = (place.workspace.manifests / "compared.json").read_bytes()
    again = told(place.run("-y", "-q", "--json"))
    assert len(place.server.requests) == 4
    assert (place.workspace.manifests / "compared.json").read_bytes() == sealed
    assert Path(again["report"]).is_dir()
    assert again["forecast"]["earlier"]["runs"] == 2


@pytest.mark.parametrize("end", ["/responses", "/chat/completions", "/messages"])
def test_an_address_with_its_endpoint_is_refused_before_anything_is_written(place: Place, end: str) -> None:
    """People copy it from a page of the provider; whoever asks adds it again."""
    result = place.run("-y", "--base-url", f"{place.server.base_url}{end}")
    assert isinstance(result.exception, UsageError)
    assert f"an address with {end} at its end, which is added: leave it out" in str(result.exception)
    assert not (place.workspace.manifests / "compared.json").exists()


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_the_provider_refuses_stops_at_the_first_call(
    place: Place, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """No launch is made again in vain; the attempt is the infrastructure's, and `run` goes on with a key."""
    with monkeypatch.context() as refusing:
        refusing.setattr(place.server, "_reply_to", lambda _: refuses(status, message="no key"))
        stopped = place.run("-y", "-n", "1")
    assert isinstance(stopped.exception, StudyPaused)
    assert len(place.server.requests) == 1
    assert "refuses the key (401 or 403), and would refuse it again" in stopped.exception.what
    assert f"HTTP {status}: no key" in stopped.exception.found
    assert "OPENAI_API_KEY" in stopped.exception.found
    assert "then run esac-ag run" in stopped.exception.remedy
    state = read_state(place.workspace.results / "compared" / "ledger.jsonl")
    assert [attempt.outcome for attempt in state.attempts.values()] == [Outcome.INFRA]
    done = place.run("-y", "-n", "1")
    assert done.exit_code == 0, done.output
    assert audit(place.workspace.results / "compared").clean


def test_plan_tells_the_same_time_and_cost_as_compare(place: Place) -> None:
    """Both by earlier runs where there are any, by the limits where there are none."""

    def estimates(said: str) -> list[str]:
        return [line for line in said.splitlines() if line.startswith(("runs:", "time:", "cost:"))]

    sealed = str(place.workspace.manifests / "compared.json")
    first = place.run("--dry-run", "-n", "2")
    plan = CliRunner().invoke(app, ["plan", sealed])
    assert len(estimates(plan.stdout)) == 3
    assert estimates(plan.stdout) == estimates(first.stderr)
    place.run("-y", "-q")
    again = place.run("--dry-run", "-n", "2")
    plan = CliRunner().invoke(app, ["plan", sealed])
    assert "by 2 earlier runs (compared)" in plan.stdout
    assert estimates(plan.stdout) == estimates(again.stderr)
    told_by_hand = CliRunner().invoke(app, ["plan", sealed, "--run-s", "30", "--run-cost", "0.5"])
    assert "about 30 s by --run-s; at most" in told_by_hand.stdout
    assert "about 1 by --run-cost" in told_by_hand.stdout


def test_a_dry_run_seals_and_estimates_and_asks_no_model(place: Place, tmp_path: Path) -> None:
    """The cost is bounded by the limit, and no file of results is there."""
    limited = ("--max-cost", "1", "--prices", str(a_price_table(tmp_path)))
    found = told(place.run("--dry-run", "--json", *limited))
    assert found["folder"] is found["report"] is None
    assert found["forecast"]["bound"]["cost"] == pytest.approx(1.0)
    assert found["forecast"]["expected"] is None
    assert found["go_on"][0].startswith("esac-ag run ")
    assert (place.workspace.manifests / "compared.json").is_file()
    assert not place.workspace.results.exists()
    assert place.server.requests == []


def test_the_estimate_rests_on_earlier_runs_of_the_same_agent_and_model(place: Place, tmp_path: Path) -> None:
    """Time and cost are their means; another model has none, and a damaged study is passed over."""
    prices = ("--prices", str(a_price_table(tmp_path)))
    place.run("-y", "-q", *prices)
    write(place.workspace.results / "damaged" / "ledger.jsonl", "{")
    found = told(place.run("--dry-run", "--json", *prices, "--study-id", "second", "-k", "2"))["forecast"]
    assert found["earlier"]["studies"] == ["compared"]
    assert found["expected"]["cost"] == pytest.approx(4 * found["earlier"]["run_cost"])
    assert found["earlier"]["run_cost"] == pytest.approx(2 * (40 + 60 * 0.1 + 20 * 10) / 1e6)
    shown = place.run("--dry-run", *prices, "--study-id", "second", "-k", "2")
    assert "by 2 earlier runs (compared)" in shown.stderr
    without = told(place.run("--dry-run", "--json", "--study-id", "third"))["forecast"]
    assert without["earlier"]["run_cost"] is None
    assert without["earlier"]["runs"] == 2
    other = told(place.run("--dry-run", "--json", "--study-id", "fourth", "-m", "m-2"))["forecast"]
    assert other["earlier"] is None


@pytest.mark.parametrize(("typed", "asked"), [("n\n", 0), ("\n", 4), ("what\ny\n", 4)])
def test_a_person_is_asked_before_anything_costs_money(place: Place, typed: str, asked: int) -> None:
    """A no runs nothing and tells how to go on later."""
    result = place.run("-n", "1", typed=typed)
    assert result.exit_code == 0, result.output
    assert "Go on? [Y/n]" in result.stderr
    assert len(place.server.requests) == asked
    assert ("esac-ag run" in result.stderr) == (asked == 0)


def test_without_an_answer_nothing_is_run(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 130, and what to type to go on."""
    monkeypatch.setattr("sys.stdin", StringIO(""))
    assert main(place.arguments()) == 130
    shown = capsys.readouterr().err
    assert "nothing was run; -y asks nothing; to go on:" in shown
    assert f"esac-ag run {place.workspace.manifests / 'compared.json'} -n 2" in shown
    assert place.server.requests == []


def test_a_study_that_stops_tells_how_it_goes_on(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """A model that knows no key pauses it: exit code 2, and the same command finishes it later."""
    place.server.sick = True
    assert main(place.arguments("-y", "-q", "-n", "1")) == 2
    shown = capsys.readouterr().err
    assert "not finished, and nothing that was done is lost; to go on:" in shown
    assert f"esac-ag report {place.workspace.results / 'compared'}" in shown
    place.server.sick = False
    assert main(place.arguments("-y", "-q", "-n", "1")) == 0
    assert capsys.readouterr().out.count(" 1/1 ") == 2


def test_from_another_folder_the_way_on_names_the_workspace(place: Place, tmp_path: Path) -> None:
    """And the folder of results, if it is another one."""
    more = ("--root", str(place.workspace.root), "-o", str(tmp_path / "elsewhere"), "--dry-run", "--json")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        run, report = told(place.run(*more))["go_on"]
    assert f"--root {place.workspace.root}" in run
    assert f"-o {tmp_path / 'elsewhere'}" in run
    assert report == f"esac-ag report {tmp_path / 'elsewhere' / 'compared'}"


def test_without_a_workspace_the_remedy_is_to_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 64."""
    monkeypatch.chdir(tmp_path)
    assert main(["compare", "-a", "chat", "-m", MODEL, "--arm", SKILL]) == 64
    assert "esac-ag init DIR" in capsys.readouterr().err
