"""Logs of real agents as transcripts: the same form whoever wrote them, and whatever stands in them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esac_ag.agents.logs import LogFormat
from esac_ag.agents.logs.ending import EndingClass
from esac_ag.agents.logs.reading import MOST_LINE_BYTES, MOST_ODDITIES
from esac_ag.agents.logs.values import MOST_TEXT_CHARS
from esac_ag.attempt import Usage
from esac_ag.canonical import canonical_json
from esac_ag.sandbox.contract import Termination
from esac_ag.transcript import Entry, EntryKind
from tests.builders_logs import CLAUDE, CODEX, MINI, OPENCODE, captured, lines, read

WROTE = "printf 'hello\\n' > greeting.txt && cat greeting.txt"
CALLS = {
    CLAUDE: ("Bash", {"command": WROTE, "description": "Write the file"}, None, "hello"),
    CODEX: ("command_execution", None, 0, "hello\n"),
    OPENCODE: ("bash", {"command": WROTE, "description": "Write the file"}, 0, "hello\n"),
    MINI: ("bash", {"command": WROTE}, 0, '{\n  "returncode": 0,\n  "output": "hello\\n"\n}'),
}


@pytest.mark.parametrize("agent", list(LogFormat))
def test_what_an_agent_did_reads_the_same_whoever_it_was(agent: LogFormat) -> None:
    """A message, a call, its result, joined by an id; then the next message."""
    entries, _ = read(agent, captured(agent, "ok"))
    first = next(index for index, entry in enumerate(entries) if entry.kind is EntryKind.MODEL)
    said, call, result, then = entries[first : first + 4]
    tool, arguments, exit_code, output = CALLS[agent]
    assert (said.kind, said.text) == (EntryKind.MODEL, "I write the file.")
    assert (call.kind, call.tool) == (EntryKind.TOOL_CALL, tool)
    assert arguments is None or call.arguments == arguments
    assert WROTE.split(" >", maxsplit=1)[0] in json.dumps(call.arguments).replace("\\\\\\\\", "\\\\").replace(
        "\\\\", "\\"
    )
    assert (result.kind, result.text, result.exit_code) == (EntryKind.TOOL_RESULT, output, exit_code)
    assert call.call_id
    assert call.call_id == result.call_id
    assert then.kind is EntryKind.MODEL


@pytest.mark.parametrize("agent", [CLAUDE, CODEX, MINI])
def test_thinking_that_is_shown_is_kept_beside_its_message(agent: LogFormat) -> None:
    """OpenCode's log holds none."""
    entries, _ = read(agent, captured(agent, "ok"))
    assert [entry.reasoning for entry in entries if entry.kind is EntryKind.MODEL] == ["A short thought."] * 2


@pytest.mark.parametrize("agent", list(LogFormat))
def test_a_command_that_failed_keeps_its_exit_code(agent: LogFormat) -> None:
    """Claude Code tells it within the text only."""
    entries, _ = read(agent, captured(agent, "failing"))
    result = next(entry for entry in entries if entry.kind is EntryKind.TOOL_RESULT)
    assert result.exit_code == 3
    assert "oops" in result.text


EACH = Usage(model_calls=1, input_tokens=2468, cached_input_tokens=2000, output_tokens=25, reasoning_tokens=5)


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        # Claude's own count of a call's output is stale, so it is unknown; 30 were written to the cache.
        (CLAUDE, Usage(model_calls=1, input_tokens=2498, cached_input_tokens=2000, cache_write_tokens=30)),
        (CODEX, None),  # tells no calls
        (OPENCODE, EACH),  # writes 0 for what it wrote to a cache, which nobody told it
        (MINI, EACH),
    ],
)
def test_usage_of_each_call_is_in_our_fields(agent: LogFormat, expected: Usage | None) -> None:
    """The same traffic reads the same: cached tokens are part of the input, reasoning of the output."""
    entries, _ = read(agent, captured(agent, "ok"))
    assert [entry.usage for entry in entries if entry.kind is EntryKind.MODEL] == [expected] * 2


def test_the_agents_own_totals_are_reported_apart() -> None:
    """For the two that tell them; never summed into the entries."""
    assert read(CLAUDE, captured(CLAUDE, "ok"))[1].reported == Usage(
        input_tokens=4996, cached_input_tokens=4000, cache_write_tokens=60, output_tokens=50
    )
    assert read(CODEX, captured(CODEX, "ok"))[1].reported == Usage(
        input_tokens=4936,
        cached_input_tokens=4000,
        output_tokens=50,
        reasoning_tokens=10,
    )


@pytest.mark.parametrize("agent", [CODEX, OPENCODE, MINI])
def test_zeros_that_stand_for_no_usage_are_unknown(agent: LogFormat) -> None:
    """Agents write 0 where the endpoint told nothing."""
    entries, reader = read(agent, captured(agent, "nousage"))
    assert reader.reported is None
    assert not [
        entry for entry in entries if entry.usage is not None and entry.usage.input_tokens is not None
    ]


def test_times_are_seconds_since_the_attempt_started() -> None:
    """And null where a log tells none."""
    log = captured(OPENCODE, "ok")
    first = json.loads(log.splitlines()[0])["timestamp"] / 1000
    entries, _ = read(OPENCODE, log, started_at_s=first - 10)
    assert entries[0].at_s == pytest.approx(10.0, abs=0.01)
    assert {entry.at_s for entry in read(CODEX, captured(CODEX, "ok"))[0]} == {None}
    assert read(OPENCODE, log, started_at_s=first + 10)[0][0].at_s == 0


