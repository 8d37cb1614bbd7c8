"""How far reviewers agree, and whether they could tell the arms. Pure.

- Weighted kappa with quadratic weights: Cohen, "Weighted kappa", Psychological Bulletin 70, 1968; for two
  reviewers.
- Krippendorff's alpha: Krippendorff, Content Analysis, 2004, chapter 11; ordinal for a dimension, by the
  library `krippendorff`, and interval for the total, by its closed form for data without gaps.
- Intervals: percentile bootstrap over tasks, each drawn with all its submissions, because repetitions of a
  task are no independent units (Field & Welsh, J. R. Statist. Soc. B 69, 2007, "cluster bootstrap").
- The share of guessed arms: Clopper & Pearson's exact interval, Biometrika 26, 1934, by scipy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Final, Literal, TypeAlias

import krippendorff
import numpy as np
import numpy.typing as npt
from pydantic import Field

from esac_ag.clock import Seeds
from esac_ag.record import Identifier, Record
from esac_ag.statistics.estimates import MaybeEstimate, NotEstimable, estimate, rounded
from esac_ag.study.scales import TOP_SCORE

REPLICATES: Final = 1_000
FEWEST_TASKS: Final = 3
MOST_DEGENERATE: Final = 0.05
"""Share of resamples without an estimate beyond which there is no interval."""
FEWEST_REVIEWERS: Final = 2

_Ratings: TypeAlias = npt.NDArray[np.float64]
"""Shape (reviewers, submissions)."""
_Statistic = Callable[[_Ratings], float | NotEstimable]


class AgreementInterval(Record):
    """A percentile interval over tasks, and what is needed to compute it again."""

    status: Literal["estimated"] = "estimated"
    low: float
    high: float
    confidence: float
    replicates: int
    seed: str
    degenerate_replicates: int
    """Resamples in which the statistic is not defined; they are left out."""


MaybeAgreementInterval = Annotated[AgreementInterval | NotEstimable, Field(discriminator="status")]


class Coefficient(Record):
    """One measure of agreement with its interval."""

    estimate: MaybeEstimate
    interval: MaybeAgreementInterval


class Agreement(Record):
    """Agreement in one dimension, or in the total, before any adjudication."""

    what: str
    """A dimension, or `total`."""
    submissions: int
    tasks: int
    equal: int
    """Submissions to which all reviewers gave the same score."""
    kappa: Coefficient
    """Quadratic weights; of the total there is none, for it has no categories."""
    alpha: Coefficient
    """Ordinal in a dimension, interval in the total."""


class GuessedArms(Record):
    """How often a reviewer told the arm: the blinding's own check."""

    reviewer: Identifier
    packets: int
    guessed: int
    """Packets for which an arm was named; for the others the reviewer had no idea."""
    right: int
    chance: float
    """Share that guessing without any knowledge gets right."""
    share: MaybeEstimate
    interval_low: float | None
    """95 %, exact; null where nothing was guessed."""
    interval_high: float | None
    above_chance: bool | None
    """Whether the whole interval lies above chance: then the review was not blind for this reviewer."""


def agreement(
    what: str,
    scores: Mapping[str, Sequence[float]],
    tasks: Sequence[str],
    *,
    categories: bool,
    seed: str,
    confidence: float = 0.95,
    intervals: bool = True,
) -> Agreement:
    """Agreement of reviewers.

    Args:
        what: a dimension, or `total`.
        scores: by reviewer, one for each submission, in the same order.
        tasks: of each submission.
        categories: whether scores are whole numbers from 0 to 4; otherwise they are points of the total.
        seed: of the bootstrap.
        confidence: of the intervals.
        intervals: whether they are computed, which takes a second for each measure.

    Raises:
        ValueError: the lengths differ.
    """
    ratings = np.array([list(one) for one in scores.values()], dtype=np.float64).reshape(len(scores), -1)
    if ratings.shape[1] != len(tasks):
        raise ValueError("every reviewer has one score for each submission")
    groups = [np.flatnonzero(np.array(tasks) == task) for task in dict.fromkeys(tasks)]
    measures: dict[str, _Statistic] = {
        "kappa": weighted_kappa if categories else _no_categories,
        "alpha": alpha_ordinal if categories else alpha_interval,
    }
    found = {
        name: Coefficient(
            estimate=_estimate(measure(ratings)),
            interval=_interval(ratings, groups, measure, f"{seed}/{what}/{name}", confidence)
            if intervals
            else NotEstimable(reason="it was not asked for"),
        )
        for name, measure in measures.items()
    }
    equal = int((np.ptp(ratings, axis=0) == 0).sum()) if ratings.size else 0
    return Agreement(what=what, submissions=len(tasks), tasks=len(groups), equal=equal, **found)


