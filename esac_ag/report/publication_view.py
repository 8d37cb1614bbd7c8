"""The records of a publication bundle: what was published of a study, and what was withheld."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field

from esac_ag.attempt import GradingStatus, Outcome
from esac_ag.attempt.events import ArmStopped, ReportRevised
from esac_ag.manifest.plan import Harness, Image, Model, SuiteName
from esac_ag.record import Record, Sha256
from esac_ag.report.view import AttemptRow, RunState

README: Final = "README.md"
STUDY: Final = "study.json"
MANIFEST: Final = "manifest.json"
SCHEDULE: Final = "schedule.json"
TASKS: Final = "tasks.json"
LEDGER: Final = "ledger.jsonl"
ATTEMPTS_JSON: Final = "attempts.json"
ATTEMPTS_CSV: Final = "attempts.csv"
LINEAGE: Final = "lineage.json"
CORRECTIONS: Final = "corrections.json"
SCORES: Final = "review/scores.json"
SUMS: Final = "SHA256SUMS"
"""Files of a bundle."""
ALWAYS: Final = (
    README,
    STUDY,
    MANIFEST,
    SCHEDULE,
    TASKS,
    LEDGER,
    ATTEMPTS_JSON,
    ATTEMPTS_CSV,
    LINEAGE,
    CORRECTIONS,
)
"""Those that every bundle has, beside its list of digests and the report."""

WITHHELD: Final = "withheld"
"""Stands in the place of a text that is withheld."""


class Part(StrEnum):
    """What is published on request only."""

    PATCHES = "patches"
    TRANSCRIPTS = "transcripts"
    ARMS = "arms"
    TASKS = "tasks"
    RATIONALES = "rationales"


class PublishedAttempt(AttemptRow):
    """One attempt that ended, with the digests of all that it left."""

    spoiled_gradings: int
    """Gradings that the infrastructure spoiled; each was done again."""
    artifacts: dict[str, Sha256]
    """Of every file of the attempt, by name, as the ledger has them; most files are private."""


class LineageAttempt(Record):
    """One launch of a cell, and what became of it."""

    attempt_id: str
    ordinal: int
    outcome: Outcome | None
    """Null where a crash cut it off, or it is at work."""
    reason: str
    grading: GradingStatus | None
    spoiled_gradings: tuple[str, ...]
    """Why each grading that the infrastructure spoiled was done again."""
    counts: bool
    then: str
    """What followed, in words."""


class CellLineage(Record):
    """All launches of one planned cell, in order, and which one counts."""

    task: str
    arm: str
    repetition: int
    state: RunState
    counting: str | None
    attempts: tuple[LineageAttempt, ...]


class Corrections(Record):
    """What was corrected, stopped or interrupted after the plan was sealed."""

    format_version: Literal[1] = 1
    revisions: tuple[ReportRevised, ...]
    """Reports after the first one, with reason and digests of themselves and of the one before."""
    stopped: tuple[ArmStopped, ...]
    pauses: tuple[str, ...]
    """Why the study paused, each time."""
    recovered_lines: int
    """Lines of the ledger that a crash tore; they were moved aside and never counted."""


class LedgerHead(Record):
    """Where the published ledger ends."""

    sha256: Sha256
    """Of the last line of the original."""
    lines: int
    withheld_lines: int
    """Lines of which something is withheld; their digests are claims that the next line confirms."""


class PublishedArm(Record):
    """An arm by its digest."""

    id: str
    kind: str
    bundle_sha256: Sha256 | None
    """Tree hash of the bundle; null for the control."""
    files: int


class PublishedReport(Record):
    """One report by its files."""

    number: int
    """1 is the first one."""
    at: str | None
    reason: str
    files: dict[str, Sha256]
    """By path in the bundle."""


class ReviewStanding(StrEnum):
    """What the bundle has of a blinded review."""

    NONE = "none"
    """No review was prepared."""
    NAMED = "named"
    """Unblinded, with the reviewers' names."""
    PSEUDONYMS = "pseudonyms"
    """Unblinded, with pseudonyms; the original file's digest is in the ledger."""


class PublishedReview(Record):
    """The review in the bundle."""

    standing: ReviewStanding
    scores_sha256: Sha256 | None
    """Of the original `review/scores.json`, as the ledger has it."""
    provisional: bool
    """Whether a model filled in any form."""


class Withheld(Record):
    """Something that the study's owner has and the bundle has not."""

    what: str
    why: str
    digests: str
    """Where the bundle has digests of it; empty where it has none."""


class PublishedStudy(Record):
    """The bundle's own account of itself (`study.json`)."""

    format_version: Literal[1] = 1
    written_by: str
    """Version of the harness that wrote the bundle."""
    kind: SuiteName
    study_id: str
    phase: str | None
    """Null for a suite run."""
    held_out: bool
    """Whether tasks or instances have to stay private, because they are to test again."""
    finished: bool
    """Whether every planned cell was done or stopped by rule; an unfinished study is published as such."""
    model: Model
    agent_kind: str
    """`scripted`: evidence about no model."""
    manifest_sha256: Sha256
    schedule_sha256: Sha256
    tasks_sha256: Sha256
    ledger: LedgerHead
    harness: Harness
    images: dict[str, Image]
    arms: tuple[PublishedArm, ...]
    planned: Annotated[int, Field(ge=0)]
    attempts: Annotated[int, Field(ge=0)]
    reports: tuple[PublishedReport, ...]
    review: PublishedReview
    parts: tuple[Part, ...]
    left_out: tuple[str, ...]
    """Files of these parts that were left out by wish."""
    withheld: tuple[Withheld, ...]

    def leaves_out(self, path: str) -> bool:
        """Whether a file of an included part was left out by wish."""
        return any(lies_at(path, name) for name in self.left_out)


def lies_at(path: str, name: str) -> bool:
    """Whether a path in the bundle is that one, or lies below it."""
    return path == name or path.startswith(f"{name}/")
