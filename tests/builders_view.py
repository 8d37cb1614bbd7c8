"""A folder of results to look at: a study, one that was cut off, a suite run, and what is broken."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from esac_ag.artifacts import StudyFolder
from esac_ag.attempt import Cell
from esac_ag.conduct.reporting import write_report
from esac_ag.conduct.suite_results import write_suite_reports
from esac_ag.conduct.view_results import Results
from esac_ag.ledger import read_state
from esac_ag.pages.guard import Secrets
from esac_ag.pages.serving import PageServer
from esac_ag.pages.viewer import Viewer
from tests.builders_conduct import a_runnable_study, folder_of, run
from tests.builders_suite_run import a_sealed_run

ITEM = "tool-call-refund"
HOSTILE = "<script>document.title = 'owned'</script> <b>bold</b> \u202egnp.exe\u2069 \x00\x1b[31m"
BOOK: dict[str, Any] = {
    "format_version": 1,
    "tasks": {
        "*": {
            "plays": {
                "right": [{"do": "run", "argv": ["touch", "fixed.txt"]}, {"do": "say", "text": HOSTILE}],
                "wrong": [{"do": "say", "text": "done"}],
            },
            "arms": {"neutral": {"wrong": 1}, "careful": {"right": 1}},
        }
    },
}
"""The bundle's arm repairs everything and writes what a page must not take for its own."""
REPORT_PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>A report</title><link rel="icon" href="data:,">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>h1 { color: rgb(1, 2, 3) }</style></head>
<body><main><h1>Report</h1><p><a href="../attempts/ATTEMPT/patch.diff">the diff</a>
<a href="../attempts/ATTEMPT/">the attempt</a></p></main></body></html>
"""


@dataclass(frozen=True, slots=True)
class Shown:
    """A folder of results."""

    path: Path

    @property
    def study(self) -> StudyFolder:
        """The finished study."""
        return StudyFolder(self.path / "study-1")

    def attempt(self, arm: str = "careful", task: str = "task-1", repetition: int = 1) -> str:
        """Id of the finished study's attempt at a cell."""
        state = read_state(self.study.ledger).counting(Cell(task=task, arm=arm, repetition=repetition))
        assert state is not None
        return state.attempt_id

    def copy_of_study(self, results: Path, name: str = "study-1") -> StudyFolder:
        """The finished study in another folder of results, to be changed."""
        shutil.copytree(self.study.path, results / name)
        return StudyFolder(results / name)


def some_results(folder: Path) -> Shown:
    """Results of four kinds.

    `study-1` is finished and reported, `cut-off` has 3 of 8 cells, `suite-run-1` is a suite run, `notes` is
    no study, and `damaged` has a ledger that does not verify.
    """
    results = folder / "results"
    study = a_runnable_study(folder / "study", book=BOOK, repetitions=1)
    run(study, limit=3)
    shutil.copytree(folder_of(study).path, results / "cut-off")
    run(study)
    write_report(folder_of(study).path)
    shutil.copytree(folder_of(study).path, results / "study-1")
    suite = a_sealed_run(folder / "suite", ITEM)
    suite.run()
    write_suite_reports(suite.folder.path)
    shutil.copytree(suite.folder.path, results / "suite-run-1")
    (results / "notes").mkdir()
    shutil.copytree(results / "cut-off", results / "damaged")
    ledger = results / "damaged" / "ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b"completed", b"cancelled", 1))
    shown = Shown(results)
    page = REPORT_PAGE.replace("ATTEMPT", shown.attempt())
    (shown.study.report / "report.html").write_text(page)
    return shown


@contextmanager
def served(path: Path) -> Iterator[PageServer]:
    """The pages of a folder of results on a real server."""
    with (
        closing(Results(path)) as results,
        PageServer(Viewer(results).application(), Secrets(), reads_only=True) as server,
    ):
        yield server
