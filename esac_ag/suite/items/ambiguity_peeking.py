"""The peeking policy of the judged items: it acts on values that it greps, and neither looks nor asks."""

from __future__ import annotations

import json
import re
from typing import Final

from esac_ag.suite.contract import AgentView, Instance, Policy, ToolSchema
from esac_ag.suite.items.peeking import guessed

_READING: Final = ("_get", "_list", "_find", "_search", "_read", "_levels")
_NAMES: Final = r"(?<!\w)[\w]+-[\w-]+"


def peek(instance: Instance) -> Policy:
    """Search request, tools and initial state for values of the right shape, and use the first ones."""
    state = json.dumps(instance.initial_state, sort_keys=True)
    texts = "\n".join([instance.prompt, state, *(tool.model_dump_json() for tool in instance.tools)])

    def policy(view: AgentView) -> str:
        acting = [tool for tool in view.tools if not any(part in tool.name for part in _READING)]
        if not acting:
            return f"{_number(instance.prompt, state)}."
        tool = next((tool for tool in acting if _is_named(tool, instance.prompt)), acting[0])
        view.call(tool.name, **guessed(tool, texts))
        return "Done."

    return policy


def _number(prompt: str, state: str) -> str:
    """The number that the state holds right behind something that the request names."""
    for name in reversed(re.findall(_NAMES, prompt)):
        if found := re.search(rf'"{re.escape(name)}": (\d+)', state):
            return found[1]
    return max(re.findall(r"\d+", prompt + state), key=len, default="0")


def _is_named(tool: ToolSchema, prompt: str) -> bool:
    return any(part in prompt.lower() for part in tool.name.split("_")[1:])
