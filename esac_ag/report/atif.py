"""Trajectories in the Agent Trajectory Interchange Format, ATIF 1.8 (Harbor's RFC 0001), and its rules.

Only what our exports hold is modelled: text, calls, observations and metrics. Media, embedded subagents and
continuations are part of the format and never written here, so these records refuse them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, model_validator

from esac_ag.attempt import Count
from esac_ag.record import Record

Extra = dict[str, JsonValue]


def _is_a_time(text: str) -> str:
    datetime.fromisoformat(text)
    return text


Timestamp = Annotated[str, AfterValidator(_is_a_time)]
"""ISO 8601."""


class AtifToolCall(Record):
    """One call of a tool."""

    tool_call_id: str
    function_name: str
    arguments: dict[str, JsonValue]
    extra: Extra | None = None


class AtifResult(Record):
    """What one call, or the environment, gave back."""

    source_call_id: str | None = None
    content: str | None = None
    extra: Extra | None = None


class AtifObservation(Record):
    """What followed from a step."""

    results: tuple[AtifResult, ...]


class AtifMetrics(Record):
    """What one step took of the model; null is unknown."""

    prompt_tokens: Count | None = None
    """All input, cached parts included."""
    completion_tokens: Count | None = None
    cached_tokens: Count | None = None
    cost_usd: Annotated[float, Field(ge=0)] | None = None
    extra: Extra | None = None


class AtifStep(Record):
    """One step of a trajectory."""

    step_id: Annotated[int, Field(ge=1)]
    timestamp: Timestamp | None = None
    source: Literal["system", "user", "agent"]
    model_name: str | None = None
    message: str
    reasoning_content: str | None = None
    tool_calls: tuple[AtifToolCall, ...] | None = None
    observation: AtifObservation | None = None
    metrics: AtifMetrics | None = None
    llm_call_count: Count | None = None
    """Model calls that the step stands for: 0 for none, null where nobody counted."""
    extra: Extra | None = None

    @model_validator(mode="after")
    def _only_agents_act(self) -> Self:
        if self.source != "agent":
            self._absent("model_name", "reasoning_content", "tool_calls", "metrics")
        return self

    @model_validator(mode="after")
    def _without_a_model_call_nothing_of_a_model(self) -> Self:
        if self.source == "agent" and self.llm_call_count == 0:
            self._absent("reasoning_content", "metrics")
        return self

    @model_validator(mode="after")
    def _results_belong_to_calls_of_this_step(self) -> Self:
        calls = [call.tool_call_id for call in self.tool_calls or ()]
        if len(set(calls)) != len(calls):
            raise ValueError("two calls of one step have the same tool_call_id")
        for result in self.observation.results if self.observation else ():
            if result.source_call_id is not None and result.source_call_id not in calls:
                raise ValueError(f"source_call_id {result.source_call_id!r} names no call of its step")
        return self

    def _absent(self, *names: str) -> None:
        present = [name for name in names if getattr(self, name) is not None]
        if present:
            raise ValueError(f"a step of this kind cannot have {', '.join(present)}")


class AtifAgent(Record):
    """What acted."""

    name: str
    version: str
    model_name: str | None = None
    extra: Extra | None = None


class AtifFinalMetrics(Record):
    """Sums over the whole trajectory; null is unknown."""

    total_prompt_tokens: Count | None = None
    total_completion_tokens: Count | None = None
    total_cached_tokens: Count | None = None
    total_cost_usd: Annotated[float, Field(ge=0)] | None = None
    total_steps: Count
    extra: Extra | None = None


class AtifTrajectory(Record):
    """One attempt as ATIF 1.8."""

    schema_version: Literal["ATIF-v1.8"]
    session_id: str
    trajectory_id: str
    agent: AtifAgent
    steps: Annotated[tuple[AtifStep, ...], Field(min_length=1)]
    notes: str | None = None
    final_metrics: AtifFinalMetrics
    extra: Extra | None = None

    @model_validator(mode="after")
    def _steps_are_numbered_from_one(self) -> Self:
        if [step.step_id for step in self.steps] != list(range(1, len(self.steps) + 1)):
            raise ValueError("step_id does not count from 1 without gaps")
        return self

    @model_validator(mode="after")
    def _all_steps_are_counted(self) -> Self:
        if self.final_metrics.total_steps != len(self.steps):
            raise ValueError("total_steps is not the number of steps")
        return self
