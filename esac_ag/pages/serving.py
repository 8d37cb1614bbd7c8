"""Serves an application of local pages on a port of loopback.

with PageServer(application) as server:
    print(server.url)
    server.wait()
"""

from __future__ import annotations

import socket
import threading
from types import TracebackType
from typing import Final, Self

import uvicorn
from starlette.types import ASGIApp

from esac_ag.errors import InfrastructureFailure
from esac_ag.pages.guard import LOOPBACK, Guard, Secrets

_CLOSING_S: Final = 2


class PageServer:
    """Serves until its block is left, in a thread of its own.

    Args:
        application: the pages, behind a `Guard`.
        secrets: of this server; pages that change something need its `csrf`.
        port: of 127.0.0.1; 0 takes a free one.
        reads_only: whether nothing may be changed.

    Raises:
        InfrastructureFailure: the port cannot be had, on entering.
    """

    def __init__(
        self, application: ASGIApp, secrets: Secrets, *, port: int = 0, reads_only: bool = False
    ) -> None:
        self._application = application
        self._secrets = secrets
        self._reads_only = reads_only
        self.port = port
        """The port that is served, after entering."""

    @property
    def url(self) -> str:
        """Where the pages begin; whoever knows it may use them."""
        return f"http://{LOOPBACK}:{self.port}/{self._secrets.token}/"

    def __enter__(self) -> Self:
        try:
            self._socket = socket.create_server((LOOPBACK, self.port))
        except OSError as error:
            raise InfrastructureFailure(
                "the pages cannot be served",
                where=f"{LOOPBACK}:{self.port}",
                found=error.strerror or str(error),
                remedy="choose another port with --port, or leave it out",
            ) from error
        self.port = self._socket.getsockname()[1]
        guard = Guard(self._application, self._secrets, self.port, reads_only=self._reads_only)
        self._server = uvicorn.Server(
            uvicorn.Config(
                guard,
                interface="asgi3",
                http="h11",
                ws="none",
                lifespan="off",
                # The address holds the token, so that nothing of a request is logged.
                log_config=None,
                log_level="critical",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=_CLOSING_S,
            )
        )
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="pages", daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def wait(self) -> None:
        """Until the server ends: by Ctrl-C, which is raised here as `KeyboardInterrupt`."""
        while self._thread.is_alive():
            self._thread.join(timeout=0.5)
