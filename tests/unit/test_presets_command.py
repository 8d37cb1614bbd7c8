"""Programs without a preset: launched and read as their agent file says."""

from __future__ import annotations

import json

import pytest

from esac_ag.agents.contract import AGENT_HOME, AGENT_WORKSPACE
from esac_ag.agents.presets.choosing import preset_of
from esac_ag.agents.presets.command_log import LONGEST_TEXT, read_log
from esac_ag.agents.presets.contract import ExitClass
from esac_ag.canonical import canonical_json
from esac_ag.errors import InputRefused
from esac_ag.manifest.agent_file import LogReading
from esac_ag.transcript import EntryKind
from tests.builders_presets import REQUEST, a_bundle, a_launched_file, an_order, prepared, text_of

RULES = LogReading.model_validate_json(
    json.dumps(
        {
            "format": "json-lines",
            "rules": [
                {
                    "when": {"/type": "say"},
                    "event": "message",
                    "text": "/parts/0/text",
                    "output_tokens": "/n",
                },
                {
                    "when": {"/type": "call", "/what/kind": "tool"},
                    "event": "tool-call",
                    "tool": "/what/name",
                    "arguments": "/what/with",
                    "call_id": "/id",
                },
                {"when": {"/type": "reply"}, "event": "tool-result", "text": "/out", "call_id": "/id"},
                {"when": {"/type": "count"}, "event": "usage", "input_tokens": "/in"},
                {"when": {"/type": "fault"}, "event": "error", "text": "/why"},
            ],
        }
    )
)


def test_holes_are_filled_in_arguments_environment_and_files() -> None:
    """JSON stays JSON whatever is filled in."""
    file = a_launched_file(
        {
            "argv": ["${program}", "--dir=${workspace}", "--plain=$HOME"],
            "environment": {"KEY": "${token}", "URL": "${base_url}/v1"},
            "files": [
                {"path": ".mine/a.json", "data": {"model": ["${model}", 1, None, True]}},
                {"path": "b.txt", "text": "home is ${home}\n"},
            ],
        }
    )
    preparation = prepared(an_order(file, model='m "1"'))
    assert preparation.argv[4:] == ("/opt/agents/mine/bin/mine", f"--dir={AGENT_WORKSPACE}", "--plain=$HOME")
    assert preparation.environment == {"KEY": "dummy-token", "URL": "http://127.0.0.1:8080/v1"}
    assert json.loads(text_of(preparation.home, ".mine/a.json")) == {"model": ['m "1"', 1, None, True]}
    assert text_of(preparation.home, "b.txt") == f"home is {AGENT_HOME}\n"
    assert text_of(preparation.home, ".esac-ag/request.md") == REQUEST


def test_a_request_as_an_argument_is_one_argument() -> None:
    """No shell is between."""
    file = a_launched_file({"prompt": "argument", "argv": ["${program}", "--task=${request}"]})
    assert prepared(an_order(file)).argv == ("/opt/agents/mine/bin/mine", f"--task={REQUEST}")


@pytest.mark.parametrize("request_", ["x" * 120_001, "a\0b"])
def test_a_request_that_cannot_be_an_argument_is_refused(request_: str) -> None:
    """With the remedy, before any container exists."""
    file = a_launched_file({"prompt": "argument", "argv": ["${program}", "${request}"]})
    with pytest.raises(InputRefused) as caught:
        prepared(an_order(file, request=request_))
    assert "stdin" in caught.value.remedy


def test_a_plan_s_reasoning_needs_a_way_to_the_program() -> None:
    """It is passed on where the file says, empty when the plan says nothing, and refused without a place."""
    file = a_launched_file({"argv": ["${program}", "--think=${reasoning}"]})
    assert prepared(an_order(file, reasoning="hard")).argv[-1] == "--think=hard"
    assert prepared(an_order(file)).argv[-1] == "--think="
    with pytest.raises(InputRefused):
        prepared(an_order(a_launched_file({}), reasoning="hard"))


def test_an_arm_goes_where_the_file_says() -> None:
    """A program with instructions of its own is told there; another is told in the request."""
    places = {"skills": ".mine/skills", "instructions": ".mine/RULES.md"}
    bundle = a_bundle(mention=True)
    told = prepared(an_order(a_launched_file({"arms": places}), bundle=bundle))
    assert b".mine/skills/some-arm/SKILL.md" in told.home
    assert ".mine/skills/some-arm/SKILL.md fully" in text_of(told.home, ".mine/RULES.md")
    assert text_of(told.home, ".esac-ag/request.md") == REQUEST
    plain = prepared(an_order(a_launched_file({}), bundle=bundle))
    assert "The body xyzzy." in text_of(plain.home, ".esac-ag/request.md")


