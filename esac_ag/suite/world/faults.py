"""Planted failures: well-formed calls that an item makes fail."""

from __future__ import annotations

from .refusal import Refused
from .snapshot import State
from .tables import Arguments


def strike(state: State, tool: str, arguments: Arguments) -> None:
    """Fail if a fault is planted for this call; a limited one is counted down.

    Raises:
        Refused: with the fault's own code and message.
    """
    for fault in state["faults"]:
        wanted, remaining = fault["arguments"], fault["remaining"]
        matches = all(name in arguments and arguments[name] == value for name, value in wanted.items())
        if fault["tool"] != tool or not matches or remaining == 0:
            continue
        if remaining is not None:
            fault["remaining"] = remaining - 1
        raise Refused(fault["code"], fault["message"], counts=remaining is not None)
