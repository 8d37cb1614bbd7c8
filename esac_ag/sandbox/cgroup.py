"""The kernel's own count of processes killed for memory, where the engine runs on this machine."""

from __future__ import annotations

from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
_PLACES = (
    "memory/docker/{id}/memory.oom_control",
    "memory/system.slice/docker-{id}.scope/memory.oom_control",
    "system.slice/docker-{id}.scope/memory.events",
    "docker/{id}/memory.events",
)
"""Version 1 and 2, with the drivers cgroupfs and systemd."""


def memory_kills(container_id: str, root: Path = CGROUPS) -> int | None:
    """How many processes of a running container were killed for memory; None when it cannot be read here.

    The engine's own flag says so only after the container has ended.
    """
    for place in _PLACES:
        try:
            text = (root / place.format(id=container_id)).read_text("ascii")
        except OSError:
            continue
        return memory_kills_in(text)
    return None


def memory_kills_in(text: str) -> int | None:
    """The count in the text of `memory.oom_control` or `memory.events`; None when it holds none."""
    for line in text.splitlines():
        name, _, count = line.partition(" ")
        if name == "oom_kill" and count.isdigit():
            return int(count)
    return None