def test_parts_of_one_message_are_counted_once() -> None:
    """A result may come between them, as when the agent runs tools while the model still speaks."""
    message = {"id": "m", "usage": {"input_tokens": 10, "output_tokens": 1}}

    def part(block: dict[str, Any]) -> dict[str, Any]:
        return {"type": "assistant", "message": message | {"content": [block]}}

    result = {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "a"}]}}
    log = lines(
        part({"type": "text", "text": "Both."}),
        part({"type": "tool_use", "id": "a", "name": "Read", "input": {}}),
        result,
        part({"type": "tool_use", "id": "b", "name": "Read", "input": {}}),
    )
    entries, _ = read(CLAUDE, log)
    assert [entry.kind.value for entry in entries] == ["model", "tool_call", "tool_result", "tool_call"]
    assert [entry.usage is not None for entry in entries] == [True, False, False, False]


ODD: list[bytes] = [
    b"\n\n   \n",
    b"no JSON\n",
    b"\xff\xfe\x00\n",
    b"[1, 2]\n",
    b'{"type": 7}\n',
    b'{"type": "of the future", "x": 1}\n',
    b"[" * 100_000 + b"\n",
    b'{"type": "item.completed", "item": {"type": "of the future"}}\n',
    b'{"type": "assistant", "message": {"content": [{"type": "tool_use", "input": '
    + b'{"a":' * 500
    + b"1"
    + b"}" * 500
    + b"}]}}\n",
    b'{"type": "tool_use", "part": {"state": {"input": {"n": 1e999, "i": 12345678901234567890123}}}}\n',
    b'{"type": "text", "timestamp": 1e300, "part": {"text": "\\ud800"}}\n',
    b'{"type": "result", "is_error": "no", "subtype": "success"}\n',
    b'{"type": "turn.failed", "error": null}\n',
    b'{"type": "error", "error": [], "message": {}}\n',
    b'{"messages": [1, {"role": "odd"}, {"role": "assistant", "tool_calls": [null, {}]}], "info": 3}',
]


@pytest.mark.parametrize("agent", list(LogFormat))
@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_whatever_stands_in_a_log_is_read_and_can_be_written(agent: LogFormat, odd: bytes) -> None:
    """Never an exception, never a success, and each entry has a canonical form."""
    entries, reader = read(agent, odd * 3)
    assert reader.ending(Termination.EXITED, 0).kind is not EndingClass.COMPLETED
    for entry in entries:
        assert Entry.model_validate_json(canonical_json(entry)) == entry


@pytest.mark.parametrize("agent", [CLAUDE, CODEX, OPENCODE])
def test_odd_lines_are_notices_and_hide_no_others(agent: LogFormat) -> None:
    """The transcript around them is the same."""
    log = captured(agent, "ok")
    begin = log.index(b"\n") + 1
    entries, reader = read(agent, log[:begin] + b'torn {"\n{"type": "of the future"}\n' + log[begin:])
    clean, _ = read(agent, log)
    told = [entry.text for entry in entries if entry not in clean]
    assert told == ['a line is no event: torn {"', "an event of unknown type: of the future"]
    assert [entry for entry in entries if entry in clean] == clean
    assert reader.ending(Termination.EXITED, 0).kind is EndingClass.COMPLETED


def test_a_flood_of_odd_lines_is_counted_and_not_repeated() -> None:
    """The transcript stays small."""
    entries, _ = read(CODEX, b"odd\n" * 5000)
    assert len(entries) == MOST_ODDITIES + 1
    assert entries[-1].text == f"not understood: {5000 - MOST_ODDITIES} more events of the log"


def test_huge_lines_and_texts_are_capped() -> None:
    """A line beyond the cap is told by its size; a long text is cut and says so."""
    long = {"type": "item.completed", "item": {"type": "agent_message", "text": "x" * (MOST_TEXT_CHARS + 5)}}
    log = b"y" * (MOST_LINE_BYTES + 1) + b"\n" + lines(long)
    entries, _ = read(CODEX, log)
    assert entries[0].text == f"a line of {MOST_LINE_BYTES + 1} bytes was not read"
    assert (len(entries[1].text), entries[1].truncated) == (MOST_TEXT_CHARS, True)


def events() -> st.SearchStrategy[Any]:
    """Events whose keys are those of real logs, with any value."""
    keys = st.sampled_from(
        ["type", "item", "message", "content", "part", "state", "input", "usage", "info", "messages", "id"]
    )
    words = st.sampled_from(
        [
            "assistant",
            "result",
            "item.completed",
            "step_finish",
            "tool_use",
            "text",
            "exit",
            "command_execution",
        ]
    )
    leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | words
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4)
    )


@given(st.lists(events(), max_size=5))
def test_any_events_are_read(drawn: list[Any]) -> None:
    """Whatever the types are."""
    log = lines(*drawn)
    for agent in LogFormat:
        for entry in read(agent, log)[0]:
            assert canonical_json(entry)


OLD_LINES: list[dict[str, Any]] = [
    {"kind": "system", "at_s": 0.0, "text": "s"},
    {"kind": "tool_call", "at_s": 1.5, "text": "", "call_id": "c", "tool": "bash", "arguments": {"a": 1}},
]


@pytest.mark.parametrize("line", OLD_LINES)
def test_transcripts_of_earlier_versions_are_read(line: dict[str, Any]) -> None:
    """New fields have defaults."""
    entry = Entry.model_validate_json(json.dumps(line))
    assert (entry.at_s, entry.reasoning) == (line["at_s"], "")
