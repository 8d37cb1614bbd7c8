"""The only door to Docker: the connection, and the translation of its errors at the border.

All else of Docker takes the SDK's names from here, so that there is one place to look at.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import requests
import urllib3.exceptions
from docker import APIClient
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.transport import UnixHTTPAdapter
from docker.utils import kwargs_from_env, parse_repository_tag

from esac_ag.errors import EngineUnavailable, ImageMissing, SandboxLost

__all__ = ["APIClient", "APIError", "NotFound", "connect", "parse_repository_tag", "translated"]

DEFAULT_ADDRESS = "unix:///var/run/docker.sock"

CALL_TIMEOUT_S = 120
"""Silence of the engine within one call; streams of output have deadlines of their own."""

IMAGE_TIMEOUT_S = 3600
"""Silence while an image is built, imported or pulled."""

CONCURRENCY = 32
"""Connections kept: eight attempts, each with a stream, a call, and a spare."""

_ENGINE_REMEDY = "start Docker and run `esac-ag doctor`, or set DOCKER_HOST"


class _OnePool(UnixHTTPAdapter):
    """Keeps connections for the socket; the SDK's own adapter keeps a pool for every address."""

    def get_connection(self, url: str | bytes, proxies: Any = None) -> Any:  # noqa: ANN401, ARG002
        return super().get_connection("http+docker://localhost", proxies)


def connect(timeout_s: float = CALL_TIMEOUT_S) -> APIClient:
    """A client of the engine that `DOCKER_HOST` names, or of the local socket.

    Raises:
        EngineUnavailable: no engine answers.
    """
    settings = kwargs_from_env()
    where = settings.get("base_url") or DEFAULT_ADDRESS
    try:
        _knock(where)
        client = APIClient(version="auto", timeout=round(timeout_s), max_pool_size=CONCURRENCY, **settings)
    except (DockerException, requests.RequestException, OSError) as error:
        raise EngineUnavailable(
            "No Docker engine answers.", where=where, found=str(error), remedy=_ENGINE_REMEDY
        ) from error
    adapter = client.get_adapter(client.base_url)
    if isinstance(adapter, UnixHTTPAdapter):
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
    except ImageNotFound as error:
        raise ImageMissing(
            f"An image is missing: {what}.",
            where=where,
            expected=expected,
            found=_explained(error),
            remedy="esac-ag images build",
        ) from error
    except APIError as error:
        raise SandboxLost(
            f"The engine refused: {what}.", where=where, expected=expected, found=_explained(error)
        ) from error
    except (
        DockerException,
        requests.RequestException,
        urllib3.exceptions.HTTPError,
        OSError,
    ) as error:
        raise EngineUnavailable(
            f"The engine does not answer: {what}.", where=where, found=str(error), remedy=_ENGINE_REMEDY
        ) from error


def _explained(error: APIError) -> str:
    return f"{error.explanation or error} (HTTP {error.status_code})"
