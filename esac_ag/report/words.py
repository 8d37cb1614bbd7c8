"""What the numbers say and do not say, in plain sentences that cannot exceed the claim's boundary."""

from __future__ import annotations

from esac_ag.manifest.plan import MINIMUM_TASKS, AgentKind, Manifest, Phase
from esac_ag.plural import plural
from esac_ag.report.manipulation_text import manipulation_notice
from esac_ag.report.manipulation_view import ManipulationCheck
from esac_ag.report.numbers import interval_words, percent, signed_points
from esac_ag.report.review_view import ReviewResults
from esac_ag.report.view import ArmComparison, ArmCounts
from esac_ag.statistics.estimates import (
    Estimate,
    IntervalEstimate,
    NotEstimable,
    SignFlipReference,
)
from esac_ag.statistics.pairs import HIGHEST_SCORE, LOWEST_SCORE, PairedComparison
from esac_ag.study.forms import REHEARSAL

SCRIPTED_NOTICE = "Scripted replay: no evidence about any model"
WHOLE_RANGE = 2 * (HIGHEST_SCORE - LOWEST_SCORE)
FEW_TASKS = MINIMUM_TASKS[Phase.PRIMARY]


def notices(
    manifest: Manifest, counts: tuple[ArmCounts, ...], check: ManipulationCheck, *, is_rehearsed: bool = False
) -> tuple[str, ...]:
    """What a reader must know before any number.

    Args:
        manifest: of the study.
        counts: runs by arm.
        check: the manipulation check.
        is_rehearsed: whether a script filled in forms of the review.
    """
    found = []
    if manifest.agent.kind is AgentKind.SCRIPTED:
        found.append(
            f"{SCRIPTED_NOTICE}. The agent replayed files of actions, so the numbers show that the harness "
            "runs, and nothing else."
        )
    if is_rehearsed:
        found.append(
            f"Review by {REHEARSAL}. A program filled in forms of the review by fixed rules, "
            "so the decision shows that the way to it works, and nothing else."
        )
    counted = sum(item.planned - item.missing - item.stopped for item in counts)
    if said := manipulation_notice(check, manifest.agent.kind, counted):
        found.append(said)
    if manifest.phase is Phase.CALIBRATION:
        found.append(
            "Calibration: these runs serve to repair the harness and the graders, and are excluded "
            "from results."
        )
    if manifest.phase is Phase.SHADOW and len(manifest.tasks) < FEW_TASKS:
        found.append(
            f"A look at {plural(len(manifest.tasks), 'task')}, fewer than the {FEW_TASKS} of a scored pilot: "
            "it describes what happened on them, and supports no general claim."
        )
    found += [
        f"Stopped by rule: {item.arm}, for a critical failure that reproduced on a fresh run; "
        f"{plural(item.stopped, 'planned run')} of it were not launched."
        for item in counts
        if item.stopped
    ]
    if unchanged := [f"{item.unchanged} of {item.arm}" for item in counts if item.unchanged]:
        total = sum(item.unchanged for item in counts)
        found.append(
            f"{plural(total, 'run')} changed nothing ({', '.join(unchanged)}): "
            f"{'its submission is' if total == 1 else 'their submissions are'} the untouched snapshot."
        )
    without = sum(item.planned - item.graded for item in counts)
    if without:
        planned = sum(item.planned for item in counts)
        found.append(f"Incomplete: {without} of {planned} planned runs have no score.")
    return tuple(found)


def answer(
    manifest: Manifest, comparisons: tuple[ArmComparison, ...], review: ReviewResults | None = None
) -> str:
    """The primary comparison in a sentence or two for each kind of score.

    Args:
        manifest: of the study.
        comparisons: of check scores.
        review: once it was unblinded; its quality scores come first, for the protocol decides on them.
    """
    scripted = manifest.agent.kind is AgentKind.SCRIPTED
    parts = [f"{SCRIPTED_NOTICE}."] if scripted else []
    if review is not None:
        parts.append(_answer(manifest, review.comparisons, f"In quality by the review{review_mark(review)}"))
    if review is None or any(item.primary for item in comparisons):
        parts.append(_answer(manifest, comparisons, "On hidden checks"))
    return " ".join(parts)


def review_mark(review: ReviewResults) -> str:
    """What has to stand beside what a review found; nothing where people alone judged."""
    if review.is_rehearsal:
        return f" ({REHEARSAL})"
    return " (provisional)" if review.provisional else ""


