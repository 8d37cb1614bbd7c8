"""The model gateway: a reverse proxy that holds the key, outside of every container.

with Gateway(socket_path=folder / "model.sock") as gateway:
    lane = gateway.open("a1b2", plan, folder=attempt / "model")
    ...  # the agent asks, with lane.token as its key, or below lane.path
    summary = lane.close()
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
import uvicorn

from esac_ag import clock
from esac_ag.artifacts.redaction import Redactor
from esac_ag.canonical import sha256_of_bytes
from esac_ag.errors import InfrastructureFailure, UsageError
from esac_ag.gateway.application import LANE_PREFIX, Application
from esac_ag.gateway.bodies import Bodies
from esac_ag.gateway.calls import CallRecord, LaneSummary
from esac_ag.gateway.lanes import LaneState
from esac_ag.gateway.plans import LanePlan

Result = TypeVar("Result")

LOOPBACK = "127.0.0.1"
BACKLOG = 256
MOST_CONNECTIONS = 2000
KEEP_ALIVE_S = 75
CLOSING_S = 5


class Lane:
    """One attempt's way to its model, as the harness holds it.

    Args:
        token: the dummy key that the agent gets.
        closing: ends the lane.
    """

    def __init__(self, token: str, closing: Callable[[], LaneSummary]) -> None:
        self.token = token
        """For `Authorization: Bearer` or `x-api-key`."""
        self.path = LANE_PREFIX + token
        """Prefix of paths that needs no header."""
        self._closing = closing
        self._summary: LaneSummary | None = None

    def close(self) -> LaneSummary:
        """Take no more calls, break off those under way, and sum up. Idempotent."""
        if self._summary is None:
            self._summary = self._closing()
        return self._summary


class Gateway:
    """Serves many attempts at once, in a thread of its own, inside a `with` block.

    Args:
        socket_path: a unix socket to serve on. Everybody may connect who can enter its folder, so the folder
            must be private.
        port: a port of 127.0.0.1 to serve on; 0 takes a free one.

    Raises:
        UsageError: neither is given.
        InfrastructureFailure: the socket or the port cannot be had, on entering; or it could not begin to
            serve, which shows when a lane is closed and on leaving.
    """

    def __init__(self, *, socket_path: Path | None = None, port: int | None = None) -> None:
        if socket_path is None and port is None:
            raise UsageError("A gateway needs a unix socket or a port of loopback to serve on")
        self.socket_path = socket_path
        self.port = port
        """The port that is served, after entering."""
        self._clients: dict[bool, httpx.AsyncClient] = {}
        self._application = Application(self._client_for)
        self._ready: Future[asyncio.AbstractEventLoop] = Future()
        self._thread = threading.Thread(target=self._run, name="model-gateway", daemon=True)
        self._sockets: list[socket.socket] = []
        self._made: Path | None = None
        """The socket's file, when it is ours to remove."""
        self._lanes: dict[str, Lane] = {}
        """Open ones, by their tokens' digests."""
        self._server = _PromptServer(
            uvicorn.Config(
                self._application,
                interface="asgi3",
                http="h11",
                ws="none",
                lifespan="off",
                # Nothing of a request is ever logged.
                log_config=None,
                log_level="critical",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                limit_concurrency=MOST_CONNECTIONS,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=CLOSING_S,
            )
        )

    @property
    def strangers(self) -> tuple[CallRecord, ...]:
        """Calls without a known token, the latest ones."""
        return tuple(self._application.strangers)

    def __enter__(self) -> Self:
        try:
            self._bind()
        except OSError as error:
            self._release()
            raise InfrastructureFailure(
                "The model gateway cannot serve",
                where=str(self.socket_path or f"{LOOPBACK}:{self.port}"),
                found=error.strerror or str(error),
            ) from error
        # Nobody waits for it: a container is made meanwhile, and who connects before it serves is queued.
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for lane in tuple(self._lanes.values()):
                lane.close()
        finally:
            try:
                with suppress(RuntimeError):  # its loop has ended already
                    self._ready.result().call_soon_threadsafe(self._server.end)
            finally:
                self._thread.join()
                self._release()

    def _release(self) -> None:
        for served in self._sockets:
            served.close()
        if self._made is not None:
            self._made.unlink(missing_ok=True)

    def open(
        self, attempt_id: str, plan: LanePlan, *, folder: Path | None = None, redactor: Redactor | None = None
    ) -> Lane:
        """Open a lane.

        Args:
            attempt_id: whose it is.
            plan: what it may do.
            folder: where its calls and their bodies are written; none keeps no bodies.
            redactor: takes other secrets out of what is written; the plan's key is always taken out.

        Raises:
            UsageError: the plan cannot be carried out.
        """
        plan.check()
        token = clock.secret_text()
        digest = sha256_of_bytes(token.encode())
        secrets = Redactor((plan.key, token)) if redactor is None else redactor.joined((plan.key, token))
        bodies = Bodies(folder, secrets)

        async def closing() -> LaneSummary:
            return await self._application.lanes.pop(digest).close()

        def close() -> LaneSummary:
            self._lanes.pop(digest, None)
            return self._do(closing())

        self._application.lanes[digest] = LaneState(attempt_id, plan, bodies)
        lane = self._lanes[digest] = Lane(token, close)
        return lane

    def _do(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._ready.result()).result()

    def _bind(self) -> None:
        if self.socket_path is not None:
            served = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._sockets.append(served)
            served.bind(str(self.socket_path))
            self._made = self.socket_path
            # The container's user is another one; the folder keeps everybody else out.
            self.socket_path.chmod(0o666)
            served.listen(BACKLOG)
        if self.port is not None:
            served = socket.create_server((LOOPBACK, self.port), backlog=BACKLOG)
            self._sockets.append(served)
            # Connections inherit it. Without it a reply's second piece waits 40 ms for an acknowledgement.
            served.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.port = served.getsockname()[1]

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except Exception as error:
            if self._ready.done():
                raise
            # A proxy of the environment that cannot be used, for one; whoever enters must not wait for ever.
            failure = InfrastructureFailure("The model gateway cannot start", found=f"{type(error).__name__}")
            self._ready.set_exception(failure)

    async def _serve(self) -> None:
        trusted = ssl.create_default_context()  # reading what is trusted takes some 30 ms
        async with (
            _client(trusted, on_this_machine=True) as near,
            _client(trusted, on_this_machine=False) as far,
        ):
            self._clients = {True: near, False: far}
            self._ready.set_result(asyncio.get_running_loop())
            await self._server.serve(sockets=self._sockets)

    def _client_for(self, endpoint: str) -> httpx.AsyncClient:
        return self._clients[httpx.URL(endpoint).host in {LOOPBACK, "::1", "localhost"}]


