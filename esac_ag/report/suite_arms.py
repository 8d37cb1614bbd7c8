"""Instruction bundles compared on the suite: each arm beside the control, paired by item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final, Literal, assert_never

from esac_ag.manifest.plan import NEUTRAL, Interval
from esac_ag.plural import plural
from esac_ag.record import Identifier, Record
from esac_ag.report.numbers import interval_words, maybe_points
from esac_ag.report.suite_compare import SuiteComparison, compare_reports, render_comparison_text
from esac_ag.report.suite_text import wrapped
from esac_ag.report.suite_view import SuiteView
from esac_ag.report.words import FEW_TASKS, pairing_words, sign_flip_words
from esac_ag.statistics.comparison import compare
from esac_ag.statistics.estimates import IntervalEstimate, NotEstimable, SignFlipReference, estimate
from esac_ag.statistics.pairs import PairedComparison, TaskPair, pair

UNIT: Final = (
    "The items are the tasks of this comparison, each counting once. The interval tells of other items like "
    "these, not of other runs of the same ones."
)


class Effect(StrEnum):
    """What an arm does to the score, as far as the interval tells."""

    HELPS = "helps"
    HURTS = "hurts"
    UNCLEAR = "cannot tell"


class SuiteArm(Record):
    """One arm against the control, on the same instances."""

    arm: Identifier
    control: Identifier
    effect: Effect
    answer: str
    """Whether the arm helps, and why, in one sentence."""
    figures: SuiteComparison
    """Control (a) and arm (b) side by side, named by their ids."""
    items: tuple[TaskPair, ...]
    """Paired differences of item percentages; the item is the unit."""
    overall: PairedComparison
    """The mean over items, each counting once: categories' points do not weigh here."""
    words: tuple[str, ...]
    """The outcome, and what a reader must know of it."""


class SuiteArms(Record):
    """Every arm of a suite run against the control; schema: `manifests/schema/suite-arms-v1.schema.json`."""

    format_version: Literal[1]
    agent: str
    """What acted, in words; names scripted policies as such."""
    notices: tuple[str, ...]
    arms: tuple[SuiteArm, ...]


def build_suite_arms(views: Mapping[str, SuiteView], planned: Sequence[str], seed: str) -> SuiteArms:
    """Compare every arm with the control.

    Args:
        views: one for each arm, the control among them.
        planned: ids of the plan's items; the suite's others are no missing runs.
        seed: of the intervals' bootstrap.
    """
    control = views[NEUTRAL]
    interval = Interval(seed=seed)
    return SuiteArms(
        format_version=1,
        agent=control.header.agent,
        notices=control.notices,
        arms=tuple(
            _arm(arm, view, control, planned, interval) for arm, view in views.items() if arm != NEUTRAL
        ),
    )


def _arm(
    arm: str, view: SuiteView, control: SuiteView, planned: Sequence[str], interval: Interval
) -> SuiteArm:
    percents = _percents(view), _percents(control)
    pairs = tuple(
        pair(item.id, percents[0][item.id], percents[1][item.id], 1)
        for item in control.items
        if item.id in planned
    )
    overall = compare(pairs, interval, (arm, NEUTRAL))
    effect, answer = _answer(arm, overall)
    mean, ends = maybe_points(overall.mean, signed=True), interval_words(overall.interval)
    return SuiteArm(
        arm=arm,
        control=NEUTRAL,
        effect=effect,
        answer=answer,
        figures=compare_reports(control, view, (NEUTRAL, arm)),
        items=pairs,
        overall=overall,
        words=(
            f"{arm} minus {NEUTRAL}, mean over items: {mean} points of 100; 95 % interval: {ends}.",
            *pairing_words(arm, NEUTRAL, overall),
            *([sign_flip_words(overall)] if isinstance(overall.sign_flip, SignFlipReference) else []),
            UNIT,
        ),
    )


def _answer(arm: str, result: PairedComparison) -> tuple[Effect, str]:
    effect, why = _effect(result)
    match effect:
        case Effect.HELPS | Effect.HURTS:
            return effect, f"{arm} {effect}: {why}."
        case Effect.UNCLEAR:
            return effect, f"Whether {arm} helps or hurts cannot be told from this run: {why}."
        case _:
            assert_never(effect)


def _effect(result: PairedComparison) -> tuple[Effect, str]:
    """The effect and its reason; few items and runs without a score leave it open, whatever the interval."""
    paired = plural(result.tasks_paired, "item")
    if result.mean == result.sd == estimate(0):
        return Effect.UNCLEAR, f"each of {paired} scored the same under {NEUTRAL}"
    if result.tasks_paired < FEW_TASKS:
        return Effect.UNCLEAR, f"{paired} can be paired, and a claim needs at least {FEW_TASKS}"
    match result.interval:
        case NotEstimable(reason=reason):
            return Effect.UNCLEAR, f"the interval is not estimable ({reason})"
        case IntervalEstimate() as interval:
            return _by_interval(interval, result)
        case _:
            assert_never(result.interval)


def _by_interval(interval: IntervalEstimate, result: PairedComparison) -> tuple[Effect, str]:
    ends = (
        f"the 95 % interval of the mean difference from {NEUTRAL}, {interval_words(interval)} points of 100,"
    )
    # As shown: an end that reads 0.0 is not told from zero.
    low, high = round(interval.low, 1), round(interval.high, 1)
    if low <= 0 <= high:
        return Effect.UNCLEAR, f"{ends} is not clear of zero"
    if result.bounds.low <= 0 <= result.bounds.high:
        missing = plural(result.missing_runs, "planned run")
        return Effect.UNCLEAR, f"{missing} without a score could turn the mean difference's sign"
    if low > 0:
        return Effect.HELPS, f"{ends} lies above zero"
    return Effect.HURTS, f"{ends} lies below zero"


def _percents(view: SuiteView) -> dict[str, Sequence[float]]:
    """Each item's percentage, as a list of one; an empty one where the item did not run."""
    return {
        item.id: [] if item.fraction is None else [min(100.0, 100.0 * item.fraction)] for item in view.items
    }


def render_suite_arms_text(arms: SuiteArms) -> str:
    """The comparison for a terminal, ending in one line feed."""
    return "".join(f"{line}\n" for line in _text(arms))


def _text(arms: SuiteArms) -> Iterator[str]:
    yield from wrapped(arm.answer for arm in arms.arms)
    yield ""
    yield from wrapped(f"! {notice}" for notice in arms.notices)
    for arm in arms.arms:
        yield ""
        yield from wrapped(arm.words)
        yield ""
        yield from render_comparison_text(arm.figures).splitlines()
