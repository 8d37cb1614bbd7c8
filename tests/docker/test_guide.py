"""The guide's commands, run as a reader would run them, from an empty folder to a report."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.docker, pytest.mark.slow]

GUIDE = Path(__file__).parent.parent.parent / "docs" / "study.md"


@pytest.mark.usefixtures("agent_image")
def test_the_guide_leads_from_a_skill_to_a_report(tmp_path: Path) -> None:
    """Every `sh` block of docs/study.md works, in order, in one shell that stops at the first failure."""
    script = "\n".join(re.findall(r"```sh\n(.*?)```", GUIDE.read_text(), re.DOTALL))
    tools = str(Path(sys.executable).parent)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = tmp_path / "my-workspace" / "results" / "rehearsal" / "report"
    names = {"report.md", "report.json", "report.csv", "sensitivity.csv"}
    assert {path.name for path in report.iterdir()} == names
    assert "everything holds" in done.stdout
    assert "scripted" in (report / "report.md").read_text().lower()
