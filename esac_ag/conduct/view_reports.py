"""The reports that lie in a study's folder, and what the newest one answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from esac_ag.attempt.events import FIRST_REVISION, ReportRevised
from esac_ag.conduct.suite import REPORT_CAP_BYTES
from esac_ag.conduct.view_look import StudyLook
from esac_ag.conduct.view_plan import PlanKind
from esac_ag.errors import HarnessError
from esac_ag.report.suite_machine import read_suite_json
from esac_ag.report.suite_words import total_words
from esac_ag.rooms.beneath import files_beneath, open_beneath, read_beneath
from esac_ag.rooms.reading import CannotRead

REPORT: Final = "report"
MOST_FILES: Final = 2_000
ANSWER_CAP_BYTES: Final = 100_000
SUITE_REPORT: Final = "suite-report.json"

# Reports are written with sorted keys, so that the answer comes first, however long the rest is.
_ANSWER: Final = re.compile(rb'\A\{"answer":("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True, slots=True)
class ReportLook:
    """One report, or one revision of it."""

    number: int
    """1 is the first one."""
    reason: str
    """Why it revises the one before it; empty for the first one."""
    at: str
    """When it was revised; empty for the first one."""
    files: tuple[str, ...]
    """Paths below the study's folder."""

    @property
    def pages(self) -> tuple[str, ...]:
        """Those that are read in a browser."""
        return tuple(path for path in self.files if path.endswith(".html"))


def reports_of(look: StudyLook) -> tuple[ReportLook, ...]:
    """The reports of a study, the newest first; none where no file of one is there."""
    found = tuple(files_beneath(look.folder.path, REPORT, most=MOST_FILES))
    told: list[ReportRevised | None] = [None, *look.revisions]
    return tuple(one for one in reversed(tuple(_reports(found, told))) if one.files)


def _reports(found: Sequence[str], told: Sequence[ReportRevised | None]) -> Iterator[ReportLook]:
    later = tuple(f"revision-{number}/" for number in range(FIRST_REVISION, len(told) + 1))
    for number, revision in enumerate(told, start=1):
        own = f"revision-{number}/"
        mine = [
            name for name in found if (name.startswith(own) if number > 1 else not name.startswith(later))
        ]
        yield ReportLook(
            number=number,
            reason="" if revision is None else revision.reason,
            at="" if revision is None else revision.at,
            files=tuple(f"{REPORT}/{name}" for name in mine),
        )


def answer_of(look: StudyLook, reports: Sequence[ReportLook]) -> tuple[str, ...]:
    """What the newest report answers, a sentence each; nothing where there is none, or it cannot be read."""
    if not reports:
        return ()
    try:
        if look.plan.kind is PlanKind.STUDY:
            return _study_answer(look, reports[0])
        return tuple(_suite_answers(look, reports[0]))
    except (CannotRead, HarnessError, ValueError):
        return ()


def _study_answer(look: StudyLook, report: ReportLook) -> tuple[str, ...]:
    path = next((path for path in report.files if path.endswith("/report.json")), None)
    if path is None:
        return ()
    with open_beneath(look.folder.path, path) as file:
        found = _ANSWER.match(file.read(ANSWER_CAP_BYTES))
    return () if found is None else (str(json.loads(found[1])),)


def _suite_answers(look: StudyLook, report: ReportLook) -> Iterator[str]:
    for path in report.files:
        if path.endswith(f"/{SUITE_REPORT}"):
            data = read_beneath(look.folder.path, path, cap_bytes=REPORT_CAP_BYTES)
            view = read_suite_json(data, path)
            arm = f"{view.header.arm}: " if view.header.arm else ""
            yield f"{arm}{view.decision.verdict}, {total_words(view)}"
