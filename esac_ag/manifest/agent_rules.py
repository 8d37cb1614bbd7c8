"""Rules for the agent and the network that it needs."""

from __future__ import annotations

from esac_ag.manifest.collector import Collector
from esac_ag.manifest.plan import AgentKind, Network

RUNNABLE = (AgentKind.SCRIPTED, AgentKind.CHAT)
"""Kinds of agent that this version can run; others are known to the format alone."""

EDIT = "Correct the draft and freeze it again under a new study id."


def judge_runnable(kind: AgentKind, out: Collector) -> bool:
    """Whether this version can run such an agent; a plan for another one is not to be sealed."""
    if kind not in RUNNABLE:
        what = f"This version cannot run agents of kind {kind}."
        expected = " or ".join(f'"{known}"' for known in RUNNABLE)
        remedy = "Plan another kind of agent, or use a release that has this one."
        out.error(("agent", "kind"), "agent-kind", what, expected, f'"{kind}"', remedy)
    return kind in RUNNABLE


def judge_network(kind: AgentKind, network: Network, out: Collector) -> None:
    """Only command-line agents have a network, and they need it.

    What a plan says of the network has to be what a run does: containers of other agents have none.
    """
    needs = kind is AgentKind.COMMAND
    if needs and network is Network.NONE:
        what = "A command-line agent cannot reach its model without the gateway."
        out.error(("network",), "network", what, '"model-gateway"', '"none"', EDIT)
    if not needs and network is Network.MODEL_GATEWAY:
        what = f"An agent of kind {kind} has no network in its container."
        out.error(("network",), "network", what, '"none"', '"model-gateway"', EDIT)
