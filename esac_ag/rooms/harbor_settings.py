"""Reads a Harbor task's `task.toml` (schema 1.4): what is used, and what becomes of every other key. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from esac_ag.errors import InputRefused
from esac_ag.rooms.harbor_report import Fate, Item
from esac_ag.rooms.harbor_table import Table, TableReader, read_table

SCHEMA_VERSIONS = ("1.4",)
DEFAULT_VERIFIER_S = 600.0
"""Harbor's own."""
MAX_CHECK_S = 600.0
"""Longest time of one check of ours."""

_LIMITS = "limits belong to a study here (`limits` of its draft), the same for all of its tasks"
_NO_PLACE = "our packages have no place for it"
_NOT_KEPT = {
    "source": _NO_PLACE,
    "artifacts": "only the files below the working directory leave the agent's container, and all of them do",
    "steps": "our tasks have one request; the task's own instruction.md and tests/ are taken",
    "multi_step_reward_strategy": "our tasks have one request",
    "task.version": _NO_PLACE,
    "task.authors": _NO_PLACE,
    "task.keywords": _NO_PLACE,
    "agent.timeout_sec": _LIMITS,
    "agent.user": "agents run as a user of ours without any right over the system",
    "verifier.user": "test.sh runs as the user who runs the submission, never as root",
    "verifier.environment": "the grader's image is ours: there is no registry, and nothing is built",
    "verifier.collect": "there are no services to collect from",
    "verifier.continuous": "a submission is graded once, when the agent has ended",
    "environment.build_timeout_sec": "nothing is built",
    "environment.docker_image": "the images are ours: there is no registry",
    "environment.cpus": _LIMITS,
    "environment.memory_mb": _LIMITS,
    "environment.memory": _LIMITS,
    "environment.storage_mb": _LIMITS,
    "environment.storage": _LIMITS,
    "environment.gpus": "containers have no devices",
    "environment.gpu_types": "containers have no devices",
    "environment.tpu": "containers have no devices",
    "environment.mcp_servers": "agents get no tool servers from a task",
    "environment.skills_dir": "instructions come from a study's arms alone, so that they can be compared",
    "environment.healthcheck": "no service of a task is started",
}
"""Keys that nothing of ours does, with the reason."""
_NETWORK = {"agent", "verifier", "environment"}
_WITH_VARIABLES = ("environment", "verifier", "solution")
_USED = {
    "schema_version",
    "task.name",
    "task.description",
    "verifier.timeout_sec",
    "environment.os",
    "environment.workdir",
}


@dataclass(frozen=True, slots=True)
class HarborSettings:
    """What is used of a `task.toml`."""

    schema_version: str
    name: str | None
    description: str
    workdir: str | None
    verifier_s: float
    """Time of test.sh, at most that of a check."""
    environment: Mapping[str, str]
    """For test.sh and solve.sh."""
    verifier_environment: Mapping[str, str]
    solution_environment: Mapping[str, str]
    items: tuple[Item, ...]


def read_settings(data: bytes, where: str) -> HarborSettings:
    """Read a `task.toml`.

    Args:
        data: the file.
        where: its path, for errors.

    Raises:
        InputRefused: it is not TOML, its schema version is unknown, a value that we use is of a wrong type,
            or the task is not for Linux.
    """
    table = read_table(data, where)
    reader = TableReader(table, where)
    version = reader.text("schema_version")
    if version not in SCHEMA_VERSIONS:
        raise InputRefused(
            "The Harbor task is of a schema version that is not known here.",
            where=f"{where}#/schema_version",
            expected=f"schema_version {', '.join(SCHEMA_VERSIONS)}",
            found="none" if version is None else version,
            remedy="bring the task up to that version; see docs/tasks.md",
        )
    if (system := reader.text("environment", "os")) is not None and system.lower() != "linux":
        raise InputRefused(
            "The Harbor task is not for Linux.",
            where=f"{where}#/environment/os",
            expected="linux",
            found=system,
        )
    wanted_s = reader.seconds("verifier", "timeout_sec") or DEFAULT_VERIFIER_S
    variables = {place: reader.variables(place) for place in _WITH_VARIABLES}
    return HarborSettings(
        schema_version=version,
        name=reader.text("task", "name"),
        description=reader.text("task", "description") or "",
        workdir=reader.text("environment", "workdir"),
        verifier_s=min(wanted_s, MAX_CHECK_S),
        environment=variables["environment"][0],
        verifier_environment=variables["verifier"][0],
        solution_environment=variables["solution"][0],
        items=(
            *_items(table),
            *_default_network(table),
            *(item for _, items in variables.values() for item in items),
            _time_item(wanted_s),
        ),
    )


def _time_item(wanted_s: float) -> Item:
    if wanted_s > MAX_CHECK_S:
        why = f"{wanted_s:g} s; a check has {MAX_CHECK_S:g} s at most"
    else:
        why = f"{wanted_s:g} s, as the check's own time"
    why += "; a study's limits.grader.wall_clock_s (120 s unless its draft says otherwise) ends it earlier"
    fate = Fate.KEPT if wanted_s <= MAX_CHECK_S else Fate.CHANGED
    return Item(what="verifier.timeout_sec", fate=fate, why=why)


def _items(table: Table) -> Iterator[Item]:
    """One item for each key that is there, but for the variables, which are read one by one."""
    for key, value in _keys(table):
        section, _, name = key.partition(".")
        if key in _USED or (name == "env" and section in _WITH_VARIABLES):
            continue
        if section == "metadata":
            yield Item(what=key, fate=Fate.NOT_KEPT, why=_NO_PLACE)
        elif section in _NETWORK and name in ("network_mode", "allowed_hosts", "allow_internet"):
            yield _network(key, value)
        elif key == "verifier.environment_mode":
            yield Item(
                what=key,
                fate=Fate.KEPT if value == "separate" else Fate.CHANGED,
                why="grading always happens in a container of its own, with the files below the working "
                "directory alone: what runs or lies elsewhere when the agent ends is gone",
            )
        else:
            why = _NOT_KEPT.get(key, "it is no key of schema 1.4 that is known here")
            yield Item(what=key, fate=Fate.NOT_KEPT, why=why)


def _keys(table: Table) -> Iterator[tuple[str, Any]]:
    """Dotted keys of the known sections, and the other keys of the top."""
    for key, value in table.items():
        if key in ("task", "agent", "verifier", "environment", "solution") and isinstance(value, dict):
            yield from ((f"{key}.{inner}", found) for inner, found in value.items())
        elif key == "metadata" and not value:
            continue
        else:
            yield key, value


def _default_network(table: Table) -> Iterator[Item]:
    """An item for the network that a task has in Harbor without asking for it."""
    environment = table.get("environment", {})
    if not any(key in environment for key in ("network_mode", "allow_internet")):
        yield _network("environment.network_mode (by default public)", "public")


def _network(key: str, value: object) -> Item:
    if value in ("no-network", False):
        return Item(what=key, fate=Fate.KEPT, why="no container has a network")
    why = "no container has a network; an agent reaches its model through the gateway and nothing else"
    return Item(what=key, fate=Fate.NOT_KEPT, why=why)
