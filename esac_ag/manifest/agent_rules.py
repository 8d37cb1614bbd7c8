"""Rules for the agent and the network that it needs."""

from __future__ import annotations

from esac_ag.manifest.collector import Collector
from esac_ag.manifest.plan import AgentKind, Limits, Network

EDIT = "Correct the draft and freeze it again under a new study id."


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


def judge_tool_calls(kind: AgentKind, limits: Limits, out: Collector) -> None:
    """A limit that cannot be enforced is not promised: a command-line agent calls its tools by itself."""
    if kind is AgentKind.COMMAND and limits.tool_calls is not None:
        what = "Nobody can stop a command-line agent at a number of tool calls; limit its turns."
        out.error(("limits", "tool_calls"), "tool-calls", what, "null", str(limits.tool_calls), EDIT)
