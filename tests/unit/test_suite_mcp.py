"""An item over MCP: the item's own rules hold, and what a client left is checked as a run is."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest
from mcp import Client, MCPError
from mcp.shared.message import SessionMessage
from mcp_types import TextContent, jsonrpc_message_adapter

from esac_ag.agents.world_session import SERVER_ARGV
from esac_ag.attempt import Grading
from esac_ag.conduct.context import Stop
from esac_ag.conduct.suite_mcp import (
    ASK_USER,
    FINAL_ANSWER,
    UNOFFICIAL,
    Episode,
    McpRun,
    play_over_mcp,
    refuse_output,
    save,
)
from esac_ag.conduct.suite_mcp_server import ItemServer
from esac_ag.conduct.suite_mcp_tools import McpBench
from esac_ag.conduct.suite_programs import RUNNER
from esac_ag.errors import ImageMissing, InfrastructureFailure, InputRefused
from esac_ag.sandbox.contract import Role
from esac_ag.sandbox.memory import InMemoryEngine
from esac_ag.sandbox.memory_process import FakeProcess, Program
from esac_ag.suite.bank import bank, item_named
from esac_ag.suite.constitution import Pool
from esac_ag.suite.contract import Instance, Item, Json, RunEnd, ToolCall, Trace
from esac_ag.suite.items.code_desk import Ran
from esac_ag.suite.items.code_program import ProgramItem
from esac_ag.suite.play import Programs, play, user_answer, world_of
from esac_ag.suite.pools import instance_of, resolve_seed
from tests.builders_world_server import Twist, twisted_world_program, world_program

DATASET = resolve_seed(Pool.PUBLIC, flag=None, environment=None, file=None)
STOCK = item_named("planning-stock")
ASKED = item_named("ambiguity-ask")
CODE = next(item for item in bank() if isinstance(item, ProgramItem))
CODE_INSTANCE = instance_of(CODE, DATASET.seed)
PROGRAM, SOLUTION = CODE.program, CODE.solution(CODE_INSTANCE)
JUDGE = ("python3", "-I", "-S", "-B", "/esac/judge.py")
RAN = Ran(0, "printed\n", "")
AGENT_IMAGE, GRADER_IMAGE = "agent:1", "grader:1"
IMAGES = {AGENT_IMAGE: "sha256:" + "a" * 64, GRADER_IMAGE: "sha256:" + "b" * 64}


@dataclass
class HereTools:
    """The world in this process."""

    instance: Instance

    def __post_init__(self) -> None:
        self.world = world_of(self.instance)

    def call(self, tool: str, arguments: Json) -> str:
        """The world's reply."""
        return self.world.call(tool, arguments).text

    def log(self) -> tuple[ToolCall, ...]:
        """The world's log."""
        return tuple(ToolCall.model_validate(record) for record in self.world.log)

    def snapshot(self) -> dict[str, Json]:
        """The world's state."""
        return self.world.snapshot()

    def grading(self) -> Grading | None:
        """A world has none."""
        return None


@dataclass
class Played:
    """An episode in this process, and the traces that it told."""

    item: Item
    traces: list[Trace] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.instance = instance_of(self.item, DATASET.seed)
        self.episode = Episode(self.instance, self.item.turns, HereTools(self.instance), self.traces.append)


def follow(episode: Episode, trace: Trace) -> None:
    """Do what a trace of a policy did, the questions aside."""
    for call in trace.calls:
        assert episode.call(call.tool, call.arguments).text == call.reply
    episode.call("final_answer", {"text": trace.final_text})


def test_the_reference_leaves_the_trace_that_it_leaves_in_memory() -> None:
    """Calls, messages, state and end."""
    played = Played(STOCK)
    trace = play(STOCK, played.instance, STOCK.reference(played.instance))
    follow(played.episode, trace)
    assert [told.calls for told in played.traces] == [trace.calls]
    told = played.traces[0]
    assert told == trace


