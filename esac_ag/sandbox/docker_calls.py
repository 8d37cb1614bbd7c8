"""The calls of `ContainerCalls`, by the SDK's low-level client."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from http import HTTPStatus
from typing import Any

from pydantic import JsonValue

from esac_ag.clock import now, sleep_s
from esac_ag.errors import SandboxLost
from esac_ag.sandbox.docker_client import APIClient, APIError, NotFound, translated
from esac_ag.sandbox.facts import ContainerState, container_state
from esac_ag.sandbox.options import LABEL_SANDBOX
from esac_ag.sandbox.streams import DuplexStream, OutputStream

_CHUNK_BYTES = 256 * 1024
_EVENT_LAG_S = 0.1
_NETWORK_REMOVALS = 20
_NETWORK_PAUSE_S = 0.02


class Calls:
    """The calls of `ContainerCalls`, by the SDK's low-level client."""

    def __init__(self, client: APIClient) -> None:
        # Some of the SDK's methods have no types.
        self._client: Any = client

    def make(self, request: dict[str, JsonValue], name: str) -> str:
        """Create a container and its volumes; its id."""
        with translated("create a container", where=str(request["Image"])):
            return str(self._client.create_container_from_config(request, name)["Id"])

    def put(self, container: str, path: str, archive: bytes) -> None:
        """Unpack an archive in a volume."""
        with _calling("copy files into it", container):
            self._client.put_archive(container, path, archive)

    def attach(self, container: str) -> OutputStream:
        """The output of the first process from now on."""
        with _calling("attach to it", container):
            attached = self._client.attach_socket(container, {"stdout": 1, "stderr": 1, "stream": 1})
            return OutputStream(*_socket_of(attached))

    def start(self, container: str) -> None:
        """Start the first process."""
        with _calling("start it", container):
            self._client.start(container)

    def execute(
        self, container: str, argv: Sequence[str], working_dir: str | None, environment: Sequence[str]
    ) -> tuple[str, OutputStream]:
        """Start a command; its id and its output."""
        with _calling("execute a command in it", container):
            made = self._client.exec_create(
                container, list(argv), environment=list(environment), workdir=working_dir
            )
            started = self._client.exec_start(made["Id"], socket=True)
            return str(made["Id"]), OutputStream(*_socket_of(started))

    def open(
        self, container: str, argv: Sequence[str], working_dir: str | None, environment: Sequence[str]
    ) -> tuple[str, DuplexStream]:
        """Start a command that is spoken to; its id, and its input and output."""
        with _calling("speak with a command in it", container):
            made = self._client.exec_create(
                container, list(argv), stdin=True, environment=list(environment), workdir=working_dir
            )
            started = self._client.exec_start(made["Id"], socket=True)
            return str(made["Id"]), DuplexStream(*_socket_of(started))

    def exit_code(self, command: str) -> int | None:
        """The exit code of a command, None while it runs."""
        with translated("inspect a command", where=f"command {command[:12]}"):
            inspected = self._client.exec_inspect(command)
        code = inspected["ExitCode"]
        return None if inspected["Running"] or code is None else int(code)

    def state(self, container: str) -> ContainerState:
        """How the container is."""
        with _calling("inspect it", container):
            return container_state(self._client.inspect_container(container))

    def events(self, container: str) -> frozenset[str]:
        """Which of `kill` and `oom` happened to the container."""
        # Events may lag behind what they tell.
        until_s = datetime.fromisoformat(now()).timestamp() + _EVENT_LAG_S
        wanted = {"container": container, "event": ["kill", "oom"]}
        with _calling("ask what happened to it", container):
            events = self._client.events(since="1", until=f"{until_s:.3f}", filters=wanted, decode=True)
            return frozenset(str(event.get("Action")) for event in events)

    def pause(self, container: str) -> None:
        """Freeze all processes."""
        with _calling("freeze it", container):
            self._client.pause(container)

    def kill(self, container: str) -> None:
        """Kill all processes."""
        with _calling("kill it", container):
            self._client.kill(container)

    @contextmanager
    def archive(self, container: str, path: str) -> Iterator[Iterable[bytes] | None]:
        """A tar archive of a path, None when there is nothing at it."""
        # The SDK's own method switches time-outs off.
        client = self._client
        address = f"{client.base_url}/v{client.api_version}/containers/{container}/archive"
        with _calling("copy files out of it", container):
            answer = client.get(
                address,
                params={"path": path},
                headers={"Accept-Encoding": "identity"},
                stream=True,
                timeout=client.timeout,
            )
            try:
                if answer.status_code == HTTPStatus.NOT_FOUND:
                    # Nothing at the path, unless it is the container that is gone.
                    client.inspect_container(container)
                    yield None
                else:
                    client._raise_for_status(answer)  # noqa: SLF001  (reads the engine's explanation)
                    yield iter(lambda: answer.raw.read(_CHUNK_BYTES), b"")
            finally:
                answer.close()

    def remove(self, container: str, name: str) -> bool:
        """Remove container and volumes; whether all is gone."""
        with _calling("remove it", container):
            if self._is_there(container):
                return False
            left = self._client.volumes(filters={"label": f"{LABEL_SANDBOX}={name}"})["Volumes"] or ()
            for volume in left:
                self._client.remove_volume(volume["Name"], force=True)
            return not left

    def make_network(self, name: str, request: dict[str, JsonValue]) -> None:
        """Create a network."""
        with translated("make a network", where=name):
            self._client.create_network(name, **request)

    def remove_network(self, name: str) -> None:
        """Remove a network, whose containers are gone, and confirm that it is gone; idempotent.

        Raises:
            SandboxLost: it is still there.
        """
        with translated("remove a network", where=name):
            for attempt in range(_NETWORK_REMOVALS):
                sleep_s(attempt * _NETWORK_PAUSE_S)
                try:
                    self._client.remove_network(name)
                except NotFound:
                    return
                except APIError as error:
                    # The engine may not yet have let go of a container that ended.
                    if error.status_code not in {HTTPStatus.FORBIDDEN, HTTPStatus.INTERNAL_SERVER_ERROR}:
                        raise
        raise SandboxLost(
            "A network could not be removed.", where=name, found="it is still there", remedy="esac-ag clean"
        )

    def _is_there(self, container: str) -> bool:
        """Remove a container, and ask whether it is there still: another may be removing it."""
        with suppress(NotFound):
            try:
                self._client.remove_container(container, v=True, force=True)
            except NotFound:
                return False
            except APIError as error:
                if error.status_code not in {HTTPStatus.CONFLICT, HTTPStatus.INTERNAL_SERVER_ERROR}:
                    raise
            self._client.inspect_container(container)
            return True
        return False


def _calling(what: str, container: str) -> AbstractContextManager[None]:
    return translated(what, where=f"container {container[:12]}")


def _socket_of(raw: Any) -> tuple[socket.socket, bytes, Callable[[], None]]:  # noqa: ANN401  (private to the SDK)
    """The socket behind the SDK's one, what was read ahead of it, and how to close it.

    The SDK reads from the bare socket; what HTTP had already read ahead of it would be lost. It also gives
    a local socket's reading end only, which refuses to be written to.
    """
    answer = raw._response  # noqa: SLF001
    # With TLS, it is the socket already.
    sock = getattr(raw, "_sock", raw)
    sock.setblocking(False)
    try:
        head = bytes(answer.raw._fp.fp.peek())  # noqa: SLF001
    except ssl.SSLWantReadError:
        head = b""
    return sock, head, answer.close
