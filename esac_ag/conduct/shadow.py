"""Shadow mode: what became of real tasks on which a bundle was in use, noted later and for ever."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

from esac_ag.artifacts import StudyFolder
from esac_ag.attempt import Count
from esac_ag.attempt.events import ShadowNoted
from esac_ag.conduct.collect import read_study
from esac_ag.errors import UsageError
from esac_ag.ledger import open_ledger
from esac_ag.plural import plural
from esac_ag.record import Record
from esac_ag.statistics.aggregate import mean
from esac_ag.statistics.estimates import MaybeEstimate, NotEstimable

MOST_TEXT = 2000
BOUNDARY = (
    "Notes of real tasks are no experiment: nobody assigned the tasks to the bundles, so bundles are not "
    "compared by them."
)


class ShadowLog(Record):
    """Every note of a study, in the order that they were made."""

    study: str
    notes: tuple[ShadowNoted, ...]


class ShadowArm(Record):
    """The notes on one bundle."""

    arm: str
    notes: Count
    tasks: Count
    """Different real tasks."""
    with_missed: Count
    """Notes with a missed requirement."""
    missed: Count
    """Missed requirements in all."""
    minutes_known: Count
    rework_minutes: MaybeEstimate
    """Mean over the notes that tell it."""
    lines_known: Count
    rework_lines: MaybeEstimate


class ShadowReport(Record):
    """What the notes come to."""

    study: str
    boundary: str
    arms: tuple[ShadowArm, ...]
    """In the manifest's order; arms without a note have counts of zero and no means."""


def add_shadow(path: Path, note: ShadowNoted) -> ShadowLog:
    """Add a note to a study's ledger; notes are never changed, a later one corrects an earlier one.

    Raises:
        UsageError: the arm is not the study's, nothing is told of rework, or the date is none.
        InputRefused, LedgerCorrupt: the folder holds no study that verifies.
        StudyBusy: a harness works on the study.
    """
    study = read_study(path)
    _refuse_note(note, [arm.id for arm in study.manifest.arms])
    with open_ledger(StudyFolder(path).ledger) as ledger:
        ledger.append(note)
        return ShadowLog(study=study.manifest.study_id, notes=tuple(ledger.state.shadow))


def _refuse_note(note: ShadowNoted, arms: list[str]) -> None:
    if note.arm not in arms:
        raise UsageError(
            "The study has no such arm.", where="--arm", expected=" or ".join(arms), found=note.arm
        )
    if note.rework_minutes is None and note.rework_lines is None:
        raise UsageError(
            "The note tells nothing of rework.",
            expected="--rework-minutes or --rework-lines; 0 if none was needed",
            remedy="wait until it is known, and note it then",
        )
    if any(len(text) > MOST_TEXT for text in (note.task, note.by, *note.missed)):
        raise UsageError("A text of the note is too long.", expected=f"at most {MOST_TEXT} characters each")


def day_of(text: str) -> str:
    """A calendar day.

    Raises:
        UsageError: it is none.
    """
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
            return date.fromisoformat(text).isoformat()
    except ValueError:
        pass
    raise UsageError("The date is none.", where="--date", expected="YYYY-MM-DD", found=text)


def shadow_log(path: Path) -> ShadowLog:
    """Every note of a study.

    Raises:
        InputRefused, LedgerCorrupt: the folder holds no study that verifies.
    """
    study = read_study(path)
    return ShadowLog(study=study.manifest.study_id, notes=tuple(study.state.shadow))


def shadow_report(path: Path) -> ShadowReport:
    """What the notes of a study come to, by bundle.

    Raises:
        InputRefused, LedgerCorrupt: the folder holds no study that verifies.
    """
    study = read_study(path)
    notes = study.state.shadow
    return ShadowReport(
        study=study.manifest.study_id,
        boundary=BOUNDARY,
        arms=tuple(
            _arm(arm.id, [note for note in notes if note.arm == arm.id]) for arm in study.manifest.arms
        ),
    )


def _arm(arm: str, notes: list[ShadowNoted]) -> ShadowArm:
    minutes = [note.rework_minutes for note in notes if note.rework_minutes is not None]
    lines = [float(note.rework_lines) for note in notes if note.rework_lines is not None]
    unknown = NotEstimable(reason=f"known for none of {plural(len(notes), 'note')}")
    return ShadowArm(
        arm=arm,
        notes=len(notes),
        tasks=len({note.task for note in notes}),
        with_missed=sum(bool(note.missed) for note in notes),
        missed=sum(len(note.missed) for note in notes),
        minutes_known=len(minutes),
        rework_minutes=mean(minutes, unknown),
        lines_known=len(lines),
        rework_lines=mean(lines, unknown),
    )