def test_codes_of_failure_are_the_file_s() -> None:
    """All others but 0 are unknown."""
    preset = preset_of(a_launched_file({"exit_codes_of_failure": [4]}))
    assert [preset.exit_class(code) for code in (0, 1, 4)] == [
        ExitClass.ENDED,
        ExitClass.UNKNOWN,
        ExitClass.FAILED,
    ]


def test_a_log_is_read_by_the_first_rule_that_fits() -> None:
    """Messages, calls, results, usage and errors."""
    lines = [
        {"type": "say", "parts": [{"text": "hello"}], "n": 7},
        {"type": "call", "id": "1", "what": {"kind": "tool", "name": "sh", "with": {"c": "ls"}}},
        {"type": "reply", "id": "1", "out": "a.txt"},
        {"type": "count", "in": 12},
        {"type": "fault", "why": "500"},
    ]
    say, call, reply, count, fault = read_log(RULES, b"\n".join(json.dumps(x).encode() for x in lines))
    assert (say.kind, say.text, say.usage and say.usage.output_tokens) == (EntryKind.MODEL, "hello", 7)
    assert (call.kind, call.tool, call.arguments, call.call_id) == (
        EntryKind.TOOL_CALL,
        "sh",
        {"c": "ls"},
        "1",
    )
    assert (reply.kind, reply.text, reply.call_id) == (EntryKind.TOOL_RESULT, "a.txt", "1")
    assert count.usage is not None
    assert (count.usage.input_tokens, count.usage.output_tokens) == (12, None)
    assert (fault.kind, fault.text) == (EntryKind.NOTICE, "500")


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b'{"type": "other"}',
        b'{"type": "call", "what": []}',
        b'{"type": "say", "type": "say"}',
        b'{"type": NaN}',
        b"[" * 5000,
        b'"text"',
        b'\xff\xfe{"type"',
    ],
)
def test_a_line_that_no_rule_fits_is_kept_as_a_notice(line: bytes) -> None:
    """Nothing that the program wrote is lost, and nothing makes reading fail."""
    (entry,) = read_log(RULES, line + b"\n\n")
    assert (entry.kind, entry.usage) == (EntryKind.NOTICE, None)
    assert entry.text == line.decode("utf-8", "replace")


@pytest.mark.parametrize("count", ["true", "-1", "1.5", '"7"', "null", "{}"])
def test_a_count_that_is_none_is_unknown_and_not_zero(count: str) -> None:
    """Another type than a whole number tells nothing."""
    (entry,) = read_log(RULES, f'{{"type": "count", "in": {count}}}'.encode())
    assert entry.usage is None


def test_a_log_of_text_is_what_the_program_said() -> None:
    """Long lines are cut and say so; when it was said is not known."""
    short, long = read_log(LogReading(), b"one\n" + b"x" * (LONGEST_TEXT + 1))
    assert (short.kind, short.text, short.truncated) == (EntryKind.MODEL, "one", False)
    assert short.at_s is None
    assert (len(long.text), long.truncated) == (LONGEST_TEXT, True)


@pytest.mark.parametrize(
    "value",
    [
        '"\\ud800"',
        "9" * 30,
        '{"\\ud800": "\\udfff"}',
        '{"n": 99999999999999999999}',
        '{"n": 1e999}',
        '{"deep": ' + "[" * 500 + "1" + "]" * 500 + "}",
    ],
    ids=["half-a-character", "huge", "halves-in-an-object", "huge-in-an-object", "infinite", "deep"],
)
def test_whatever_a_log_holds_can_be_recorded(value: str) -> None:
    """A program writes such things of its own accord: Python's JSON of a name that is no UTF-8, for one."""
    lines = [
        f'{{"type": "say", "parts": [{{"text": {value}}}], "n": {value}}}',
        f'{{"type": "call", "what": {{"kind": "tool", "name": {value}, "with": {value}}}, "id": {value}}}',
        f'{{"type": "reply", "out": {value}, "id": {value}}}',
        f'{{"type": "count", "in": {value}}}',
        f'{{"type": "fault", "why": {value}}}',
    ]
    entries = list(read_log(RULES, "\n".join(lines).encode()))
    assert [json.loads(canonical_json(entry))["kind"] for entry in entries] == [
        *("model", "tool_call", "tool_result", "notice", "notice")
    ]