def test_tools_are_the_item_s_and_those_that_a_chat_does_not_need() -> None:
    """The simulated user can be asked where there is a table of answers, and nowhere else."""
    stock, asked = Played(STOCK), Played(ASKED)
    assert stock.episode.tools == (*stock.instance.tools, FINAL_ANSWER)
    assert asked.episode.tools == (*asked.instance.tools, ASK_USER, FINAL_ANSWER)
    assert not stock.episode.call("ask_user", {"question": "Which?"}).ok
    assert stock.episode.call("ask_user", {"question": "Which?"}).text.count("unknown-tool") == 1


def test_the_simulated_user_answers_as_in_a_chat() -> None:
    """By the fixed table; question and answer are in the conversation."""
    played = Played(ASKED)
    question = "Which one do you mean?"
    expected = user_answer(played.instance, question)
    assert played.episode.call("ask_user", {"question": question}).text == expected
    played.episode.close()
    assert [turn.text for turn in played.traces[0].turns[1:]] == [question, expected]


@pytest.mark.parametrize("arguments", [None, "{broken", [], {}, {"text": 7}, {"text": "x", "more": 1}])
def test_a_malformed_final_answer_ends_nothing(arguments: Json) -> None:
    """It is refused, and the client may try again."""
    played = Played(ASKED)
    assert not played.episode.call("final_answer", arguments).ok
    assert not played.episode.call("ask_user", arguments).ok
    assert played.traces == []
    assert played.episode.call("final_answer", {"text": "Done."}).ok
    assert played.traces[0].end is RunEnd.ANSWERED


def test_malformed_calls_are_logged_as_they_came() -> None:
    """Names that are no text, and arguments that are no object."""
    played = Played(STOCK)
    replies = [played.episode.call(name, given) for name, given in ((7, {}), (None, {}), ("x", "{broken"))]
    played.episode.close()
    assert [reply.ok for reply in replies] == [False] * 3
    calls = played.traces[0].calls
    assert [(call.tool, call.arguments) for call in calls] == [
        ("<int>", {}),
        ("<NoneType>", {}),
        ("x", "{broken"),
    ]


def test_the_item_s_turns_are_a_cap() -> None:
    """The call beyond it ends the run, and is not carried out."""
    played = Played(ASKED)
    played.episode.call("ask_user", {"question": "Which?"})
    for _ in range(ASKED.turns - 1):
        played.episode.call("no_such_tool", {})
    assert played.traces == []
    assert not played.episode.call("no_such_tool", {}).ok
    assert played.traces[0].end is RunEnd.TURN_LIMIT
    assert len(played.traces[0].calls) == ASKED.turns - 1


def test_a_final_answer_after_the_last_turn_counts() -> None:
    """An answer is no turn."""
    played = Played(STOCK)
    for _ in range(STOCK.turns):
        played.episode.call("no_such_tool", {})
    played.episode.call("final_answer", {"text": "Done."})
    assert [trace.end for trace in played.traces] == [RunEnd.ANSWERED]


@pytest.mark.parametrize(
    ("finish", "end"),
    [
        (lambda episode: episode.call("final_answer", {"text": "Done."}), RunEnd.ANSWERED),
        (lambda episode: episode.call("final_answer", {"text": " \n"}), RunEnd.EMPTY),
        (lambda episode: episode.close(), RunEnd.EMPTY),
    ],
    ids=["answer", "blank", "gone"],
)
def test_a_run_ends_once(finish: Callable[[Episode], object], end: RunEnd) -> None:
    """Nothing is carried out afterwards, and the result is told once."""
    played = Played(STOCK)
    finish(played.episode)
    assert not played.episode.call("final_answer", {"text": "More."}).ok
    assert not played.episode.call("inventory_find", {"query": "a"}).ok
    played.episode.close()
    assert [(trace.end, trace.calls) for trace in played.traces] == [(end, ())]


def _go_away(_episode: Episode) -> None:
    """A client that does nothing."""


