"""All checks in one pass."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from esac_ag.errors import EngineUnavailable, HarnessError
from esac_ag.sandbox.contract import Engine
from esac_ag.sandbox.doctor.engine import engine_checks, image_checks
from esac_ag.sandbox.doctor.findings import Check, DoctorReport, failure
from esac_ag.sandbox.doctor.limits import prove_limits
from esac_ag.sandbox.doctor.machine import engine_clock, machine_checks
from esac_ag.sandbox.doctor.model import prove_model_socket
from esac_ag.sandbox.image_base import KIND_LABEL
from esac_ag.sandbox.image_definition import ImageKind
from esac_ag.sandbox.images import agent_reference

if TYPE_CHECKING:
    from esac_ag.sandbox.docker import ImageStore

_START = "start Docker (`systemctl start docker`), or set DOCKER_HOST to a running engine"


def examine(root: Path | None, workspace_label: str) -> DoctorReport:
    """Look at engine, limits, images and machine; takes a few seconds.

    Args:
        root: the workspace, or None when there is none here.
        workspace_label: label of the containers that prove the limits.
    """
    # The SDK takes long to import, and what needs no engine is to be told even when it is broken.
    from esac_ag.sandbox.docker import DockerEngine, ImageStore, connect, translated  # noqa: PLC0415

    try:
        client = connect()
        with translated("its facts"):
            info, version = client.info(), client.version()
    except HarnessError as error:
        gone = failure("engine", error.found or error.what, _START)
        return DoctorReport(checks=(gone, *machine_checks(root)), engine_reachable=False)
    store, engine = ImageStore(client), DockerEngine(workspace_label, client=client)
    checks = [*engine_checks(info, version), engine_clock(str(info.get("SystemTime") or ""))]
    try:
        checks += _images_and_limits(store, engine, root)
    except EngineUnavailable as error:
        where = f"{error.where}: " if error.where else ""
        checks.append(failure("engine", where + (error.found or error.what), _START))
        return DoctorReport(checks=(*checks, *machine_checks(root)), engine_reachable=False)
    finally:
        store.close()
    return DoctorReport(checks=(*checks, *machine_checks(root)), engine_reachable=True)


def _images_and_limits(store: ImageStore, engine: Engine, root: Path | None) -> Iterator[Check]:
    if root is not None:
        yield from image_checks(store, root / "runner")
    image = _some_agent_image(store, root)
    if image is None:
        yield failure("limits", "not proved: there is no agent image", "`esac-ag images build`")
        return
    yield from prove_limits(engine, image)
    yield prove_model_socket(engine, image)


def _some_agent_image(store: ImageStore, root: Path | None) -> str | None:
    """The workspace's agent image, or else any of ours: limits do not depend on it."""
    try:
        wanted = store.inspect(agent_reference(root / "runner")) if root is not None else None
    except HarnessError:
        wanted = None
    others = store.list(f"{KIND_LABEL}={ImageKind.AGENT.value}") if wanted is None else ()
    return next((facts.id for facts in (wanted, *others) if facts is not None), None)
