"""The efficiency modifier: facts, levels, and what can never be gained by failing or by doing more."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esac_ag.errors import HarnessError
from esac_ag.suite.contract import ActionRule, Envelope, Tokens, ToolCall
from esac_ag.suite.efficiency import (
    ItemEfficiency,
    action_facts,
    effective_actions,
    goal_index,
    level,
    modifier,
    normalised,
    run_levels,
    total_tokens,
)
from esac_ag.suite.rework import Effect
from tests.builders_suite import SCALE, a_call, a_digest, facts

ENVELOPE = Envelope(levels=(2, 3, 4, 6, 8))

CALLS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.sampled_from(["s0", "s1", "s2"]), st.booleans()),
    max_size=12,
)


def log(drawn: list[tuple[str, int, str, bool]]) -> list[ToolCall]:
    """A consistent call log: each call starts in the state that the one before led to."""
    calls: list[ToolCall] = []
    state = "s0"
    for index, (tool, argument, after, ok) in enumerate(drawn):
        calls.append(a_call(index, tool, {"x": argument}, before=state, after=after, ok=ok))
        state = after
    return calls


def efficiency(
    item_id: str, *, completed: bool = True, calls: int = 2, tokens: int | None = 900
) -> ItemEfficiency:
    """An item that ran once on the standard scale."""
    return ItemEfficiency(
        item_id=item_id, completed=completed, runs=(run_levels(SCALE, facts(calls), tokens),)
    )


def test_the_same_call_twice_without_a_change_is_redundant() -> None:
    """Tool and arguments decide, whatever the order of the arguments' keys."""
    calls = [a_call(0, "read", {"a": 1, "b": 2}), a_call(1, "read", {"b": 2, "a": 1}), a_call(2, "list")]
    assert action_facts(calls) == facts(3, redundant=1)


def test_asking_again_after_a_change_is_not_redundant() -> None:
    """Reading, changing and reading again is checking one's work."""
    calls = [a_call(0), a_call(1, "write", after="s1"), a_call(2, before="s1")]
    assert action_facts(calls).redundant == 0


def test_doing_again_what_changes_nothing_any_more_is_redundant() -> None:
    """The second identical write finds its own effect and says the same."""
    calls = [a_call(0, "write", after="s1"), a_call(1, "write", before="s1")]
    assert action_facts(calls).redundant == 1


def test_the_same_call_that_changes_the_state_again_is_not_redundant() -> None:
    """Taking the next page, or adding one more, is progress."""
    calls = [a_call(0, "next", after="s1"), a_call(1, "next", before="s1", after="s2")]
    assert action_facts(calls) == facts(2)


def test_a_repeat_that_tells_something_new_is_not_redundant() -> None:
    """The reply of a call that first failed and then worked was not known before."""
    calls = [a_call(0, after="s1", ok=False, reply="busy"), a_call(1, before="s1", reply="42")]
    assert action_facts(calls) == facts(2, rejected=1)


def test_arguments_beyond_every_number_format_are_counted_like_any_other() -> None:
    """A model may send an integer of forty digits, or raw text that is no JSON."""
    calls = [a_call(index, "read", 10**40) for index in range(2)] + [a_call(2, "read", "{not json \ud800")]
    assert action_facts(calls) == facts(3, redundant=1)


def test_going_back_to_a_state_that_was_left_is_rework() -> None:
    """Undoing one's own change leads to an earlier digest."""
    calls = [
        a_call(0, "create", after="s1"),
        a_call(1, "delete", before="s1", after="s0"),
        a_call(2, "create", before="s0", after="s2"),
    ]
    assert action_facts(calls) == facts(3, rework=1)


def test_taking_away_what_an_earlier_call_wrote_is_rework_where_effects_are_known() -> None:
    """Digests alone cannot tell an overwrite; what each call did can."""
    calls = [
        a_call(0, "write", {"path": "/a"}, after="s1"),
        a_call(1, "write", {"path": "/b"}, before="s1", after="s2"),
        a_call(2, "write", {"path": "/a"}, before="s2", after="s3"),
        a_call(3, "read", {"path": "/a"}, before="s3"),
    ]
    one, other = frozenset({"/a"}), frozenset({"/b"})
    did = [Effect(written=one), Effect(written=other), Effect(written=one, lost=one), Effect()]
    assert action_facts(calls).rework == 0
    assert action_facts(calls, effects=did).rework == 1


def test_calls_after_the_goal_are_counted_from_the_call_that_reached_it() -> None:
    """The call that reaches the goal is work; what follows is not."""
    calls = [a_call(0, after="s1"), a_call(1, before="s1", after="s2"), a_call(2, "look", before="s2")]
    reached = goal_index(calls, lambda digest: digest == a_digest("s1"))
    assert reached == 0
    assert action_facts(calls, reached).after_goal == 2
    assert action_facts(calls, goal_index(calls, lambda digest: digest == a_digest("s9"))).after_goal == 0
    assert goal_index(calls, lambda digest: digest == a_digest("s0")) == -1


def test_the_items_rule_says_what_counts_and_by_how_much() -> None:
    """Effective actions are the weighted sum of the facts."""
    counted = facts(10, redundant=2, rework=1, after_goal=3, rejected=4)
    assert effective_actions(counted, ActionRule()) == 20
    free = ActionRule(call=1, redundant=0.5, rework=2, after_goal=0, rejected=0.25)
    assert effective_actions(counted, free) == 14


