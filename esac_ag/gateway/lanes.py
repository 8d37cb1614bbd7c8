"""One attempt's way to its model: its rules, its budget, its calls under way and its records."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from pydantic import JsonValue

from esac_ag import clock
from esac_ag.artifacts.redaction import Redactor
from esac_ag.attempt import Usage
from esac_ag.canonical import canonical_json
from esac_ag.failures import Failure, FailureClass
from esac_ag.gateway.bodies import Bodies
from esac_ag.gateway.budgets import Budget
from esac_ag.gateway.calls import (
    CallOutcome,
    CallRecord,
    CallRefused,
    LaneSummary,
    Refusal,
    shown,
)
from esac_ag.gateway.plans import MOST_CALLS_AT_ONCE, MOST_CALLS_WAITING, MOST_HELD_BYTES, LanePlan
from esac_ag.gateway.protocols import Protocol
from esac_ag.plural import plural

MOST_RECORDED_REFUSALS = 1000
MOST_RECORDED_CHANGES = 50


@dataclass(slots=True)
class CallNotes:
    """What is known of a call while it is under way."""

    number: int
    method: str
    path: str
    protocol: Protocol | None
    time: str = field(default_factory=clock.now)
    arrived_s: float = field(default_factory=clock.monotonic_s)
    outcome: CallOutcome | None = None
    refusal: Refusal | None = None
    failure: FailureClass | None = None
    detail: str = ""
    status: int | None = None
    first_token_s: float | None = None
    streamed: bool = False
    sends: int = 0
    model: str | None = None
    answered_by: str | None = None
    standard_tier: bool = True
    decoding: dict[str, JsonValue] = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    request_sha256: str | None = None
    request_bytes: int | None = None
    reply_sha256: str | None = None
    reply_bytes: int | None = None
    request_file: str | None = None
    reply_file: str | None = None

    def refuse(self, refused: CallRefused) -> None:
        """Note a refusal."""
        self.outcome, self.refusal = CallOutcome.REFUSED, refused.refusal
        self.detail = shown(refused.message, 1000)

    def fail(self, outcome: CallOutcome, failure: Failure) -> None:
        """Note a failure."""
        self.outcome, self.failure, self.detail = outcome, failure.kind, shown(failure.detail, 1000)

    def record(self, outcome: CallOutcome) -> CallRecord:
        """The record, now that the call has ended."""
        return CallRecord(
            number=self.number,
            time=self.time,
            method=shown(self.method, 20),
            path=shown(self.path),
            protocol=self.protocol,
            outcome=outcome,
            refusal=self.refusal,
            failure=self.failure,
            detail=self.detail,
            status=self.status,
            latency_s=clock.monotonic_s() - self.arrived_s,
            first_token_s=self.first_token_s,
            streamed=self.streamed,
            sends=self.sends,
            model=self.model,
            answered_by=self.answered_by,
            decoding=self.decoding,
            changes=_in_short(self.changes),
            usage=self.usage,
            request_sha256=self.request_sha256,
            request_bytes=self.request_bytes,
            reply_sha256=self.reply_sha256,
            reply_bytes=self.reply_bytes,
            request_file=self.request_file,
            reply_file=self.reply_file,
        )


def _in_short(changes: tuple[str, ...]) -> tuple[str, ...]:
    """Changes as a record can hold them: an agent words the types of its tools, and may send a million."""
    more = len(changes) - MOST_RECORDED_CHANGES
    told = tuple(shown(change) for change in changes[:MOST_RECORDED_CHANGES])
    return told if more <= 0 else (*told, plural(more, "more change"))


class LaneState:
    """A lane as the gateway's own thread sees it; touched by no other thread."""

    def __init__(self, attempt_id: str, plan: LanePlan, bodies: Bodies) -> None:
        self.attempt_id = attempt_id
        self.plan = plan
        self.bodies = bodies
        self.budget = Budget(plan)
        self.mask = Redactor((plan.key,))
        self.closed = False
        self._summed_up = False
        # A budget of tokens or cost is known only after each reply: one call at a time.
        self._most_at_once = 1 if plan.is_metered else MOST_CALLS_AT_ONCE
        self._at_once = 0
        self._held_bytes = 0
        self._waiting = 0
        self._changed = asyncio.Event()
        self._arrived = 0
        self._refused = 0
        self._calls: list[CallRecord] = []
        self._under_way: set[asyncio.Task[None]] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    def arrive(self, method: str, path: str) -> CallNotes:
        """Notes of a new call."""
        self._arrived += 1
        return CallNotes(self._arrived, method, path, self.plan.protocol)

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """One of the places for calls that go on at once; waits for one.

        Raises:
            CallRefused: too many wait already, or the attempt is over.
        """
        if self._waiting >= MOST_CALLS_WAITING:
            raise CallRefused(Refusal.CROWDED, "too many calls wait for their turn")
        self._waiting += 1
        try:
            while not self._may_go():
                self._changed.clear()
                await self._changed.wait()
        finally:
            self._waiting -= 1
        self.check_open()
        self._at_once += 1
        try:
            yield
        finally:
            self._at_once -= 1
            self._changed.set()

    def _may_go(self) -> bool:
        """Whether a waiting call can be let through or refused now."""
        return self.closed or (self._at_once < self._most_at_once and not self.budget.is_undecided)

    def hold(self, size_bytes: int) -> None:
        """Take room for a piece of a request; to be given back by `let_go`.

        Raises:
            CallRefused: the requests under way are too large together.
        """
        if self._held_bytes + size_bytes > MOST_HELD_BYTES:
            raise CallRefused(Refusal.CROWDED, "the requests under way are too large together")
        self._held_bytes += size_bytes

    def let_go(self, size_bytes: int) -> None:
        """Give room back."""
        self._held_bytes -= size_bytes

    def check_open(self) -> None:
        """Refuse when the lane was closed.

        Raises:
            CallRefused: the attempt is over.
        """
        if self.closed:
            raise CallRefused(Refusal.CLOSED, "the attempt is over")

    def begin(self, work: asyncio.Task[None]) -> None:
        """A call is on its way to the provider; it is cancelled when the lane is closed."""
        self._under_way.add(work)
        self._idle.clear()

    def end(self, work: asyncio.Task[None]) -> None:
        """The call was recorded."""
        self._under_way.discard(work)
        if not self._under_way:
            self._idle.set()

    def record(self, notes: CallNotes, *, begun: bool) -> None:
        """Write down how a call ended.

        Args:
            notes: what is known of it.
            begun: whether the budget gave it.
        """
        if self._summed_up:
            return
        call = self._clean(notes.record(notes.outcome or CallOutcome.HUNG_UP))
        if begun:
            self.budget.end(call, standard_tier=notes.standard_tier)
            self._changed.set()
        if call.outcome is CallOutcome.REFUSED:
            self._refused += 1
        if self._refused <= MOST_RECORDED_REFUSALS or call.outcome is not CallOutcome.REFUSED:
            self._calls.append(call)
            self.bodies.record(call)

    def _clean(self, call: CallRecord) -> CallRecord:
        """The record without the key, which a provider may have quoted."""
        data = canonical_json(call)
        clean = self.mask.whole(data)
        return call if clean == data else CallRecord.model_validate_json(clean)

    async def close(self) -> LaneSummary:
        """Take no more calls, break off those under way, and sum up."""
        self.closed = True
        self._changed.set()
        for work in tuple(self._under_way):
            work.cancel()
        await self._idle.wait()
        self._summed_up = True
        self.bodies.close()
        return LaneSummary(
            attempt_id=self.attempt_id,
            calls=tuple(self._calls),
            calls_left_out=max(0, self._refused - MOST_RECORDED_REFUSALS),
            usage=self.budget.usage,
            cost=self.budget.cost,
            lost_replies=self.budget.lost_replies,
            bodies_complete=self.bodies.complete,
            ending=self.budget.ending,
        )
