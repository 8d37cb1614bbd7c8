"""A pilot as a reader meets it: runs are missing, a review is unblinded, proofs and evidence are at hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from esac_ag.attempt import AttemptRecord, Cell, Outcome
from esac_ag.conduct.review_quality import quality_of
from esac_ag.manifest.package import CriticalFailure, Dimension, TaskPackage
from esac_ag.manifest.plan import AgentKind, Manifest, MaterialDisagreement, Phase
from esac_ag.report.evidence import EVIDENCE
from esac_ag.report.inputs import ReportInputs
from esac_ag.study.disagreement import differences
from esac_ag.study.forms import Form, FormSet, Sureness
from esac_ag.study.packets import Role
from esac_ag.study.scores import Guesses, ReviewScores, scores_of
from tests.builders_report import (
    ARMS,
    MANIFEST_SHA256,
    SEED,
    a_manifest,
    a_package,
    a_study,
    an_attempt,
    varied_score,
)
from tests.builders_review import a_form

TITLES = {
    "ownership": ("Round invoices where they are made", "Give stock one owner"),
    "architecture": ("Fix the export without a new layer", "Split the report from its transport"),
    "dependencies": ("Parse dates with what is there", "Take a library for time zones"),
    "front-end": ("Repair the broken form label", "Make the address dialogue work by keyboard"),
    "data-lifecycle": ("Keep upload names as they are", "Reserve stock for as long as an order lives"),
    "scope": ("Correct one total", "Carry a refund through the whole order workflow"),
}
TASKS = tuple(f"{family}-{contrast}" for family in TITLES for contrast in ("restraint", "expansion"))
CANDIDATE = ARMS[-1]
LOST = {Cell(task="scope-expansion", arm=CANDIDATE, repetition=one) for one in (1, 2, 3)} | {
    Cell(task="front-end-restraint", arm="neutral", repetition=3)
}
"""A task that the candidate has no run of, and a single run more."""
BROKEN = Cell(task="dependencies-expansion", arm="current-restraint", repetition=2)
"""The grader could not judge it."""
REVIEWERS = ("ada", "grace")


def a_pilot(**changes: Any) -> Manifest:  # noqa: ANN401  (arguments of `a_manifest`)
    """Twelve tasks, three arms, three repetitions."""
    given: dict[str, Any] = {"tasks": TASKS, "repetitions": 3, "phase": Phase.PRIMARY}
    return a_manifest(**given | changes)


def packages() -> dict[str, TaskPackage]:
    """A family, a contrast and a title for each task."""
    found = {}
    for task in TASKS:
        family, _, contrast = task.rpartition("-")
        title = TITLES[family][contrast == "expansion"]
        found[task] = a_package(task, title=title, family=family, contrast=contrast)
    return found


def a_pilot_with_gaps(**changes: Any) -> ReportInputs:  # noqa: ANN401  (arguments of `a_manifest`)
    """Four runs are missing, one could not be graded, one changed nothing, one launch was spoiled."""
    manifest = a_pilot(**changes)
    idle = Cell(task="scope-restraint", arm="neutral", repetition=1)

    def change(attempt: AttemptRecord) -> AttemptRecord:
        if attempt.cell != idle:
            return attempt
        nothing = attempt.costs.model_copy(update={"changed_lines": 0, "touched_files": 0})
        return attempt.model_copy(update={"costs": nothing})

    lost = Cell(task="front-end-restraint", arm="neutral", repetition=3)
    spoiled = an_attempt(lost, manifest, ordinal=1, outcome=Outcome.INFRA, reason="the engine went away")
    study = a_study(
        lambda cell: None if cell in LOST else varied_score(cell),
        manifest=manifest,
        packages=packages(),
        invalid=lambda cell: cell == BROKEN,
        change=change,
        spoiled=[spoiled],
        deviations=("The study was paused for a day.",),
    )
    return replace(
        study,
        untouched=dict.fromkeys(TASKS[1:], ("check-3", "check-4", "check-8")),
        evidence={attempt.attempt_id: tuple(EVIDENCE) for attempt in study.attempts}
        | {spoiled.attempt_id: ("attempt.json",)},
    )


@cache
def a_reviewed_pilot() -> ReportInputs:
    """The same once its review was unblinded: two people and an adjudicator."""
    return reviewed_by_forms(a_pilot_with_gaps())


def a_small_reviewed_pilot() -> ReportInputs:
    """All of that on four tasks, by a scripted agent: whatever a page can hold is in its page."""
    tasks = ("dependencies-expansion", "front-end-restraint", "scope-restraint", "scope-expansion")
    return reviewed_by_forms(a_pilot_with_gaps(tasks=tasks, agent=AgentKind.SCRIPTED))


def reviewed_by_forms(study: ReportInputs) -> ReportInputs:
    """A study with the scores of a whole review of every attempt that counts."""
    cells = {attempt_id: cell for cell, attempt_id in study.counting.items()}
    review = a_review(study.manifest, cells)
    return replace(study, review=review, quality=quality_of(review))


def a_review(manifest: Manifest, cells: Mapping[str, Cell]) -> ReviewScores:
    """Reviewers differ by a point here and there, and by more on a few submissions."""
    rule = MaterialDisagreement()
    labels = {
        name: {f"p-{number}": attempt for number, attempt in enumerate(cells, start=1)}
        for name in (*REVIEWERS, "third")
    }
    forms = {
        name: [_form(name, label, cells[one]) for label, one in labels[name].items()] for name in REVIEWERS
    }
    apart = [
        mine.label
        for mine, other in zip(forms[REVIEWERS[0]], forms[REVIEWERS[1]], strict=True)
        if differences([mine, other], rule)
    ]
    forms["third"] = [a_form(label, 2) for label in apart]
    return scores_of(
        study_id=manifest.study_id,
        manifest_sha256=MANIFEST_SHA256,
        cells=cells,
        form_sets=[
            FormSet(
                format_version=1,
                reviewer=name,
                role=Role.REVIEWER if name in REVIEWERS else Role.ADJUDICATOR,
                forms=tuple(own),
            )
            for name, own in forms.items()
        ],
        labels=labels,
        guesses={name: _guesses(name, labels[name], cells) for name in REVIEWERS},
        rule=rule,
        seed=SEED,
    )


def _form(name: str, label: str, cell: Cell) -> Form:
    number = sum(map(ord, f"{cell.task}{cell.arm}")) + cell.repetition
    base = 2 + (cell.arm == CANDIDATE) * (number % 3 > 0)
    off = (name == REVIEWERS[1]) * (number % 4 == 0)
    far = (name == REVIEWERS[1]) * (number % 17 == 0)
    scores = {
        dimension: min(4, base + off * (place % 2) + 2 * far * (place == 0))
        for place, dimension in enumerate(Dimension)
    }
    critical = (CriticalFailure.DATA_LOSS.value,) if number % 23 == 0 else ()
    return a_form(label, base, scores=scores, critical=critical, sureness=Sureness.LOW)


def _guesses(name: str, labels: Mapping[str, str], cells: Mapping[str, Cell]) -> Guesses:
    """Every third packet is guessed, as often right as chance has it."""
    asked = {
        label: ARMS[number % len(ARMS)] if number % 3 == 0 else None
        for number, label in enumerate(labels, start=1)
    }
    return Guesses(format_version=1, reviewer=name, guesses=asked)


def a_scripted_pilot() -> ReportInputs:
    """The same by a scripted agent, without a review or prices."""
    return a_pilot_with_gaps(agent=AgentKind.SCRIPTED, prices=False)
