"""Builders for sandbox specs, and what the sandbox tests share."""

from __future__ import annotations

from esac_ag.clock import Deadline
from esac_ag.sandbox.contract import CommandResult, Dialogue, Role, Sandbox, SandboxSpec, ScratchMount, Volume

MIB = 1024 * 1024
WORK = "/work"
UID = 10001


def a_volume(path: str = WORK, **changes: object) -> Volume:
    """A disk volume of the sandbox's user."""
    return Volume.model_validate({"path": path, "owner_uid": UID} | changes)


def a_memory_volume(path: str = WORK, **changes: object) -> Volume:
    """A volume in memory, of 8 MiB."""
    return a_volume(path, **{"size_bytes": 8 * MIB, **changes})


def a_spec(image: str = "any:1", **changes: object) -> SandboxSpec:
    """A small sandbox with one disk volume, whose first process waits for ever."""
    spec: dict[str, object] = {
        "image": image,
        "role": Role.PROBE,
        "study": "sandbox-tests",
        "attempt": "0123456789abcdef",
        "argv": ("sleep", "infinity"),
        "uid": UID,
        "gid": UID,
        "volumes": (a_volume(),),
        "scratch": (ScratchMount(path="/tmp", size_bytes=8 * MIB),),
        "cpus": 1.0,
        "memory_mib": 128,
        "pids": 64,
    }
    return SandboxSpec.model_validate(spec | changes)


def run(
    sandbox: Sandbox, *argv: str, within_s: float = 60.0, output_bytes: int = 100_000, **changes: object
) -> CommandResult:
    """Execute a command with a generous deadline."""
    return sandbox.execute(
        argv,
        deadline=Deadline.after_s(within_s),
        output_bytes=output_bytes,
        **changes,  # type: ignore[arg-type]
    )


def say(dialogue: Dialogue, data: bytes, *, within_s: float = 60.0) -> None:
    """Send bytes with a generous deadline."""
    dialogue.send(data, Deadline.after_s(within_s))


def hear(dialogue: Dialogue, *, within_s: float = 60.0, limit_bytes: int = 100_000) -> bytes | None:
    """The next line, with a generous deadline."""
    return dialogue.line(Deadline.after_s(within_s), limit_bytes=limit_bytes)


def ask(dialogue: Dialogue, line: bytes) -> bytes | None:
    """Send a line and wait for the reply."""
    say(dialogue, line + b"\n")
    return hear(dialogue)
