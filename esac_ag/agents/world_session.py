"""The mock world inside a run's container, spoken to over MCP, and never believed.

The container holds the world as a tool server (`runner/guest/agent/world_server.py`). Each call is made there
and in a world of the host's own; an answer that differs in a byte, or that tells another digest of the state,
is a failure of the infrastructure. Log and final state are the host's, and every call in them is verified.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from esac_ag.agents.contract import AGENT_ROOT, AGENT_UID
from esac_ag.canonical import loads_strict
from esac_ag.clock import Deadline
from esac_ag.errors import DialogueTimeout, InfrastructureFailure, SandboxLost
from esac_ag.sandbox.contract import Dialogue, Sandbox
from esac_ag.suite.contract import Instance, Json, ToolCall
from esac_ag.suite.play import world_of
from esac_ag.suite.world.arguments import MAX_CHARACTERS, MAX_DEPTH
from esac_ag.tree import FileTree

WORLD_FOLDER: Final = f"{AGENT_ROOT}/world"
SERVER_ARGV: Final = (
    *("python3", "-I", "/opt/esac/world_server.py"),
    *(f"{WORLD_FOLDER}/instance.json", f"{WORLD_FOLDER}/log.jsonl"),
)
PROTOCOL_VERSION: Final = "2025-06-18"
META: Final = "esac-ag/log"
"""Key under which the server tells a call's place in its log."""
MOST_REQUEST_BYTES: Final = 8 * 1024 * 1024
"""Half of what the server takes."""
MOST_REPLY_BYTES: Final = 4 * 1024 * 1024
ANSWER_S: Final = 60.0
"""For one answer of the server: it is ours and takes milliseconds."""
_SHOWN: Final = 500


class WorldSession:
    """One run's world; made by `open_world`, used by one thread."""

    def __init__(self, dialogue: Dialogue, instance: Instance, answer_s: float) -> None:
        self._dialogue = dialogue
        self._answer_s = answer_s
        self._tools = [
            {"name": tool.name, "description": tool.description, "inputSchema": tool.parameters}
            for tool in instance.tools
        ]
        self._world = world_of(instance)
        self._requests = 0

    def begin(self) -> None:
        """Shake hands, and see that the server offers the instance's tools.

        Raises:
            InfrastructureFailure: it does not, or does not answer.
        """
        client = {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}}
        client["clientInfo"] = {"name": "esac-ag", "version": "1"}
        answer = self._request("initialize", client)
        if not isinstance(answer, dict) or answer.get("protocolVersion") != PROTOCOL_VERSION:
            raise _failed("It speaks another protocol.", expected=PROTOCOL_VERSION, found=_shown(answer))
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"}, self._deadline())
        offered = self._request("tools/list", {})
        if offered != {"tools": self._tools}:
            raise _failed("It offers other tools.", expected="the instance's tools", found=_shown(offered))

    def call(self, tool: str, arguments: Json) -> str:
        """Carry a call out; malformed arguments, such as text that is no JSON, reach the world as they are.

        Returns:
            The reply, exactly as an agent is to be shown it.

        Raises:
            InfrastructureFailure: the server ended, is silent, or answered otherwise than the world does.
        """
        sent = _transportable(arguments)
        answer = self._request("tools/call", {"name": tool, "arguments": sent})
        reply = self._world.call(tool, sent)
        record = self._world.log[-1]
        expected = {
            "content": [{"type": "text", "text": reply.text}],
            "isError": not reply.ok,
            "_meta": {META: {key: record[key] for key in ("index", "error", "state_before", "state_after")}},
        }
        if answer != expected:
            raise _failed("It answered differently.", expected=_shown(expected), found=_shown(answer))
        return reply.text

    def log(self) -> tuple[ToolCall, ...]:
        """All calls so far; every one is verified."""
        return tuple(ToolCall.model_validate(record) for record in self._world.log)

    def snapshot(self) -> dict[str, Json]:
        """The world's state after the last verified call."""
        return self._world.snapshot()

    def _deadline(self) -> Deadline:
        return Deadline.after_s(self._answer_s)

    def _request(self, method: str, params: dict[str, Any]) -> object:
        deadline = self._deadline()
        self._requests += 1
        self._send({"jsonrpc": "2.0", "id": self._requests, "method": method, "params": params}, deadline)
        line = self._dialogue.line(deadline, limit_bytes=MOST_REPLY_BYTES)
        if line is None:
            raise self._ended()
        try:
            answer = loads_strict(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or answer.get("id") != self._requests or "result" not in answer:
            found = line[:_SHOWN].decode(errors="replace")
            raise _failed("It answered nonsense.", expected=f"a result of {method}", found=found)
        return answer["result"]

    def _send(self, message: dict[str, Any], deadline: Deadline) -> None:
        # Escaped, so that text which is no Unicode passes too.
        data = json.dumps(message).encode() + b"\n"
        try:
            self._dialogue.send(data, deadline)
        except (SandboxLost, DialogueTimeout):
            raise
        except InfrastructureFailure as error:
            # The end of its output brings its last words along.
            self._dialogue.line(deadline, limit_bytes=MOST_REPLY_BYTES)
            raise self._ended() from error

    def _ended(self) -> InfrastructureFailure:
        said = self._dialogue.errors()[-_SHOWN:].decode(errors="replace")
        return _failed("It ended.", expected="an answer to every request", found=said or "no last words")


@contextmanager
def open_world(sandbox: Sandbox, instance: Instance, *, answer_s: float = ANSWER_S) -> Iterator[WorldSession]:
    """Start the world of an instance inside a running agent's container, once per container.

    Only the initial state and the tools enter it, in `/agent/world/`.

    Args:
        sandbox: a started container of the agent image (`conduct.launch.agent_spec`).
        instance: what is played; not one that is solved by a program.
        answer_s: most time for one answer.

    Raises:
        InfrastructureFailure: the server did not start, or offers other tools.
    """
    public = {"state": instance.initial_state, "tools": [tool.model_dump() for tool in instance.tools]}
    files = FileTree.of_text({"instance.json": json.dumps(public)})
    sandbox.put(files, WORLD_FOLDER, uid=AGENT_UID, gid=AGENT_UID, mode=0o700)
    with sandbox.open(SERVER_ARGV) as dialogue:
        session = WorldSession(dialogue, instance, answer_s)
        session.begin()
        yield session


def _transportable(arguments: Json) -> Json:
    """Arguments as they can be sent: what is nested too deeply, or too long, loses what nobody would read.

    The world refuses both, and refuses what is left of them as well.
    """
    cut = shallow(arguments)
    text = json.dumps(cut)
    return cut if len(text) <= MOST_REQUEST_BYTES else text[:MAX_CHARACTERS]


def shallow(value: Json, depth: int = 0) -> Json:
    """Arguments without what is nested deeper than any tool takes; what is left is refused as well."""
    if depth > MAX_DEPTH:
        return None
    match value:
        case list():
            return [shallow(entry, depth + 1) for entry in value]
        case dict():
            return {key: shallow(entry, depth + 1) for key, entry in value.items()}
        case _:
            return value


def _failed(what: str, *, expected: str, found: str) -> InfrastructureFailure:
    return InfrastructureFailure(
        f"The mock environment failed. {what}",
        where="/opt/esac/world_server.py",
        expected=expected,
        found=found,
    )


def _shown(value: object) -> str:
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
