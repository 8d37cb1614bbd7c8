"""The record of an isolation probe: what was tried from inside an agent container, and what was reached."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from esac_ag.manifest.plan import Digest, Network
from esac_ag.record import Record, Sha256


class ProbeRoute(Record):
    """One way on which the canary was looked for."""

    name: str
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

    format_version: Literal[1]
    made_at: str
    manifest_sha256: Sha256 | None
    """Digest of the draft that was probed, if there was one; the sealed manifest cannot name itself."""
    images: ProbedImages
    runner_sha256: Sha256
    """Tree hash of `runner/`."""
    limits_sha256: Sha256
    """`canonical.sha256_of` of the manifest's limits."""
    network: Network
    harness_version: str
    canary_sha256: Sha256
    """Digest of the canary; the canary itself is never written down."""
    routes: Annotated[tuple[ProbeRoute, ...], Field(min_length=1)]
    passed: bool

    @property
    def holds(self) -> bool:
        """Whether every route was really tried and none reached anything."""
        return all(route.tried > 0 and not route.reached for route in self.routes)
