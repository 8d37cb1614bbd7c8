"""Limits that take effect here, proved by two short containers made exactly as a run's are."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources

from pydantic import ValidationError

from esac_ag.clock import Deadline
from esac_ag.errors import InfrastructureFailure
from esac_ag.plural import plural
from esac_ag.record import Record
from esac_ag.sandbox.contract import (
    Engine,
    ExitState,
    Role,
    SandboxSpec,
    ScratchMount,
    Termination,
    Volume,
)
from esac_ag.sandbox.doctor.findings import Check, failure, ok, warning

_MIB = 1024 * 1024
_MEMORY_MIB = 128
_PIDS = 24
_CPUS = 0.2
_TMP_MIB = 8
_WORKSPACE_MIB = 12
_LIMIT_S = 60.0

_REMEDY = "use Docker Engine 20.10 or later on Linux with cgroups; see `docker info` for its warnings"
_EAT = f"b = bytearray({4 * _MEMORY_MIB} * 1024 * 1024); b[::4096] = b'x' * len(b[::4096])"


class Swap(Record):
    """The kernel's own figures, as text; None where a version of cgroups has no such file."""

    memory_and_swap: str | None
    memory: str | None
    swap_max: str | None


class Inside(Record):
    """What `inside.py` told."""

    status: dict[str, str]
    uid: int
    written_roots: list[str]
    interfaces: list[str]
    tmp_bytes: int | None
    workspace_bytes: int | None
    children: int | None
    elapsed_s: float
    processor_s: float
    throttled: int | None
    swap: Swap


def prove_limits(engine: Engine, image: str) -> Iterator[Check]:
    """A check for each limit and hardening measure.

    Args:
        engine: makes the containers.
        image: the agent image.
    """
    try:
        state, output = _run(engine, image, resources.files(__package__).joinpath("inside.py").read_text())
        seen = Inside.model_validate_json(output)
    except ValidationError:
        found = f"{state.termination.value}, exit code {state.exit_code}: {output.decode(errors='replace')}"
        yield failure("limits", f"the probing container told nothing: {found[-500:]}", _REMEDY)
        return
    except InfrastructureFailure as error:
        yield failure("limits", f"the probing container could not run: {error}", error.remedy or _REMEDY)
        return
    yield from judge(seen)
    yield _memory(engine, image)


def judge(seen: Inside) -> Iterator[Check]:
    """What the container saw, against what it was given."""
    yield _swap(seen)
    yield _cap("pids limit", seen.children, _PIDS, f"{_PIDS} processes")
    yield _processor(seen)
    yield _cap("tmp size", seen.tmp_bytes, _TMP_MIB * _MIB, f"{_TMP_MIB} MiB")
    yield _cap("workspace size", seen.workspace_bytes, _WORKSPACE_MIB * _MIB, f"{_WORKSPACE_MIB} MiB")
    yield _holds("read-only root", not seen.written_roots, "writable: " + ", ".join(seen.written_roots))
    others = [name for name in seen.interfaces if name != "lo"]
    yield _holds("no network", not others, "interfaces: " + ", ".join(others))
    sets = {name: seen.status.get(name, "") for name in ("CapEff", "CapPrm", "CapBnd")}
    empty = all(value and not value.strip("0") for value in sets.values())
    yield _holds(
        "no capabilities", empty, ", ".join(f"{name} {value or '?'}" for name, value in sets.items())
    )
    yield _holds("no new privileges", seen.status.get("NoNewPrivs") == "1", "the flag is not set")
    yield _holds("seccomp filter", seen.status.get("Seccomp") == "2", "no filter is active")
    yield _holds("not root", seen.uid != 0, "the first process runs as root")


def _run(engine: Engine, image: str, program: str) -> tuple[ExitState, bytes]:
    output = bytearray()
    spec = SandboxSpec(
        image=image,
        role=Role.PROBE,
        study="doctor",
        attempt="limits",
        argv=("python3", "-I", "-c", program),
        uid=10001,
        gid=10001,
        volumes=(Volume(path="/agent", size_bytes=_WORKSPACE_MIB * _MIB, max_files=64, owner_uid=10001),),
        scratch=(ScratchMount(path="/tmp", size_bytes=_TMP_MIB * _MIB),),  # noqa: S108  (inside)
        cpus=_CPUS,
        memory_mib=_MEMORY_MIB,
        pids=_PIDS,
    )
    with engine.create(spec) as sandbox:
        sandbox.start()
        state = sandbox.wait(Deadline.after_s(_LIMIT_S), sink=output.extend)
    return state, bytes(output)


def _memory(engine: Engine, image: str) -> Check:
    name = "memory limit"
    try:
        state, _ = _run(engine, image, _EAT)
    except InfrastructureFailure as error:
        return failure(name, f"the probing container could not run: {error}", error.remedy or _REMEDY)
    if state.termination is Termination.OUT_OF_MEMORY:
        return ok(name, f"a process that took {4 * _MEMORY_MIB} MiB of {_MEMORY_MIB} was killed, and told so")
    # Podman's socket leaves the engine's flag false; the signal still shows that the limit holds.
    if state.exit_code == 128 + 9:
        return warning(
            name, "the process was killed, but the engine does not tell that it was for memory", _REMEDY
        )
    return failure(name, f"{4 * _MEMORY_MIB} MiB fit into {_MEMORY_MIB}", _REMEDY)


def _swap(seen: Inside) -> Check:
    swap = seen.swap
    if swap.swap_max is not None:
        return _holds("no swap", swap.swap_max == "0", f"{swap.swap_max} bytes of swap on top of the memory")
    if swap.memory_and_swap is not None:
        same = swap.memory_and_swap == swap.memory
        return _holds("no swap", same, f"memory {swap.memory}, with swap {swap.memory_and_swap} bytes")
    return warning(
        "no swap", "the kernel does not account for swap", "boot with `swapaccount=1`, or without swap"
    )


def _processor(seen: Inside) -> Check:
    used = f"{seen.processor_s:.2f} s of processor in {seen.elapsed_s:.2f} s at a quota of {_CPUS}"
    if seen.throttled:
        return ok("cpu quota", f"{used}, held back {plural(seen.throttled, 'time')}")
    if seen.processor_s < _CPUS * seen.elapsed_s:
        return warning("cpu quota", f"{used}; the quota was not reached", "run the doctor on an idle machine")
    if seen.throttled is None and seen.processor_s < 2 * _CPUS * seen.elapsed_s:
        return warning("cpu quota", f"{used}; the kernel does not tell whether it held back", _REMEDY)
    return failure("cpu quota", f"{used}, never held back", _REMEDY)


def _cap(name: str, reached: int | None, limit: int, words: str) -> Check:
    if reached is None or reached > limit:
        return failure(name, f"more than {words} were possible", _REMEDY)
    return ok(name, f"ends at {words}")


def _holds(name: str, holds: bool, otherwise: str) -> Check:  # noqa: FBT001  (the name is the question)
    return ok(name, "takes effect") if holds else failure(name, otherwise, _REMEDY)
