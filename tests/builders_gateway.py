"""A gateway before a scripted server, and an agent's requests to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from esac_ag.gateway.calls import LaneSummary
from esac_ag.gateway.plans import LanePlan
from esac_ag.gateway.protocols import PATHS, Protocol
from esac_ag.gateway.server import Gateway, Lane
from tests.streaming_server import StreamingServer

KEY = "sk-real-0123456789abcdefghijklmnop"
MODEL = "maker/model-1"


def a_lane_plan(
    protocol: Protocol = Protocol.CHAT, base_url: str = "http://127.0.0.1:1/v1", **more: object
) -> LanePlan:
    """A plan with the test's key and model."""
    changed: Any = more
    return replace(LanePlan(protocol, base_url, KEY, MODEL), **changed)


def a_request(protocol: Protocol, *, stream: bool = False, **more: object) -> dict[str, Any]:
    """A small request of a protocol."""
    said = [{"role": "user", "content": "say one two"}]
    match protocol:
        case Protocol.CHAT:
            body: dict[str, Any] = {"messages": said}
        case Protocol.RESPONSES:
            body = {"input": said}
        case Protocol.MESSAGES:
            body = {"messages": said, "max_tokens": 100}
    return {"model": MODEL, **body, **({"stream": True} if stream else {}), **more}


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent's side of a lane."""

    http: httpx.Client
    lane: Lane
    protocol: Protocol

    def asks(self, *, stream: bool = False, **more: object) -> httpx.Response:
        """Send a request, and read all of the reply."""
        return self.posts(a_request(self.protocol, stream=stream, **more))

    def posts(self, body: dict[str, Any], path: str | None = None, **headers: str) -> httpx.Response:
        """Send a body to a path."""
        return self.http.post(path or PATHS[self.protocol], json=body, headers=headers)

    def closes(self) -> LaneSummary:
        """End the lane."""
        return self.lane.close()


@contextmanager
def an_agent(
    gateway: Gateway,
    server: StreamingServer,
    protocol: Protocol = Protocol.CHAT,
    *,
    folder: Path | None = None,
    **more: object,
) -> Iterator[Agent]:
    """An agent with a lane to the server's model."""
    plan = a_lane_plan(protocol, server.base_url, **more)
    lane = gateway.open("a1", plan, folder=folder)
    headers = {"authorization": f"Bearer {lane.token}"}
    address = f"http://127.0.0.1:{gateway.port}"
    with httpx.Client(base_url=address, headers=headers, timeout=30, trust_env=False) as http:
        yield Agent(http, lane, protocol)
    lane.close()