@pytest.mark.parametrize(
    ("measure", "expected"),
    [(0, 6), (2, 6), (2.1, 5), (3, 5), (4, 4), (5, 3), (6, 3), (8, 2), (8.01, 1), (1e9, 1)],
)
def test_a_level_is_the_best_whose_bound_holds(measure: float, expected: int) -> None:
    """Bounds belong to their level; anything above the last earns level 1."""
    assert level(ENVELOPE, measure) == expected


def test_levels_are_normalised_to_the_common_scale() -> None:
    """Level 6 is 1, level 1 is 0."""
    assert [normalised(value) for value in range(1, 7)] == [0, 0.2, 0.4, 0.6, 0.8, 1]


@given(CALLS, CALLS)
@settings(max_examples=80)
def test_more_calls_never_raise_a_level(
    start: list[tuple[str, int, str, bool]], more: list[tuple[str, int, str, bool]]
) -> None:
    """Whatever is appended to a log, no fact shrinks and no level rises."""
    short, long = action_facts(log(start), 0), action_facts(log(start + more), 0)
    assert all(getattr(long, name) >= getattr(short, name) for name in type(short).model_fields)
    assert run_levels(SCALE, long, 0).action_level <= run_levels(SCALE, short, 0).action_level


@given(st.floats(0, 1e6), st.floats(0, 1e6))
@settings(max_examples=50)
def test_a_greater_measure_never_earns_a_better_level(one: float, other: float) -> None:
    """Levels fall with the measure."""
    assert level(ENVELOPE, max(one, other)) <= level(ENVELOPE, min(one, other))


ITEMS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 12), st.one_of(st.none(), st.integers(0, 9000))),
    min_size=1,
    max_size=20,
)


def ran(drawn: list[tuple[bool, int, int | None]]) -> dict[str, ItemEfficiency]:
    """Items with these completions, calls and tokens."""
    return {
        str(number): efficiency(str(number), completed=completed, calls=calls, tokens=tokens)
        for number, (completed, calls, tokens) in enumerate(drawn)
    }


@given(ITEMS)
@settings(max_examples=60)
def test_the_modifier_is_bounded(drawn: list[tuple[bool, int, int | None]]) -> None:
    """Action within 0 and 3.5, tokens within 0 and 1.5, the bounds around the value."""
    found = modifier([str(number) for number in range(20)], ran(drawn))
    assert 0 <= found.action_points <= 3.5
    assert 0 <= found.token_low <= found.token_high <= 1.5
    if found.token_points is not None:
        assert found.token_low == found.token_points == found.token_high
        assert found.points is not None
        assert 0 <= found.points <= 5


@given(ITEMS)
@settings(max_examples=40)
def test_the_modifier_does_not_depend_on_the_order_of_items(
    drawn: list[tuple[bool, int, int | None]],
) -> None:
    """The same items in reverse give the same bits."""
    items = ran(drawn)
    turned = dict(reversed(items.items()))
    assert modifier(list(items), items) == modifier(list(turned), turned)


@given(ITEMS, st.integers(0, 19))
@settings(max_examples=60)
def test_failing_an_item_never_gains(drawn: list[tuple[bool, int, int | None]], which: int) -> None:
    """An item that was not completed counts 0, however few its calls and tokens."""
    items = ran(drawn)
    name = str(which % len(drawn))
    failed = {**items, name: efficiency(name, completed=False, calls=0, tokens=0)}
    before, after = modifier(list(items), items), modifier(list(items), failed)
    assert after.action_points <= before.action_points
    assert after.token_high <= before.token_high


def test_all_items_at_their_best_earn_exactly_five_points() -> None:
    """3.5 for actions, 1.5 for tokens."""
    items = {str(number): efficiency(str(number)) for number in range(20)}
    found = modifier(list(items), items)
    assert (found.action_points, found.token_points, found.points) == (3.5, 1.5, 5.0)


def test_items_that_did_not_run_stay_in_the_mean() -> None:
    """One perfect item of four eligible ones earns a quarter."""
    found = modifier(["a", "b", "c", "d"], {"a": efficiency("a")})
    assert (found.action_points, found.token_points, found.ran) == (0.875, 0.375, 1)


def test_unknown_tokens_make_the_token_part_unavailable_never_zero() -> None:
    """One run without usage is enough, and the bounds say what it could have been."""
    found = modifier(["a", "b"], {"a": efficiency("a"), "b": efficiency("b", tokens=None)})
    assert found.token_points is None
    assert found.points is None
    assert (found.token_low, found.token_high) == (0.75, 1.5)
    assert found.action_points == 3.5


def test_a_failed_items_unknown_tokens_can_change_nothing_but_are_still_unknown() -> None:
    """It counts 0 whatever they were; the part is reported as unavailable all the same."""
    found = modifier(["a"], {"a": efficiency("a", completed=False, tokens=None)})
    assert (found.token_points, found.token_low, found.token_high) == (None, 0.0, 0.0)


def test_tokens_are_known_only_when_both_directions_are() -> None:
    """Half a usage is no usage."""
    assert total_tokens(Tokens(input=1, output=2)) == 3
    assert total_tokens(Tokens(input=0, output=0)) == 0
    assert total_tokens(Tokens(input=1)) is None
    assert total_tokens(Tokens(output=1)) is None


def test_an_item_without_a_scale_cannot_enter_the_modifier() -> None:
    """Neither an empty bank nor an item that is not eligible passes silently."""
    with pytest.raises(HarnessError):
        modifier([], {})
    with pytest.raises(HarnessError):
        modifier(["a"], {"b": efficiency("b")})
