"""The only door to Docker: the connection, the translation of its errors, images, and containers.

What is pure lies beside it: `options.py` builds the engine's requests, `facts.py` reads its answers,
`streams.py` follows output. Every error of the SDK and of HTTP is translated here, at the border.
"""

from __future__ import annotations

import io
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import docker
import docker.errors
import docker.transport
import docker.utils
import requests
import urllib3.exceptions
from pydantic import JsonValue

from esac_ag.clock import now, opaque_id
from esac_ag.errors import EngineUnavailable, HarnessError, ImageMissing, InfrastructureFailure, SandboxLost
from esac_ag.owner import is_of_another
from esac_ag.sandbox.container import DockerSandbox
from esac_ag.sandbox.contract import Sandbox, SandboxSpec
from esac_ag.sandbox.facts import (
    ContainerState,
    EngineFacts,
    ImageFacts,
    container_state,
    engine_facts,
    image_facts,
    owner_in,
)
from esac_ag.sandbox.model_socket import require_only_a_socket
from esac_ag.sandbox.options import (
    LABEL_OWNER,
    LABEL_SANDBOX,
    LABEL_STUDY,
    LABEL_WORKSPACE,
    container_request,
)
from esac_ag.sandbox.streams import DuplexStream, OutputStream

DEFAULT_ADDRESS = "unix:///var/run/docker.sock"

CALL_TIMEOUT_S = 120
"""Silence of the engine within one call; streams of output have deadlines of their own."""

IMAGE_TIMEOUT_S = 3600
"""Silence while an image is built, imported or pulled."""

CONCURRENCY = 32
"""Connections kept: eight attempts, each with a stream, a call, and a spare."""

_CHUNK_BYTES = 256 * 1024
_EVENT_LAG_S = 0.1
_ENGINE_REMEDY = "start Docker and run `esac-ag doctor`, or set DOCKER_HOST"


class _OnePool(docker.transport.UnixHTTPAdapter):
    """Keeps connections for the socket; the SDK's own adapter keeps a pool for every address."""

    def get_connection(self, url: str | bytes, proxies: Any = None) -> Any:  # noqa: ANN401, ARG002
        return super().get_connection("http+docker://localhost", proxies)


def connect(timeout_s: float = CALL_TIMEOUT_S) -> docker.APIClient:
    """A client of the engine that `DOCKER_HOST` names, or of the local socket.

    Raises:
        EngineUnavailable: no engine answers.
    """
    settings = docker.utils.kwargs_from_env()
    where = settings.get("base_url") or DEFAULT_ADDRESS
    try:
        _knock(where)
        client = docker.APIClient(
            version="auto", timeout=round(timeout_s), max_pool_size=CONCURRENCY, **settings
        )
    except (docker.errors.DockerException, requests.RequestException, OSError) as error:
        raise EngineUnavailable(
            "No Docker engine answers.", where=where, found=str(error), remedy=_ENGINE_REMEDY
        ) from error
    adapter = client.get_adapter(client.base_url)
    if isinstance(adapter, docker.transport.UnixHTTPAdapter):
        address = "http+unix://" + adapter.socket_path
        adapter.close()
        client.mount("http+docker://", _OnePool(address, round(timeout_s), max_pool_size=CONCURRENCY))
    return client


def _knock(address: str) -> None:
    """Try a local socket first: the SDK leaves its own one open when nobody answers."""
    if address.startswith(("unix://", "http+unix://")):
        path = "/" + address.partition("://")[2].lstrip("/")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(CALL_TIMEOUT_S)
            probe.connect(path)


