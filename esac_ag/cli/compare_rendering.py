"""What `compare` tells before anything costs money."""

from __future__ import annotations

from collections.abc import Iterator

from esac_ag.conduct.comparing import Forecast, Prepared
from esac_ag.manifest.comparison import claim_of, phase_of
from esac_ag.manifest.findings import shown_text
from esac_ag.manifest.plan import NEUTRAL
from esac_ag.plural import plural
from esac_ag.schedule import CostBasis

MOST_STUDIES = 3
SECONDS = 100
"""Below it, times are told in seconds."""


def forecast_lines(prepared: Prepared, planned: Forecast) -> Iterator[str]:
    """Size, agent, claim, time and cost, a line each."""
    request, agent, bound = prepared.request, prepared.agent, planned.bound
    arms = ", ".join((NEUTRAL, *(arm.id for arm in request.arms)))
    yield f"study {request.study_id}: {arms}"
    yield (
        f"runs: {bound.cells} = {plural(bound.tasks, 'task')} x {plural(bound.arms, 'arm')} x "
        f"{plural(bound.repetitions, 'repetition')}, "
        f"{bound.concurrency} at once"
    )
    yield f"claim: {claim_of(phase_of(bound.tasks), bound.tasks)}"
    key = (
        f"the key in {agent.key_variable}" if agent.key_is_set else f"no key: {agent.key_variable} is not set"
    )
    place = agent.address or f"the provider {agent.provider}"
    yield shown_text(
        f"agent: {agent.name} {agent.plan.version}; model {request.model.name} at {place}, {key}"
    )
    yield f"time: {_time(planned)}"
    yield f"cost: {_cost(planned, limited=request.max_cost_usd is not None)}"


def _time(planned: Forecast) -> str:
    most = f"at most {_duration(planned.bound.duration_s)}, if every run takes all its time"
    if planned.expected is None:
        return f"{most}; no earlier run of this agent and model tells how long one takes"
    return f"about {_duration(planned.expected.duration_s)} by {_earlier(planned)}; {most}"


def _earlier(planned: Forecast) -> str:
    earlier = planned.earlier
    if earlier is None:
        return "no earlier run"
    shown = ", ".join(earlier.studies[:MOST_STUDIES])
    more = len(earlier.studies) - MOST_STUDIES
    return f"{plural(earlier.runs, 'earlier run')} ({shown}{f' and {more} more' if more > 0 else ''})"


def _cost(planned: Forecast, *, limited: bool) -> str:
    told = []
    if planned.expected is not None and planned.earlier is not None and planned.earlier.run_cost is not None:
        told.append(
            f"about {_money(planned.expected.cost, planned.expected.currency)} by {_earlier(planned)}"
        )
    bound = planned.bound
    if bound.cost is not None:
        each = _money(bound.cost / bound.cells, bound.currency)
        told.append(f"at most {_money(bound.cost, bound.currency)}: {each} a run")
    if bound.cost_basis is CostBasis.UNKNOWN:
        told.append("no upper bound is available; --max-cost USD with --prices FILE sets one")
    if limited:
        told.append("the last call of a run may pass its share, and a run that is launched again adds to it")
    return "; ".join(told)


def _money(amount: float | None, currency: str | None) -> str:
    return "unavailable" if amount is None else f"{amount:.4g} {currency or ''}".rstrip()


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < SECONDS else f"{seconds / 60:.0f} min"
