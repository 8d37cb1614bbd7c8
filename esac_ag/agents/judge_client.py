"""The judge on the wire: a request is made, sent and read until it gives one judgment, or nothing is scored.

Two kinds of failure are retried. What the service does (429, 5xx, a broken connection) is `ChatClient`'s: the
same bytes again. A reply that is no verdict over all criteria is asked for anew, with a new delimiter. Both
are infrastructure and never a score (amendment 001 §8).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, Generic, Self, TypeVar, assert_never

from pydantic import Field, JsonValue

from esac_ag import clock
from esac_ag.agents.chat_client import Answered, Cancelled, ChatClient, GivenUp, OutOfTime, Patience
from esac_ag.agents.replies import Reply
from esac_ag.agents.settings import usable_address, usable_key
from esac_ag.artifacts.redaction import Redactor
from esac_ag.attempt import Usage
from esac_ag.attempt.metering import total
from esac_ag.clock import Deadline
from esac_ag.errors import HarnessError, Interrupted, ServiceFailure, UsageError
from esac_ag.failures import REMEDIES, Failure, FailureClass, delay_s
from esac_ag.record import Record
from esac_ag.report.escaping import visible
from esac_ag.sandbox.contract import OutputSink
from esac_ag.suite.constitution import PINNED_JUDGE
from esac_ag.suite.contract import Instance, Item, Trace
from esac_ag.suite.judging import DelimiterTaken, JudgeReplyUnusable, Judgment, read_reply, request_of

T = TypeVar("T")

JUDGE_KEY_VARIABLE: Final = "ESAC_AG_JUDGE_API_KEY"
PATIENCE: Final = Patience(attempts=5, max_wait_s=300.0, request_timeout_s=600.0)
MOST_REPLIES: Final = 4
"""How many unusable replies to one question make it a failure."""
MOST_DELIMITERS: Final = 8
"""How many drawn delimiters the quoted text may hold: with random ones not even the first."""

JUDGE_REMEDIES: Final[Mapping[FailureClass, str]] = {
    **REMEDIES,
    FailureClass.RATE_LIMITED: "wait and resume, or ask the judge's provider for a higher rate",
    FailureClass.OVERLOADED: "try again later; the run resumes where it stopped",
    FailureClass.TIMED_OUT: "try again later, or name a faster endpoint of the judge (--judge-base-url)",
    FailureClass.CREDENTIALS: "set the environment variable named by --judge-api-key-env "
    f"(by default {JUDGE_KEY_VARIABLE}) to a key that is valid at the judge's endpoint",
    FailureClass.NOT_FOUND: "check --judge-base-url (it ends before /chat/completions) and the judge's name",
    FailureClass.REJECTED: "the judge's endpoint has to take temperature 0, top_p 1, max_tokens and a "
    "response_format with a JSON schema",
    FailureClass.CONTEXT_FULL: "name an endpoint that serves the judge with a larger window",
    FailureClass.FILTERED: "name an endpoint whose filter lets the material through to the judge",
}


@dataclass(frozen=True, slots=True)
class JudgeEndpoint:
    """Who judges, and where."""

    model: str
    endpoint: str
    """The whole address."""
    key: str = field(repr=False)
    patience: Patience = PATIENCE

    @classmethod
    def at(cls, model: str, base_url: str, key: str, patience: Patience = PATIENCE) -> Self:
        """The judge behind a base address, which ends before `/chat/completions`.

        Raises:
            UsageError: the address is not usable.
        """
        return cls(model, usable_address(base_url, "--judge-base-url") + "/chat/completions", key, patience)


class Judged(Record):
    """One judgment and what it took."""

    judgment: Judgment
    usage: Usage
    """Of all replies, unusable ones included; a count that one of them lacks is unknown."""
    retries: Annotated[int, Field(ge=0)]
    """Requests repeated, whatever the reason."""
    model: str
    """What the endpoint says answered; empty when it says nothing."""


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What a usable reply said, and what it took."""

    value: T
    usage: Usage
    """Of all replies, unusable ones included."""
    retries: int
    model: str