@contextmanager
def translated(what: str, *, where: str = "", expected: str = "") -> Iterator[None]:
    """Turn the SDK's and HTTP's errors into ours.

    Raises:
        ImageMissing: the engine knows no such image.
        SandboxLost: the engine refused, or knows no such object.
        EngineUnavailable: no engine answers, or it stopped answering.
    """
    try:
        yield
    except docker.errors.ImageNotFound as error:
        raise ImageMissing(
            f"An image is missing: {what}.",
            where=where,
            expected=expected,
            found=_explained(error),
            remedy="esac-ag images build",
        ) from error
    except docker.errors.APIError as error:
        raise SandboxLost(
            f"The engine refused: {what}.", where=where, expected=expected, found=_explained(error)
        ) from error
    except (
        docker.errors.DockerException,
        requests.RequestException,
        urllib3.exceptions.HTTPError,
        OSError,
    ) as error:
        raise EngineUnavailable(
            f"The engine does not answer: {what}.", where=where, found=str(error), remedy=_ENGINE_REMEDY
        ) from error


def _explained(error: docker.errors.APIError) -> str:
    return f"{error.explanation or error} (HTTP {error.status_code})"


class ImageStore:
    """The engine's images, for building, sealing and the doctor."""

    def __init__(self, client: docker.APIClient | None = None) -> None:
        self._client = client or connect(IMAGE_TIMEOUT_S)

    def engine(self) -> EngineFacts:
        """The engine and its machine."""
        with translated("its facts"):
            return engine_facts(self._client.info(), self._client.version())

    def inspect(self, reference: str) -> ImageFacts | None:
        """The facts of an image, or None when there is no such image."""
        with translated("inspect an image", where=reference):
            try:
                inspected: dict[str, Any] = self._client.inspect_image(reference)  # type: ignore[no-untyped-call]
                return image_facts(inspected)
            except docker.errors.NotFound:
                return None

    def require(self, reference: str) -> ImageFacts:
        """The facts of an image that has to be there.

        Raises:
            ImageMissing: there is no such image.
        """
        facts = self.inspect(reference)
        if facts is None:
            raise ImageMissing(
                "An image is missing.",
                where=reference,
                expected="an image of that name",
                found="none",
                remedy="esac-ag images build",
            )
        return facts

    def list(self, label: str | None = None) -> tuple[ImageFacts, ...]:
        """All images that carry a label (`key` or `key=value`), ordered by id."""
        with translated("list images"):
            found = self._client.images(filters={"label": label} if label else None)
        images = (self.inspect(image["Id"]) for image in sorted(found, key=lambda image: str(image["Id"])))
        return tuple(facts for facts in images if facts)

    def import_root(
        self, tar_path: Path, reference: str, labels: Mapping[str, str], changes: Sequence[str] = ()
    ) -> ImageFacts:
        """Make an image of one layer from a root file system.

        Args:
            tar_path: an archive of the root.
            reference: `repository:tag` of the image to be made.
            labels: put into the image's configuration.
            changes: further Dockerfile instructions, such as `ENV A=b`.

        Raises:
            InfrastructureFailure: the engine could not import it.
        """
        repository, tag = _named(reference)
        labelled = [f"LABEL {_quoted(key)}={_quoted(value)}" for key, value in sorted(labels.items())]
        with translated("import a root file system", where=str(tar_path)), tar_path.open("rb") as stream:
            self._client.import_image_from_data(
                stream, repository=repository, tag=tag, changes=[*labelled, *changes]
            )
        return self.require(reference)

    def build(
        self,
        context: bytes | Path,
        dockerfile: str,
        reference: str,
        labels: Mapping[str, str],
        build_args: Mapping[str, str],
        network: str = "none",
    ) -> ImageFacts:
        """Build an image from a context.

        Args:
            context: an uncompressed tar archive, held in memory or in a file.
            dockerfile: path of the Dockerfile within it.
            reference: `repository:tag` of the image to be made.
            labels: put into the image's configuration.
            build_args: values of the Dockerfile's `ARG`s.
            network: of its steps; none unless packages have to be installed.

        Raises:
            InfrastructureFailure: a step failed; `found` holds the end of the build's log.
        """
        opened = context.open("rb") if isinstance(context, Path) else io.BytesIO(context)
        with translated("build an image", where=reference), opened as archive:
            events = self._client.build(
                fileobj=archive,
                custom_context=True,
                dockerfile=dockerfile,
                tag=reference,
                labels=dict(labels),
                buildargs=dict(build_args),
                network_mode=network,
                rm=True,
                forcerm=True,
                decode=True,
            )
            _raise_on_failure(events, "An image could not be built.", reference)
        return self.require(reference)

    def pull(self, reference_with_digest: str) -> ImageFacts:
        """Pull an image by its registry digest (`name@sha256:...`).

        Raises:
            ImageMissing: the registry has no such image, or does not answer.
        """
        repository, _, digest = reference_with_digest.partition("@")
        if not digest.startswith("sha256:"):
            raise ImageMissing(
                "An image is pulled by digest only.",
                where=reference_with_digest,
                expected="name@sha256:<64 digits>",
                found=reference_with_digest,
            )
        try:
            with translated("pull an image", where=reference_with_digest):
                events = self._client.pull(repository, tag=digest, stream=True, decode=True)
                _raise_on_failure(events, "An image could not be pulled.", reference_with_digest)
        except SandboxLost as error:
            raise ImageMissing(
                "An image could not be pulled.", where=reference_with_digest, found=error.found
            ) from error
        return self.require(reference_with_digest)

    def tag(self, reference: str, name: str) -> None:
        """Give an image a further name (`repository:tag`)."""
        repository, tag = _named(name)
        with translated("tag an image", where=reference):
            self._client.tag(reference, repository, tag=tag, force=True)

    def remove(self, reference: str) -> None:
        """Remove a name, and the image with its last one; missing ones are no error."""
        with translated("remove an image", where=reference):
            try:
                self._client.remove_image(reference, noprune=False)
            except docker.errors.NotFound:
                return

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _named(reference: str) -> tuple[str, str]:
    repository, tag = docker.utils.parse_repository_tag(reference)
    return repository, tag or "latest"


