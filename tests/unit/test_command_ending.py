"""How attempts of command-line agents end: gateway and log, weighed against each other."""

from __future__ import annotations

import pytest

from esac_ag.agents.command_ending import weighed
from esac_ag.agents.logs.ending import (
    LogEnding,
    completed,
    crashed,
    failed,
    limited,
    refused,
    unknown,
)
from esac_ag.attempt import LimitKind, Outcome, Usage
from esac_ag.failures import Failure, FailureClass
from esac_ag.gateway.calls import CallOutcome, CallRecord, EndingKind, LaneEnding, LaneSummary

NO_CREDENTIALS = failed(Failure(FailureClass.CREDENTIALS, "401"))


def a_call(outcome: CallOutcome) -> CallRecord:
    """A call that ended so."""
    return CallRecord(
        number=1,
        time="2026-01-01T00:00:00Z",
        method="POST",
        path="/v1/responses",
        protocol=None,
        outcome=outcome,
        latency_s=0.1,
    )


def a_lane(*outcomes: CallOutcome, ending: LaneEnding | None = None) -> LaneSummary:
    """A lane with calls of these outcomes."""
    return LaneSummary(
        attempt_id="a",
        calls=tuple(map(a_call, outcomes)),
        calls_left_out=0,
        usage=Usage(),
        cost=None,
        lost_replies=0,
        bodies_complete=True,
        ending=ending or LaneEnding(kind=EndingKind.CLEAR),
    )


ANSWERED = a_lane(CallOutcome.ANSWERED)


@pytest.mark.parametrize(
    ("log", "outcome"),
    [
        (completed(), Outcome.COMPLETED),
        (refused("no"), Outcome.COMPLETED),
        (limited(LimitKind.MEMORY, "memory"), Outcome.LIMIT),
        (limited(LimitKind.WALL_CLOCK, "time"), Outcome.LIMIT),
        (crashed("signal 9"), Outcome.AGENT_ERROR),
    ],
)
def test_a_log_is_believed_where_the_gateway_leaves_the_end_to_the_agent(
    log: LogEnding, outcome: Outcome
) -> None:
    """The calls were answered and nothing failed after that."""
    assert weighed(log, ANSWERED, log_is_cut=False).outcome is outcome


@pytest.mark.parametrize("log", [unknown("the log was eaten"), NO_CREDENTIALS])
def test_a_log_cannot_buy_a_free_retry(log: LogEnding) -> None:
    """Whoever runs in the container may forge a log; the gateway saw that the model was heard."""
    ending = weighed(log, ANSWERED, log_is_cut=False)
    assert ending.outcome is Outcome.AGENT_ERROR
    assert "the model was heard" in ending.reason


@pytest.mark.parametrize("log", [unknown("no end"), NO_CREDENTIALS, completed(), crashed("signal 9")])
@pytest.mark.parametrize("lane", [a_lane(), a_lane(CallOutcome.REFUSED), a_lane(CallOutcome.CLOSED)])
def test_an_attempt_in_which_no_call_was_answered_is_never_scored(log: LogEnding, lane: LaneSummary) -> None:
    """A program that says it is done without having asked a model did nothing that could be scored."""
    assert weighed(log, lane, log_is_cut=False).outcome is Outcome.INFRA


@pytest.mark.parametrize(
    ("streamed", "first_token_s", "reply_bytes", "outcome"),
    [
        (True, 0.1, 1000, Outcome.LIMIT),
        (True, None, 1000, Outcome.INFRA),
        (False, None, 1000, Outcome.LIMIT),
        (False, None, 0, Outcome.INFRA),
        (False, None, None, Outcome.INFRA),
    ],
)
def test_a_model_that_talked_until_the_deadline_was_heard(
    *, streamed: bool, first_token_s: float | None, reply_bytes: int | None, outcome: Outcome
) -> None:
    """Its first reply never ends, and asking again would not shorten it; pings alone are no word of it."""
    told = {"streamed": streamed, "first_token_s": first_token_s, "reply_bytes": reply_bytes}
    call = a_call(CallOutcome.CLOSED).model_copy(update=told)
    lane = a_lane().model_copy(update={"calls": (call,)})
    assert weighed(limited(LimitKind.WALL_CLOCK, "time"), lane, log_is_cut=False).outcome is outcome


def test_a_refusal_by_the_providers_filter_is_scored() -> None:
    """The model was asked, and what it was asked was refused: no answer will come by asking again."""
    assert weighed(refused("filter"), a_lane(CallOutcome.OWN_FAULT), log_is_cut=False).outcome is (
        Outcome.COMPLETED
    )


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        (EndingKind.LIMIT, Outcome.LIMIT),
        (EndingKind.UNMETERED, Outcome.INFRA),
        (EndingKind.HUNG_UP, Outcome.AGENT_ERROR),
        (EndingKind.INFRA, Outcome.INFRA),
    ],
)
def test_the_gateways_record_comes_before_the_log(kind: EndingKind, outcome: Outcome) -> None:
    """A program that exits with 0 after its endpoint failed is no success."""
    lane = a_lane(
        CallOutcome.ANSWERED,
        ending=LaneEnding(kind=kind, limit=LimitKind.TURNS, failure=FailureClass.OVERLOADED, reason="why"),
    )
    ending = weighed(completed(), lane, log_is_cut=False)
    assert ending.outcome is outcome
    assert "why" in ending.reason


def test_a_service_that_failed_is_told_with_its_class_and_what_to_do() -> None:
    """The reason is what a person reads first."""
    lane = a_lane(
        CallOutcome.SERVICE_FAILED,
        ending=LaneEnding(kind=EndingKind.INFRA, failure=FailureClass.CREDENTIALS, reason="status 401"),
    )
    reason = weighed(unknown(""), lane, log_is_cut=False).reason
    assert "credentials: status 401" in reason
    assert "key" in reason


def test_a_full_context_that_only_the_log_tells_is_a_limit() -> None:
    """It is the conversation's length, and no failure of the service."""
    log = failed(Failure(FailureClass.CONTEXT_FULL, "too long"))
    ending = weighed(log, ANSWERED, log_is_cut=False)
    assert (ending.outcome, ending.limit) == (Outcome.LIMIT, LimitKind.INPUT_TOKENS)


def test_a_log_that_was_cut_off_is_a_limit_of_output() -> None:
    """Its end is not known because it was too long, and that is the program's doing."""
    ending = weighed(unknown("no end"), ANSWERED, log_is_cut=True)
    assert (ending.outcome, ending.limit) == (Outcome.LIMIT, LimitKind.OUTPUT)
    assert weighed(completed(), ANSWERED, log_is_cut=True).outcome is Outcome.COMPLETED
