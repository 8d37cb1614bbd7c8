"""Scripts with faults: the right and the wrong text of some places, and the trace that a fault leaves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from esac_ag.suite.contract import Instance
from esac_ag.suite.items.draws import Draws

WORKSPACE: Final = "/agent/workspace"
"""Where a run's files lie, as tracebacks name them."""


@dataclass(frozen=True, slots=True)
class Site:
    """A place of a script; the texts are whole lines with their indentation."""

    id: str
    right: str
    wrong: str


@dataclass(frozen=True, slots=True)
class Frame:
    """One entry of a traceback: a function and the first line of that text in it."""

    function: str
    line: str


def script_of(template: str, sites: Sequence[Site], faults: Collection[str]) -> str:
    """The script with some of its places wrong; a place is a line `@id@` of the template."""
    text = template
    for site in sites:
        text = text.replace(f"@{site.id}@\n", site.wrong if site.id in faults else site.right)
    return text


def trace_of(path: str, script: str, frames: Sequence[Frame], error: str) -> str:
    """What Python writes when the script ends in an uncaught error, without positions inside lines."""
    lines = script.split("\n")
    parts = ["Traceback (most recent call last):"]
    for frame in frames:
        start = 0
        if frame.function != "<module>":
            start = next(
                at for at, line in enumerate(lines) if line.strip().startswith(f"def {frame.function}(")
            )
        number = next(at for at, line in enumerate(lines) if at >= start and line.strip() == frame.line)
        parts.append(f'  File "{WORKSPACE}/{path}", line {number + 1}, in {frame.function}')
        parts.append(f"    {frame.line}")
    return "\n".join([*parts, error]) + "\n"


def old_logs(draws: Draws, path: str, traces: Sequence[str], count: int) -> Mapping[str, str]:
    """Logs of other days: plausible, and of no use."""
    logs: dict[str, str] = {}
    for number in range(count):
        day = f"2026-02-{3 + 2 * number:02d}"
        head = f"{day} 06:{draws.below(60):02d} {path} started, {draws.between(20, 400)} lines of input\n"
        if draws.below(2):
            tail = f"{day} 07:00 {path} ended, exit code 0\n"
        else:
            tail = f"{draws.pick(traces)}{day} 07:00 {path} ended, exit code 1 (repaired on the same day)\n"
        logs[f"logs/{day}.txt"] = head + tail
    return logs


def repaired(
    program: str, program_of: Callable[[Mapping[str, Any], Collection[str]], str], *kept: int
) -> Callable[[Instance], Mapping[str, str]]:
    """Submissions in which the faults at these places of the list are left."""

    def files(instance: Instance) -> Mapping[str, str]:
        faults = instance.secret["faults"]
        assert isinstance(faults, list)  # noqa: S101 our own
        return {program: program_of(instance.secret, [str(faults[place]) for place in kept])}

    return files
