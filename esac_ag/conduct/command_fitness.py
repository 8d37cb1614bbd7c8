"""Whether a draft's command-line agent can be launched as the draft plans; no key is needed to tell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from esac_ag.agents.command import CommandAgent, require_version
from esac_ag.agents.command_settings import PROTOCOLS, CommandSettings
from esac_ag.agents.presets.choosing import preset_of
from esac_ag.conduct.drafted_bundles import drafted_bundles
from esac_ag.errors import HarnessError, InputRefused, UsageError
from esac_ag.manifest.draft_sections import DraftSections
from esac_ag.manifest.findings import PathPart
from esac_ag.manifest.plan import AgentPlan
from esac_ag.sandbox.agent_files import read_agent


class Unfit(NamedTuple):
    """What does not fit: where in the draft, a code, and the refusal."""

    at: tuple[PathPart, ...]
    code: str
    error: HarnessError


def unfit_command(parts: DraftSections, plan: AgentPlan, runner: Path, *, folder: Path) -> Iterator[Unfit]:
    """What of a draft its command-line agent cannot do.

    Args:
        parts: of the draft; those that are malformed are passed over, because validation tells them.
        plan: its agent.
        runner: the workspace's `runner/` folder.
        folder: what the draft's paths are relative to.
    """
    try:
        settings = CommandSettings.read(plan.settings)
    except InputRefused as error:
        yield Unfit(("agent", "settings"), "agent-settings", error)
        return
    try:
        file = read_agent(runner, settings.agent).file
    except (InputRefused, UsageError) as error:
        yield Unfit(("agent", "settings", "agent"), "agent-file", error)
        return
    try:
        require_version(plan.version, file)
    except InputRefused as error:
        yield Unfit(("agent", "version"), "agent-version", error)
    if parts.model is None or parts.limits is None:
        return
    try:
        lane = settings.lane_plan(
            parts.model, parts.limits, parts.prices, protocol=PROTOCOLS[preset_of(file).protocol], environ={}
        )
    except UsageError as error:
        yield Unfit(("model",), "gateway", error)
        return
    yield from _unfit_bundles(CommandAgent(file, parts.model, lane), parts, folder)


def _unfit_bundles(agent: CommandAgent, parts: DraftSections, folder: Path) -> Iterator[Unfit]:
    try:
        agent.equip(None)
    except InputRefused as error:
        yield Unfit(("model", "reasoning"), "agent-unfit", error)
        return
    for index, bundle in drafted_bundles(parts, folder):
        try:
            agent.equip(bundle)
        except InputRefused as error:
            yield Unfit(("arms", index, "bundle"), "bundle-unfit", error)
