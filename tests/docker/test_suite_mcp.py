"""`esac-ag suite mcp` as any MCP client meets it: the official client, over the command's own pipes."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import ClientSession, MCPError, StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent

from esac_ag.conduct.suite_mcp import UNOFFICIAL, McpRun
from esac_ag.conduct.suite_mcp_tools import STUDY
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.docker import DockerEngine
from esac_ag.suite.bank import bank, item_named
from esac_ag.suite.constitution import PUBLIC_SEED
from esac_ag.suite.contract import RunEnd
from esac_ag.suite.items.code_program import ProgramItem
from esac_ag.suite.own_programs import OWN_PROGRAMS
from esac_ag.suite.play import play, user_answer, world_of
from esac_ag.suite.pools import instance_of
from tests.builders_commands import TOOL, environment
from tests.builders_docker import REPOSITORY, an_engine_for

pytestmark = pytest.mark.docker

ITEM = item_named("planning-stock")
INSTANCE = instance_of(ITEM, PUBLIC_SEED)
CODE = next(item for item in bank() if isinstance(item, ProgramItem))
CODE_INSTANCE = instance_of(CODE, PUBLIC_SEED)
Session = Callable[[ClientSession], Awaitable[None]]


@pytest.fixture(autouse=True)
def engine(agent_image: str) -> Iterator[DockerEngine]:
    """The command's own engine; whatever happened, it leaves no container of this command behind."""
    made = an_engine_for(REPOSITORY)
    yield made
    left = list(made.leftovers(Workspace(REPOSITORY).label, STUDY))
    made.close()
    assert left == []


def argv(item_id: str, *more: str) -> list[str]:
    """Arguments of the command."""
    return ["suite", "mcp", item_id, "--root", str(REPOSITORY), *more]


def texts(result: CallToolResult) -> list[str]:
    """The result's text."""
    return [block.text for block in result.content if isinstance(block, TextContent)]


async def _converse(arguments: list[str], errors: Path, session: Session) -> None:
    parameters = StdioServerParameters(command=str(TOOL), args=arguments, env=environment())
    with errors.open("w") as errlog:
        async with stdio_client(parameters, errlog) as streams, ClientSession(*streams) as client:
            await client.initialize()
            await session(client)


def converse(folder: Path, item_id: str, session: Session) -> McpRun:
    """Let a client speak with the command; what it left."""
    output = folder / "run.json"
    anyio.run(_converse, argv(item_id, "-o", str(output)), folder / "errors", session)
    return McpRun.model_validate_json(output.read_bytes())


def test_the_reference_plays_over_mcp_as_it_does_in_memory(tmp_path: Path) -> None:
    """Schemas, replies and trace are the item's, to the byte, and the checks are taken."""
    trace = play(ITEM, INSTANCE, ITEM.reference(INSTANCE))

    async def session(client: ClientSession) -> None:
        offered = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
        assert offered.pop("final_answer")
        assert offered == {tool.name: tool.parameters for tool in INSTANCE.tools}
        task = (await client.get_prompt("task")).messages[0].content
        assert task == TextContent(type="text", text=INSTANCE.prompt)
        for call in trace.calls:
            assert isinstance(call.arguments, dict)
            assert texts(await client.call_tool(call.tool, call.arguments)) == [call.reply]
        await client.call_tool("final_answer", {"text": trace.final_text})

    run = converse(tmp_path, ITEM.id, session)
    assert run.trace.calls == trace.calls
    assert (run.trace.final_state, run.trace.end) == (trace.final_state, RunEnd.ANSWERED)
    assert (run.fraction, run.note) == (1.0, UNOFFICIAL)
    told = (tmp_path / "errors").read_text()
    assert "fraction 1.0000" in told
    assert UNOFFICIAL in told


def test_malformed_calls_and_unknown_tools_are_answered_as_the_world_does(tmp_path: Path) -> None:
    """The client gets the world's own words, and goes on."""
    world = world_of(INSTANCE)

    async def session(client: ClientSession) -> None:
        for tool, arguments in (("inventory_get", {"no": [None]}), ("inventory_get", {}), ("nothing", {})):
            result = await client.call_tool(tool, arguments)
            assert texts(result) == [world.call(tool, arguments).text]
            assert result.is_error is True
        with pytest.raises(MCPError):
            await client.get_prompt("tusk")

    run = converse(tmp_path, ITEM.id, session)
    assert [call.model_dump() for call in run.trace.calls] == world.log
    assert run.trace.end is RunEnd.EMPTY


