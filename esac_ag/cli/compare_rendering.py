"""What `compare` tells before anything costs money."""

from __future__ import annotations

from collections.abc import Iterator

from esac_ag.cli.forecast_rendering import cost_line, runs_line, time_line
from esac_ag.conduct.comparing import Prepared
from esac_ag.conduct.forecasting import Forecast
from esac_ag.manifest.comparison import claim_of, phase_of
from esac_ag.manifest.findings import shown_text
from esac_ag.manifest.plan import NEUTRAL


def forecast_lines(prepared: Prepared, planned: Forecast) -> Iterator[str]:
    """Size, agent, claim, time and cost, a line each."""
    request, agent, bound = prepared.request, prepared.agent, planned.bound
    arms = ", ".join((NEUTRAL, *(arm.id for arm in request.arms)))
    yield f"study {request.study_id}: {arms}"
    yield runs_line(bound)
    yield f"claim: {claim_of(phase_of(bound.tasks), bound.tasks)}"
    key = (
        f"the key in {agent.key_variable}" if agent.key_is_set else f"no key: {agent.key_variable} is not set"
    )
    place = agent.address or f"the provider {agent.provider}"
    yield shown_text(
        f"agent: {agent.name} {agent.plan.version}; model {request.model.name} at {place}, {key}"
    )
    yield time_line(planned)
    yield cost_line(planned, limited=request.max_cost_usd is not None)
