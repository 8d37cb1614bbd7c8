"""The mock world as a tool server: MCP over standard input and output, one JSON-RPC message a line.

    python3 -I world_server.py INSTANCE.json LOG.jsonl

INSTANCE.json holds `state` and `tools` (`name`, `description`, `parameters` of each). Every call of a tool,
a malformed one too, becomes a line of LOG.jsonl before it is answered: the world's own record. The log is a
new file, because a second start would be a second world. The server ends with its input.

A call's result carries `_meta`: its place in the log and the digests of the state before and after it.
"""

from __future__ import annotations

import json
import os
import sys
import traceback

TYPE_CHECKING = False  # importing typing would cost more than an answer
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, BinaryIO

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Of the protocol, as far as sessions begin with `initialize`; for any other the first is offered."""
BATCHES = "2025-03-26"
"""The one version that has batches."""
MOST_LINE_BYTES = 16 * 1024 * 1024
META = "esac-ag/log"
"""Key of what a result tells of the log."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603


class Failed(Exception):
    """A request that is answered with a protocol error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message}


class Server:
    """One session over one world."""

    def __init__(self, world: Any, tools: Sequence[dict[str, Any]], log: BinaryIO) -> None:  # noqa: ANN401 the caller brings it
        self._world = world
        self._tools = [
            {"name": tool["name"], "description": tool["description"], "inputSchema": tool["parameters"]}
            for tool in tools
        ]
        self._log = log
        self._version = VERSIONS[0]
        self._methods = {
            "initialize": self._initialize,
            "ping": lambda _params: {},
            "tools/list": self._list,
            "tools/call": self._call,
        }

    def answer(self, line: bytes) -> object:
        """The answer to one line, as a JSON value; none when nothing is to be answered."""
        try:
            message = json.loads(line.decode())
        except (ValueError, RecursionError):
            return _failure(None, Failed(PARSE_ERROR, "Parse error"))
        if not isinstance(message, list):
            return self._one(message)
        if self._version != BATCHES or not message:
            return _failure(None, Failed(INVALID_REQUEST, "No batch is expected here"))
        answers = [self._one(entry, in_batch=True) for entry in message]
        return [answer for answer in answers if answer is not None] or None

    def _one(self, message: object, *, in_batch: bool = False) -> dict[str, Any] | None:
        number = message.get("id") if isinstance(message, dict) else None
        if isinstance(number, bool) or not isinstance(number, (int, str)):
            number = None
        try:
            method = _method_of(message)
            if method is None or "id" not in message:
                return None
            if number is None or (in_batch and method == "initialize"):
                _refuse()
            result = self._result(method, message.get("params", {}))
        except Failed as failed:
            return _failure(number, failed)
        return {"jsonrpc": "2.0", "id": number, "result": result}

    def _result(self, method: str, params: object) -> dict[str, Any]:
        handle = self._methods.get(method)
        if handle is None:
            raise Failed(METHOD_NOT_FOUND, "Method not found")
        try:
            return handle(params)
        except (Failed, OSError):
            # A log that cannot be written is the end: no call may go unrecorded.
            raise
        except Exception as error:
            traceback.print_exc()
            raise Failed(INTERNAL_ERROR, "Internal error") from error

    def _initialize(self, params: object) -> dict[str, Any]:
        wanted = params.get("protocolVersion") if isinstance(params, dict) else None
        if not isinstance(wanted, str):
            raise Failed(INVALID_PARAMS, "protocolVersion is missing")
        self._version = wanted if wanted in VERSIONS else VERSIONS[0]
        return {
            "protocolVersion": self._version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "esac-world", "version": "1.0"},
        }

    def _list(self, params: object) -> dict[str, Any]:
        if isinstance(params, dict) and params.get("cursor") is not None:
            raise Failed(INVALID_PARAMS, "There is one page of tools, and no cursor")
        return {"tools": self._tools}

    def _call(self, params: object) -> dict[str, Any]:
        """Whatever was sent goes to the world, which answers malformed calls too."""
        given = params if isinstance(params, dict) else {"arguments": params}
        reply = self._world.call(given.get("name"), given.get("arguments", {}))
        record = self._world.log[-1]
        self._log.write(json.dumps(record, sort_keys=True).encode() + b"\n")
        self._log.flush()
        return {
            "content": [{"type": "text", "text": reply.text}],
            "isError": not reply.ok,
            "_meta": {META: {key: record[key] for key in ("index", "error", "state_before", "state_after")}},
        }


def serve(
    world: Any,  # noqa: ANN401 the caller brings it
    tools: Sequence[dict[str, Any]],
    source: BinaryIO,
    sink: BinaryIO,
    log: BinaryIO,
) -> None:
    """Answer what comes from `source` on `sink` until it ends; both are binary files.

    Args:
        world: answers the calls (`esac_world.World`).
        tools: what `tools/list` tells: `name`, `description`, `parameters` of each.
        source: read by line.
        sink: written and flushed by answer.
        log: written and flushed by call.
    """
    server = Server(world, tools, log)
    while line := source.readline(MOST_LINE_BYTES):
        if len(line) == MOST_LINE_BYTES and not line.endswith(b"\n"):
            while (rest := source.readline(MOST_LINE_BYTES)) and not rest.endswith(b"\n"):
                pass
            answer = _failure(None, Failed(INVALID_REQUEST, "The message is too long"))
        else:
            answer = server.answer(line)
        if answer is not None:
            sink.write(json.dumps(answer, sort_keys=True).encode() + b"\n")
            sink.flush()


def main(argv: list[str]) -> int:
    """Serve the instance of the command line; an exit code."""
    if len(argv) != len(("program", "instance", "log")):
        print(f"usage: {argv[0]} INSTANCE.json LOG.jsonl", file=sys.stderr)
        return 64
    # An isolated interpreter does not look beside its program.
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from esac_world import World  # noqa: PLC0415 found by the line above

    with open(argv[1], encoding="utf-8") as file:
        instance = json.load(file)
    world = World(instance["state"], [tool["name"] for tool in instance["tools"]])
    with open(argv[2], "xb") as log:
        try:
            serve(world, instance["tools"], sys.stdin.buffer, sys.stdout.buffer, log)
        except BrokenPipeError:
            # Nobody listens any more; what is still buffered is not to fail at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _method_of(message: Any) -> str | None:  # noqa: ANN401 any JSON value
    """The method of a request or a notification; none of a response, which nobody here waits for."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        _refuse()
    method = message.get("method")
    if isinstance(method, str):
        return method
    if "method" not in message and ("result" in message or "error" in message):
        return None
    return _refuse()


def _refuse() -> Any:  # noqa: ANN401 never returns
    raise Failed(INVALID_REQUEST, "Invalid Request")


def _failure(number: int | str | None, failed: Failed) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": failed.error}


if __name__ == "__main__":
    sys.exit(main(sys.argv))
