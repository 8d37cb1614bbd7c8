"""Inputs that contradict each other are refused: a report of mixed-up studies would be believed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from esac_ag.attempt import AttemptRecord, Cell, Outcome
from esac_ag.errors import InputRefused
from esac_ag.manifest.plan import AgentKind, Comparison
from esac_ag.report.build import build_view
from esac_ag.report.inputs import LedgerSummary, ReportInputs, SpoiledAttempt
from tests.builders_report import a_study, varied_score

ELSEWHERE = Cell(task="elsewhere", arm="neutral", repetition=1)


def first_changed(**update: object) -> Callable[[ReportInputs], ReportInputs]:
    """An edit of the study's first attempt."""

    def change(study: ReportInputs) -> ReportInputs:
        first, *others = study.attempts
        return replace(study, attempts=(first.model_copy(update=update), *others))

    return change


def first_grading_changed(**update: Any) -> Callable[[ReportInputs], ReportInputs]:  # noqa: ANN401
    """An edit of the first attempt's grading."""

    def change(study: ReportInputs) -> ReportInputs:
        key = study.attempts[0].attempt_id
        return replace(study, gradings={**study.gradings, key: replace(study.gradings[key], **update)})

    return change


def counting_changed(edit: Callable[[dict[Cell, str]], None]) -> Callable[[ReportInputs], ReportInputs]:
    """An edit of which attempts count."""

    def change(study: ReportInputs) -> ReportInputs:
        counting = dict(study.counting)
        edit(counting)
        return replace(study, counting=counting)

    return change


def all_count_the_same(counting: dict[Cell, str]) -> None:
    """Point every cell at one attempt."""
    one = next(iter(counting.values()))
    counting.update(dict.fromkeys(counting, one))


def primary_control(study: ReportInputs, control: str) -> ReportInputs:
    """The study with another control in its manifest."""
    analysis = study.manifest.analysis.model_copy(
        update={"primary_comparison": Comparison(arm="markskill", control=control)}
    )
    return replace(study, manifest=study.manifest.model_copy(update={"analysis": analysis}))


def twice(attempts: tuple[AttemptRecord, ...]) -> tuple[AttemptRecord, ...]:
    """The first attempt once more."""
    return (*attempts, attempts[0])


CONTRADICTIONS: dict[str, Callable[[ReportInputs], ReportInputs]] = {
    "an attempt of another manifest": first_changed(manifest_sha256="0" * 64),
    "an attempt of another kind of agent": first_changed(agent_kind=AgentKind.SCRIPTED),
    "an attempt of an unplanned cell": first_changed(cell=ELSEWHERE),
    "a spoiled attempt that counts": first_changed(outcome=Outcome.INFRA),
    "an attempt without the submission that was graded": first_changed(submission=None),
    "an attempt id twice": lambda study: replace(study, attempts=twice(study.attempts)),
    "a grading of another attempt": first_grading_changed(attempt_id="other"),
    "a grading of another task": first_grading_changed(task_id="other"),
    "a grading of another submission": first_grading_changed(submission_tree_sha256="0" * 64),
    "a grading under another manifest": first_grading_changed(manifest_sha256="0" * 64),
    "a grading without its attempt": lambda study: replace(study, attempts=study.attempts[1:], counting={}),
    "an unknown attempt that counts": counting_changed(
        lambda counting: counting.update(dict.fromkeys(counting, "x"))
    ),
    "one attempt that counts for all cells": counting_changed(all_count_the_same),
    "a counting attempt of an unplanned cell": counting_changed(
        lambda counting: counting.update({ELSEWHERE: "x"})
    ),
    "a spoiled attempt of an unplanned cell": lambda study: replace(
        study,
        ledger=LedgerSummary(
            spoiled=(SpoiledAttempt(attempt_id="x", cell=ELSEWHERE, outcome=Outcome.INFRA, reason="lost"),)
        ),
    ),
    "a schedule with a cell too few": lambda study: replace(study, planned=study.planned[1:]),
    "a task without a package": lambda study: replace(study, tasks={}),
    "a control that is no arm": lambda study: primary_control(study, "unheard-of"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_contradiction_is_refused(name: str) -> None:
    """Every contradiction is an error with place, expectation and remedy."""
    study = CONTRADICTIONS[name](a_study(varied_score))
    with pytest.raises(InputRefused) as caught:
        build_view(study)
    assert caught.value.where
    assert caught.value.expected
    assert caught.value.found
    assert "audit" in caught.value.remedy


def test_the_builders_study_is_accepted() -> None:
    """The refusals above are due to their contradictions."""
    assert len(build_view(a_study(varied_score)).attempts) == 24
