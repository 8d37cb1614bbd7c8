"""Playing in memory: turns, the simulated user, the goal, and what cannot be played."""

from __future__ import annotations

import pytest

from esac_ag.errors import HarnessError
from esac_ag.suite.bank import item_named
from esac_ag.suite.constitution import PUBLIC_SEED
from esac_ag.suite.contract import AgentView, RunEnd
from esac_ag.suite.play import NO_ANSWER, estimated_tokens, goal_call, measured, play, user_answer
from esac_ag.suite.pools import instance_of

PLANNING = item_named("planning-release")
ASK = item_named("ambiguity-ask")
CODE = item_named("code-log-report")


def test_a_policy_is_stopped_when_the_turns_are_used_up() -> None:
    """Calls and questions are turns; the one beyond the cap ends the play without an answer."""

    def chatter(view: AgentView) -> str:
        while True:
            view.ask("Is that so?")
            view.call("no_such_tool")

    trace = play(PLANNING, instance_of(PLANNING, PUBLIC_SEED), chatter)
    assert (trace.end, trace.final_text) == (RunEnd.TURN_LIMIT, "")
    assert 2 * len(trace.calls) == PLANNING.turns
    assert {call.error for call in trace.calls} == {"unknown-tool"}


@pytest.mark.parametrize("text", ["", "  \n"])
def test_saying_nothing_is_an_empty_answer(text: str) -> None:
    """White space alone is no answer."""
    assert play(PLANNING, instance_of(PLANNING, PUBLIC_SEED), lambda _: text).end is RunEnd.EMPTY


def test_a_user_without_a_table_leaves_the_decision_to_the_model() -> None:
    """Where nobody expects a question, the answer tells nothing."""
    assert user_answer(instance_of(PLANNING, PUBLIC_SEED), "Which one?") == NO_ANSWER


def test_a_user_with_a_table_answers_by_the_longest_topic() -> None:
    """The item's own table decides, its catch-all included."""
    instance = instance_of(ASK, PUBLIC_SEED)
    assert user_answer(instance, "WHICH one do you mean?") == instance.questions["which"]
    assert user_answer(instance, "Hm?") == instance.questions[""]


def test_the_goal_is_reached_by_the_references_last_change() -> None:
    """No state before that call is the goal; calls after it count as such."""
    instance = instance_of(PLANNING, PUBLIC_SEED)
    reference = PLANNING.reference(instance)

    def and_more(view: AgentView) -> str:
        text = reference(view)
        view.call("tickets_list")
        return text

    trace = play(PLANNING, instance, reference)
    changes = [call.index for call in trace.calls if call.changed_state]
    assert goal_call(PLANNING, instance, trace.calls) == changes[-1]
    assert measured(PLANNING, instance, trace).after_goal == 0
    assert measured(PLANNING, instance, play(PLANNING, instance, and_more)).after_goal == 1


def test_a_run_that_does_nothing_reaches_no_goal() -> None:
    """Without a goal nothing can come after it."""
    instance = instance_of(PLANNING, PUBLIC_SEED)
    assert goal_call(PLANNING, instance, ()) is None


def test_programs_are_not_played_without_somebody_who_runs_them() -> None:
    """Nothing is taken for run: the play is refused."""
    instance = instance_of(CODE, PUBLIC_SEED)
    with pytest.raises(HarnessError, match="nothing runs them"):
        play(CODE, instance, CODE.reference(instance))


def test_more_calls_are_estimated_to_take_more_tokens() -> None:
    """The estimate grows with the conversation and is never zero."""
    instance = instance_of(PLANNING, PUBLIC_SEED)
    short = estimated_tokens(instance, play(PLANNING, instance, lambda _: "Done."))
    long = estimated_tokens(instance, play(PLANNING, instance, PLANNING.reference(instance)))
    assert short.input is not None
    assert long.input is not None
    assert 0 < short.input < long.input