@dataclass
class Place:
    """An in-memory sandbox that serves items."""

    world: Program = world_program
    verdict: str = "graded"
    images: tuple[str, ...] = (AGENT_IMAGE, GRADER_IMAGE)
    runs: list[McpRun] = field(default_factory=list)
    beside_judge: list[str] = field(default_factory=list)
    """Containers that there were whenever hidden tests ran."""

    def __post_init__(self) -> None:
        programs: dict[tuple[str, ...], Program] = {
            SERVER_ARGV: self.world,
            RUNNER: runner,
            JUDGE: self._judge,
        }
        images = {name: IMAGES[name] for name in self.images}
        self.engine = InMemoryEngine(programs, images=images, workspace="tests")

    def play(self, item: Item, client: Callable[[Episode], None]) -> list[McpRun]:
        """Let a client play an item; what was told, once nothing is left behind."""
        bench = McpBench(self.engine, AGENT_IMAGE, GRADER_IMAGE, Stop())
        try:
            play_over_mcp(item, DATASET, bench=bench, serve=client, ended=self.runs.append)
        finally:
            assert list(self.engine.leftovers("tests")) == []
        return self.runs

    def _judge(self, process: FakeProcess) -> int:
        """Stands for the judge: the reference's program passes, and no other."""
        self.beside_judge += self.engine.leftovers("tests")
        tree = process.files.tree("/grade")
        assert tree is not None
        files = {path.decode(): node.data.decode() for path, node in tree.files().items()}
        verdict = "pass" if files.get(f"submission/{PROGRAM}") == SOLUTION[PROGRAM] else "fail"
        checks = [
            {"id": check["id"], "verdict": verdict, "reason": "why", "duration_s": 0.0}
            for check in json.loads(files["judge.json"])["checks"]
        ]
        told = {"format_version": 1, "status": self.verdict, "invalid_reason": None, "checks": checks}
        process.files.write("/grade/out/result.json", json.dumps(told).encode())
        return 0


def runner(process: FakeProcess) -> int:
    """Stands for the runner of programs: whatever is run prints the same."""
    process.files.remove(process.argv[len(RUNNER)])
    process.write(json.dumps({"exit_code": RAN.exit_code, "stdout": RAN.stdout, "stderr": ""}).encode())
    return 0


def over_mcp(item: Item, client: Callable[[Episode], None], program: Program = world_program) -> list[McpRun]:
    """Play an item in the in-memory sandbox."""
    return Place(program).play(item, client)


def test_what_a_client_left_is_checked_and_is_no_official_score() -> None:
    """The reference earns everything, silence nothing; both are labelled."""
    instance = instance_of(STOCK, DATASET.seed)
    trace = play(STOCK, instance, STOCK.reference(instance))
    full = over_mcp(STOCK, lambda episode: follow(episode, trace))
    empty = over_mcp(STOCK, _go_away)
    assert [run.fraction for run in full + empty] == [1.0, 0.0]
    assert {run.note for run in full + empty} == {UNOFFICIAL}
    assert full[0].checks == STOCK.check(instance, trace)


def test_a_judged_item_has_no_fraction() -> None:
    """No judge is asked: no data is not zero."""
    assert [run.fraction for run in over_mcp(ASKED, _go_away)] == [None]


def test_a_failure_of_the_environment_leaves_no_result() -> None:
    """It is nobody's score."""

    def client(episode: Episode) -> None:
        episode.call("inventory_find", {"query": "a"})

    twist: Twist = lambda line: line.replace(b'"isError": false', b'"isError": true')  # noqa: E731
    with pytest.raises(InfrastructureFailure):
        over_mcp(STOCK, client, twisted_world_program(twist))


def code_trace() -> Trace:
    """What the reference of the code item does."""
    programs = Programs(run=lambda *_: RAN, grade=lambda *_: ())
    return play(CODE, CODE_INSTANCE, CODE.reference(CODE_INSTANCE), programs)