def test_arguments_that_are_no_object_reach_the_world(tmp_path: Path) -> None:
    """The official client cannot send them, so the lines are written by hand."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "inventory_get", "arguments": "{broken"}},
        {"id": 3, "method": "tools/call", "params": {"arguments": [1]}},
    ]
    output = tmp_path / "run.json"
    answers: dict[int, dict[str, Any]] = {}
    with subprocess.Popen(
        [TOOL, *argv(ITEM.id, "-o", str(output))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()
            if "id" in message:
                answer = json.loads(process.stdout.readline())
                answers[answer["id"]] = answer
        process.stdin.close()
        assert process.wait(60) == 0
    run = McpRun.model_validate_json(output.read_bytes())
    assert [(call.arguments, call.error) for call in run.trace.calls] == [
        ("{broken", "invalid-arguments"),
        ([1], "unknown-tool"),
    ]
    assert [answers[number]["result"]["isError"] for number in (2, 3)] == [True, True]
    assert [answers[number]["result"]["content"][0]["text"] for number in (2, 3)] == [
        call.reply for call in run.trace.calls
    ]


def test_the_user_can_be_asked_and_a_judged_item_has_no_fraction(tmp_path: Path) -> None:
    """By the fixed table; nobody judges here."""
    item = item_named("ambiguity-ask")
    instance = instance_of(item, PUBLIC_SEED)

    async def session(client: ClientSession) -> None:
        answer = await client.call_tool("ask_user", {"question": "Which one do you mean?"})
        assert texts(answer) == [user_answer(instance, "Which one do you mean?")]
        await client.call_tool("final_answer", {"text": "Done."})
        assert (await client.call_tool("final_answer", {"text": "Again."})).is_error is True

    run = converse(tmp_path, item.id, session)
    assert run.fraction is None
    assert run.trace.final_text == "Done."


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_command_and_its_container(number: signal.Signals) -> None:
    """It waits for its client's next line, and goes all the same."""
    with subprocess.Popen(
        [TOOL, *argv(ITEM.id)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        process.send_signal(number)
        assert process.wait(60) == 130


def test_the_reference_of_a_code_item_earns_everything(tmp_path: Path) -> None:
    """Its program runs in a container, hidden tests in another; the trace is that of a run in memory."""
    trace = play(CODE, CODE_INSTANCE, CODE.reference(CODE_INSTANCE), OWN_PROGRAMS)

    async def session(client: ClientSession) -> None:
        offered = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
        assert offered.pop("final_answer")
        assert offered == {tool.name: tool.parameters for tool in CODE_INSTANCE.tools}
        for call in trace.calls:
            assert isinstance(call.arguments, dict)
            assert texts(await client.call_tool(call.tool, call.arguments)) == [call.reply]
        await client.call_tool("final_answer", {"text": trace.final_text})

    run = converse(tmp_path, CODE.id, session)
    assert run.trace.model_copy(update={"code": ()}) == trace.model_copy(update={"code": ()})
    assert [result.passed for result in run.trace.code] == [True] * len(CODE_INSTANCE.hidden_tests)
    assert (run.fraction, run.note) == (1.0, UNOFFICIAL)
    assert "fraction 1.0000" in (tmp_path / "errors").read_text()


def test_a_program_that_hangs_is_killed_and_work_that_is_not_handed_in_earns_nothing(tmp_path: Path) -> None:
    """The client is told, may go on, and is told of malformed arguments too."""
    path = "hang.py"

    async def session(client: ClientSession) -> None:
        await client.call_tool("write_file", {"path": path, "content": "while True: pass"})
        assert "killed after 10 s" in texts(await client.call_tool("run_python", {"path": path}))[0]
        assert (await client.call_tool("run_python", {"path": [path]})).is_error is True
        await client.call_tool("write_file", {"path": path, "content": "print(input())"})
        printed = texts(await client.call_tool("run_python", {"path": path, "stdin": "back"}))
        assert printed == ["exit code 0\nstdout:\nback\n\nstderr:\n"]
        await client.call_tool("final_answer", {"text": "It works."})

    run = converse(tmp_path, CODE.id, session)
    assert [call.error for call in run.trace.calls] == [None, None, "invalid-arguments", None, None]
    assert (run.fraction, run.program, run.trace.code) == (0.0, None, ())


def test_a_client_that_hands_in_and_leaves_has_its_result(tmp_path: Path) -> None:
    """The official client kills its server soon after: all is done when `submit` is answered."""

    async def session(client: ClientSession) -> None:
        for file, text in CODE.solution(CODE_INSTANCE).items():
            await client.call_tool("write_file", {"path": file, "content": text})
        await client.call_tool("submit", {"summary": "It is written."})

    run = converse(tmp_path, CODE.id, session)
    assert (run.fraction, run.trace.end) == (1.0, RunEnd.EMPTY)


def lines(*calls: tuple[str, Mapping[str, object]]) -> str:
    """A whole session as a client writes it that waits for nothing."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        *(
            {"id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
            for number, (tool, arguments) in enumerate(calls, 2)
        ),
    ]
    return "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)


@pytest.mark.parametrize("listens", [True, False])
def test_a_client_that_goes_away_at_once_has_given_its_answer(tmp_path: Path, *, listens: bool) -> None:
    """Whether or not anybody reads the replies: the result is kept, and the container is gone."""
    output = tmp_path / "run.json"
    with subprocess.Popen(
        [TOOL, *argv(ITEM.id, "-o", str(output))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if not listens:
            process.stdout.close()
        process.stdin.write(lines(("nothing", {}), ("nothing", {}), ("final_answer", {"text": "Done."})))
        process.stdin.close()
        assert process.wait(60) == 0
    run = McpRun.model_validate_json(output.read_bytes())
    assert [call.error for call in run.trace.calls] == ["unknown-tool"] * 2
    assert (run.trace.final_text, run.trace.end) == ("Done.", RunEnd.ANSWERED)


def test_a_signal_while_hidden_tests_run_leaves_no_container(engine: DockerEngine) -> None:
    """The grader's neither, whose program hangs."""
    hangs = {"path": CODE.program, "content": "while True: pass"}
    with subprocess.Popen(
        [TOOL, *argv(CODE.id)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(lines(("write_file", hangs), ("submit", {"summary": "It hangs."})))
        process.stdin.flush()
        while not any("container" in left for left in engine.leftovers(Workspace(REPOSITORY).label, STUDY)):
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 130
