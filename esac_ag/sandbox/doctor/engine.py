"""The engine's own words: version, cgroups, storage, disk, security, images."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from esac_ag.errors import HarnessError
from esac_ag.sandbox.agent_images import agent_image_references
from esac_ag.sandbox.doctor.findings import Check, failure, ok, warning
from esac_ag.sandbox.image_definition import ImageKind, read_definition

if TYPE_CHECKING:
    from esac_ag.sandbox.docker import ImageStore

_GIB = 1024**3
_ENOUGH_BYTES = 10 * _GIB
_LEAST_BYTES = 2 * _GIB
_OLDEST_API = (1, 41)


def engine_checks(info: Mapping[str, Any], version: Mapping[str, Any]) -> Iterator[Check]:
    """Checks of the engine's answers to `info` and `version`."""
    yield _version(version)
    yield _cgroups(info)
    yield _storage(info)
    yield _disk(Path(str(info.get("DockerRootDir") or "/nonexistent")))
    yield _security(info)


def image_checks(store: ImageStore, runner_dir: Path) -> Iterator[Check]:
    """Whether the images that `runner/` calls for are there, with their content digests."""
    try:
        definition = read_definition(runner_dir)
    except HarnessError as error:
        yield failure("images", str(error), error.remedy or "restore `runner/images/`")
        return
    for kind in (ImageKind.AGENT, ImageKind.GRADER):
        name, reference = f"{kind.value} image", definition.reference(kind)
        facts = store.inspect(reference)
        if facts is None:
            yield failure(name, f"{reference} is not there", "`esac-ag images build`")
        else:
            yield ok(name, f"{reference} {facts.digest()}")
    # Images of command-line agents are built when they are wanted: a missing one is no fault.
    for agent, reference in agent_image_references(definition, runner_dir).items():
        if facts := store.inspect(reference):
            yield ok(f"{agent} image", f"{reference} {facts.digest()}")


def _version(version: Mapping[str, Any]) -> Check:
    api = str(version.get("ApiVersion") or "")
    name = str((version.get("Components") or [{}])[0].get("Name") or "Engine")
    found = f"{name} {version.get('Version') or '?'}, API {api or '?'}"
    numbers = tuple(int(part) for part in api.split(".") if part.isdigit())
    if numbers < _OLDEST_API:
        return warning("engine", found, "Docker Engine 20.10 (API 1.41) or later is what is tested")
    return ok("engine", found)


def _cgroups(info: Mapping[str, Any]) -> Check:
    driver = str(info.get("CgroupDriver") or "none")
    found = f"version {info.get('CgroupVersion') or '1'}, driver {driver}"
    if driver == "none":
        return failure("cgroups", found, "a rootless engine needs cgroups version 2 and systemd for limits")
    return ok("cgroups", found)


def _storage(info: Mapping[str, Any]) -> Check:
    driver = str(info.get("Driver") or "?")
    if driver == "vfs":
        return warning("storage", driver, "every container copies the whole image; use overlay2")
    return ok("storage", driver)


def _disk(root: Path) -> Check:
    name, remedy = "free disk", "free space: `docker system df` tells what takes it"
    try:
        free = shutil.disk_usage(root).free
    except OSError:
        return warning(name, f"{root} is not on this machine", "look at the engine's machine")
    found = f"{free / _GIB:.1f} GiB at {root}"
    if free < _LEAST_BYTES:
        return failure(name, found, remedy)
    return ok(name, found) if free >= _ENOUGH_BYTES else warning(name, found, remedy)


def _security(info: Mapping[str, Any]) -> Check:
    options = [str(option).removeprefix("name=") for option in info.get("SecurityOptions") or ()]
    found = "; ".join(options) or "none"
    if not any(option.startswith("seccomp") for option in options):
        return failure("security options", found, "use an engine with seccomp")
    if "seccomp,profile=unconfined" in options:
        return failure("security options", found, "remove `seccomp-profile` from the engine's settings")
    return ok("security options", found)
