"""The sealed plan of a suite run: a manifest of format_version 2 with `suite.name = esac-ag`.

It seals which instances are played without telling them: each instance's digest is keyed with the dataset
seed, so that nobody can find a held-out instance by trying, and whoever has the seed can check every one.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Annotated, Final, Literal, Self

from pydantic import Field, JsonValue, model_validator

from esac_ag.attempt import Cell
from esac_ag.canonical import canonical_json, sha256_of
from esac_ag.clock import Seeds
from esac_ag.manifest.plan import Plan, Positive, Status, SuiteName
from esac_ag.record import Identifier, Record, Sha256, VariableName
from esac_ag.suite.constitution import VERSION, Category, Pool
from esac_ag.suite.contract import Instance, Item
from esac_ag.suite.pools import instance_of, keyed
from esac_ag.suite.replication import runs_of

ALGORITHM: Final = "cheapest-first-interleaved/1"
PLAN_VERSION: Final = VERSION.rpartition("v")[2]
"""`suite.version` of the plan: the suite's version without its name."""

_INSTANCE: Final = b"esac-ag sealed instance v1\0"


class ItemReference(Record):
    """One item of the run."""

    id: Identifier
    instance_sha256: Sha256
    """Keyed digest of the whole instance, its secret part included (`sealed_instance`)."""
    runs: Positive
    """How often the model plays it: twice when a judge grades it (amendment 001 §5)."""


class JudgePlan(Record):
    """Who judges, and where it is asked."""

    model: str
    base_url: str
    """Address of the endpoint up to and without `/chat/completions`."""
    api_key_env: VariableName
    """Environment variable of the host that holds the key."""


class SuiteSchedule(Record):
    """The order of runs: algorithm, seed of the arms' order, and digest of the list of cells."""

    algorithm: Literal["cheapest-first-interleaved/1"] = ALGORITHM
    seed: str
    sha256: Sha256


class SuitePlan(Plan):
    """The sealed plan of a suite run."""

    status: Literal[Status.FROZEN]
    pool: Pool
    seed_fingerprint: Sha256
    seed_weak: bool
    """Whether the held-out seed is short enough to be guessed."""
    items: Annotated[tuple[ItemReference, ...], Field(min_length=1)]
    judge: JudgePlan | None
    """Null when no item of the run is judged."""
    schedule: SuiteSchedule

    @model_validator(mode="after")
    def _is_of_the_suite(self) -> Self:
        if self.suite.name is not SuiteName.ESAC_AG:
            raise ValueError(f"suite.name is {self.suite.name.value}, not {SuiteName.ESAC_AG.value}")
        return self

    @property
    def item_ids(self) -> tuple[str, ...]:
        """Ids of the items, in the order in which they are played."""
        return tuple(item.id for item in self.items)

    @property
    def arm_ids(self) -> tuple[str, ...]:
        """Ids of the arms."""
        return tuple(arm.id for arm in self.arms)

    def cells(self) -> tuple[Cell, ...]:
        """All cells in the order in which they run."""
        return tuple(_cells(self.schedule.seed, self.items, self.arm_ids))


def references(items: Sequence[Item], dataset_seed: str) -> tuple[ItemReference, ...]:
    """The items as a plan names them, in the order in which they are played."""
    return tuple(
        ItemReference(
            id=item.id,
            instance_sha256=sealed_instance(dataset_seed, instance_of(item, dataset_seed)),
            runs=runs_of(item),
        )
        for item in play_order(items)
    )


def play_order(items: Sequence[Item]) -> tuple[Item, ...]:
    """Cheapest first, categories interleaved: a round takes each category's cheapest item that is left.

    An item costs at most its turns times its output cap, for each of its runs. A key that does not work
    thus shows on the first and cheapest item, and an early tally tells of every category.
    """
    queues: dict[Category, list[Item]] = {}
    for item in sorted(items, key=_cost):
        queues.setdefault(item.category, []).append(item)
    rounds = max((len(queue) for queue in queues.values()), default=0)
    return tuple(
        item
        for number in range(rounds)
        for item in sorted((queue[number] for queue in queues.values() if number < len(queue)), key=_cost)
    )


def _cost(item: Item) -> tuple[int, str]:
    return item.turns * item.output_tokens * runs_of(item), item.id


def schedule_of(seed: str, items: Sequence[ItemReference], arms: Sequence[str]) -> SuiteSchedule:
    """The schedule as a plan seals it."""
    return SuiteSchedule(seed=seed, sha256=sha256_of(schedule_document(seed, items, arms)))


def schedule_document(seed: str, items: Sequence[ItemReference], arms: Sequence[str]) -> dict[str, JsonValue]:
    """The contents of `schedule.json`: algorithm, seed and the cells in order."""
    cells: list[JsonValue] = [cell.model_dump(mode="json") for cell in _cells(seed, items, arms)]
    return {"algorithm": ALGORITHM, "seed": seed, "cells": cells}


def _cells(seed: str, items: Sequence[ItemReference], arms: Sequence[str]) -> Iterator[Cell]:
    """Items in the plan's order; the arms of one run side by side, in an order drawn for it."""
    seeds = Seeds(seed)
    for item in items:
        for run in range(1, item.runs + 1):
            drawn_order = {seeds.number("arms", item.id, run, arm): arm for arm in arms}
            for number in sorted(drawn_order):
                yield Cell(task=item.id, arm=drawn_order[number], repetition=run)


def sealed_instance(dataset_seed: str, instance: Instance) -> Sha256:
    """Keyed digest of a whole instance: HMAC-SHA256 over its canonical JSON."""
    key = bytes.fromhex(keyed(dataset_seed, _INSTANCE))
    return hmac.new(key, instance_bytes(instance), "sha256").hexdigest()


def instance_bytes(instance: Instance) -> bytes:
    """A whole instance as canonical JSON, its secret part included."""
    return canonical_json(_document(instance))


def _document(instance: Instance) -> dict[str, JsonValue]:
    return asdict(instance) | {"tools": [tool.model_dump(mode="json") for tool in instance.tools]}
