"""The world as a tool server: MCP over lines of JSON, every call logged, no input that crashes it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from esac_ag.suite.bank import item_named
from esac_ag.suite.constitution import PUBLIC_SEED
from esac_ag.suite.contract import Instance
from esac_ag.suite.play import play, world_of
from esac_ag.suite.pools import instance_of
from tests.builders_world_server import call, install, public_part, request, served, server_argv, world_server

ITEM = item_named("planning-stock")
INSTANCE = instance_of(ITEM, PUBLIC_SEED)
MALFORMED: tuple[object, ...] = (
    *(None, "{broken", 7, [], {"no": "such"}, {"sku": 7}, {"sku": "\ud800"}, {"sku": float("nan")}),
    json.loads("[" * 500 + "]" * 500),
)


def codes(*messages: object) -> list[object]:
    """Error codes of the answers."""
    return [answer["error"]["code"] for answer in served(INSTANCE, *messages).answers]


def test_the_reference_plays_the_same_run_through_the_server() -> None:
    """Replies and log are those of the world in memory, to the byte."""
    calls = play(ITEM, INSTANCE, ITEM.reference(INSTANCE)).calls
    assert len(calls) > 3
    found = served(INSTANCE, *(call(made.tool, made.arguments, made.index) for made in calls))
    assert [answer["result"]["content"][0]["text"] for answer in found.answers] == [c.reply for c in calls]
    assert found.log == [made.model_dump() for made in calls]


@pytest.mark.parametrize("arguments", MALFORMED, ids=lambda arguments: repr(arguments)[:12])
def test_malformed_arguments_are_answered_and_logged_as_the_world_does(arguments: object) -> None:
    """They reach the world as they are: text that is no JSON object, too."""
    world = world_of(INSTANCE)
    reply = world.call("inventory_get", arguments)
    found = served(INSTANCE, call("inventory_get", arguments))
    assert found.answers[0]["result"]["content"] == [{"type": "text", "text": reply.text}]
    assert found.answers[0]["result"]["isError"] is True
    assert found.log == world.log


@pytest.mark.parametrize("params", [{}, [], "text", 7, None, {"name": 7}, {"name": None, "arguments": {}}])
def test_a_call_without_a_name_is_a_call_of_no_tool(params: object) -> None:
    """It is logged, so a model's mistake leaves a trace."""
    found = served(INSTANCE, {**request("tools/call"), "params": params})
    assert [record["error"] for record in found.log] == ["unknown-tool"]
    assert found.answers[0]["result"]["isError"] is True


def test_tools_that_are_not_offered_do_not_exist() -> None:
    """The catalogue knows them, this instance does not offer them."""
    found = served(INSTANCE, call("admin_grant_role", {}))
    assert [record["error"] for record in found.log] == ["unknown-tool"]


def test_results_tell_where_the_call_is_in_the_log() -> None:
    """The host compares state digests by it."""
    found = served(INSTANCE, call("nothing", {}, 1), call("nothing", {}, 2))
    keys = ("index", "error", "state_before", "state_after")
    told = [answer["result"]["_meta"]["esac-ag/log"] for answer in found.answers]
    assert told == [{key: record[key] for key in keys} for record in found.log]
    assert [record["index"] for record in told] == [0, 1]


@pytest.mark.parametrize(
    ("asked", "answered"),
    [*((version, version) for version in HANDSHAKE_PROTOCOL_VERSIONS), ("2030-01-01", "2025-11-25")],
)
def test_the_protocol_version_is_negotiated(asked: str, answered: str) -> None:
    """All versions with a handshake are spoken; whoever asks for another is offered the latest of them."""
    result = served(INSTANCE, request("initialize", {"protocolVersion": asked})).answers[0]["result"]
    assert result["protocolVersion"] == answered
    assert result["capabilities"] == {"tools": {}}


def test_protocol_errors_have_their_codes() -> None:
    """As JSON-RPC 2.0 numbers them."""
    assert codes(b"{broken\n", b"\n", b"\xff\xfe\n", b"[" * 100_000 + b"\n") == [-32700] * 4
    assert codes(request("resources/list"), request("server/discover")) == [-32601] * 2
    assert codes(request("initialize", {}), request("tools/list", {"cursor": "2"})) == [-32602] * 2
    wrong: tuple[object, ...] = (
        7,
        "text",
        None,
        {},
        {"jsonrpc": "1.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1},
    )
    assert codes(*wrong) == [-32600] * len(wrong)
    numbers: tuple[object, ...] = (None, True, 1.5, [], {})
    assert codes(*(request("ping", number=number) for number in numbers)) == [-32600] * len(numbers)


def test_notifications_and_responses_are_not_answered() -> None:
    """Also not those that are not known, and a call without an id is none."""
    silent = (
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "inventory_get"}},
        {"jsonrpc": "2.0", "id": 7, "result": {}},
    )
    found = served(INSTANCE, *silent, request("ping", number="last"))
    assert found.answers == [{"jsonrpc": "2.0", "id": "last", "result": {}}]
    assert found.log == []


