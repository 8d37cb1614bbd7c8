"""Builders of a made-up item bank, runs of it, and reports on them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from esac_ag.clock import Seeds
from esac_ag.report.suite_build import SuiteInputs, build_suite_view
from esac_ag.report.suite_view import SuiteCost, SuiteDecoding, SuiteView
from esac_ag.suite.constitution import CATEGORIES, PINNED_JUDGE, WALL_CLOCK_S, Category, Pool
from esac_ag.suite.contract import (
    ActionRule,
    CheckResult,
    Efficiency,
    Envelope,
    Instance,
    Policy,
    RubricCriterion,
    RunEnd,
    Shortcut,
    Tokens,
    ToolCall,
    Trace,
)
from esac_ag.suite.efficiency import ActionFacts, action_facts
from esac_ag.suite.replication import ItemResult, RunResult

GOLDEN = Path(__file__).parent / "golden" / "suite"

FINGERPRINT = "5e" * 32
MANIFEST_SHA256 = "ab" * 32
LEDGER_SHA256 = "ef" * 32

SCALE = Efficiency(
    actions=Envelope(levels=(2, 3, 4, 6, 8)),
    tokens=Envelope(levels=(1000, 1500, 2000, 3000, 5000)),
    rule=ActionRule(),
)
RUBRIC = (
    RubricCriterion(
        id="did-the-task",
        question="Did it do the actual task?",
        weight=2,
        anchors=("nothing", "little", "half", "most", "all"),
    ),
    RubricCriterion(
        id="asked-well",
        question="Did it ask where asking was right?",
        weight=1,
        anchors=("never", "late", "vaguely", "well", "just right"),
    ),
)


@dataclass
class MadeUpItem:
    """An item that declares what scoring needs and generates nothing."""

    id: str
    category: Category
    title: str = "A made-up item"
    measures: str = "Whether scoring counts it."
    weight: float = 1.0
    turns: int = 12
    output_tokens: int = 2000
    efficiency: Efficiency | None = SCALE
    rubric: tuple[RubricCriterion, ...] = ()

    def generate(self, seeds: Seeds) -> Instance:
        """No test of scoring needs an instance."""
        raise NotImplementedError

    def check(self, instance: Instance, trace: Trace) -> tuple[CheckResult, ...]:
        """Results are built by the tests."""
        raise NotImplementedError

    def goal_reached(self, instance: Instance, state: Mapping[str, JsonValue]) -> bool:
        """Facts are built by the tests."""
        raise NotImplementedError

    def reference(self, instance: Instance) -> Policy:
        """Nothing plays a made-up item."""
        raise NotImplementedError

    def shortcuts(self) -> tuple[Shortcut, ...]:
        """Nothing plays a made-up item."""
        return ()


def a_bank() -> list[MadeUpItem]:
    """23 items, as the constitution has them; ambiguity is judged and not eligible for efficiency."""
    return [
        MadeUpItem(
            id=f"{category}-{number}",
            category=category,
            title=f"{rule.title}, number {number}",
            efficiency=None if category is Category.AMBIGUITY else SCALE,
            rubric=RUBRIC if category is Category.AMBIGUITY else (),
        )
        for category, rule in CATEGORIES.items()
        for number in range(1, rule.items + 1)
    ]


def a_digest(name: str) -> str:
    """A state's digest: 64 hexadecimal digits that spell the name."""
    return name.encode().hex().rjust(64, "0")


def a_call(  # noqa: D417  (the other arguments are the call's fields)
    index: int,
    tool: str = "read",
    arguments: JsonValue = None,
    *,
    before: str = "s0",
    after: str | None = None,
    ok: bool = True,
    reply: str = "done",
) -> ToolCall:
    """A call between states that are given by short names.

    Args:
        after: the state that it leads to; the one before it when left away.
    """
    return ToolCall(
        index=index,
        tool=tool,
        arguments={} if arguments is None else arguments,
        ok=ok,
        reply=reply,
        error=None if ok else "not-found",
        state_before=a_digest(before),
        state_after=a_digest(before if after is None else after),
    )


def a_check(name: str = "answer", fraction: float = 1.0, weight: float = 1.0) -> CheckResult:
    """A check with a reason that tells the expected answer."""
    return CheckResult(id=name, weight=weight, fraction=fraction, why="expected the secret 4711")


def facts(calls: int = 2, **more: int) -> ActionFacts:
    """Counts of a call log; whatever is not given is zero."""
    return ActionFacts.model_validate(
        {"redundant": 0, "rework": 0, "after_goal": 0, "rejected": 0, "calls": calls} | more
    )


