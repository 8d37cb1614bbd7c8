"""The one way out of an agent's container: its loopback, a relay, a mounted socket, the model gateway.

    with model_path(gateway_socket) as path:
        spec = SandboxSpec(..., model_socket=path.socket_folder)
        with engine.create(spec) as sandbox:
            sandbox.start()
            with relayed(sandbox, path, deadline):
                ...  # the agent finds the gateway at `path.base_url`

The container has no network besides its loopback: what it sends reaches the gateway or nobody. A process of
the container may end the relay or pass it by, which gives it no more than the relay does; what a call may do
and cost is the gateway's to decide.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from esac_ag.clock import Deadline
from esac_ag.errors import InfrastructureFailure, UsageError
from esac_ag.sandbox.contract import Sandbox
from esac_ag.sandbox.model_socket import (
    FOLDER_MODE,
    RELAY_PROGRAM,
    SOCKET_MODE,
    SOCKET_NAME,
    SOCKET_PATH,
    require_only_a_socket,
)

RELAY_PORT: Final = 21417
"""On the container's loopback: below the ports that systems hand out, and none that servers use by habit."""
NETWORK_REMEDY: Final = 'set "model_way": "network" in the settings of the agent'
"""For where no socket can be mounted."""
_ANSWER_BYTES = 1000


@dataclass(frozen=True, slots=True)
class ModelPath:
    """What leads from one container to the gateway."""

    socket_folder: str
    """For `SandboxSpec.model_socket`."""
    relay_argv: tuple[str, ...]
    """Runs in the container for as long as the model has to be reached; see `relayed`."""
    base_url: str
    """The gateway's root, as the agent in the container sees it; without a slash at its end."""


@contextmanager
def model_path(gateway_socket: Path, *, port: int = RELAY_PORT) -> Iterator[ModelPath]:
    """A folder of one container's own that holds a second name of the gateway's socket; gone at the end.

    Args:
        gateway_socket: listened on, in a folder that nobody but this user may enter: one that
            `esac_ag.owner.temporary_folder` made, so that `clean` finds what a crash leaves. From now on it
            can be connected to and not be read: its mode becomes 0222.
        port: of the container's loopback.

    Raises:
        UsageError: that is no socket, or others may enter its folder.
    """
    require_socket(gateway_socket)
    # Beside the socket, because a second name needs the same file system. One for each container, because
    # those that shared a folder could talk by locks on it. A container sees the path, so it tells nothing.
    with TemporaryDirectory(prefix="m-", dir=gateway_socket.parent.resolve()) as made:
        folder = Path(made)
        name = folder / SOCKET_NAME
        os.link(gateway_socket, name)
        name.chmod(SOCKET_MODE)
        folder.chmod(FOLDER_MODE)
        require_only_a_socket(str(folder))
        yield ModelPath(
            socket_folder=str(folder),
            relay_argv=(*RELAY_PROGRAM, str(port), SOCKET_PATH),
            base_url=f"http://127.0.0.1:{port}",
        )


@contextmanager
def relayed(sandbox: Sandbox, path: ModelPath, deadline: Deadline) -> Iterator[None]:
    """Run the relay in a running container, and have reached the gateway through the mounted socket.

    Args:
        sandbox: made with the path's folder as its `model_socket`, from the agent image.
        path: of this container.
        deadline: for the relay's start.

    Raises:
        InfrastructureFailure: the socket cannot be reached from inside.
        DialogueTimeout: the relay did not start in time; the container is frozen.
        SandboxLost: the container or the engine is gone.
    """
    with sandbox.open(path.relay_argv, working_dir="/") as relay:
        answer = relay.line(deadline, limit_bytes=_ANSWER_BYTES)
        if answer != b"ready":
            raise InfrastructureFailure(
                "The model gateway cannot be reached from the container.",
                where=f"container {sandbox.container_id[:12]}",
                expected="a relay that reached the mounted socket",
                found=(answer or relay.errors() or b"no word from it").decode(errors="replace").strip(),
                remedy=f"{NETWORK_REMEDY}, or use an engine on this machine: sockets can be mounted neither "
                "from another one nor through the file sharing of a virtual machine",
            )
        yield


def require_socket(path: Path) -> None:
    """Make sure that there is a socket.

    Raises:
        UsageError: there is something else, or nothing.
    """
    try:
        is_socket = stat.S_ISSOCK(path.lstat().st_mode)
    except OSError:
        is_socket = False
    if not is_socket:
        raise UsageError("The gateway's socket is not there.", where=str(path), expected="a socket")
