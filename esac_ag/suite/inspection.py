"""One instance laid open: what a model gets, how it is graded, and, apart from it, the answers.

An inspection of a held-out instance holds what a model sees and the names of its checks. Answers, the
reference's run and the simulated user's table are in an `AnswerKey`, which goes to a private file alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from esac_ag.canonical import canonical_json
from esac_ag.record import Record, Sha256
from esac_ag.suite.constitution import PUBLIC_SEED, VERSION, Pool
from esac_ag.suite.contract import Instance, Item, Json, RubricCriterion, RunEnd, ToolSchema, Trace, Turn
from esac_ag.suite.facts import ItemFacts, facts_of
from esac_ag.suite.items.code_desk import Ran
from esac_ag.suite.play import Programs, play
from esac_ag.suite.pools import CANARY, DatasetSeed, instance_of, seed_fingerprint


class ShownCheck(Record):
    """A deterministic check of an instance."""

    id: str
    share: float
    """Its part of the deterministic checks' weight, 0 to 1."""


class ShownCall(Record):
    """One call of the reference."""

    tool: str
    arguments: Json
    reply: str | None
    """Null where a program would have to be run for it."""


class Transcript(Record):
    """The reference's run: the calls in order, then the conversation in order."""

    calls: tuple[ShownCall, ...]
    turns: tuple[Turn, ...]
    """The prompt, questions and answers, and the last message."""


class ShownTest(Record):
    """A hidden test of a program."""

    id: str
    weight: float
    source: str


class Answers(Record):
    """What must not get out of the held-out pool."""

    item_id: str
    expected: dict[str, Json]
    """What the item's checks compare with."""
    questions: dict[str, str]
    """The simulated user's answers by topic."""
    hidden_tests: tuple[ShownTest, ...]
    reference: Transcript


class Inspection(Record):
    """What a model gets of one instance, and how it is graded."""

    item: ItemFacts
    pool: Pool
    seed_fingerprint: Sha256
    canary: str | None
    """In the public pool."""
    prompt: str
    tools: tuple[ToolSchema, ...]
    initial_state: dict[str, Json]
    checks: tuple[ShownCheck, ...]
    """Deterministic ones; empty for a judged item without any."""
    rubric: tuple[RubricCriterion, ...]
    answers: Answers | None
    """Of the public pool only, and null in its export: answers are computed, never stored."""


class AnswerKey(Record):
    """The answers of a whole pool."""

    format_version: Literal[1]
    suite_version: str
    pool: Pool
    seed_fingerprint: Sha256
    items: tuple[Answers, ...]


def inspect(items: Sequence[Item], item: Item, dataset: DatasetSeed, *, answers: bool = True) -> Inspection:
    """Lay one item's instance open; with answers if they are wanted and it is a public one."""
    public = dataset.pool is Pool.PUBLIC
    instance = instance_of(item, dataset.seed)
    return Inspection(
        item=next(facts for facts in facts_of(items) if facts.id == item.id),
        pool=dataset.pool,
        seed_fingerprint=_fingerprint(dataset.seed),
        canary=CANARY if public else None,
        prompt=instance.prompt,
        tools=instance.tools,
        initial_state=instance.initial_state,
        checks=_checks(item, instance),
        rubric=item.rubric,
        answers=answers_of(item, instance) if public and answers else None,
    )


def answer_key(items: Sequence[Item], dataset: DatasetSeed) -> AnswerKey:
    """All answers under a seed; secret when the pool is."""
    return AnswerKey(
        format_version=1,
        suite_version=VERSION,
        pool=dataset.pool,
        seed_fingerprint=_fingerprint(dataset.seed),
        items=tuple(answers_of(item, instance_of(item, dataset.seed)) for item in items),
    )


def public_pool(items: Sequence[Item], dataset: DatasetSeed) -> bytes:
    """The public pool as JSON Lines: an inspection in each, with the canary, in RFC 8785 form.

    Expected answers are computed from the seed and never stored, so they are not in it.

    Raises:
        ValueError: the seed is not the public one.
    """
    if dataset.pool is not Pool.PUBLIC or dataset.seed != PUBLIC_SEED:
        raise ValueError("only the public pool is exported")
    return b"".join(canonical_json(inspect(items, item, dataset, answers=False)) + b"\n" for item in items)


def answers_of(item: Item, instance: Instance) -> Answers:
    """Expected values, hidden tests and the reference's run."""
    return Answers(
        item_id=item.id,
        expected=dict(instance.secret),
        questions=dict(instance.questions),
        hidden_tests=tuple(
            ShownTest(id=test.id, weight=test.weight, source=test.source) for test in instance.hidden_tests
        ),
        reference=_transcript(item, instance),
    )


# It is slow on purpose, and a pool's instances share it.
_fingerprint = lru_cache(maxsize=4)(seed_fingerprint)


def _transcript(item: Item, instance: Instance) -> Transcript:
    # Programs are not run: what they would print is left out of the transcript, never made up.
    nobody = Programs(run=lambda _files, _path, _stdin: Ran(None, "", ""), grade=lambda _drawn, _files: ())
    trace = play(item, instance, item.reference(instance), nobody)
    return Transcript(
        calls=tuple(
            ShownCall(
                tool=call.tool,
                arguments=call.arguments,
                reply=None if call.tool == "run_python" else call.reply,
            )
            for call in trace.calls
        ),
        turns=trace.turns,
    )


def _checks(item: Item, instance: Instance) -> tuple[ShownCheck, ...]:
    """The checks as they come out for a run that did nothing; their reasons stay behind."""
    nothing = Trace(calls=(), turns=(), final_text="", final_state=instance.initial_state, end=RunEnd.EMPTY)
    found = item.check(instance, nothing)
    weight = math.fsum(check.weight for check in found)
    return tuple(ShownCheck(id=check.id, share=check.weight / weight) for check in found)
