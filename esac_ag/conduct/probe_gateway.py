"""A model gateway for the isolation probe, before a provider of the controller's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from esac_ag.gateway.plans import LanePlan
from esac_ag.gateway.protocols import ENDPOINTS, PATHS, Protocol
from esac_ag.gateway.server import Gateway
from esac_ag.manifest.plan import Limits
from esac_ag.owner import temporary_folder
from esac_ag.sandbox.model_way import ModelWay

LOOPBACK = "127.0.0.1"
MODEL = "probe-model"
BASE_PATH = "/v1"
REPLIES: dict[str, object] = {
    BASE_PATH + ENDPOINTS[Protocol.CHAT]: {
        "object": "chat.completion",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "word"}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    },
    BASE_PATH + ENDPOINTS[Protocol.RESPONSES]: {
        "object": "response",
        "status": "completed",
        "output": [],
        "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
    },
    BASE_PATH + ENDPOINTS[Protocol.MESSAGES]: {
        "type": "message",
        "role": "assistant",
        "content": [],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a gateway asked the provider."""

    method: str
    target: str
    host: str
    key: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Provider:
    """What the controller's provider was asked."""

    port: int
    key: str
    asked: list[Asked] = field(default_factory=list)

    @property
    def address(self) -> str:
        """Host and port."""
        return f"{LOOPBACK}:{self.port}"

    def complaints(self, forbidden: tuple[str, ...]) -> list[str]:
        """What no gateway may ask: other paths, other hosts, without the key, or for what it names.

        Args:
            forbidden: addresses and paths that the provider would have to turn to.
        """
        found = []
        for asked in tuple(self.asked):
            what = f"the provider was asked {asked.method} {asked.target[:100]}"
            if asked.method != "POST" or asked.target not in REPLIES:
                found.append(what)
            elif asked.host != self.address or asked.key != self.key:
                found.append(f"{what} for another host or with another key")
            found += [f"{what} with {name}" for name in forbidden if name.encode() in asked.body]
        return found


@contextmanager
def a_provider(key: str) -> Iterator[Provider]:
    """A server on loopback that answers as a model would, and quotes the key that it was sent."""
    asked: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def __getattr__(self, name: str) -> Callable[[], None]:
            # Every method is answered, for whatever is asked has to be seen.
            if name.startswith("do_"):
                return self._answer
            raise AttributeError(name)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base's name)
            """Nothing is logged."""

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            sent = self.headers.get("x-api-key") or self.headers.get("Authorization") or ""
            asked.append(
                Asked(
                    method=self.command,
                    target=self.path,
                    host=self.headers.get("Host", ""),
                    key=sent.removeprefix("Bearer "),
                    body=body,
                )
            )
            known = REPLIES.get(self.path)
            self._reply(HTTPStatus.NOT_FOUND if known is None else HTTPStatus.OK, known, sent)

        def _reply(self, status: HTTPStatus, known: object, sent: str) -> None:
            shown = {} if not isinstance(known, dict) else known
            data = json.dumps({"id": "x", "model": MODEL, "quoted": sent, **shown}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    with ThreadingHTTPServer((LOOPBACK, 0), Handler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield Provider(server.server_address[1], key, asked)
        finally:
            server.shutdown()
            thread.join()


@dataclass(frozen=True, slots=True)
class GatewayTrial:
    """The gateway as the container of the probe meets it."""

    way: ModelWay
    """From the probe's container."""
    provider: Provider
    tokens: dict[Protocol, str]
    """Of the lanes that the probe's run has, one for each protocol."""
    other: str
    """The token of a run that is over."""

    @property
    def paths(self) -> dict[str, str]:
        """The only path of each protocol."""
        return {protocol.value: PATHS[protocol] for protocol in self.tokens}


@contextmanager
def a_gateway(key: str, way_to: Callable[[Path], AbstractContextManager[ModelWay]]) -> Iterator[GatewayTrial]:
    """A gateway made as a run's is, with a lane for each protocol.

    Args:
        key: the real one; the probe looks for it as for a canary.
        way_to: makes the way from the probe's container to the gateway's socket.

    Raises:
        InfrastructureFailure: it cannot serve, or there can be no way to it.
    """
    with (
        temporary_folder("probe-model") as folder,
        a_provider(key) as provider,
        Gateway(socket_path=folder / "gateway.sock") as gateway,
    ):
        limits = Limits(turns=None)
        plans = {
            protocol: LanePlan(protocol, f"http://{provider.address}{BASE_PATH}", key, MODEL, limits=limits)
            for protocol in Protocol
        }
        former = gateway.open("probe-former", plans[Protocol.CHAT])
        former.close()
        tokens = {protocol: gateway.open("probe", plan).token for protocol, plan in plans.items()}
        with way_to(folder / "gateway.sock") as way:
            yield GatewayTrial(way, provider, tokens, former.token)
