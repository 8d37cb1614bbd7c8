"""What the model gateway adds to a call: calls through it against direct ones to the same loopback server.

Three processes, as in a study: the provider, the gateway (with bodies kept), and the agent's client, which
alternates direct calls and calls through the gateway, so that a noisy machine meets both alike. Then 64
streams at once, several rounds, while the gateway's resident set is sampled.

usage: python -m benchmarks.gateway [--pairs 200] [--rounds 12] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx
import psutil

from esac_ag.gateway.plans import LanePlan
from esac_ag.gateway.protocols import Protocol
from esac_ag.gateway.server import Gateway
from esac_ag.manifest.plan import Limits
from tests.streaming_server import StreamingServer, replies, streams

MOST_OVERHEAD_MS = 5.0
MOST_GROWTH_MIB = 16.0
MOST_PEAK_MIB = 200.0
STREAMS = 64
CONVERSATION_BYTES = 100_000
WORDS = tuple("word " * 20 for _ in range(500))
MIB = 1024 * 1024
PATH = "/chat/completions"
SPAWN = multiprocessing.get_context("spawn")


class Provider(StreamingServer):
    """Answers every request at once: a stream when one is asked for."""

    def __init__(self) -> None:
        """Begin with nothing recorded."""
        super().__init__((), endless=True)

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401, ARG002  (ASGI)
        message = await receive()
        data = bytearray(message["body"])
        while message.get("more_body"):
            message = await receive()
            data += message["body"]
        words = WORDS if b'"long"' in data else WORDS[:5]
        if b'"stream": true' in data or b'"stream":true' in data:
            await self._stream(streams(Protocol.CHAT, words), receive, send)
            return
        reply = replies(Protocol.CHAT)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(reply.body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": reply.body})


def provide(pipe: Connection) -> None:
    """The provider's process."""
    with Provider() as server:
        pipe.send(server.base_url)
        pipe.recv()


def serve(pipe: Connection, base_url: str, folder: str) -> None:
    """The gateway's process."""
    with Gateway(port=0) as gateway:
        plan = LanePlan(Protocol.CHAT, base_url, "sk-0123456789abcdef", "m", limits=Limits(turns=None))
        lane = gateway.open("bench", plan, folder=Path(folder))
        pipe.send((f"http://127.0.0.1:{gateway.port}{lane.path}/v1", psutil.Process().pid))
        pipe.recv()
        pipe.send(len(lane.close().calls))


@contextmanager
def process(work: Callable[..., None], *arguments: str) -> Iterator[Connection]:
    """Work in a process of its own, with a pipe to it."""
    ours, theirs = SPAWN.Pipe()
    worker = SPAWN.Process(target=work, args=(theirs, *arguments), daemon=True)
    worker.start()
    try:
        yield ours
    finally:
        ours.send("stop")
        worker.join(20)


def request(*, stream: bool, length: str = "short") -> dict[str, Any]:
    """A conversation of a usual size."""
    said = [{"role": "user", "content": "x" * CONVERSATION_BYTES}]
    return {"model": "m", "messages": said, "stream": stream, "user": length}


def call_ms(http: httpx.Client, url: str) -> float:
    """Milliseconds of one whole call."""
    started = time.perf_counter()
    http.post(url + PATH, json=request(stream=False)).raise_for_status()
    return (time.perf_counter() - started) * 1000


def first_token_ms(http: httpx.Client, url: str) -> float:
    """Milliseconds until the first piece of a stream."""
    started = time.perf_counter()
    with http.stream("POST", url + PATH, json=request(stream=True)) as answer:
        pieces = answer.iter_raw()
        next(pieces)
        took_ms = (time.perf_counter() - started) * 1000
        for _ in pieces:
            pass
    return took_ms


def added_ms(
    measure: Callable[[httpx.Client, str], float], direct: str, through: str, pairs: int
) -> dict[str, float]:
    """Medians of both ways, and the median of what the gateway adds."""
    with httpx.Client(trust_env=False, timeout=60) as http:
        for url in (direct, through) * 10:
            measure(http, url)
        taken = []
        for number in range(pairs):
            order = (direct, through) if number % 2 else (through, direct)
            pair = {url: measure(http, url) for url in order}
            taken.append((pair[direct], pair[through]))
    return {
        "direct_ms": statistics.median(one for one, _ in taken),
        "through_ms": statistics.median(other for _, other in taken),
        "added_ms": statistics.median(other - one for one, other in taken),
    }


async def round_of_streams(url: str, memory: psutil.Process) -> tuple[float, float]:
    """64 long streams at once: seconds, and the gateway's largest resident set in MiB."""
    peak_mib = 0.0

    async def one(http: httpx.AsyncClient) -> int:
        nonlocal peak_mib
        size_bytes = 0
        async with http.stream("POST", url + PATH, json=request(stream=True, length="long")) as answer:
            async for piece in answer.aiter_raw():
                size_bytes += len(piece)
                peak_mib = max(peak_mib, memory.memory_info().rss / MIB) if size_bytes % 7 == 0 else peak_mib
        return size_bytes

    started = time.perf_counter()
    async with httpx.AsyncClient(trust_env=False, timeout=120, limits=httpx.Limits()) as http:
        sizes = await asyncio.gather(*(one(http) for _ in range(STREAMS)))
    assert len(set(sizes)) == 1
    return time.perf_counter() - started, max(peak_mib, memory.memory_info().rss / MIB)


def many_streams(url: str, pid: int, rounds: int) -> dict[str, float]:
    """Rounds of streams; memory that grew in the first half is the allocator's warming up."""
    memory = psutil.Process(pid)
    taken = [asyncio.run(round_of_streams(url, memory)) for _ in range(rounds)]
    peaks = [peak for _, peak in taken]
    return {
        "streams": STREAMS,
        "round_s": statistics.median(seconds for seconds, _ in taken),
        "peak_mib": max(peaks),
        "growth_mib": peaks[-1] - peaks[len(peaks) // 2],
    }


def main() -> int:
    """Measure, print, and fail when a bound is passed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="esac-ag-bench-") as folder,
        process(provide) as provider,
    ):
        direct = provider.recv()
        with process(serve, direct, folder) as serving:
            through, pid = serving.recv()
            whole = added_ms(call_ms, direct, through, options.pairs)
            first = added_ms(first_token_ms, direct, through, options.pairs)
            many = many_streams(through, pid, options.rounds)
    if options.json:
        print(json.dumps({"call": whole, "first_token": first, "many": many}))
    else:
        for name, times in (("whole call", whole), ("first token", first)):
            print(
                f"{name}: direct {times['direct_ms']:.2f} ms, through {times['through_ms']:.2f} ms, "
                f"added {times['added_ms']:.2f} ms (medians of {options.pairs} pairs)"
            )
        print(
            f"{STREAMS} streams at once: {many['round_s']:.1f} s a round, gateway's memory at most "
            f"{many['peak_mib']:.0f} MiB, growth over the second half of {options.rounds} rounds "
            f"{many['growth_mib']:.1f} MiB"
        )
    kept = (
        whole["added_ms"] <= MOST_OVERHEAD_MS
        and first["added_ms"] <= MOST_OVERHEAD_MS
        and many["growth_mib"] <= MOST_GROWTH_MIB
        and many["peak_mib"] <= MOST_PEAK_MIB
    )
    bounds = f"bounds: {MOST_OVERHEAD_MS} ms, {MOST_PEAK_MIB:.0f} MiB, growth {MOST_GROWTH_MIB:.0f} MiB"
    print(f"{bounds}: {'kept' if kept else 'EXCEEDED'}", file=sys.stderr)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
