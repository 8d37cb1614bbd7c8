"""The parts of a draft that are well formed, so that one fault does not hide the others."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError

from esac_ag.manifest.draft import Draft, DraftAnalysis, DraftArm, DraftTask
from esac_ag.manifest.plan import AgentPlan, Limits, Model, Network, Phase, Prices

T = TypeVar("T")
Item = TypeVar("Item", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class DraftSections:
    """Each part of a draft: its default where it was left out, none where it is malformed or has none.

    Lists keep their positions. Of a malformed arm or task what can be read is kept, if its id can.
    """

    phase: Phase | None
    model: Model | None
    agent: AgentPlan | None
    limits: Limits | None
    network: Network | None
    arms: tuple[DraftArm | None, ...] | None
    tasks: tuple[DraftTask | None, ...] | None
    analysis: DraftAnalysis | None
    prices: Prices | None

    @classmethod
    def of(cls, data: dict[str, JsonValue]) -> DraftSections:
        """Read every part on its own."""

        def part(key: str, kind: type[T]) -> T | None:
            if key not in data:
                default = Draft.model_fields[key].default
                return default if isinstance(default, kind) else None
            return _read(data[key], kind)

        return cls(
            phase=part("phase", Phase),
            model=part("model", Model),
            agent=part("agent", AgentPlan),
            limits=part("limits", Limits),
            network=part("network", Network),
            arms=_items(data.get("arms"), DraftArm),
            tasks=_items(data.get("tasks"), DraftTask),
            analysis=part("analysis", DraftAnalysis),
            prices=part("prices", Prices),
        )


def _read(value: JsonValue, kind: type[T]) -> T | None:
    try:
        return TypeAdapter(kind).validate_json(json.dumps(value), strict=True)
    except ValidationError:
        return None


def _items(value: JsonValue, kind: type[Item]) -> tuple[Item | None, ...] | None:
    return tuple(_item(item, kind) for item in value) if isinstance(value, list) else None


def _item(value: JsonValue, kind: type[Item]) -> Item | None:
    """The item, or as much of it as stands up beside its id.

    A malformed part is left out, but not where leaving it out would say something else (no bundle).
    """
    whole = _read(value, kind)
    if whole is not None or not isinstance(value, dict) or "id" not in value:
        return whole
    kept: dict[str, JsonValue] = {"id": value["id"]}
    for key, field in kind.model_fields.items():
        if key in value and (field.default is None or _read(kept | {key: value[key]}, kind) is not None):
            kept[key] = value[key]
    return _read(kept, kind)
