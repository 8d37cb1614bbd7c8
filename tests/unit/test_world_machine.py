"""The world as a machine: pure, deterministic, logged, and never brought down by a call."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esac_ag.suite.contract import ToolCall, ToolSchema
from esac_ag.suite.world import TOOLS, World, canonical, diff, digest, patch, replay, step
from esac_ag.suite.world import building as build
from tests.builders_world import a_company, a_workshop, answer, refusal

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=8), children, max_size=3)
    ),
    max_leaves=6,
)
STATE_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab/~é", max_size=3),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text("ab/~", max_size=2), children),
    max_leaves=12,
)
SHELL_TEXT = st.text(alphabet="ab*?[]!^'\"\\|&;<>()$#{}~-=. /\n12,lsgrepcatfindsort", max_size=40)
PATTERN_TEXT = st.text(alphabet="ab.*+?()[]{}|\\^$1,2w-:", max_size=14)


def likely(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that an argument takes, and some that exist in the company."""
    match schema:
        case {"enum": list(options)}:
            return st.sampled_from(options)
        case {"type": "integer"}:
            return st.integers(-2, 12) | st.just(3.0)
        case {"type": "array"}:
            return st.lists(st.sampled_from(["u-1", "u-2", "u-3", "u-4"]), max_size=3)
        case _:
            known = [
                "u-1",
                "u-3",
                "T-1",
                "T-2",
                "BLT",
                "wh-a",
                "acc-1",
                "acc-2",
                "INV-2",
                "EV-1",
                "rep-1",
                "RS-1",
            ]
            times = ["2026-03-04", "2026-03-03T14:30:00Z", "2026-03-03T23:00:00-05:00"]
            paths = ["/home/agent/fruit.txt", "/home/agent/logs", "/home/agent/new", "/"]
            return st.sampled_from([*known, *times, *paths, "team-dev", "a"]) | st.text(max_size=5)


@st.composite
def likely_calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A tool with arguments that are mostly well-formed."""
    name = draw(st.sampled_from(sorted(TOOLS)))
    parameters = TOOLS[name]["parameters"]
    return name, {
        argument: draw(likely(schema))
        for argument, schema in parameters["properties"].items()
        if argument in parameters["required"] or draw(st.booleans())
    }


@settings(max_examples=60, deadline=None)
@given(st.lists(likely_calls(), max_size=6))
def test_equal_states_and_calls_have_byte_identical_replies(calls: list[tuple[str, dict[str, Any]]]) -> None:
    """Two worlds agree on everything, the given state stays as it was, and the log replays to each state."""
    state = {**a_company(), "fs": a_workshop()["fs"]}
    untouched = copy.deepcopy(state)
    worlds = World(state), World(state)
    for name, arguments in calls:
        before = worlds[0].digest()
        replies = [world.call(name, arguments) for world in worlds]
        assert replies[0] == replies[1]
        json.loads(replies[0].text)
        if not replies[0].ok and replies[0].error != "already-fetched":
            assert worlds[0].digest() == before
    assert worlds[0].log == worlds[1].log
    assert state == untouched
    states = list(replay(state, worlds[0].log))
    assert [digest(after) for after in states] == [record["state_after"] for record in worlds[0].log]
    assert patch(state, diff(state, worlds[0].snapshot())) == worlds[0].snapshot()


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(TOOLS)) | JSON_VALUES, JSON_VALUES)
def test_a_malformed_call_is_answered_and_logged(tool: object, arguments: object) -> None:
    """Whatever is sent, the reply is JSON, the record is one of the contract, and the state stays."""
    world = World(a_company())
    before = world.digest()
    reply = world.call(tool, arguments)
    assert reply.ok or json.loads(reply.text)["error"]["code"] == reply.error
    record = ToolCall.model_validate_json(json.dumps(world.log[0]))
    assert (record.ok, record.reply, record.state_before) == (reply.ok, reply.text, before)
    assert reply.ok or world.digest() == before


@settings(max_examples=200, deadline=None)
@given(SHELL_TEXT)
def test_no_command_line_brings_the_world_down(command: str) -> None:
    """Any line has an exit code, or is refused as an argument."""
    reply = World(a_workshop()).call("shell_run", {"command": command})
    assert reply.ok or reply.error == "invalid-arguments"


@settings(max_examples=200, deadline=None)
@given(PATTERN_TEXT, st.sampled_from(["", "-E ", "-o ", "-Ew ", "-F ", "-xi "]))
def test_no_pattern_brings_grep_down(pattern: str, options: str) -> None:
    """Any pattern selects, does not, or is not valid."""
    quoted = "'" + pattern.replace("'", "") + "'"
    reply = World(a_workshop()).call("shell_run", {"command": f"grep {options}-e {quoted} fruit.txt"})
    assert json.loads(reply.text)["exit_code"] in {0, 1, 2}


@settings(max_examples=150, deadline=None)
@given(STATE_VALUES, STATE_VALUES)
def test_a_difference_leads_from_one_state_to_the_other(before: object, after: object) -> None:
    """Patching with the difference gives the other; equal states have none."""
    changes = diff(before, after)
    assert json.dumps(patch(before, changes), sort_keys=True) == json.dumps(after, sort_keys=True)
    assert (changes == []) == (json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True))


def test_a_difference_names_what_changed() -> None:
    """Operations, JSON pointers with escapes, and both values."""
    before = {"a/b": {"~": 1, "gone": []}, "list": [1, 2, 3]}
    after = {"a/b": {"~": True, "new": None}, "list": [1, 5]}
    assert diff(before, after) == [
        {"op": "remove", "path": "/a~1b/gone", "before": []},
        {"op": "add", "path": "/a~1b/new", "after": None},
        {"op": "replace", "path": "/a~1b/~0", "before": 1, "after": True},
        {"op": "replace", "path": "/list/1", "before": 2, "after": 5},
        {"op": "remove", "path": "/list/2", "before": 3},
    ]


def test_a_change_that_does_not_fit_is_refused() -> None:
    """A difference is applied to the state that it was made from, not to any other."""
    with pytest.raises(ValueError, match="/a"):
        patch({"a": 1}, [{"op": "replace", "path": "/a", "before": 2, "after": 3}])
    with pytest.raises(ValueError, match="/a"):
        patch({"a": 1}, [{"op": "add", "path": "/a", "after": 3}])
    with pytest.raises(ValueError, match="/b"):
        patch({"a": 1}, [{"op": "remove", "path": "/b", "before": 3}])


@pytest.mark.parametrize("value", [1.5, float("nan"), {1: 2}, {"a": [object()]}, 2**53, b"x"])
def test_a_state_holds_canonical_json_alone(value: object) -> None:
    """Fractions, unsafe integers and other types are an author's mistake, found at once."""
    with pytest.raises(ValueError, match="cannot hold"):
        canonical({"a": value})