def weighted_kappa(ratings: _Ratings) -> float | NotEstimable:
    """Cohen's kappa with quadratic weights, from shape (2, submissions).

    With these weights it is 1 - mean squared difference / the same under independence of the two.
    """
    if len(ratings) != FEWEST_REVIEWERS:
        return NotEstimable(reason="kappa is of two reviewers; alpha is of any number")
    if not ratings.shape[1]:
        return NotEstimable(reason="nothing was scored by all reviewers")
    first, second = ratings
    by_chance = first.var() + second.var() + (first.mean() - second.mean()) ** 2
    if by_chance <= 0:
        return NotEstimable(reason="both reviewers gave one and the same score to everything")
    return float(1 - ((first - second) ** 2).mean() / by_chance)


def alpha_ordinal(ratings: _Ratings) -> float | NotEstimable:
    """Krippendorff's alpha of scores from 0 to 4."""
    if (refusal := _refusal(ratings)) is not None:
        return refusal
    domain = list(range(TOP_SCORE + 1))
    value = krippendorff.alpha(reliability_data=ratings, level_of_measurement="ordinal", value_domain=domain)
    return float(value)


def alpha_interval(ratings: _Ratings) -> float | NotEstimable:
    """Krippendorff's alpha of points, without gaps.

    Squared differences within submissions over those between all values. The library's general form takes
    time and memory with the square of how many different values there are.
    """
    if (refusal := _refusal(ratings)) is not None:
        return refusal
    within = ratings.var(axis=0, ddof=1).mean()
    return float(1 - within / ratings.var(ddof=1))


def _refusal(ratings: _Ratings) -> NotEstimable | None:
    if len(ratings) < FEWEST_REVIEWERS or not ratings.shape[1]:
        return NotEstimable(reason="nothing was scored by two reviewers")
    if np.ptp(ratings) == 0:
        return NotEstimable(reason="all reviewers gave one and the same score to everything")
    return None


def _no_categories(ratings: _Ratings) -> NotEstimable:  # noqa: ARG001  (a statistic like the others)
    return NotEstimable(reason="the total has no categories; alpha tells how far totals agree")


def _estimate(value: float | NotEstimable) -> MaybeEstimate:
    return value if isinstance(value, NotEstimable) else estimate(value)


def _interval(
    ratings: _Ratings,
    groups: Sequence[npt.NDArray[np.intp]],
    measure: _Statistic,
    seed: str,
    confidence: float,
) -> AgreementInterval | NotEstimable:
    whole = measure(ratings)
    if isinstance(whole, NotEstimable):
        return whole
    if len(groups) < FEWEST_TASKS:
        return NotEstimable(reason=f"an interval over tasks needs at least {FEWEST_TASKS} of them")
    stream = Seeds(seed).stream("agreement")
    values: list[float] = []
    for _ in range(REPLICATES):
        drawn = np.concatenate([groups[stream.randrange(len(groups))] for _ in groups])
        value = measure(ratings[:, drawn])
        if not isinstance(value, NotEstimable):
            values.append(value)
    missing = REPLICATES - len(values)
    if missing > MOST_DEGENERATE * REPLICATES:
        return NotEstimable(reason=f"in {missing / REPLICATES:.0%} of the resamples all scores are the same")
    tail = (1 - confidence) / 2
    low, high = np.quantile(np.array(values), [tail, 1 - tail])
    return AgreementInterval(
        low=rounded(float(low)),
        high=rounded(float(high)),
        confidence=confidence,
        replicates=REPLICATES,
        seed=seed,
        degenerate_replicates=missing,
    )


def guessed_arms(
    reviewer: str, guesses: Mapping[str, str | None], truth: Mapping[str, str], arms: int
) -> GuessedArms:
    """How often guesses were right.

    Args:
        reviewer: who guessed.
        guesses: arm by packet; null where there was no idea.
        truth: the arm of each packet.
        arms: how many there are; each has the same number of packets.
    """
    named = {label: arm for label, arm in guesses.items() if arm is not None}
    right = sum(truth[label] == arm for label, arm in named.items())
    chance = 1 / arms
    if not named:
        share: MaybeEstimate = NotEstimable(reason="no arm was guessed")
        return GuessedArms(
            reviewer=reviewer,
            packets=len(guesses),
            guessed=0,
            right=0,
            chance=rounded(chance),
            share=share,
            interval_low=None,
            interval_high=None,
            above_chance=None,
        )
    # Takes a second to import, and every report and audit would wait for it.
    from scipy.stats import binomtest  # noqa: PLC0415

    ends = binomtest(right, len(named), chance).proportion_ci(confidence_level=0.95, method="exact")
    return GuessedArms(
        reviewer=reviewer,
        packets=len(guesses),
        guessed=len(named),
        right=right,
        chance=rounded(chance),
        share=estimate(right / len(named)),
        interval_low=rounded(float(ends.low)),
        interval_high=rounded(float(ends.high)),
        above_chance=bool(ends.low > chance),
    )
