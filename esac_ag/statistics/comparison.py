"""An arm against its control over a set of tasks: mean difference, interval, reference, bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence

from esac_ag.clock import Seeds
from esac_ag.manifest.plan import Interval
from esac_ag.statistics.aggregate import mean, sample_sd
from esac_ag.statistics.bootstrap import bootstrap_interval
from esac_ag.statistics.estimates import Estimate, NotEstimable, rounded
from esac_ag.statistics.pairs import HIGHEST_SCORE, LOWEST_SCORE, Bounds, PairedComparison, TaskPair
from esac_ag.statistics.sign_flip import sign_flip_reference

_RANGE = HIGHEST_SCORE - LOWEST_SCORE


def compare(pairs: Sequence[TaskPair], plan: Interval, stream: tuple[str, ...]) -> PairedComparison:
    """Compare over the tasks of these pairs, at least one.

    Args:
        pairs: one per planned task, whether both sides have scores or not.
        plan: the interval as the manifest sealed it.
        stream: names this comparison's random stream under the plan's seed.

    Raises:
        ValueError: no pairs at all, or a task twice.
    """
    if not pairs or len({item.task for item in pairs}) != len(pairs):
        raise ValueError("a comparison needs pairs, one per task")
    known = [item.difference.value for item in pairs if isinstance(item.difference, Estimate)]
    nothing = NotEstimable(reason="no task has a pair")
    return PairedComparison(
        tasks_planned=len(pairs),
        tasks_paired=len(known),
        unpaired=tuple(item.task for item in pairs if isinstance(item.difference, NotEstimable)),
        missing_runs=sum(item.missing_runs for item in pairs),
        mean=mean(known, nothing),
        sd=sample_sd(known) if known else nothing,
        interval=bootstrap_interval(known, plan, stream, (-_RANGE, _RANGE)),
        sign_flip=sign_flip_reference(known, Seeds(plan.seed).number("sign-flip", *stream)),
        bounds=Bounds(
            low=rounded(math.fsum(item.bounds.low for item in pairs) / len(pairs)),
            high=rounded(math.fsum(item.bounds.high for item in pairs) / len(pairs)),
        ),
    )
