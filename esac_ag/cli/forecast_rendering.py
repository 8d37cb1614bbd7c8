"""What a study will take, in the same words wherever it is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from esac_ag.plural import plural
from esac_ag.schedule import CostBasis, TimeBasis

if TYPE_CHECKING:
    from esac_ag.conduct.forecasting import Forecast
    from esac_ag.schedule import Plan

MOST_STUDIES = 3
SECONDS = 100
"""Below it, times are told in seconds."""


def runs_line(bound: Plan) -> str:
    """How many runs there are, of what, and how many at once."""
    counts = (plural(bound.tasks, "task"), plural(bound.arms, "arm"), plural(bound.repetitions, "repetition"))
    return f"runs: {bound.cells} = {' x '.join(counts)}, {bound.concurrency} at once"


def time_line(planned: Forecast) -> str:
    """How long it takes, and by what."""
    most = f"at most {_duration(planned.bound.duration_s)}, if every run takes all its time"
    if planned.expected is None or planned.expected.duration_basis is TimeBasis.WORST_CASE:
        return f"time: {most}; no earlier run of this agent and model tells how long one takes"
    told = _by(planned, "--run-s", told=planned.run_s is not None)
    return f"time: about {_duration(planned.expected.duration_s)} by {told}; {most}"


def cost_line(planned: Forecast, *, limited: bool) -> str:
    """What it costs, and by what; no price is said to be none."""
    bound, expected, told = planned.bound, planned.expected, list[str]()
    if expected is not None and expected.cost is not None and expected.cost_basis is CostBasis.MEASURED:
        by = _by(planned, "--run-cost", told=planned.run_cost is not None)
        told.append(f"about {_money(expected.cost, expected.currency)} by {by}")
    if bound.cost is not None:
        each = _money(bound.cost / bound.cells, bound.currency)
        told.append(f"at most {_money(bound.cost, bound.currency)}: {each} a run")
    if bound.cost_basis is CostBasis.NO_MODEL:
        told.append("a scripted agent asks no model")
    if bound.cost_basis is CostBasis.UNKNOWN:
        told.append("no upper bound is available; --max-cost or limits.cost_usd, with prices, sets one")
    if limited:
        told.append("the last call of a run may pass its share, and a run that is launched again adds to it")
    return f"cost: {'; '.join(told)}"


def _by(planned: Forecast, option: str, *, told: bool) -> str:
    earlier = planned.earlier
    if told or earlier is None:
        return option
    shown = ", ".join(earlier.studies[:MOST_STUDIES])
    more = len(earlier.studies) - MOST_STUDIES
    return f"{plural(earlier.runs, 'earlier run')} ({shown}{f' and {more} more' if more > 0 else ''})"


def _money(amount: float, currency: str | None) -> str:
    return f"{amount:.4g} {currency or ''}".rstrip()


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < SECONDS else f"{seconds / 60:.0f} min"