def test_batches_are_answered_in_the_one_version_that_has_them() -> None:
    """Everywhere else they are invalid requests, and nothing of them is carried out."""
    batch = [
        call("nothing", {}, 1),
        {"jsonrpc": "2.0", "method": "notifications/x"},
        request("ping", number=2),
    ]
    hello = request("initialize", {"protocolVersion": "2025-03-26"}, 0)
    found = served(INSTANCE, hello, batch, [], [hello])
    assert [answer["id"] for answer in found.answers[1]] == [1, 2]
    assert found.answers[2]["error"]["code"] == -32600
    assert found.answers[3][0]["error"]["code"] == -32600
    refused = served(INSTANCE, batch)
    assert refused.answers[0]["error"]["code"] == -32600
    assert refused.log == []


def test_a_message_that_is_too_long_is_refused_and_the_next_one_answered() -> None:
    """The rest of the long line is no message."""
    long = b'{"a": "' + b"x" * (2 * world_server.MOST_LINE_BYTES) + b'"}\n'
    answers = served(INSTANCE, long, request("ping")).answers
    assert answers[0]["error"]["code"] == -32600
    assert answers[1]["result"] == {}


def test_a_fault_of_the_world_is_an_answer_and_no_end(capsys: pytest.CaptureFixture[str]) -> None:
    """What nobody foresaw is told to the caller, and on standard error."""

    class Broken:
        def call(self, _tool: object, _arguments: object) -> None:
            raise ZeroDivisionError

    server = world_server.Server(Broken(), [], None)
    assert server.answer(json.dumps(call("x", {})).encode())["error"]["code"] == -32603
    assert server.answer(json.dumps(request("ping")).encode())["result"] == {}
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_the_program_serves_until_its_input_ends(tmp_path: Path) -> None:
    """Installed as in the image, isolated, with its log in a file; a second start is no second world."""
    argv = [sys.executable, *server_argv(install(tmp_path / "esac"), INSTANCE, tmp_path)]
    lines = "".join(json.dumps(call("inventory_get", "{broken", number)) + "\n" for number in (1, 2))
    done = subprocess.run(argv, input=lines, capture_output=True, text=True, timeout=60, check=True)
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]
    log = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["arguments"] for line in log] == ["{broken"] * 2
    again = subprocess.run(argv, input=lines, capture_output=True, text=True, timeout=60, check=False)
    assert (again.returncode, again.stdout) == (1, "")


def test_a_call_that_cannot_be_logged_ends_the_program(tmp_path: Path) -> None:
    """No call goes unrecorded: it is not answered either."""
    program = install(tmp_path / "esac")
    (tmp_path / "instance.json").write_text(public_part(INSTANCE))
    script = (
        "import runpy, resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10)); sys.argv = sys.argv[1:];"
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    argv = [sys.executable, "-I", "-B", "-c", script, str(program)]
    argv += [str(tmp_path / "instance.json"), str(tmp_path / "log.jsonl")]
    line = json.dumps(call("inventory_get", {})) + "\n"
    done = subprocess.run(argv, input=line, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, "")


def test_whoever_stops_listening_ends_the_program_quietly(tmp_path: Path) -> None:
    """A closed pipe is no fault."""
    argv = [sys.executable, *server_argv(install(tmp_path / "esac"), INSTANCE, tmp_path)]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        server.stdout.close()
        server.stdin.write(json.dumps(request("ping")).encode() + b"\n")
        server.stdin.close()
        assert (server.wait(60), server.stderr.read()) == (0, b"")


def _texts(result: CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, TextContent)]


async def _by_the_official_client(argv: list[str], instance: Instance) -> None:
    parameters = StdioServerParameters(command=sys.executable, args=argv)
    world = world_of(instance)
    async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
        hello = await session.initialize()
        assert hello.server_info.name == "esac-world"
        await session.send_ping()
        listed = await session.list_tools()
        offered = [(tool.name, tool.description, tool.input_schema) for tool in listed.tools]
        assert offered == [(tool.name, tool.description, tool.parameters) for tool in instance.tools]
        for tool, arguments in (
            ("inventory_find", {"query": "a"}),
            ("inventory_find", {"query": 7, "more": [None]}),
            ("no_such_tool", {}),
        ):
            result = await session.call_tool(tool, arguments)
            expected = world.call(tool, arguments)
            assert _texts(result) == [expected.text]
            assert result.is_error is not expected.ok


def test_the_official_client_is_served(tmp_path: Path) -> None:
    """Handshake, ping, the item's tools, calls, malformed ones, and a tool that is not there."""
    argv = server_argv(install(tmp_path / "esac"), INSTANCE, tmp_path)
    anyio.run(_by_the_official_client, list(argv), INSTANCE)
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [record["error"] for record in log] == [None, "invalid-arguments", "unknown-tool"]
