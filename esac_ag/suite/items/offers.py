"""What an item offers, and the search for what it must not give away."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from esac_ag.suite.contract import ToolSchema
from esac_ag.suite.world import TOOLS


@cache
def offer(names: tuple[str, ...]) -> tuple[ToolSchema, ...]:
    """Tools of the world, in this order."""
    return tuple(ToolSchema(**TOOLS[name]) for name in names)


@cache
def offer_text(names: tuple[str, ...]) -> str:
    """All that the tools' schemas say."""
    return "\n".join(tool.model_dump_json() for tool in offer(names))


def leaks(values: Iterable[str], *texts: str) -> list[str]:
    """Those values that stand in one of the texts as a word of their own."""
    return [
        value
        for value in values
        if any(value in text and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) for text in texts)
    ]


def state_text(state: Mapping[str, Any]) -> str:
    """An initial state as one text to search."""
    return json.dumps(state, ensure_ascii=False)