def _quoted(value: str) -> str:
    """A value as the Dockerfile's `LABEL` reads it, without expansion of `$`."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$").replace("\n", "\\n")
    return f'"{escaped}"'


def _raise_on_failure(events: Iterable[Any], what: str, where: str) -> None:
    """Follow a build or a pull to its end; its failures arrive as events in a successful answer."""
    log: list[str] = []
    for event in events:
        log = [*log[-30:], str(event.get("stream") or event.get("status") or "").rstrip()]
        if "error" in event:
            found = "\n".join([*(line for line in log if line), str(event["error"])])
            raise InfrastructureFailure(what, where=where, found=found)


class DockerEngine:
    """Makes sandboxes of one workspace; safe to use from several threads.

    Args:
        workspace: label of everything that is made, by which `clean` finds it.
        seccomp: a profile as JSON, stricter than the engine's default; None for the default.
        client: a connection; None makes one at the first use.
    """

    def __init__(
        self, workspace: str, *, seccomp: str | None = None, client: docker.APIClient | None = None
    ) -> None:
        self._workspace = workspace
        self._seccomp = seccomp
        self._known_client = client
        self._lock = threading.Lock()

    @property
    def _client(self) -> docker.APIClient:
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
        sandbox = DockerSandbox(_Calls(self._client), spec, name)
        try:
            sandbox.make(container_request(spec, self._workspace, name, self._seccomp))
            yield sandbox
        except BaseException:
            # The first error is the one that counts; what could not be removed is left to `clean`.
            with suppress(HarnessError):
                sandbox.remove()
            raise
        sandbox.remove()

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
        """Studies of a workspace that still have containers or volumes, in order."""
        return tuple(sorted({labels.get(LABEL_STUDY, "") for _, _, labels in self._found(workspace, None)}))

    def leftovers(self, workspace: str, study: str | None = None) -> Iterator[str]:
        """Descriptions of containers and volumes that this workspace made and that still exist."""
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
                except docker.errors.APIError as error:
                    # Somebody else was faster, or a container that is kept holds the volume.
                    if error.status_code not in {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}:
                        raise
                else:
                    removed.append(description)
        return tuple(removed)

    def _found(
        self, workspace: str, study: str | None
    ) -> Iterator[tuple[Callable[[], object], str, dict[str, str]]]:
        """Containers, then the volumes that are left without them: how to remove each, and what it is."""
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

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            if self._known_client is not None:
                self._known_client.close()
                self._known_client = None


class _Calls:
    """The calls of `ContainerCalls`, by the SDK's low-level client."""

    def __init__(self, client: docker.APIClient) -> None:
        # Some of the SDK's methods have no types.
        self._client: Any = client

    def make(self, request: dict[str, JsonValue], name: str) -> str:
        with translated("create a container", where=str(request["Image"])):
            return str(self._client.create_container_from_config(request, name)["Id"])

    def put(self, container: str, path: str, archive: bytes) -> None:
        with _calling("copy files into it", container):
            self._client.put_archive(container, path, archive)

    def attach(self, container: str) -> OutputStream:
        with _calling("attach to it", container):
            attached = self._client.attach_socket(container, {"stdout": 1, "stderr": 1, "stream": 1})
            return OutputStream(*_socket_of(attached))

    def start(self, container: str) -> None:
        with _calling("start it", container):
            self._client.start(container)

    def execute(
        self, container: str, argv: Sequence[str], working_dir: str | None, environment: Sequence[str]
    ) -> tuple[str, OutputStream]:
        with _calling("execute a command in it", container):
            made = self._client.exec_create(
                container, list(argv), environment=list(environment), workdir=working_dir
            )
            started = self._client.exec_start(made["Id"], socket=True)
            return str(made["Id"]), OutputStream(*_socket_of(started))

    def open(
        self, container: str, argv: Sequence[str], working_dir: str | None, environment: Sequence[str]
    ) -> tuple[str, DuplexStream]:
        with _calling("speak with a command in it", container):
            made = self._client.exec_create(
                container, list(argv), stdin=True, environment=list(environment), workdir=working_dir
            )
            started = self._client.exec_start(made["Id"], socket=True)
            return str(made["Id"]), DuplexStream(*_socket_of(started))

    def exit_code(self, command: str) -> int | None:
        with translated("inspect a command", where=f"command {command[:12]}"):
            inspected = self._client.exec_inspect(command)
        code = inspected["ExitCode"]
        return None if inspected["Running"] or code is None else int(code)

    def state(self, container: str) -> ContainerState:
        with _calling("inspect it", container):
            return container_state(self._client.inspect_container(container))

    def events(self, container: str) -> frozenset[str]:
        # Events may lag behind what they tell.
        until_s = datetime.fromisoformat(now()).timestamp() + _EVENT_LAG_S
        wanted = {"container": container, "event": ["kill", "oom"]}
        with _calling("ask what happened to it", container):
            events = self._client.events(since="1", until=f"{until_s:.3f}", filters=wanted, decode=True)
            return frozenset(str(event.get("Action")) for event in events)

    def pause(self, container: str) -> None:
        with _calling("freeze it", container):
            self._client.pause(container)

    def kill(self, container: str) -> None:
        with _calling("kill it", container):
            self._client.kill(container)

    @contextmanager
    def archive(self, container: str, path: str) -> Iterator[Iterable[bytes] | None]:
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
        with _calling("remove it", container):
            if self._is_there(container):
                return False
            left = self._client.volumes(filters={"label": f"{LABEL_SANDBOX}={name}"})["Volumes"] or ()
            for volume in left:
                self._client.remove_volume(volume["Name"], force=True)
            return not left

    def _is_there(self, container: str) -> bool:
        """Remove a container, and ask whether it is there still: another may be removing it."""
        with suppress(docker.errors.NotFound):
            try:
                self._client.remove_container(container, v=True, force=True)
            except docker.errors.NotFound:
                return False
            except docker.errors.APIError as error:
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
