"""How real agents ended, by their logs and exit codes together."""

from __future__ import annotations

import pytest

from esac_ag.agents.logs import LogFormat
from esac_ag.agents.logs.ending import EndingClass, LogEnding, attempt_ending
from esac_ag.agents.logs.notices import failure_of
from esac_ag.attempt import LimitKind, Outcome
from esac_ag.failures import FailureClass
from esac_ag.sandbox.contract import Termination
from esac_ag.transcript import EntryKind
from tests.builders_logs import CLAUDE, CODEX, LOGS, MINI, OPENCODE, captured, ended, lines, read

ENDED = "completed"

ENDINGS = [
    # agent, capture, exit code (None: killed at the deadline), class, failure, limit
    (CLAUDE, "ok", 0, ENDED, None, None),
    (CLAUDE, "failing", 0, ENDED, None, None),
    (CLAUDE, "nousage", 0, ENDED, None, None),
    (CLAUDE, "empty", 0, ENDED, None, None),
    (CLAUDE, "refusal", 1, "refused", None, None),
    (CLAUDE, "cap", 1, "limit", None, "output_tokens"),
    (CLAUDE, "loop", 1, "limit", None, "turns"),
    (CLAUDE, "hang", None, "limit", None, "wall_clock_s"),
    (CLAUDE, "cut", 1, "api-failure", "truncated", None),
    (CLAUDE, "errevent", 1, "api-failure", "broken-reply", None),
    (CLAUDE, "err400", 1, "api-failure", "rejected", None),
    (CLAUDE, "err401", 1, "api-failure", "credentials", None),
    (CLAUDE, "err404", 1, "api-failure", "not-found", None),
    (CLAUDE, "err429", 1, "api-failure", "rate-limited", None),
    (CLAUDE, "late429", 1, "api-failure", "rate-limited", None),
    (CLAUDE, "quota", 1, "api-failure", "quota", None),
    (CLAUDE, "err500", 1, "api-failure", "overloaded", None),
    (CLAUDE, "err529", 1, "api-failure", "overloaded", None),
    (CLAUDE, "ctx", 1, "api-failure", "context-full", None),
    (CODEX, "ok", 0, ENDED, None, None),
    (CODEX, "failing", 0, ENDED, None, None),
    (CODEX, "nousage", 0, ENDED, None, None),
    (CODEX, "empty", 0, ENDED, None, None),
    (CODEX, "refusal", 0, ENDED, None, None),
    (CODEX, "cap", 1, "limit", None, "output_tokens"),
    (CODEX, "loop", None, "limit", None, "wall_clock_s"),
    (CODEX, "hang", None, "limit", None, "wall_clock_s"),
    (CODEX, "cut", 1, "api-failure", "truncated", None),
    (CODEX, "errevent", 1, "api-failure", "overloaded", None),
    (CODEX, "err400", 1, "api-failure", "rejected", None),
    (CODEX, "err401", 1, "api-failure", "credentials", None),
    (CODEX, "err404", 1, "api-failure", "not-found", None),
    (CODEX, "err429", 1, "api-failure", "rate-limited", None),
    (CODEX, "late429", 1, "api-failure", "rate-limited", None),
    (CODEX, "quota", 1, "api-failure", "quota", None),
    (CODEX, "err500", 1, "api-failure", "overloaded", None),
    (CODEX, "err529", 1, "api-failure", "overloaded", None),
    (CODEX, "ctx", 1, "api-failure", "context-full", None),
    (OPENCODE, "ok", 0, ENDED, None, None),
    (OPENCODE, "failing", 0, ENDED, None, None),
    (OPENCODE, "nousage", 0, ENDED, None, None),
    (OPENCODE, "empty", 0, ENDED, None, None),
    (OPENCODE, "refusal", 1, "refused", None, None),
    (OPENCODE, "cap", 0, "limit", None, "output_tokens"),
    (OPENCODE, "loop", None, "limit", None, "wall_clock_s"),
    (OPENCODE, "hang", None, "limit", None, "wall_clock_s"),
    (OPENCODE, "cut", None, "api-failure", "truncated", None),
    (OPENCODE, "errevent", 1, "unknown", None, None),
    (OPENCODE, "err400", 1, "api-failure", "rejected", None),
    (OPENCODE, "err401", 1, "api-failure", "credentials", None),
    (OPENCODE, "err404", 1, "api-failure", "not-found", None),
    (OPENCODE, "err429", 1, "api-failure", "rate-limited", None),
    (OPENCODE, "late429", 1, "api-failure", "rate-limited", None),
    (OPENCODE, "quota", 1, "api-failure", "quota", None),
    (OPENCODE, "err500", 1, "api-failure", "overloaded", None),
    (OPENCODE, "err529", 1, "api-failure", "overloaded", None),
    (OPENCODE, "ctx", 1, "api-failure", "context-full", None),
    (MINI, "ok", 0, ENDED, None, None),
    (MINI, "failing", 0, ENDED, None, None),
    (MINI, "nousage", 0, ENDED, None, None),
    (MINI, "empty", 0, ENDED, None, None),
    (MINI, "errevent", 0, ENDED, None, None),
    (MINI, "refusal", 0, "refused", None, None),
    (MINI, "cap", 0, "limit", None, "output_tokens"),
    (MINI, "loop", 0, "limit", None, None),
    (MINI, "cut", 1, "api-failure", "transport", None),
    (MINI, "err400", 1, "api-failure", "rejected", None),
    (MINI, "err401", 1, "api-failure", "credentials", None),
    (MINI, "err404", 1, "api-failure", "not-found", None),
    (MINI, "err429", 1, "api-failure", "rate-limited", None),
    (MINI, "late429", 1, "api-failure", "rate-limited", None),
    (MINI, "quota", 1, "api-failure", "quota", None),
    (MINI, "err500", 1, "api-failure", "overloaded", None),
    (MINI, "err529", 1, "api-failure", "overloaded", None),
    (MINI, "ctx", 1, "api-failure", "context-full", None),
]


