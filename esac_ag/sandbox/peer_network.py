"""The network of one attempt: its relay and its agent are the only ones on it, and lead nowhere else.

It is internal, so nothing is routed off it, and the host has no address on it. The engine's resolver, which
every such network has, knows the two containers' names and asks nobody else: see `options.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pydantic import JsonValue

from esac_ag.clock import opaque_id
from esac_ag.errors import InfrastructureFailure, SandboxLost, UsageError
from esac_ag.owner import this_process
from esac_ag.sandbox.contract import Role, SandboxSpec
from esac_ag.sandbox.options import (
    LABEL_ATTEMPT,
    LABEL_OWNER,
    LABEL_ROLE,
    LABEL_STUDY,
    LABEL_WORKSPACE,
)

NO_POOL: Final = ("available, non-overlapping", "fully subnetted")
"""How engines say that they have no addresses left for another network."""


def network_name() -> str:
    """A name that no other network has."""
    return f"esac-ag-net-{opaque_id()}"


def network_request(*, workspace: str, study: str, attempt: str) -> dict[str, JsonValue]:
    """What the engine is told of a network, its name aside."""
    return {
        "driver": "bridge",
        "internal": True,
        "enable_ipv6": False,
        "attachable": False,
        # An internal network reaches every listener of the host by the bridge's address: it gets none.
        "options": {"com.docker.network.bridge.inhibit_ipv4": "true"},
        "labels": {
            LABEL_WORKSPACE: workspace,
            LABEL_STUDY: study,
            LABEL_ATTEMPT: attempt,
            LABEL_ROLE: Role.RELAY.value,
            LABEL_OWNER: this_process(),
        },
    }


def refusal_of(error: SandboxLost) -> InfrastructureFailure:
    """Why the engine made no network, with a remedy where there is one."""
    if not any(words in error.found for words in NO_POOL):
        return error
    return InfrastructureFailure(
        "The engine has no addresses left for another network.",
        where=error.where,
        found=error.found,
        remedy="run fewer attempts at once (`-n`), remove networks that nobody uses (`esac-ag clean`, "
        "`docker network prune`), or widen `default-address-pools` in the engine's settings; then resume",
    )


class PeerNetworks:
    """The networks that an engine has made and not yet removed, and who is on them; for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._members: dict[str, list[bool]] = {}
        """By name of the network: for each container on it, whether it is the relay."""

    @contextmanager
    def opened(self, name: str) -> Iterator[None]:
        """A network that may be joined for as long as the block lasts."""
        with self._lock:
            self._members[name] = []
        try:
            yield
        finally:
            with self._lock:
                del self._members[name]

    @contextmanager
    def joined(self, spec: SandboxSpec) -> Iterator[None]:
        """A container's time on its network; nothing for one without.

        Raises:
            UsageError: the engine's user made no such network, or another has the place already.
        """
        if spec.peer_network is None:
            yield
            return
        is_relay = spec.role is Role.RELAY
        with self._lock:
            members = self._members.get(spec.peer_network)
            if members is None or is_relay in members:
                raise UsageError(
                    "A container may join a network of its own attempt's, and no other.",
                    where=spec.peer_network,
                    expected="a network that `Engine.network` gave, with one relay and one other container",
                    found="no such network" if members is None else "another container in its place",
                )
            members.append(is_relay)
        try:
            yield
        finally:
            with self._lock:
                members.remove(is_relay)
