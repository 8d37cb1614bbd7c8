"""Guessing a tool's arguments from a request without any thought: the first value of the right shape."""

from __future__ import annotations

import re
from typing import Any

from esac_ag.suite.contract import Json, ToolSchema


def guessed(tool: ToolSchema, prompt: str) -> dict[str, Json]:
    """The required arguments of a tool, each the first thing in the prompt that could be it."""
    required: Any = tool.parameters["required"]
    properties: Any = tool.parameters["properties"]
    return {name: guess(properties[name], prompt) for name in required}


def guess(schema: dict[str, Any], prompt: str) -> Json:
    """The first value in the request that has the argument's shape."""
    if "enum" in schema:
        words: list[str] = schema["enum"]
        return next((word for word in words if word in prompt), words[0])
    match schema["type"]:
        case "integer":
            numbers = [int(number) for number in re.findall(r"(?<!\w)\d+(?!\w)", prompt)]
            within = (number for number in numbers if schema["minimum"] <= number <= schema["maximum"])
            return next(within, int(schema["minimum"]))
        case "array":
            return re.findall(r"(?<!\w)u-\d+", prompt)[: schema["maxItems"]] or ["u-1"]
        case _:
            return _guess_text(str(schema["description"]), prompt)


def _guess_text(description: str, prompt: str) -> str:
    example = re.search(r"such as (\S+?)[.,]?(?: |$)", description)
    prefix = re.split(r"[-\d]", example[1])[0] if example else ""
    shapes = [rf"(?<!\w){re.escape(prefix)}-[\w-]+"] if prefix else []
    shapes += [
        r"(?<!\w)\d{4}-\d\d-\d\d(?:T[\d:]+(?:Z|[+-][\d:]+))?",
        r"(?<!\S)/[\w./-]+",
        r'(?<=")[^"]+(?=")',
    ]
    found = (match for shape in shapes if (match := re.search(shape, prompt)))
    return next((match[0] for match in found), "unknown")
