"""From our transcript to ATIF: which entries make a step, and what of the attempt's record goes along."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, assert_never

from pydantic import JsonValue

from esac_ag.attempt import AttemptRecord, Usage
from esac_ag.manifest.plan import AgentKind, Plan
from esac_ag.report.atif import (
    AtifAgent,
    AtifFinalMetrics,
    AtifMetrics,
    AtifObservation,
    AtifResult,
    AtifStep,
    AtifToolCall,
    AtifTrajectory,
)
from esac_ag.transcript import Entry, EntryKind

SCRIPTED_NOTE = "A scripted replay: evidence about no model."
TORN_NOTE = "The transcript was cut off at its size limit; what followed is not here."
UNNAMED_TOOL = "unnamed"


@dataclass(slots=True)
class _Step:
    """A step that is still growing."""

    source: Literal["system", "user", "agent"]
    entry: Entry
    message: str = ""
    calls: dict[str, AtifToolCall] = field(default_factory=dict)
    results: list[AtifResult] = field(default_factory=list)

    @property
    def takes_a_call(self) -> bool:
        """Calls of one model call stay together; else a call after a result is a step of its own."""
        return self.entry.usage is not None or not self.results


class _Steps:
    """Sorts entries into steps."""

    def __init__(self, *, model_acts: bool) -> None:
        self._model_acts = model_acts
        self.steps: list[_Step] = []
        self._open: _Step | None = None
        self._by_call: dict[str, tuple[_Step, str]] = {}
        """Step and id there of the latest call with each id: providers use ids again."""

    def take(self, entry: Entry) -> None:
        """Add one entry."""
        match entry.kind:
            case EntryKind.SYSTEM | EntryKind.NOTICE:
                self._add(_Step("system", entry, entry.text))
                self._open = self._open if entry.kind is EntryKind.NOTICE else None
            case EntryKind.USER:
                self._add(_Step("user", entry, entry.text))
                self._open = None
            case EntryKind.MODEL:
                self._open = self._add(_Step("agent", entry, entry.text))
            case EntryKind.TOOL_CALL:
                self._call(entry)
            case EntryKind.TOOL_RESULT:
                self._result(entry)
            case _:
                assert_never(entry.kind)

    def _add(self, step: _Step) -> _Step:
        self.steps.append(step)
        return step

    def _call(self, entry: Entry) -> None:
        step = self._open
        if step is None or not step.takes_a_call:
            step = self._open = self._add(_Step("agent", entry))
        wanted = entry.call_id or "call"
        call_id, times = wanted, len(step.calls)
        while call_id in step.calls:
            times += 1
            call_id = f"{wanted}#{times}"
        step.calls[call_id] = AtifToolCall(
            tool_call_id=call_id, function_name=entry.tool or UNNAMED_TOOL, arguments=entry.arguments or {}
        )
        self._by_call[wanted] = (step, call_id)

    def _result(self, entry: Entry) -> None:
        step, call_id = self._by_call.get(entry.call_id or "call", (None, None))
        if step is None:
            step = self._add(_Step("system", entry))
        facts: dict[str, JsonValue] = {"exit_code": entry.exit_code} if entry.exit_code is not None else {}
        facts |= {"truncated": True} if entry.truncated else {}
        facts |= {"call_id": entry.call_id} if call_id is None and entry.call_id else {}
        step.results.append(AtifResult(source_call_id=call_id, content=entry.text, extra=facts or None))

    def finished(self, started: datetime) -> Iterable[AtifStep]:
        """The steps in order, numbered from 1."""
        for number, step in enumerate(self.steps, start=1):
            yield self._finished(number, step, started)

    def _finished(self, number: int, step: _Step, started: datetime) -> AtifStep:
        entry = step.entry
        agent = step.source == "agent"
        calls_of_model = entry.usage.model_calls if entry.usage is not None else None
        return AtifStep(
            step_id=number,
            timestamp=None if entry.at_s is None else _time(started + timedelta(seconds=entry.at_s)),
            source=step.source,
            message=step.message,
            reasoning_content=entry.reasoning or None if agent else None,
            tool_calls=tuple(step.calls.values()) or None,
            observation=AtifObservation(results=tuple(step.results)) if step.results else None,
            metrics=_metrics(entry.usage) if agent and entry.usage is not None else None,
            llm_call_count=(calls_of_model if self._model_acts else 0) if agent else None,
            extra=_extra(entry),
        )


def trajectory_of(
    entries: Iterable[Entry], record: AttemptRecord, plan: Plan, *, torn: bool
) -> AtifTrajectory | None:
    """One attempt as ATIF; none where its transcript is empty, because a trajectory has a step at least.

    Args:
        entries: the transcript.
        record: the attempt's record; its counts, not the transcript's sums, are the totals.
        plan: the sealed plan.
        torn: whether the transcript ends in the middle of a line.
    """
    scripted = record.agent_kind is AgentKind.SCRIPTED
    sorting = _Steps(model_acts=not scripted)
    for entry in entries:
        sorting.take(entry)
    steps = tuple(sorting.finished(datetime.fromisoformat(record.started_at)))
    if not steps:
        return None
    notes = [text for text, holds in ((SCRIPTED_NOTE, scripted), (TORN_NOTE, torn)) if holds]
    return AtifTrajectory(
        schema_version="ATIF-v1.8",
        session_id=record.attempt_id,
        trajectory_id=record.attempt_id,
        agent=AtifAgent(
            name=f"esac-ag {record.agent_kind.value}",
            version=plan.agent.version,
            model_name=None if scripted else plan.model.name,
            extra={"label": record.agent_label},
        ),
        steps=steps,
        notes=" ".join(notes) or None,
        final_metrics=_totals(record, plan, len(steps)),
        extra={"esac_ag": _facts(record, plan)},
    )


def _facts(record: AttemptRecord, plan: Plan) -> dict[str, JsonValue]:
    return {
        "study": plan.study_id,
        "manifest_sha256": record.manifest_sha256,
        "task": record.cell.task,
        "arm": record.cell.arm,
        "repetition": record.cell.repetition,
        "launch": record.ordinal,
        "outcome": record.outcome.value,
        "limit": record.limit.value if record.limit else None,
        "reason": record.reason,
        "ended_at": record.ended_at,
    }


def _totals(record: AttemptRecord, plan: Plan, steps: int) -> AtifFinalMetrics:
    costs, usage = record.costs, record.costs.usage
    in_dollars = plan.prices is not None and plan.prices.currency == "USD"
    extra: dict[str, JsonValue] = {
        "model_calls": usage.model_calls,
        "tool_calls": costs.tool_calls,
        "cache_write_tokens": usage.cache_write_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "latency_s": costs.latency_s,
    }
    if plan.prices is not None and not in_dollars:
        extra |= {"cost": costs.cost, "currency": plan.prices.currency}
    return AtifFinalMetrics(
        total_prompt_tokens=usage.input_tokens,
        total_completion_tokens=usage.output_tokens,
        total_cached_tokens=usage.cached_input_tokens,
        total_cost_usd=costs.cost if in_dollars else None,
        total_steps=steps,
        extra=_known(extra),
    )


def _metrics(usage: Usage) -> AtifMetrics:
    return AtifMetrics(
        prompt_tokens=usage.input_tokens,
        completion_tokens=usage.output_tokens,
        cached_tokens=usage.cached_input_tokens,
        extra=_known(
            {"cache_write_tokens": usage.cache_write_tokens, "reasoning_tokens": usage.reasoning_tokens}
        ),
    )


def _extra(entry: Entry) -> dict[str, JsonValue] | None:
    facts: dict[str, JsonValue] = {"request_sha256": entry.request_sha256}
    if entry.kind is EntryKind.NOTICE:
        facts["kind"] = "notice"
    if entry.truncated and entry.kind is not EntryKind.TOOL_RESULT:
        facts["truncated"] = True
    return _known(facts)


def _known(facts: dict[str, JsonValue]) -> dict[str, JsonValue] | None:
    """What is known of the facts."""
    return {name: value for name, value in facts.items() if value is not None} or None


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