def refuse_unpinned(judge: str, *, allow: bool) -> None:
    """Refuse a judge that is not the pinned one, unless the caller wants just that.

    Raises:
        UsageError: the numbers would not be valid, and nobody said that they need not be.
    """
    if judge != PINNED_JUDGE and not allow:
        raise UsageError(
            "The judge is not the pinned one, so the verdict would be NOT VALID.",
            where="--judge",
            expected=PINNED_JUDGE,
            found=visible(judge),
            remedy="leave --judge out, or add --allow-unpinned-judge for numbers without a valid verdict",
        )


def judge_key(
    environ: Mapping[str, str],
    *,
    variable: str = JUDGE_KEY_VARIABLE,
    judge_base_url: str,
    model_base_url: str,
    model_key: str,
) -> str:
    """The key that is sent to the judge's endpoint, or empty for none.

    The judge's own variable decides. The model's key stands in for it only where both base addresses are the
    very same, a trailing slash apart: no key is ever sent to another host than the one that it is for.

    Raises:
        UsageError: the key holds what no HTTP header can carry, or an address is not usable.
    """
    if key := usable_key(environ, variable):
        return key
    same = usable_address(judge_base_url, "--judge-base-url") == usable_address(model_base_url, "--base-url")
    return model_key if same else ""


def verdict_text(reply: Reply) -> str:
    """The text of a reply that may be a verdict.

    Raises:
        JudgeReplyUnusable: it was cut off, refused, filtered, empty, or calls tools.
    """
    if reply.finish_reason == "length":
        raise JudgeReplyUnusable("it was cut off at the output cap")
    if reply.finish_reason == "content_filter":
        raise JudgeReplyUnusable("the provider's filter cut it off")
    if reply.refusal:
        raise JudgeReplyUnusable("the judge refused")
    if reply.calls:
        raise JudgeReplyUnusable("it calls tools, and none was offered")
    if not reply.text.strip():
        raise JudgeReplyUnusable("it is empty")
    return reply.text