def _answer(manifest: Manifest, comparisons: tuple[ArmComparison, ...], on: str) -> str:
    primary = next((item for item in comparisons if item.primary), None)
    if primary is None:
        return "The primary comparison is the control with itself: there is nothing to compare."
    result = primary.overall
    match result.mean:
        case NotEstimable(reason=reason):
            pair = f"{primary.arm} differs from {primary.control}"
            return f"{on}, whether {pair} is not estimable: {reason}."
        case Estimate(value=value):
            pass
    sentence = (
        f"{on}, {primary.arm} scored {_compared(value)} {primary.control} on average over "
        f"{plural(result.tasks_paired, 'paired task')}"
    )
    return sentence + _uncertainty(result, manifest.analysis.threshold_points)


def _compared(difference: float) -> str:
    if difference == 0:
        return "the same as"
    size = "less than 0.1" if abs(difference) < 0.1 else f"{abs(difference):.1f}"  # noqa: PLR2004
    return f"{size} points {'higher' if difference > 0 else 'lower'} than"


def _uncertainty(result: PairedComparison, threshold: float) -> str:
    match result.interval:
        case NotEstimable(reason=reason):
            return f"; how certain that is, is not estimable: {reason}."
        case IntervalEstimate() as interval:
            shown = f" ({percent(interval.confidence)} interval {interval_words(interval)})."
            return shown + " " + _reading(interval, threshold)


def _reading(interval: IntervalEstimate, threshold: float) -> str:
    inside = {
        "no difference": interval.low <= 0 <= interval.high,
        f"a gain of {threshold:g} points": interval.low <= threshold <= interval.high,
        f"a loss of {threshold:g} points": interval.low <= -threshold <= interval.high,
    }
    held = [name for name, holds in inside.items() if holds]
    left = [name for name, holds in inside.items() if not holds]
    if not left:
        return f"The interval is compatible with {_listed(held)} alike."
    if not held:
        return f"The interval excludes {_listed(left)}."
    return f"The interval holds {_listed(held)}, but not {_listed(left, 'or')}."


def comparison_words(arm: str, control: str, result: PairedComparison) -> tuple[str, ...]:
    """Small n, zero variance, missing pairs, and where the mean lies among the sign flips."""
    return (*pairing_words(arm, control, result), sign_flip_words(result))


def pairing_words(arm: str, control: str, result: PairedComparison) -> tuple[str, ...]:
    """Small n, zero variance and missing pairs."""
    found = []
    if result.unpaired:
        found.append(
            f"{len(result.unpaired)} of {plural(result.tasks_planned, 'task')} cannot be paired, because "
            f"{arm} or {control} has no run with a score: {', '.join(result.unpaired)}."
        )
    if result.missing_runs:
        one = result.missing_runs == 1
        found.append(
            f"{plural(result.missing_runs, 'planned run')} of {arm} and {control} {'has' if one else 'have'} "
            f"no score. With the worst and the best score in {'its' if one else 'their'} place the mean "
            f"difference over all {plural(result.tasks_planned, 'task')} would be "
            f"{signed_points(result.bounds.low)} or {signed_points(result.bounds.high)}."
        )
    if 0 < result.tasks_paired < FEW_TASKS:
        found.append(
            f"{plural(result.tasks_paired, 'paired task')}: too few for a claim (a primary study has at "
            f"least {FEW_TASKS}), and an interval from so few can miss the truth more often than its nominal "
            "confidence says."
        )
    found.extend(_interval_notes(result))
    return tuple(found)


def _interval_notes(result: PairedComparison) -> list[str]:
    match result.interval:
        case NotEstimable(reason=reason):
            return [f"The interval is not estimable: {reason}."]
        case IntervalEstimate() as interval:
            if not interval.cut:
                return []
            if interval.high - interval.low >= WHOLE_RANGE:
                return [
                    "The interval spans all possible differences: so few tasks say nothing about the mean."
                ]
            return ["The interval reached beyond the possible differences and was cut there."]


def sign_flip_words(result: PairedComparison) -> str:
    """Where the mean lies among the means under all sign flips, or why they were not enumerated."""
    match result.sign_flip:
        case NotEstimable(reason=reason):
            return f"The sign-flip reference is not estimable: {reason}."
        case SignFlipReference() as reference:
            which = f"all {reference.flips:,}" if reference.enumerated else f"{reference.flips:,} drawn"
            return (
                f"Sign-flip reference: of {which} ways to turn the signs of the "
                f"{reference.differences} differences, a share of {reference.two_sided_share:.4g} gives a "
                f"mean at least as far from zero; differences of these sizes could not give less than "
                f"{reference.smallest_share:.4g}. It stands beside the interval and is no verdict."
            )


def _listed(names: list[str], word: str = "and") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
