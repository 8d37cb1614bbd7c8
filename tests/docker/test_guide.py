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

from tests.builders_compare import MODEL, WorkingServer

pytestmark = [pytest.mark.docker, pytest.mark.slow]

ROOT = Path(__file__).parent.parent.parent
IN_PLACE = {
    "images build --agent codex": "images build",
    "--tasks tasks -k 3": "--tasks invoice-rounding -k 1",
    "--agent codex": "--agent chat --repeats 1",
}
"""What the test does in place of the guide's words: our own loop in place of a program, and fewer runs."""


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
    files = {"report.md", "report.json", "report.csv", "decision.csv", "sensitivity.csv"}
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
