"""The engine: makes containers and networks, and finds what was left of them.

What is pure lies beside it: `options.py` builds the engine's requests, `facts.py` reads its answers,
`streams.py` follows output. The connection is `docker_client.py`'s, whose errors are ours.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http import HTTPStatus

from esac_ag.clock import opaque_id
from esac_ag.errors import HarnessError, SandboxLost
from esac_ag.owner import is_of_another
from esac_ag.sandbox.container import DockerSandbox
from esac_ag.sandbox.contract import Sandbox, SandboxSpec
from esac_ag.sandbox.docker_calls import Calls
from esac_ag.sandbox.docker_client import APIClient, APIError, connect, translated
from esac_ag.sandbox.docker_images import ImageStore
from esac_ag.sandbox.facts import owner_in
from esac_ag.sandbox.model_socket import require_only_a_socket
from esac_ag.sandbox.options import LABEL_OWNER, LABEL_STUDY, LABEL_WORKSPACE, container_request
from esac_ag.sandbox.peer_network import PeerNetworks, network_name, network_request, refusal_of

__all__ = ["DockerEngine", "ImageStore", "connect", "translated"]

_TAKEN = {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.FORBIDDEN}


class DockerEngine:
    """Makes sandboxes of one workspace; safe to use from several threads.

    Args:
        workspace: label of everything that is made, by which `clean` finds it.
        seccomp: a profile as JSON, stricter than the engine's default; None for the default.
        client: a connection; None makes one at the first use.
    """

    def __init__(
        self, workspace: str, *, seccomp: str | None = None, client: APIClient | None = None
    ) -> None:
        self._workspace = workspace
        self._seccomp = seccomp
        self._known_client = client
        self._lock = threading.Lock()
        self._peers = PeerNetworks()

    @property
    def _client(self) -> APIClient:
        with self._lock:
            if self._known_client is None:
                self._known_client = connect()
            return self._known_client

    @contextmanager
    def create(self, spec: SandboxSpec) -> Iterator[Sandbox]:
        """A created, not yet started container; leaving the block removes it."""
        if spec.model_socket is not None:
            require_only_a_socket(spec.model_socket)
        # The name is ours, so that an interrupt during the call leaves nothing that we cannot find.
        name = f"esac-ag-{opaque_id()}"
        sandbox = DockerSandbox(Calls(self._client), spec, name)
        with self._peers.joined(spec):
            try:
                sandbox.make(container_request(spec, self._workspace, name, self._seccomp))
                yield sandbox
            except BaseException:
                # The first error is the one that counts; what could not be removed is left to `clean`.
                with suppress(HarnessError):
                    sandbox.remove()
                raise
            sandbox.remove()

    @contextmanager
    def network(self, *, study: str, attempt: str) -> Iterator[str]:
        """A network of one attempt's own, by its name; leaving the block removes it."""
        name, calls = network_name(), Calls(self._client)
        try:
            try:
                calls.make_network(
                    name, network_request(workspace=self._workspace, study=study, attempt=attempt)
                )
            except SandboxLost as error:
                raise refusal_of(error) from error
            with self._peers.opened(name):
                yield name
        except BaseException:
            with suppress(HarnessError):
                calls.remove_network(name)
            raise
        calls.remove_network(name)

    def image_digest(self, reference: str) -> str:
        """`sha256:` content digest of an image."""
        return ImageStore(self._client).require(reference).digest()

    def image_id(self, reference: str) -> str:
        """The engine's own, immutable id of an image: a name may be moved, an id cannot."""
        return ImageStore(self._client).require(reference).id

    def describe(self) -> str:
        """Name and version of the engine."""
        return f"docker {ImageStore(self._client).engine().version}"

    def studies(self, workspace: str) -> tuple[str, ...]:
        """Studies of a workspace that still have containers, volumes or networks, in order."""
        return tuple(sorted({labels.get(LABEL_STUDY, "") for _, _, labels in self._found(workspace, None)}))

    def leftovers(self, workspace: str, study: str | None = None) -> Iterator[str]:
        """Descriptions of what this workspace made and that still exists."""
        for _, description, _ in self._found(workspace, study):
            yield description

    def clean(self, workspace: str, study: str | None = None) -> tuple[str, ...]:
        """Remove what `leftovers` tells unless another live process uses it, and tell what was removed."""
        removed: list[str] = []
        for remove, description, labels in self._found(workspace, study):
            if is_of_another(labels.get(LABEL_OWNER, "")):
                continue
            with translated("remove a leftover", where=description):
                try:
                    remove()
                except APIError as error:
                    # Somebody else was faster, or a container that is kept holds the volume or the network.
                    if error.status_code not in _TAKEN:
                        raise
                else:
                    removed.append(description)
        return tuple(removed)

    def _found(
        self, workspace: str, study: str | None
    ) -> Iterator[tuple[Callable[[], object], str, dict[str, str]]]:
        """Containers, then the volumes and networks that are left: how to remove each, and what it is."""
        client = self._client
        label = f"{LABEL_WORKSPACE}={workspace}"
        wanted = {"label": [label] if study is None else [label, f"{LABEL_STUDY}={study}"]}
        with translated("list containers"):
            containers = client.containers(all=True, filters=wanted)
        for found in containers:
            remove = partial(client.remove_container, found["Id"], v=True, force=True)
            labels = found["Labels"] or {}
            yield remove, f"container {found['Id'][:12]} ({owner_in(labels)})", labels
        with translated("list volumes"):
            volumes = client.volumes(filters=wanted)["Volumes"] or ()
        for found in volumes:
            remove = partial(client.remove_volume, found["Name"], force=True)
            labels = found["Labels"] or {}
            yield remove, f"volume {found['Name'][:12]} ({owner_in(labels)})", labels
        with translated("list networks"):
            networks = client.networks(filters=wanted)
        for found in networks:
            labels = found["Labels"] or {}
            yield (
                partial(client.remove_network, found["Id"]),
                f"network {found['Id'][:12]} ({owner_in(labels)})",
                labels,
            )

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            if self._known_client is not None:
                self._known_client.close()
                self._known_client = None