def test_the_reference_of_a_code_item_earns_everything() -> None:
    """Its trace is that of a run, with the verdicts of hidden tests; their seed is nobody's to know."""
    trace, place = code_trace(), Place()
    for _ in range(2):
        place.play(CODE, lambda episode: follow(episode, trace))
    assert [run.fraction for run in place.runs] == [1.0, 1.0]
    seeds = set()
    for run in place.runs:
        assert run.trace.model_copy(update={"code": ()}) == trace
        assert [result.test_id for result in run.trace.code] == [t.id for t in CODE_INSTANCE.hidden_tests]
        assert run.program is not None
        assert run.program.grader_image_digest == IMAGES[GRADER_IMAGE]
        seeds.add(run.program.seed)
    assert len(seeds) == 2
    assert {len(seed) for seed in seeds} == {64}


def test_what_the_client_s_programs_ran_in_is_gone_when_hidden_tests_run() -> None:
    """The grader's container is the only one then."""
    trace, place = code_trace(), Place()
    place.play(CODE, lambda episode: follow(episode, trace))
    assert [spec.role for spec in place.engine.specs] == [Role.AGENT, Role.GRADER]
    assert len(place.beside_judge) == 1


def test_work_that_is_not_handed_in_earns_nothing() -> None:
    """However right it is; nothing is graded."""
    place = Place()

    def client(episode: Episode) -> None:
        for call in code_trace().calls[:-1]:
            episode.call(call.tool, call.arguments)
        episode.call("final_answer", {"text": "It is done."})

    run = place.play(CODE, client)[0]
    assert (run.fraction, run.program, run.trace.code, run.trace.end) == (0.0, None, (), RunEnd.ANSWERED)
    assert place.beside_judge == []


def test_work_that_was_handed_in_counts_without_a_final_answer() -> None:
    """As in a run: hidden tests decide, and a client that goes away has handed in."""
    place = Place()

    def client(episode: Episode) -> None:
        for call in code_trace().calls:
            episode.call(call.tool, call.arguments)
        assert len(place.beside_judge) == 1

    run = place.play(CODE, client)[0]
    assert (run.fraction, run.trace.end) == (1.0, RunEnd.EMPTY)


def test_nothing_is_taken_after_handing_in_but_the_final_answer() -> None:
    """Calls are refused and logged, and the work is graded once."""
    place = Place()
    late: list[tuple[str, Json]] = [
        ("write_file", {"path": PROGRAM, "content": SOLUTION[PROGRAM]}),
        ("submit", {"summary": "Again."}),
    ]

    def client(episode: Episode) -> None:
        assert episode.call("submit", {"summary": "Nothing is done."}).ok
        assert not any(episode.call(tool, arguments).ok for tool, arguments in late)
        assert episode.call("final_answer", {"text": "Done."}).ok

    run = place.play(CODE, client)[0]
    assert [call.error for call in run.trace.calls] == [None, "ended", "ended"]
    assert (run.fraction, len(place.beside_judge)) == (0.0, 1)


def test_malformed_calls_of_a_code_item_are_logged_as_they_came() -> None:
    """They are answered, they are turns, and no program is run for them."""
    place = Place()
    made: list[tuple[object, Json]] = [
        ("run_python", "{broken"),
        ("run_python", {"path": 7}),
        ("submit", [1]),
        ("submit", {}),
        (None, {}),
    ]

    def client(episode: Episode) -> None:
        assert not any(episode.call(tool, arguments).ok for tool, arguments in made)

    run = place.play(CODE, client)[0]
    assert [call.arguments for call in run.trace.calls] == [arguments for _, arguments in made]
    assert (run.fraction, place.engine.specs) == (0.0, [])


def test_a_grader_that_fails_leaves_no_result() -> None:
    """It is nobody's score."""
    trace, place = code_trace(), Place(verdict="nonsense")
    with pytest.raises(InfrastructureFailure, match="could not be run"):
        place.play(CODE, lambda episode: follow(episode, trace))
    assert place.runs == []


def test_a_grader_s_image_that_is_missing_is_told_before_anybody_works() -> None:
    """Where it is needed, and nowhere else."""
    served: list[Episode] = []
    with pytest.raises(ImageMissing):
        Place(images=(AGENT_IMAGE,)).play(CODE, served.append)
    assert served == []
    Place(images=(AGENT_IMAGE,)).play(STOCK, served.append)
    assert len(served) == 1