def a_trace(
    calls: Sequence[ToolCall] | None = None,
    *,
    end: RunEnd = RunEnd.ANSWERED,
    tokens: Tokens = Tokens(input=700, output=300),  # noqa: B008  (frozen)
    text: str = "It is the secret 4711.",
) -> Trace:
    """A run of two calls that ended with an answer."""
    standard = [a_call(0, "look", {"id": 4711}), a_call(1, "note", {"text": "a"}, after="s1")]
    return Trace(
        calls=tuple(standard if calls is None else calls),
        turns=(),
        final_text=text,
        final_state={},
        end=end,
        tokens=tokens,
    )


def a_run(
    fraction: float = 1.0,
    *,
    trace: Trace | None = None,
    judgments: Sequence[tuple[CheckResult, ...]] = (),
    checks: tuple[CheckResult, ...] | None = None,
) -> RunResult:
    """A run with one check of that fraction."""
    played = trace or a_trace()
    return RunResult(
        trace=played,
        checks=(a_check(fraction=fraction),) if checks is None else checks,
        facts=action_facts(played.calls),
        judgments=tuple(judgments),
    )


def a_judgment(task: int, asked: int) -> tuple[CheckResult, ...]:
    """A judgment with these scores, 0 to 4."""
    return (
        CheckResult(id="did-the-task", weight=2, fraction=task / 4, why=RUBRIC[0].anchors[task]),
        CheckResult(id="asked-well", weight=1, fraction=asked / 4, why=RUBRIC[1].anchors[asked]),
    )


def a_result(item: MadeUpItem, fraction: float = 1.0, trace: Trace | None = None) -> ItemResult:
    """All runs of an item; a judged item gets whole scores nearest to the fraction."""
    if not item.rubric:
        return ItemResult(item_id=item.id, runs=(a_run(fraction, trace=trace),))
    score = round(4 * fraction)
    judged = a_run(checks=(), trace=trace, judgments=[a_judgment(score, score)] * 2)
    return ItemResult(item_id=item.id, runs=(judged, judged))


def results(fractions: Mapping[str, float] | None = None, without: Sequence[str] = ()) -> list[ItemResult]:
    """Results of the whole bank: 1 unless a fraction is given by item or by category."""
    given = fractions or {}
    return [
        a_result(item, given.get(item.id, given.get(item.category, 1.0)))
        for item in a_bank()
        if item.id not in without and item.category not in without
    ]


def suite_inputs(  # noqa: D417  (the other arguments are the record's fields)
    found: Sequence[ItemResult],
    *,
    pool: Pool = Pool.PUBLIC,
    judge: str | None = PINNED_JUDGE,
    model: str = "made-up/model-1",
    decoding: SuiteDecoding | None = None,
    fingerprint: str = FINGERPRINT,
    cost: SuiteCost | None = None,
    seed_weak: bool = False,
    reasoning: str | None = None,
    wall_clock_s: float | None = WALL_CLOCK_S,
    stopped: Mapping[str, int] | None = None,
) -> SuiteInputs:
    """A run of the made-up bank.

    Args:
        found: the results of the items that ran.
    """
    return SuiteInputs(
        items=a_bank(),
        results=found,
        pool=pool,
        seed_fingerprint=fingerprint,
        seed_weak=seed_weak,
        model=model,
        agent="chat agent 1",
        judge=judge,
        decoding=decoding or SuiteDecoding(temperature=0, top_p=1),
        harness_version="0.1.0",
        started_at="2026-10-01T10:00:00.000Z",
        ended_at="2026-10-01T10:20:00.000Z",
        judge_tokens=Tokens(input=5000, output=900),
        cost=cost,
        manifest_sha256=MANIFEST_SHA256,
        judge_base_url=None if judge is None else "https://judge.example.com/v1",
        reasoning=reasoning,
        wall_clock_s=wall_clock_s,
        ledger_sha256=LEDGER_SHA256,
        stopped=stopped or {},
    )


def a_view(found: Sequence[ItemResult] | None = None, **options: object) -> SuiteView:
    """The view of a run; of a whole and perfect one when no results are given."""
    return build_suite_view(suite_inputs(results() if found is None else found, **options))  # type: ignore[arg-type]


def golden_suite(name: str, text: str) -> str:
    """The committed text of that name; written anew when `ESAC_AG_REFRESH_GOLDEN=1` asks for it."""
    path = GOLDEN / name
    if os.environ.get("ESAC_AG_REFRESH_GOLDEN") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    return path.read_text(encoding="utf-8")