@dataclass(frozen=True, slots=True)
class Judge:
    """Asks for judgments, one at a time."""

    at: JudgeEndpoint
    jitter: Callable[[], float]
    """Random numbers from 0 to 1, for the pauses between attempts."""
    delimiter: Callable[[], str] = clock.secret_text
    sleep_s: Callable[[float], None] = clock.sleep_s

    def judge(
        self,
        item: Item,
        instance: Instance,
        trace: Trace,
        *,
        deadline: Deadline,
        cancelled: Callable[[], bool],
        log: OutputSink,
    ) -> Judged:
        """One judgment of a run.

        Args:
            item: an item with a rubric.
            instance: what the run was about.
            trace: the run.
            deadline: when to give up at the latest.
            cancelled: whether to stop; asked several times a second.
            log: gets every request and every reply as a line of JSON, without the key.

        Raises:
            ServiceFailure: the endpoint failed, or gave no usable reply; says what to do.
            Interrupted: it was cancelled.
        """
        answer = self.ask(
            lambda delimiter: request_of(self.at.model, item, instance, trace, delimiter),
            lambda text: read_reply(text, item.rubric),
            where=f"item {item.id}",
            deadline=deadline,
            cancelled=cancelled,
            log=log,
        )
        return Judged(judgment=answer.value, usage=answer.usage, retries=answer.retries, model=answer.model)

    def ask(
        self,
        body_of: Callable[[str], dict[str, JsonValue]],
        read: Callable[[str], T],
        *,
        where: str,
        deadline: Deadline,
        cancelled: Callable[[], bool],
        log: OutputSink,
    ) -> Answer[T]:
        """What the first usable reply says, whatever was asked.

        Args:
            body_of: the request's body with a delimiter in it; may raise DelimiterTaken.
            read: reads a reply's text; raises JudgeReplyUnusable for all but one whole verdict.
            where: what is judged, for errors.
            deadline: when to give up at the latest.
            cancelled: whether to stop; asked several times a second.
            log: gets every request and every reply as a line of JSON, without the key.

        Raises:
            ServiceFailure: the endpoint failed, or gave no usable reply; says what to do.
            Interrupted: it was cancelled.
        """
        journal = _Journal(log, Redactor((self.at.key,)))
        usage: Usage | None = None
        with self._client(journal, cancelled) as client:
            for attempt in range(1, MOST_REPLIES + 1):
                reply = self._ask(client, journal, self._body(body_of, where), deadline)
                usage = total(usage, reply.usage)
                try:
                    value = read(journal.redactor.text(verdict_text(reply)))
                except JudgeReplyUnusable as error:
                    reason = visible(error.reason)
                else:
                    model = journal.redactor.text(reply.model)
                    return Answer(value, usage, journal.failures, model)
                journal.failed(f"reply {attempt} cannot be used: {reason}")
                pause_s = delay_s(Failure(FailureClass.BROKEN_REPLY, reason), attempt, self.jitter())
                if attempt == MOST_REPLIES or pause_s >= deadline.remaining_s():
                    break
                if not client.pause(pause_s):
                    raise _interrupted()
        raise self._unusable(attempt, reason)

    def _client(self, journal: _Journal, cancelled: Callable[[], bool]) -> ChatClient:
        return ChatClient(
            self.at.endpoint,
            self.at.key,
            self.at.patience,
            notice=journal.failed,
            jitter=self.jitter,
            cancelled=cancelled,
            sleep_s=self.sleep_s,
        )

    def _body(self, body_of: Callable[[str], dict[str, JsonValue]], where: str) -> dict[str, JsonValue]:
        """A request with a delimiter of its own."""
        for _ in range(MOST_DELIMITERS):
            try:
                return body_of(self.delimiter())
            except DelimiterTaken:
                continue
        raise HarnessError(
            "No delimiter was drawn that the text to be judged does not hold.",
            where=where,
            remedy="report it: random delimiters are in no text",
        )

    def _ask(
        self, client: ChatClient, journal: _Journal, body: dict[str, JsonValue], deadline: Deadline
    ) -> Reply:
        journal.write({"event": "request", "endpoint": self.at.endpoint, "body": body})
        # Lone surrogates, which a model's tool arguments may hold, are no UTF-8: they are sent as `?`.
        answer = client.complete(json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"), deadline)
        match answer:
            case Answered(reply=reply, body=received):
                journal.write({"event": "reply", "body": received.decode("utf-8", "replace")})
                return reply
            case GivenUp(failure=failure, attempts=attempts):
                raise self._given_up(failure, attempts, journal.redactor)
            case OutOfTime():
                raise ServiceFailure(
                    "The judge did not answer before the time was up.",
                    where=self.at.endpoint,
                    remedy=JUDGE_REMEDIES[FailureClass.TIMED_OUT],
                )
            case Cancelled():
                raise _interrupted()
            case _:
                assert_never(answer)

    def _given_up(self, failure: Failure, attempts: int, redactor: Redactor) -> ServiceFailure:
        return ServiceFailure(
            "The judge's endpoint failed.",
            where=self.at.endpoint,
            found=f"{failure.kind.value} after {attempts} attempt(s): "
            + visible(redactor.text(failure.detail)),
            remedy=JUDGE_REMEDIES[failure.kind],
        )

    def _unusable(self, replies: int, reason: str) -> ServiceFailure:
        return ServiceFailure(
            "The judge gave no usable reply.",
            where=self.at.endpoint,
            expected="one JSON object with a whole number from 0 to 4 for each criterion",
            found=f"{replies} replies that cannot be used; the last one: {reason}",
            remedy="nothing is scored; look at the judge's log, then resume or name another endpoint",
        )


class _Journal:
    """The judge's log: a JSON object a line, without the key."""

    def __init__(self, log: OutputSink, redactor: Redactor) -> None:
        self._log = log
        self.redactor = redactor
        self.failures = 0

    def failed(self, notice: str) -> None:
        """Take down and count a request that brought nothing."""
        self.failures += 1
        self.write({"event": "failure", "what": notice})

    def write(self, facts: dict[str, JsonValue]) -> None:
        """Append a line."""
        line = json.dumps(self.redactor.json({"at": clock.now(), **facts}), ensure_ascii=False)
        self._log(line.encode("utf-8", "replace") + b"\n")


def _interrupted() -> Interrupted:
    return Interrupted("The judge's work was stopped.", remedy="run the same command to go on")
