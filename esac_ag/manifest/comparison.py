"""A comparison, from what a person asks for to a draft of a run manifest. Nothing is read or written."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final, assert_never

from pydantic import ValidationError

from esac_ag.errors import UsageError
from esac_ag.manifest.draft import Draft, DraftArm, DraftTask
from esac_ag.manifest.plan import (
    MINIMUM_TASKS,
    NEUTRAL,
    AgentKind,
    AgentPlan,
    GraderLimits,
    Limits,
    Model,
    Network,
    Phase,
    Prices,
)
from esac_ag.plural import plural
from esac_ag.record import faults_in

MOST_ID: Final = 100
MOST_ARM_IN_ID: Final = 40
_MICRO: Final = 1_000_000

COMMAND_WORKSPACE_MIB: Final = 256
"""A command-line agent keeps its sessions and caches beside the workspace, in the same volume."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRequest:
    """What is compared, on what, with what, and within which limits; none is what was left out."""

    study_id: str
    agent: AgentPlan
    model: Model
    arms: tuple[DraftArm, ...]
    """With a bundle each; the control is added."""
    tasks: tuple[DraftTask, ...]
    repetitions: int
    wall_clock_s: float | None = None
    """Longest time of one run."""
    turns: int | None = None
    """Most turns of one run."""
    max_cost_usd: float | None = None
    """Of all planned runs together."""
    prices: Prices | None = None
    seed: str | None = None

    @property
    def runs(self) -> int:
        """Planned runs: tasks times arms, the control among them, times repetitions."""
        return len(self.tasks) * (len(self.arms) + 1) * self.repetitions


def draft_of(request: ComparisonRequest) -> Draft:
    """The draft of a comparison; it is frozen like one that a person wrote.

    Raises:
        UsageError: a value is one that no draft can hold.
    """
    try:
        return Draft(
            format_version=2,
            study_id=request.study_id,
            phase=phase_of(len(request.tasks)),
            status="draft",
            model=request.model,
            agent=request.agent,
            limits=_limits(request),
            network=network_of(request.agent.kind),
            repetitions=request.repetitions,
            seed=request.seed,
            arms=(DraftArm(id=NEUTRAL), *request.arms),
            tasks=request.tasks,
            prices=request.prices,
        )
    except ValidationError as error:
        raise UsageError(
            "The comparison cannot be drafted.",
            where="the command line",
            found=faults_in(error),
            remedy="correct these values; docs/manifest.md tells what each may be",
        ) from error


def phase_of(tasks: int) -> Phase:
    """What so many tasks can support: a scored pilot, or a look at these tasks alone.

    `calibration` is none of the two: its runs are there to repair the harness and are excluded from results.
    """
    return Phase.PRIMARY if tasks >= MINIMUM_TASKS[Phase.PRIMARY] else Phase.SHADOW


def network_of(kind: AgentKind) -> Network:
    """The network that an agent's container has."""
    match kind:
        case AgentKind.COMMAND:
            return Network.MODEL_GATEWAY
        case AgentKind.CHAT | AgentKind.SCRIPTED:
            return Network.NONE
        case _:
            assert_never(kind)


def run_cost_usd(max_cost_usd: float, runs: int) -> float:
    """The limit of one run with which all planned runs stay within a cost: rounded down to a millionth.

    Raises:
        UsageError: nothing is left for a run, or it is no limit at all.
    """
    if not math.isfinite(max_cost_usd * _MICRO):
        raise UsageError(
            "The cost limit is no limit.",
            where="--max-cost",
            expected="an amount of US dollars",
            found=f"{max_cost_usd:g}",
            remedy="leave --max-cost out, or name an amount",
        )
    share = math.floor(max_cost_usd * _MICRO / runs) / _MICRO
    if share > 0:
        return share
    raise UsageError(
        "The cost limit leaves nothing for a single run.",
        where="--max-cost",
        expected=f"at least {runs / _MICRO:g} for {plural(runs, 'run')}",
        found=f"{max_cost_usd:g}",
        remedy="raise it, or plan fewer tasks, arms or repetitions",
    )


def refuse_unpriced(model: str, prices: Prices | None) -> None:
    """Refuse a cost limit that nobody could enforce.

    Raises:
        UsageError: the model has no input and output price in US dollars.
    """
    price = prices.per_million.get(model) if prices else None
    priced = price is not None and price.input is not None and price.output is not None
    if prices is not None and priced and prices.currency == "USD":
        return
    if prices is None:
        found = "no price table"
    elif not priced:
        found = f"prices of {', '.join(sorted(prices.per_million)) or 'no model'}"
    else:
        found = f"prices in {prices.currency}"
    raise UsageError(
        "A cost limit cannot be enforced without the model's price.",
        where="--max-cost",
        expected=f"input and output price of {model} in USD",
        found=found,
        remedy="give a price table with --prices FILE (docs/manifest.md shows one), or leave --max-cost out",
    )


def id_of(name: str) -> str:
    """An arm's id from the name of its folder or file; empty when nothing of it can be one."""
    plain = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")
    return plain[:MOST_ID]


def study_id_of(arm: str, agent: str, moment: str) -> str:
    """An id that tells what was compared, and when.

    Args:
        arm: id of the first arm with a bundle.
        agent: the agent's name.
        moment: a time as ISO 8601, of which date, hours, minutes and seconds are taken.
    """
    stamp = "-".join(re.sub(r"[^0-9]", "", part) for part in moment[:19].split("T"))
    return f"{arm[:MOST_ARM_IN_ID]}-{agent[:MOST_ARM_IN_ID]}-{stamp}"


def different_keys(one: Draft, other: Draft) -> tuple[str, ...]:
    """Names of the keys that two drafts have different values for, in the format's order."""
    return tuple(key for key in Draft.model_fields if getattr(one, key) != getattr(other, key))


def claim_of(phase: Phase, tasks: int) -> str:
    """What a comparison of so many tasks can show, in a sentence that is told before anything costs money."""
    least = MINIMUM_TASKS[Phase.PRIMARY]
    few = plural(tasks, "task")
    match phase:
        case Phase.PRIMARY | Phase.HOLDOUT:
            return f"{few}: a scored pilot; what it shows holds for these bundles, tasks and this model"
        case Phase.SHADOW:
            return f"{few}, fewer than the {least} of a scored pilot: a look at these tasks, no general claim"
        case Phase.CALIBRATION:
            return f"{few}: calibration; its runs are excluded from results"
        case _:
            assert_never(phase)


def _limits(request: ComparisonRequest) -> Limits:
    changes: dict[str, float | int | None] = {}
    if request.wall_clock_s is not None:
        changes["wall_clock_s"] = request.wall_clock_s
    if request.turns is not None:
        changes["turns"] = request.turns
    if request.max_cost_usd is not None:
        changes["cost_usd"] = run_cost_usd(request.max_cost_usd, request.runs)
    return _limits_of(request.agent.kind).model_copy(update=changes)


def _limits_of(kind: AgentKind) -> Limits:
    """Limits that suit an agent; for the rest the schema's defaults."""
    match kind:
        case AgentKind.COMMAND:
            # Their tool calls are their own affair: the gateway counts calls of the model.
            return Limits(
                tool_calls=None,
                memory_mib=2048,
                pids=512,
                workspace_mib=COMMAND_WORKSPACE_MIB,
                tmp_mib=COMMAND_WORKSPACE_MIB,
                grader=GraderLimits(workspace_mib=COMMAND_WORKSPACE_MIB),
            )
        case AgentKind.CHAT | AgentKind.SCRIPTED:
            return Limits()
        case _:
            assert_never(kind)
