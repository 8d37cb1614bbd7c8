"""One attempt's way to its model, of either kind: a mounted socket, or a network with a relay on it.

    with (
        model_way(kind, gateway_socket, engine, image=..., study=..., attempt=..., deadline=...) as way,
        engine.create(way.placed(spec)) as sandbox,
    ):
        sandbox.start()
        with way.relayed(sandbox, deadline):
            ...  # the agent finds the gateway at `way.base_url`

`SOCKET` is `model_path.py`. `NETWORK` needs neither a mount nor a port of the host, so that it works with
every engine: the agent's container has a network of its own with one other container, the relay, whose
connections pass through the harness's connection to the engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, assert_never

from esac_ag.clock import Deadline
from esac_ag.errors import InfrastructureFailure
from esac_ag.manifest.plan import ModelWayKind
from esac_ag.sandbox.contract import Engine, Role, Sandbox, SandboxSpec
from esac_ag.sandbox.model_frames import FrameServer, frames_served
from esac_ag.sandbox.model_path import RELAY_PORT, model_path, relayed, require_socket

FRAMES_PROGRAM: Final = ("python3", "-I", "-S", "-B", "/opt/esac/relay_frames.py")
"""`runner/guest/agent/relay_frames.py` in the agent image, without its arguments."""
_READY = re.compile(rb"ready ([0-9.]+) ([0-9]+)")
_ANSWER_BYTES = 1000
_RELAY_UID = 10001


@dataclass(frozen=True, slots=True)
class ModelWay:
    """What leads from one agent's container to the gateway."""

    base_url: str
    """The gateway's root, as the agent in the container sees it; without a slash at its end."""
    model_socket: str | None
    """For the field of `SandboxSpec`."""
    peer_network: str | None
    """For the field of `SandboxSpec`."""
    relayed: Callable[[Sandbox, Deadline], AbstractContextManager[None]]
    """Keeps the way open as long as its block lasts; it was tried from inside before the block begins.

    Takes the running container, and the deadline for the beginning. Raises `InfrastructureFailure`, also when
    the block ends, if the relay was lost meanwhile by no doing of the agent's; and `SandboxLost`.
    """

    def placed(self, spec: SandboxSpec) -> SandboxSpec:
        """The spec of a container that has this way."""
        fields = {"model_socket": self.model_socket, "peer_network": self.peer_network}
        return SandboxSpec.model_validate({**dict(spec), **fields})


@contextmanager
def model_way(
    kind: ModelWayKind,
    gateway_socket: Path,
    engine: Engine,
    *,
    image: str,
    study: str,
    attempt: str,
    deadline: Deadline,
) -> Iterator[ModelWay]:
    """A way for one container, which is to be gone when the block is left.

    Args:
        kind: of the way.
        gateway_socket: listened on, as `model_path` wants it.
        engine: makes the agent's container, too.
        image: the agent image, or one that stands on it; for the relay.
        study: for labels.
        attempt: for labels.
        deadline: for the relay's start.

    Raises:
        UsageError: that is no socket.
        InfrastructureFailure: no network or no relay could be made, or the network could not be removed.
        DialogueTimeout: the relay did not start in time.
    """
    match kind:
        case ModelWayKind.SOCKET:
            with model_path(gateway_socket) as path:
                yield ModelWay(
                    base_url=path.base_url,
                    model_socket=path.socket_folder,
                    peer_network=None,
                    relayed=lambda sandbox, until: relayed(sandbox, path, until),
                )
        case ModelWayKind.NETWORK:
            require_socket(gateway_socket)
            with (
                engine.network(study=study, attempt=attempt) as network,
                engine.create(relay_spec(image, study=study, attempt=attempt, network=network)) as relay,
            ):
                relay.start()
                with _way_over(relay, network, gateway_socket, deadline) as way:
                    yield way
        case _:
            assert_never(kind)


def relay_spec(image: str, *, study: str, attempt: str, network: str) -> SandboxSpec:
    """The relay's container: as hardened as every other, and without any place to write to."""
    return SandboxSpec(
        image=image,
        role=Role.RELAY,
        study=study,
        attempt=attempt,
        argv=("sleep", "infinity"),
        uid=_RELAY_UID,
        gid=_RELAY_UID,
        peer_network=network,
        cpus=1.0,
        # What may be under way on 256 connections in both directions is 80 MB.
        memory_mib=192,
        pids=8,
    )


@contextmanager
def _way_over(relay: Sandbox, network: str, gateway: Path, deadline: Deadline) -> Iterator[ModelWay]:
    with relay.open((*FRAMES_PROGRAM, str(RELAY_PORT)), working_dir="/") as dialogue:
        answer = dialogue.line(deadline, limit_bytes=_ANSWER_BYTES)
        ready = _READY.fullmatch(answer or b"")
        if ready is None:
            raise _unreachable(relay, "a relay that listens", answer or dialogue.errors())
        address, port = ready[1].decode(), ready[2].decode()
        with frames_served(dialogue, gateway) as server:
            yield ModelWay(
                base_url=f"http://{address}:{port}",
                model_socket=None,
                peer_network=network,
                relayed=partial(_reached, server, address, port),
            )


@contextmanager
def _reached(
    server: FrameServer, address: str, port: str, sandbox: Sandbox, deadline: Deadline
) -> Iterator[None]:
    tried = sandbox.execute(
        (*FRAMES_PROGRAM, "reach", address, port),
        deadline=deadline,
        output_bytes=_ANSWER_BYTES,
        working_dir="/",
    )
    server.require_unharmed()
    if tried.output.strip() != b"ready":
        raise _unreachable(sandbox, "the relay in reach of its one neighbour", tried.output)
    yield
    server.require_unharmed()


def _unreachable(sandbox: Sandbox, expected: str, found: bytes) -> InfrastructureFailure:
    return InfrastructureFailure(
        "The model gateway cannot be reached from the container.",
        where=f"container {sandbox.container_id[:12]}",
        expected=expected,
        found=(found or b"no word from it").decode(errors="replace").strip(),
        remedy="look at the engine's networks: `docker network ls`, and its log",
    )
