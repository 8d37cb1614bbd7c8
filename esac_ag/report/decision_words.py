"""A decision in words that Markdown, CSV and pages share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from esac_ag.report.numbers import NOT_ESTIMABLE
from esac_ag.statistics.estimates import Estimate
from esac_ag.study.decision import REJECTING
from esac_ag.study.decision_records import Clause, ClauseName, ClauseState, DecisionOutcome, Figure
from esac_ag.study.evidence import Measure
from esac_ag.study.forms import REHEARSAL

CLAUSE_TITLES = {
    ClauseName.REPRODUCED_CRITICAL: "Reproduced new critical failure",
    ClauseName.UNDER_SCOPING: "Systematic under-scoping",
    ClauseName.RESTRUCTURING: "Systematic needless restructuring",
    ClauseName.FAMILY_REGRESSION: "Regression in a family",
    ClauseName.IMPROVEMENT: "Improvement across families",
    ClauseName.NEW_CRITICAL: "Any new critical failure",
    ClauseName.CORRECTNESS_LOSS: "Material loss of correctness",
    ClauseName.BURDEN: "Burden without quality",
}
CLAUSE_EFFECTS = {
    **dict.fromkeys(REJECTING, "bad for the arm: rejects it on its own"),
    ClauseName.IMPROVEMENT: "good for the arm: without it there is no benefit",
    ClauseName.NEW_CRITICAL: "bad for the arm: forbids a benefit, and rejects it only if reproduced",
    ClauseName.CORRECTNESS_LOSS: "bad for the arm: forbids a benefit",
    ClauseName.BURDEN: "bad for the arm: neutral is preferred, if nothing else decides",
}
"""What it means that a clause held; one that did not hold means nothing of the kind."""
MEASURE_WORDS = {
    Measure.QUALITY: "quality scores of the blinded review",
    Measure.CHECKS: "check scores; the protocol decides on quality scores",
    Measure.REHEARSAL: REHEARSAL,
}


def outcome_words(outcome: DecisionOutcome, *, preliminary: bool) -> str:
    """The outcome as a reader sees it."""
    match outcome:
        case DecisionOutcome.REJECT:
            words = "reject or revise"
        case DecisionOutcome.BENEFIT:
            words = "provisional benefit"
        case DecisionOutcome.INCONCLUSIVE:
            words = "inconclusive"
        case DecisionOutcome.NEUTRAL:
            words = "prefer neutral"
        case _:
            assert_never(outcome)
    return f"{words} (preliminary)" if preliminary else words


def state_words(state: ClauseState) -> str:
    """Whether a clause held, as a reader sees it."""
    match state:
        case ClauseState.HELD:
            return "held"
        case ClauseState.NOT_HELD:
            return "did not hold"
        case ClauseState.NOT_ESTIMABLE:
            return NOT_ESTIMABLE
        case _:
            assert_never(state)


def clause_attempts(clauses: Sequence[Clause]) -> dict[tuple[str, ...], list[str]]:
    """Attempts that show something, each once, by the titles of the clauses that they are shown for."""
    titles: dict[str, list[str]] = {}
    for clause in clauses:
        for attempt in clause.attempts:
            titles.setdefault(attempt, []).append(CLAUSE_TITLES[clause.name])
    found: dict[tuple[str, ...], list[str]] = {}
    for attempt, names in titles.items():
        found.setdefault(tuple(dict.fromkeys(names)), []).append(attempt)
    return found


def figure_words(figure: Figure) -> str:
    """The number, and what it is measured against."""
    test = figure_test(figure)
    return f"{figure.what}: {figure_value(figure)}" + (f" ({test})" if test else "")


def figure_value(figure: Figure) -> str:
    """The number, or that there is none and why."""
    if isinstance(figure.value, Estimate):
        return f"{figure.value.value:.4g}"
    return f"{NOT_ESTIMABLE}: {figure.value.reason}"


def figure_test(figure: Figure) -> str:
    """What the number is measured against; empty when it decides nothing."""
    return "" if figure.threshold is None else f"{figure.test} {figure.threshold:.4g}"
