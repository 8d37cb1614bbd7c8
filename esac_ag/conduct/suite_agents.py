"""From a suite plan to the agent that takes the items and the judge that is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, assert_never

from pydantic import ValidationError

from esac_ag.agents.chat import make_chat_agent
from esac_ag.agents.item_agent import ChatItemAgent, ItemAgent, PolicyItemAgent
from esac_ag.agents.judge_client import JUDGE_KEY_VARIABLE, Judge, JudgeEndpoint, judge_key
from esac_ag.agents.settings import ChatSettings
from esac_ag.clock import Seeds
from esac_ag.errors import InputRefused, UsageError
from esac_ag.manifest.plan import AgentKind
from esac_ag.record import Record
from esac_ag.suite.constitution import Pool
from esac_ag.suite.plan import SuitePlan
from esac_ag.suite.pools import DatasetSeed
from esac_ag.suite.selftest import REFERENCE

POLICY_VERSION: Final = "1"
MODEL_KEY_VARIABLE: Final = "OPENAI_API_KEY"
"""Default of the chat agent's `api_key_env`."""


class PolicySettings(Record):
    """`agent.settings` of kind `scripted` in a suite plan."""

    policy: str = REFERENCE
    """`reference`, or the name of a shortcut; items without such a shortcut refuse it."""


def item_agent_of(plan: SuitePlan, environ: Mapping[str, str]) -> ItemAgent:
    """The agent of a plan.

    Raises:
        InputRefused: settings that cannot be carried out.
        UsageError: the suite has no such agent, or the environment lacks something.
    """
    kind = plan.agent.kind
    match kind:
        case AgentKind.SCRIPTED:
            return PolicyItemAgent(_policy(plan))
        case AgentKind.CHAT:
            return ChatItemAgent(make_chat_agent(plan, environ))
        case AgentKind.COMMAND:
            raise UsageError(
                "Items of the suite are not given to command-line agents",
                where="/agent/kind",
                expected=f"{AgentKind.SCRIPTED.value} or {AgentKind.CHAT.value}",
                found=kind.value,
                remedy="run the suite with kind chat",
            )
        case _:
            assert_never(kind)


def _policy(plan: SuitePlan) -> str:
    try:
        return PolicySettings.model_validate(plan.agent.settings).policy
    except ValidationError as error:
        raise InputRefused(
            "The settings of the scripted agent are wrong",
            where="/agent/settings",
            expected=f"policy, such as {REFERENCE}",
            found="; ".join(fault["msg"] for fault in error.errors()),
        ) from error


def known_secrets(plan: SuitePlan, dataset: DatasetSeed, environ: Mapping[str, str]) -> dict[str, str]:
    """All that must stand in nothing that is written, by where it comes from.

    The keys of both default variables are among them whether this plan uses them or not: what is in the
    environment may reach a record, too.
    """
    variables = {MODEL_KEY_VARIABLE, JUDGE_KEY_VARIABLE}
    if plan.agent.kind is AgentKind.CHAT:
        variables.add(ChatSettings.read(plan.agent.settings).api_key_env)
    if plan.judge is not None:
        variables.add(plan.judge.api_key_env)
    found = {f"the environment variable {name}": environ.get(name, "").strip() for name in sorted(variables)}
    if plan.pool is Pool.HELD_OUT:
        found[f"the held-out seed ({dataset.source.value})"] = dataset.seed
    return {where: value for where, value in found.items() if value}


def judge_of(plan: SuitePlan, agent: ItemAgent, environ: Mapping[str, str]) -> Judge | None:
    """The judge of a plan; none when nothing is judged.

    Raises:
        UsageError: its key or its address is not usable.
    """
    asked = plan.judge
    if asked is None:
        return None
    # A policy has no endpoint, and so no key that could stand in for the judge's.
    model_base_url, model_key = asked.base_url, ""
    if isinstance(agent, ChatItemAgent):
        model_base_url, model_key = agent.chat.settings.base_url or "", agent.chat.key
    key = judge_key(
        environ,
        variable=asked.api_key_env,
        judge_base_url=asked.base_url,
        model_base_url=model_base_url,
        model_key=model_key,
    )
    jitter = Seeds(plan.schedule.seed).stream("judge", "backoff").random
    return Judge(JudgeEndpoint.at(asked.model, asked.base_url, key), jitter)