def test_a_digest_is_fixed() -> None:
    """The same bytes on every platform; it ignores the order of keys, and sees every value."""
    assert digest({"b": 1, "a": ["é"]}) == digest({"a": ["é"], "b": 1})
    assert digest({"a": 1}) == "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"
    assert digest({"a": True}) != digest({"a": 1})


def test_a_snapshot_is_a_copy() -> None:
    """Changing a snapshot changes nothing in the world."""
    world = World(a_company())
    snapshot = world.snapshot()
    snapshot["tickets"].clear()
    assert world.snapshot()["tickets"]
    assert list(world.snapshot()) == sorted(world.snapshot())


def test_tools_that_are_not_offered_do_not_exist() -> None:
    """The reply is the same as for a tool that there is not."""
    world = World(a_company(), offered=("tickets_get",))
    assert refusal(world, "tickets_list") == "unknown-tool"
    assert refusal(world, "no_such_tool") == "unknown-tool"
    assert answer(world, "tickets_get", ticket_id="T-1")["title"] == "Printer"
    with pytest.raises(ValueError, match="no_such_tool"):
        World(a_company(), offered=("no_such_tool",))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("{broken", "arguments have to be a JSON object, not a string"),
        (None, "arguments have to be a JSON object, not null"),
        ([], "arguments have to be a JSON object, not a list"),
        ({}, "missing argument 'sku'; inventory_adjust takes sku, delta, reason, warehouse"),
        (
            {"sku": "BLT", "delta": 1, "reason": "x", "qty": 1},
            "unknown argument 'qty'; inventory_adjust takes",
        ),
        ({"sku": "BLT", "delta": "1", "reason": "x"}, "argument 'delta' has to be an integer, not a string"),
        (
            {"sku": "BLT", "delta": True, "reason": "x"},
            "argument 'delta' has to be an integer, not a boolean",
        ),
        ({"sku": "BLT", "delta": 1.5, "reason": "x"}, "argument 'delta' has to be an integer, not a number"),
        ({"sku": "BLT", "delta": float("nan"), "reason": "x"}, "arguments hold a number that is not finite"),
        ({"sku": "BLT", "delta": 10**30, "reason": "x"}, "arguments hold an integer beyond 2^53 - 1"),
        ({"sku": "BLT", "delta": 10**10, "reason": "x"}, "argument 'delta' has to be within"),
        ({"sku": "", "delta": 1, "reason": "x"}, "argument 'sku' must not be empty"),
        ({"sku": "x" * 201, "delta": 1, "reason": "x"}, "argument 'sku' is longer than 200 characters"),
        ({"sku": ["BLT"], "delta": 1, "reason": "x"}, "argument 'sku' has to be a string, not a list"),
        ({"sku": "\ud800", "delta": 1, "reason": "x"}, "arguments hold text that is not Unicode"),
        ({"sku": object(), "delta": 1, "reason": "x"}, "arguments are not JSON"),
        ({1: 2}, "arguments have a key that is not text"),
    ],
)
def test_malformed_arguments_are_told_apart(arguments: object, message: str) -> None:
    """The message names the argument and what is wrong with it."""
    reply = World(a_company()).call("inventory_adjust", arguments)
    assert reply.error == "invalid-arguments"
    assert json.loads(reply.text)["error"]["message"].startswith(message)