class _PromptServer(uvicorn.Server):
    """Ends when it is told: uvicorn's own looks for that every 100 ms, and then waits as long again.

    An attempt has a gateway of its own, and would be longer by that.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._over = asyncio.Event()

    def end(self) -> None:
        """End soon; called in the server's own thread."""
        self.should_exit = True
        self._over.set()

    async def main_loop(self) -> None:
        """Serve until the end is told."""
        ticking = asyncio.ensure_future(super().main_loop())
        over = asyncio.ensure_future(self._over.wait())
        await asyncio.wait((ticking, over), return_when=asyncio.FIRST_COMPLETED)
        for task in (ticking, over):
            task.cancel()
        await asyncio.gather(ticking, over, return_exceptions=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for connections, where there are any."""
        if self.server_state.connections or self.server_state.tasks:
            await super().shutdown(sockets)
            return
        for server in self.servers:
            server.close()
        for served in sockets or ():
            served.close()


def _client(trusted: ssl.SSLContext, *, on_this_machine: bool) -> httpx.AsyncClient:
    """A client for providers: a proxy of the environment is no way to a server on this machine."""
    return httpx.AsyncClient(
        follow_redirects=False,
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=MOST_CONNECTIONS),
        trust_env=not on_this_machine,
        verify=trusted,
    )