def test_every_capture_has_an_expected_ending() -> None:
    """No capture lies about unused."""
    there = {(path.parent.name, path.stem) for path in LOGS.glob("*/*")}
    assert there == {(agent.value, capture) for agent, capture, *_ in ENDINGS}


@pytest.mark.parametrize(("agent", "capture", "exit_code", "kind", "failure", "limit"), ENDINGS)
def test_ends_of_real_agents_are_classed(
    agent: LogFormat, capture: str, exit_code: int | None, kind: str, failure: str | None, limit: str | None
) -> None:
    """Log and exit code together tell the class, and nothing of a real log is odd."""
    entries, reader = read(agent, captured(agent, capture))
    termination = Termination.TIMED_OUT if exit_code is None else Termination.EXITED
    ending = reader.ending(termination, exit_code)
    assert (ending.kind.value, ending.failure, ending.limit) == (kind, failure, limit)
    assert ending.reason
    assert not [entry.text for entry in entries if "unknown" in entry.text and "type" in entry.text]


@pytest.mark.parametrize(
    ("agent", "capture"),
    [(row[0], row[1]) for row in ENDINGS if row[2] == 1 and row[3] == "api-failure"],
)
def test_an_api_failure_with_exit_code_0_is_no_success(agent: LogFormat, capture: str) -> None:
    """The agent's own notice outweighs its exit code."""
    assert ended(agent, captured(agent, capture), 0).kind is EndingClass.API_FAILURE


@pytest.mark.parametrize("agent", list(LogFormat))
@pytest.mark.parametrize("capture", ["ok", "failing", "late429"])
def test_a_log_that_is_cut_off_anywhere_is_never_a_success(agent: LogFormat, capture: str) -> None:
    """At every byte: no exception, no completed end, and nothing of the model is made up."""
    log = captured(agent, capture).rstrip()
    whole = {entry.text for entry in read(agent, log)[0] if entry.kind is EntryKind.MODEL}
    for size in range(0, len(log), 7):
        entries, reader = read(agent, log[:size])
        assert reader.ending(Termination.EXITED, 0).kind is not EndingClass.COMPLETED
        assert {entry.text for entry in entries if entry.kind is EntryKind.MODEL} <= whole | {""}


@pytest.mark.parametrize("agent", list(LogFormat))
def test_a_success_needs_exit_code_0(agent: LogFormat) -> None:
    """A log that tells of success beside another exit code is unknown; death by a signal is a crash."""
    log = captured(agent, "ok")
    assert ended(agent, log, 0).kind is EndingClass.COMPLETED
    assert ended(agent, log, 1).kind is EndingClass.UNKNOWN
    assert ended(agent, log, None).kind is EndingClass.UNKNOWN
    assert ended(agent, log, 137).kind is EndingClass.CRASHED
    assert ended(agent, log, -9).kind is EndingClass.CRASHED


