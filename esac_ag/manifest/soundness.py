"""What a JSON value must be to have a canonical form (RFC 8785): finite, exact, Unicode, not too deep."""

from __future__ import annotations

import math

from pydantic import JsonValue

from esac_ag.manifest.collector import Collector
from esac_ag.manifest.findings import PathPart, shown

MAX_DEPTH = 64
MAX_EXACT_INTEGER = 2**53 - 1
"""Largest integer that every JSON reader keeps exactly."""


def report_unsound(value: JsonValue, out: Collector) -> bool:
    """Report what has no canonical form; whether there was anything. Without recursion."""
    before = len(out.findings)
    waiting: list[tuple[tuple[PathPart, ...], JsonValue]] = [((), value)]
    while waiting:
        path, here = waiting.pop()
        if len(path) > MAX_DEPTH:
            what = "The value is nested too deeply."
            out.error(path[:4], "depth", what, f"at most {MAX_DEPTH} levels", "more", "Flatten it.")
            return True
        match here:
            case dict():
                for key, child in here.items():
                    _text(key, (*path, key), out)
                    waiting.append(((*path, key), child))
            case list():
                waiting.extend(((*path, index), child) for index, child in enumerate(here))
            case str():
                _text(here, path, out)
            case bool() | None:
                pass
            case int() | float():
                _number(here, path, out)
    return len(out.findings) > before


def _text(text: str, path: tuple[PathPart, ...], out: Collector) -> None:
    if any("\ud800" <= c <= "\udfff" for c in text):
        what = "The text holds half of a surrogate pair."
        out.error(path, "surrogate", what, "Unicode text", ascii(text[:80]), "Remove the escape sequence.")


def _number(number: float, path: tuple[PathPart, ...], out: Collector) -> None:
    if isinstance(number, int):
        if abs(number) > MAX_EXACT_INTEGER:
            what = "The integer is too large to be kept exactly by every reader."
            out.error(
                path, "number", what, f"at most {MAX_EXACT_INTEGER}", shown(number), "Write it as text."
            )
    elif not math.isfinite(number):
        out.error(path, "number", "The number is not finite.", "a finite number", str(number), "Correct it.")