def test_a_result_is_private_and_never_overwrites(tmp_path: Path) -> None:
    """A file in the way is told before the client works for nothing."""
    path = tmp_path / "run.json"
    refuse_output(path)
    refuse_output(None)
    run = over_mcp(STOCK, _go_away)[0]
    save(run, path)
    save(run, None)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert McpRun.model_validate_json(path.read_bytes()) == run
    with pytest.raises(InputRefused):
        refuse_output(path)


async def _broken_session(served: ItemServer) -> None:
    async with Client(served.server) as client:
        for _ in range(2):
            with pytest.raises(MCPError):
                await client.call_tool("inventory_find", {"query": "a"})


def test_a_client_is_told_of_a_failure_and_it_is_kept() -> None:
    """As a protocol error, never as a reply of a tool; the command fails once the client is gone."""

    class Lost(HereTools):
        def call(self, tool: str, arguments: Json) -> str:
            raise InfrastructureFailure("gone", where=tool, found=str(arguments))

    instance = instance_of(STOCK, DATASET.seed)
    served = ItemServer(Episode(instance, STOCK.turns, Lost(instance), lambda _: None))
    anyio.run(_broken_session, served)
    assert isinstance(served.failure, InfrastructureFailure)


async def _session(episode: Episode, calls: tuple[ToolCall, ...], answer: str) -> None:
    async with Client(ItemServer(episode).server) as client:
        listed = await client.list_tools()
        assert [(tool.name, tool.input_schema) for tool in listed.tools] == [
            (tool.name, tool.parameters) for tool in episode.tools
        ]
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["task"]
        task = await client.get_prompt("task")
        assert task.messages[0].content == TextContent(type="text", text=episode.prompt)
        with pytest.raises(MCPError):
            await client.get_prompt("tusk")
        for call in calls:
            assert isinstance(call.arguments, dict)
            result = await client.call_tool(call.tool, call.arguments)
            assert [block.text for block in result.content if isinstance(block, TextContent)] == [call.reply]
            assert result.is_error is not call.ok
        await client.call_tool("final_answer", {"text": answer})


def test_the_official_client_plays_in_this_process() -> None:
    """Tools, the task as a prompt, calls, and the end."""
    played = Played(STOCK)
    trace = play(STOCK, played.instance, STOCK.reference(played.instance))
    anyio.run(_session, played.episode, trace.calls, trace.final_text)
    assert [told.calls for told in played.traces] == [trace.calls]


async def _sent_at_once(served: ItemServer, messages: list[object]) -> None:
    to_server, source = anyio.create_memory_object_stream[SessionMessage | Exception](len(messages))
    sink, _answers = anyio.create_memory_object_stream[SessionMessage](len(messages))
    with to_server, _answers:
        for message in messages:
            parsed = jsonrpc_message_adapter.validate_python(message)
            to_server.send_nowait(SessionMessage(parsed))
        to_server.close()
        await served.server.run(source, sink, served.server.create_initialization_options())


def test_what_a_client_sent_before_it_went_away_counts() -> None:
    """All its calls are carried out in order, and its answer is taken, though nobody waits for a reply."""
    played = Played(STOCK)
    trace = play(STOCK, played.instance, STOCK.reference(played.instance))
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    made = [
        *((call.tool, call.arguments) for call in trace.calls),
        ("final_answer", {"text": trace.final_text}),
    ]
    calls = [
        {
            "jsonrpc": "2.0",
            "id": number,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        for number, (tool, arguments) in enumerate(made, 2)
    ]
    opening = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    )
    anyio.run(_sent_at_once, ItemServer(played.episode), [*opening, *calls])
    assert played.traces == [trace]


def test_the_command_line_does_not_load_the_package_until_it_serves() -> None:
    """It costs a second, and every other command would pay for it."""
    script = (
        "import sys, esac_ag.cli.app, esac_ag.conduct.suite_mcp; print({'mcp', 'mcp_types'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