@pytest.mark.parametrize("agent", list(LogFormat))
@pytest.mark.parametrize("exit_code", [0, 1, 137, -15, None])
def test_an_agent_that_ended_before_the_model_was_heard_is_unknown(
    agent: LogFormat, exit_code: int | None
) -> None:
    """An empty log is nobody's fault: never scored."""
    ending = ended(agent, b"", exit_code)
    assert ending.kind is EndingClass.UNKNOWN
    assert attempt_ending(ending).outcome is Outcome.INFRA


@pytest.mark.parametrize("agent", [CLAUDE, CODEX, OPENCODE])
def test_an_agent_that_dies_at_work_crashed(agent: LogFormat) -> None:
    """A log without an end, after the model acted."""
    whole = captured(agent, "ok").splitlines(keepends=True)
    log = b"".join(whole[:-3])
    ending = ended(agent, log, 139)
    assert ending.kind is EndingClass.CRASHED
    assert attempt_ending(ending).outcome is Outcome.AGENT_ERROR


def test_the_memory_that_ended_an_agent_is_a_limit_unless_it_ended_well() -> None:
    """The kernel may have killed a process beside it."""
    log = captured(CODEX, "ok")
    reader = read(CODEX, log)[1]
    assert reader.ending(Termination.OUT_OF_MEMORY, 0).kind is EndingClass.COMPLETED
    assert reader.ending(Termination.OUT_OF_MEMORY, 137).limit is LimitKind.MEMORY
    assert reader.ending(Termination.CONTAINER_ENDED, None).kind is EndingClass.CRASHED


def test_an_agent_that_still_retries_at_its_deadline_met_a_failure_not_a_limit() -> None:
    """The last thing heard decides: a failure, or the model."""
    retrying = {"type": "error", "message": "Reconnecting... 1/5 (unexpected status 503 Unavailable: x)"}
    speaking = {"type": "item.completed", "item": {"type": "agent_message", "text": "on it"}}
    before, after = lines(retrying, speaking), lines(speaking, retrying)
    overcome = read(CODEX, before)[1].ending(Termination.TIMED_OUT, None)
    assert (overcome.kind, overcome.limit) == (EndingClass.LIMIT, LimitKind.WALL_CLOCK)
    failing = read(CODEX, after)[1].ending(Termination.TIMED_OUT, None)
    assert (failing.kind, failing.failure) == (EndingClass.API_FAILURE, FailureClass.OVERLOADED)


@pytest.mark.parametrize("kind", list(EndingClass))
def test_every_class_has_an_outcome(kind: EndingClass) -> None:
    """Unknown ends and failures of the endpoint are never scored."""
    outcome = attempt_ending(LogEnding(kind, "why")).outcome
    assert (outcome is Outcome.INFRA) == (kind in {EndingClass.UNKNOWN, EndingClass.API_FAILURE})


def test_a_full_window_and_a_filter_are_the_model_s_own() -> None:
    """As for the chat agent."""
    full = LogEnding(EndingClass.API_FAILURE, "x", failure=FailureClass.CONTEXT_FULL)
    assert attempt_ending(full).limit is LimitKind.INPUT_TOKENS
    filtered = LogEnding(EndingClass.API_FAILURE, "x", failure=FailureClass.FILTERED)
    assert attempt_ending(filtered).outcome is Outcome.COMPLETED


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("exceeded retry limit, last status: 429 Too Many Requests", FailureClass.RATE_LIMITED),
        ("unexpected status 503 Service Unavailable: x", FailureClass.OVERLOADED),
        ("stream disconnected before completion: error sending request", FailureClass.TRANSPORT),
        ("Cannot connect to API: The socket connection was closed", FailureClass.TRANSPORT),
        ('{"error": {"message": "m", "code": "context_length_exceeded"}}', FailureClass.CONTEXT_FULL),
        ("words that nobody has met", FailureClass.REJECTED),
        ("", FailureClass.REJECTED),
    ],
)
def test_failures_are_classed_by_the_agents_words(text: str, expected: FailureClass) -> None:
    """Words that tell nothing spoil the attempt and are never scored."""
    failure = failure_of(text)
    assert failure.kind is expected
    assert failure.detail