def test_lists_are_checked_entry_by_entry() -> None:
    """Too many, twice the same, and the wrong type."""
    world = World(a_company())
    day = {"duration_minutes": 30, "date": "2026-03-04"}
    for users in ([], ["u-1", "u-1"], [1], "u-1"):
        assert refusal(world, "calendar_find_slot", user_ids=users, **day) == "invalid-arguments"


def test_huge_and_deep_arguments_are_too_large() -> None:
    """They are refused, and the log keeps no more than its limit of them."""
    world = World(a_company())
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    for arguments in ({"query": "x" * 200_000}, {"query": deep}):
        assert world.call("directory_search", arguments).error == "too-large"
    assert len(world.log[0]["arguments"]) == 131_072
    assert world.log[1]["arguments"] == "arguments are nested deeper than 20"


def test_a_whole_number_with_a_fraction_of_zero_is_an_integer() -> None:
    """JSON does not tell 2.0 from 2; the log keeps it as received."""
    world = World(a_company())
    assert answer(world, "inventory_adjust", sku="BLT", delta=2.0, reason="count")["on_hand"] == 12
    assert world.log[0]["arguments"]["delta"] == 2.0


def test_the_log_is_of_the_contract() -> None:
    """Every record validates, in order, and tells which calls changed the state."""
    world = World(a_company())
    world.call("tickets_get", {"ticket_id": "T-1"})
    world.call("tickets_comment", {"ticket_id": "T-1", "text": "Hm."})
    world.call("tickets_comment", "not json")
    records = [ToolCall.model_validate(record) for record in world.log]
    assert [record.index for record in records] == [0, 1, 2]
    assert [record.changed_state for record in records] == [False, True, False]
    assert records[2].arguments == "not json"


def test_every_tool_has_an_offered_schema() -> None:
    """Schemas fit the contract, refuse what they do not declare, and require only what they declare."""
    for name, schema in TOOLS.items():
        tool = ToolSchema.model_validate(schema)
        assert tool.name == name
        assert tool.parameters["additionalProperties"] is False
        assert set(schema["parameters"]["required"]) <= set(schema["parameters"]["properties"])


def test_planted_faults_strike_well_formed_calls() -> None:
    """By tool and arguments, always or so many times; a limited fault counts in the state."""
    state = build.with_fault(
        a_company(), "tickets_get", "unavailable", "Try later.", arguments={"ticket_id": "T-1"}
    )
    state = build.with_fault(state, "reports_list", "rate-limited", "Slow down.", times=1)
    world = World(state)
    assert refusal(world, "tickets_get") == "invalid-arguments"
    assert [refusal(world, "tickets_get", ticket_id="T-1") for _ in range(2)] == ["unavailable"] * 2
    assert refusal(world, "tickets_get", ticket_id="T-9") == "not-found"
    before = world.digest()
    assert world.call("reports_list", {}).error == "rate-limited"
    assert world.digest() != before
    assert answer(world, "reports_list")["total"] == 1


def test_a_step_is_a_pure_function() -> None:
    """It returns the next state and leaves the given one as it was."""
    state = a_company()
    untouched = copy.deepcopy(state)
    reply, after = step(state, "admin_delete_user", {"user_id": "u-1"})
    assert reply.ok
    assert state == untouched
    assert "u-1" not in after["users"]
