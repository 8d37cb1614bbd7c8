"""What the engine's answers tell, as records: pure functions from inspect data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from esac_ag.canonical import sha256_of
from esac_ag.record import Record

CONFIG_KEYS = (
    "Cmd",
    "Entrypoint",
    "Env",
    "ExposedPorts",
    "Healthcheck",
    "Labels",
    "OnBuild",
    "Shell",
    "StopSignal",
    "User",
    "Volumes",
    "WorkingDir",
)
"""The part of an image's configuration that changes what a container does; the rest is times and ids."""


class ImageFacts(Record):
    """An image as the engine knows it."""

    id: str
    """The engine's id; two imports of the same root have different ones."""
    diff_ids: tuple[str, ...]
    """`sha256:` digests of the layers' uncompressed archives, the lowest first."""
    config: dict[str, JsonValue]
    """Those of `CONFIG_KEYS` that say something; null and empty ones are left out."""
    repo_tags: tuple[str, ...]
    repo_digests: tuple[str, ...]
    labels: dict[str, str]
    created: str
    size_bytes: int
    architecture: str

    def digest(self) -> str:
        """`sha256:` over the RFC 8785 form of layers and configuration, free of times and ids."""
        return "sha256:" + sha256_of({"config": self.config, "layers": list(self.diff_ids)})


class EngineFacts(Record):
    """The engine and the machine that it runs on."""

    name: str
    version: str
    api_version: str
    kernel: str
    architecture: str
    cgroup_version: str
    storage_driver: str
    root_folder: str
    cpus: int
    memory_bytes: int
    runtimes: tuple[str, ...]
    security: tuple[str, ...]
    warnings: tuple[str, ...]


def image_facts(inspected: Mapping[str, Any]) -> ImageFacts:
    """The facts in the answer to an image inspection."""
    config = inspected.get("Config") or {}
    return ImageFacts(
        id=inspected["Id"],
        diff_ids=tuple(inspected["RootFS"].get("Layers") or ()),
        config={key: config[key] for key in CONFIG_KEYS if config.get(key)},
        repo_tags=tuple(inspected.get("RepoTags") or ()),
        repo_digests=tuple(inspected.get("RepoDigests") or ()),
        labels=dict(config.get("Labels") or {}),
        created=inspected.get("Created") or "",
        size_bytes=inspected.get("Size") or 0,
        architecture=inspected.get("Architecture") or "",
    )


def engine_facts(info: Mapping[str, Any], version: Mapping[str, Any]) -> EngineFacts:
    """The facts in the answers to `info` and `version`."""
    components = version.get("Components") or [{}]
    return EngineFacts(
        name=components[0].get("Name") or "Engine",
        version=version.get("Version") or "",
        api_version=version.get("ApiVersion") or "",
        kernel=info.get("KernelVersion") or "",
        architecture=info.get("Architecture") or "",
        cgroup_version=str(info.get("CgroupVersion") or "1"),
        storage_driver=info.get("Driver") or "",
        root_folder=info.get("DockerRootDir") or "",
        cpus=info.get("NCPU") or 0,
        memory_bytes=info.get("MemTotal") or 0,
        runtimes=tuple(sorted(info.get("Runtimes") or {})),
        security=tuple(info.get("SecurityOptions") or ()),
        warnings=tuple(info.get("Warnings") or ()),
    )


class ContainerState(Record):
    """How a container is, or how its first process ended."""

    running: bool
    """Whether the first process exists, frozen or not."""
    exit_code: int
    out_of_memory: bool
    """The engine's flag; reliable only after the end."""


def container_state(inspected: Mapping[str, Any]) -> ContainerState:
    """The state in the answer to a container inspection."""
    state = inspected["State"]
    return ContainerState(
        running=state["Status"] not in {"exited", "dead", "removing"},
        exit_code=state["ExitCode"],
        out_of_memory=bool(state.get("OOMKilled")),
    )


def owner_in(labels: Mapping[str, str] | None) -> str:
    """Whom a container or a volume belongs to, in words."""
    names = ("role", "study", "attempt")
    return ", ".join(f"{name} {(labels or {}).get(f'esac-ag.{name}', 'unknown')}" for name in names)
