"""The parts of a version 2 manifest that are well formed, so that one fault does not hide the others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError

from esac_ag.manifest.plan import (
    AgentPlan,
    Analysis,
    Arm,
    Harness,
    Images,
    Isolation,
    Limits,
    Model,
    Network,
    Phase,
    Policies,
    Prices,
    Repetitions,
    Schedule,
    Status,
    SuiteName,
    TaskReference,
)

T = TypeVar("T")


def is_suite_plan(data: Mapping[str, JsonValue]) -> bool:
    """Whether a manifest says that it plans a suite run."""
    suite = data.get("suite")
    return isinstance(suite, dict) and suite.get("name") == SuiteName.ESAC_AG.value


@dataclass(frozen=True, slots=True)
class Sections:
    """Each part of a manifest, or none where it is missing or malformed. Lists keep their positions."""

    study_id: str | None
    phase: Phase | None
    status: Status | None
    model: Model | None
    agent: AgentPlan | None
    harness: Harness | None
    images: Images | None
    limits: Limits | None
    network: Network | None
    isolation: Isolation | None
    repetitions: int | None
    schedule: Schedule | None
    arms: tuple[Arm | None, ...]
    tasks: tuple[TaskReference | None, ...]
    policies: Policies | None
    analysis: Analysis | None
    prices: Prices | None

    @classmethod
    def of(cls, data: dict[str, JsonValue]) -> Sections:
        """Read every part on its own."""

        def part(key: str, kind: type[T]) -> T | None:
            return _read(data.get(key), kind)

        return cls(
            study_id=part("study_id", str),
            phase=part("phase", Phase),
            status=part("status", Status),
            model=part("model", Model),
            agent=part("agent", AgentPlan),
            harness=part("harness", Harness),
            images=part("images", Images),
            limits=part("limits", Limits),
            network=part("network", Network),
            isolation=part("isolation", Isolation),
            repetitions=part("repetitions", Repetitions),
            schedule=part("schedule", Schedule),
            arms=_items(data.get("arms"), Arm),
            tasks=_items(data.get("tasks"), TaskReference),
            policies=part("policies", Policies),
            analysis=part("analysis", Analysis),
            prices=part("prices", Prices),
        )


def _read(value: JsonValue, kind: type[T]) -> T | None:
    try:
        return TypeAdapter(kind).validate_json(json.dumps(value), strict=True)
    except ValidationError:
        return None


def _items(value: JsonValue, kind: type[Record]) -> tuple[Record | None, ...]:
    return tuple(_read(item, kind) for item in value) if isinstance(value, list) else ()


Record = TypeVar("Record", bound=BaseModel)
