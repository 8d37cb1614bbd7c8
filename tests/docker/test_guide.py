"""The guides' commands, run as a reader would run them, from an empty folder to a report."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from esac_ag.conduct.layout import lay_out
from esac_ag.manifest.draft import Draft
from esac_ag.report.view import ReportView
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.docker import DockerEngine
from esac_ag.statistics.estimates import Estimate
from esac_ag.study.decision_records import ClauseName, ClauseState, Decision, DecisionOutcome
from esac_ag.study.evidence import Measure
from esac_ag.study.forms import REHEARSAL
from esac_ag.study.scores import ReviewScores
from tests.builders_compare import MODEL, WorkingServer
from tests.builders_docker import keep_proofs

pytestmark = [pytest.mark.docker, pytest.mark.slow]

MARK = "REHEARSAL, no evidence"
ROOT = Path(__file__).parent.parent.parent
IN_PLACE = {
    "images build --agent codex": "images build",
    "--tasks tasks -k 3": "--tasks invoice-rounding -k 1",
    "--agent codex": "--agent chat --repeats 1",
}
"""What the test does in place of the guide's words: our own loop in place of a program, and fewer runs."""
FEWER_TASKS = """\
python3 - <<'PROGRAM'
import json, pathlib
path = pathlib.Path("manifests/demo.draft.json")
draft = json.loads(path.read_text())
draft["tasks"] = draft["tasks"][:2]
draft["arms"] = [arm for arm in draft["arms"] if arm["id"] != "current-restraint"]
path.write_text(json.dumps(draft))
PROGRAM
cp -r "$PROVED" .
esac-ag demo -k 1"""
"""The demonstration with two tasks and two arms; the tasks count as proved: other tests prove them."""


def done(page: str, folder: Path, in_place: Mapping[str, str], more: Mapping[str, str]) -> str:
    """Run every `sh` block of a page, in order, in a shell that stops at the first failure; what it said."""
    script = "\n".join(re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL))
    for words, others in in_place.items():
        assert words in script
        script = script.replace(words, others)
    tools = str(Path(sys.executable).parent)
    ended = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", **more},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory: pytest.TempPathFactory, agent_image: str) -> tuple[Path, str]:
    """The workspace that docs/study.md leads to, and what its commands said."""
    folder = tmp_path_factory.mktemp("guide")
    said = done("study.md", folder, {}, {})
    return folder / "my-workspace", said


def test_the_guide_leads_from_a_skill_to_a_report(rehearsed: tuple[Path, str]) -> None:
    """Every `sh` block of docs/study.md works, with a scripted agent."""
    workspace, said = rehearsed
    report = workspace / "results" / "rehearsal" / "report"
    files = {"report.html", "report.md", "report.json"} | {
        f"{name}.{ending}" for name in ("report", "decision", "sensitivity") for ending in ("csv", "parquet")
    }
    assert {path.name for path in report.iterdir()} == files | {"revision-2"}
    assert {path.name for path in (report / "revision-2").iterdir()} == files
    assert "everything holds" in said
    assert "scripted" in (report / "report.md").read_text().lower()


def test_the_guide_leads_from_an_installed_skill_to_a_comparison(
    tmp_path: Path, rehearsed: tuple[Path, str]
) -> None:
    """Every `sh` block of docs/guide.md works, with a model on loopback; the dry run leaves no results.

    The task was proved on the way through docs/study.md, and is not proved again.
    """
    proofs = rehearsed[0] / ".esac-ag" / "proofs"
    keeping = f"cd my-workspace\nmkdir -p .esac-ag\ncp -r {shlex.quote(str(proofs))} .esac-ag"
    with WorkingServer() as server:
        more = {"HOME": str(tmp_path), "MODEL": MODEL, "ESAC_AG_BASE_URL": server.base_url}
        said = done("guide.md", tmp_path, IN_PLACE | {"cd my-workspace": keeping}, more)
    studies = sorted((tmp_path / "my-workspace" / "results").iterdir())
    assert [study.name[:16] for study in studies] == ["read-first-1", "read-first-chat-"]
    for study in studies:
        text = (study / "report" / "report.md").read_text()
        assert "A look at 1 task" in text
        assert f"report: {study}" in said
    assert len(server.requests) == 8
    assert "nothing was run" in said


@pytest.fixture
def proved(tmp_path_factory: pytest.TempPathFactory, docker_engine: DockerEngine) -> Path:
    """A workspace's state in which the shipped tasks count as proved under the demonstration's limits."""
    workspace = Workspace(tmp_path_factory.mktemp("proved") / "workspace")
    lay_out(workspace.root)
    draft = Draft.model_validate_json((workspace.manifests / "demo.draft.json").read_bytes())
    keep_proofs(workspace, docker_engine, draft.limits.grader)
    return workspace.state


@pytest.mark.usefixtures("agent_image")
def test_the_review_guide_leads_from_packets_to_a_decision(tmp_path: Path, proved: Path) -> None:
    """Every `sh` block of docs/review-guide.md works; scripts disagree, and all of it says what it is."""
    said = done("review-guide.md", tmp_path, {"esac-ag demo -k 1": FEWER_TASKS}, {"PROVED": str(proved)})
    (study,) = (tmp_path / "my-workspace" / "results").iterdir()
    assert f"locked: 4 forms of ada; scripted, {MARK}" in said
    assert "material disagreement on 1 of 4 submissions" in said
    assert "4 submissions scored, 1 by the adjudicator" in said
    assert "not asked which arms they saw: grace" in said
    assert f"PROVISIONAL: {REHEARSAL}" in said
    assert "everything holds" in said
    scores = ReviewScores.model_validate_json((study / "review" / "scores.json").read_bytes())
    assert [(one.name, one.author.label) for one in scores.participants if one.author.mark == MARK] == [
        ("ada", "lenient"),
        ("grace", "strict"),
        ("edsger", "moderate"),
    ]
    assert scores.provisional_reason == REHEARSAL
    (judged,) = [one for one in scores.scores if one.source == "adjudicator"]
    assert [(one.what, one.apart) for one in judged.differences] == [("verification", 2)]
    assert (judged.cell.task, judged.cell.arm, judged.total) == ("invoice-rounding", "markskill", 92.5)
    assert decided(study / "report")[0].measure is Measure.CHECKS
    revised = study / "report" / "revision-2"
    for decision in decided(revised):
        assert (decision.measure, decision.preliminary) == (Measure.REHEARSAL, True)
        assert [clause.name for clause in decision.clauses] == list(ClauseName)
    primary = decided(revised)[0]
    assert (primary.arm, primary.outcome) == ("markskill", DecisionOutcome.INCONCLUSIVE)
    assert primary.clause(ClauseName.IMPROVEMENT).state is not ClauseState.HELD
    assert primary.clause(ClauseName.IMPROVEMENT).figures[0].value == Estimate(value=-3.75)
    text = (revised / "report.md").read_text()
    assert f"**Review by {REHEARSAL}. " in text
    assert text.count(f"Preliminary, from {REHEARSAL}: ") == text.count(f"Decided on: {REHEARSAL}") == 1


def decided(report: Path) -> list[Decision]:
    """The decisions of a report, the primary one first."""
    view = ReportView.model_validate_json((report / "report.json").read_bytes())
    return [item.decision for item in view.decisions]
