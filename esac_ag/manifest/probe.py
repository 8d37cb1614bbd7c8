"""The record of an isolation probe: what was tried from inside an agent container, and what was reached."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from esac_ag.canonical import sha256_of
from esac_ag.manifest.plan import Digest, ModelWayKind, Network
from esac_ag.record import Record, Sha256


class Route(StrEnum):
    """A way on which canaries are looked for; `docs/security.md` tells each."""

    PATHS = "paths"
    PRIVATE_PLACES = "private-places"
    LAYERS = "layers"
    VOLUMES = "volumes"
    MOUNTS = "mounts"
    PROCESSES = "processes"
    ENVIRONMENT = "environment"
    SOCKETS = "sockets"
    NETWORK = "network"
    HOST = "host"
    NEIGHBOUR = "neighbour"
    NAMES = "names"
    SHARED_OBJECTS = "shared-objects"
    KERNEL = "kernel"
    GATEWAY = "gateway"
    """Tried where the container has a way to a model."""
    OTHER_USERS = "other-users"
    CONTROL_FOUND = "control-found"
    """No way out: reached when the search did not find what it had to find, and so proves nothing."""


def routes_for(network: Network) -> frozenset[Route]:
    """The routes that have to be tried on a network."""
    return frozenset(Route) - (frozenset({Route.GATEWAY}) if network is Network.NONE else frozenset())


class ProbeRoute(Record):
    """One way on which canaries were looked for."""

    name: Route
    tried: Annotated[int, Field(ge=0)]
    """Places that were looked at; a route that tried none proves nothing."""
    reached: bool
    """Whether private material was reached on it."""
    detail: str


class ProbedImages(Record):
    """Content digests of the images that the probe ran with."""

    agent: Digest
    grader: Digest


class ProbeRecord(Record):
    """The result of `esac-ag probe`; a manifest names it by the digest of its canonical form."""

    format_version: Literal[2]
    made_at: str
    study_id: str
    manifest_sha256: Sha256 | None
    """Digest of the draft that was probed, if there was one; the sealed manifest cannot name itself."""
    images: ProbedImages
    runner_sha256: Sha256
    """Tree hash of `runner/`."""
    limits_sha256: Sha256
    """`canonical.sha256_of` of the manifest's limits."""
    network: Network
    model_way: ModelWayKind | None
    """How the container reached the gateway; null without one."""
    harness_version: str
    canary_sha256: Sha256
    """Digest of the canary; the canary itself is never written down."""
    routes: Annotated[tuple[ProbeRoute, ...], Field(min_length=1)]
    result_sha256: Sha256
    """`canonical.sha256_of` of the routes."""
    passed: bool

    @property
    def untried(self) -> tuple[str, ...]:
        """Routes that the network asks for and that were not tried, or not once; in order."""
        tried = {route.name for route in self.routes if route.tried > 0}
        return tuple(sorted(route.value for route in routes_for(self.network) - tried))

    @property
    def holds(self) -> bool:
        """Whether every route was really tried, none reached anything, and the result is the sealed one."""
        return (
            not self.untried
            and not any(route.reached for route in self.routes)
            and self.result_sha256 == result_sha256(self.routes)
        )


def result_sha256(routes: tuple[ProbeRoute, ...]) -> str:
    """Digest of what a probe tried and reached."""
    return sha256_of([route.model_dump(mode="json") for route in routes])
