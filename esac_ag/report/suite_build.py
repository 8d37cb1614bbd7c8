"""Computes the view of a suite run, once, from what the engine measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from esac_ag.errors import HarnessError
from esac_ag.record import Sha256
from esac_ag.report.suite_items import item_row
from esac_ag.report.suite_view import (
    CategoryRow,
    ItemCounts,
    ItemRow,
    SuiteCost,
    SuiteDecoding,
    SuiteHeader,
    SuiteTimes,
    SuiteUsage,
    SuiteView,
)
from esac_ag.report.suite_words import suite_notices, version_tag
from esac_ag.suite.constitution import (
    CATEGORIES,
    PINNED_JUDGE,
    TOTAL_POINTS,
    VERSION,
    WALL_CLOCK_S,
    Pool,
)
from esac_ag.suite.contract import Item, Tokens
from esac_ag.suite.efficiency import modifier
from esac_ag.suite.pools import CANARY
from esac_ag.suite.replication import ItemResult, item_efficiency, item_outcome
from esac_ag.suite.scoring import CategoryScore, Standing, category_scores, check_bank, item_scores
from esac_ag.suite.verdict import decide, passes, total


@dataclass(frozen=True, slots=True)
class SuiteInputs:
    """What the caller knows of a run; results may be of some items only."""

    items: Sequence[Item]
    """The whole bank."""
    results: Sequence[ItemResult]
    pool: Pool
    seed_fingerprint: Sha256
    seed_weak: bool
    model: str
    agent: str
    judge: str | None
    """The judge actually used; none when nothing was judged."""
    decoding: SuiteDecoding
    harness_version: str
    started_at: str
    ended_at: str
    judge_tokens: Tokens
    cost: SuiteCost | None
    """None when no prices are known."""
    arm: str | None = None
    manifest_sha256: Sha256 | None = None
    judge_base_url: str | None = None
    reasoning: str | None = None
    wall_clock_s: float | None = None
    """None where no time was kept."""
    ledger_sha256: Sha256 | None = None
    stopped: Mapping[str, int] = field(default_factory=dict)
    """Launches that were stopped or cut off, by item."""
    run_notices: tuple[str, ...] = ()
    """What a reader must know of this very run, before everything else."""

    @property
    def time_suffices(self) -> bool:
        """Whether no run had less time than the suite gives."""
        return self.wall_clock_s is None or self.wall_clock_s >= WALL_CLOCK_S


def build_suite_view(inputs: SuiteInputs) -> SuiteView:
    """Everything that a report of this run shows; the same inputs give the same view.

    Raises:
        HarnessError: the bank has drifted, or results do not follow the protocol or belong to no item.
    """
    check_bank(inputs.items)
    results = _by_item(inputs.results)
    items = {item.id: item for item in inputs.items}
    unknown = sorted(results.keys() - items.keys())
    if unknown:
        raise HarnessError("A result belongs to no item of the bank.", found=", ".join(unknown))
    outcomes = {name: item_outcome(items[name], result) for name, result in results.items()}
    fractions = {name: outcome.fraction for name, outcome in outcomes.items()}
    efficiencies = {
        name: efficiency
        for name, result in results.items()
        if (efficiency := item_efficiency(items[name], result, fractions[name])) is not None
    }
    categories = category_scores(inputs.items, fractions)
    extra = modifier([item.id for item in inputs.items if item.efficiency is not None], efficiencies)
    judged = any(run.judgments for result in inputs.results for run in result.runs)
    decision = decide(categories, extra, judge=inputs.judge, judged=judged)
    rows = tuple(
        item_row(
            items[score.item_id],
            score,
            results.get(score.item_id),
            outcomes.get(score.item_id),
            efficiencies.get(score.item_id),
            stopped=inputs.stopped.get(score.item_id, 0),
            secret=inputs.pool is Pool.HELD_OUT,
        )
        for score in item_scores(inputs.items, fractions)
    )
    stopped = sum(inputs.stopped.values())
    return SuiteView(
        format_version=1,
        header=_header(inputs),
        decision=decision,
        total=total(categories, extra),
        out_of=TOTAL_POINTS,
        notices=(
            *inputs.run_notices,
            *suite_notices(
                decision,
                extra,
                pool=inputs.pool,
                decoding_pinned=inputs.decoding.pinned,
                time_suffices=inputs.time_suffices,
                seed_weak=inputs.seed_weak,
                stopped=stopped,
            ),
        ),
        categories=tuple(_category_row(score) for score in categories),
        modifier=extra,
        counts=_counts(row.standing for row in rows),
        usage=_usage(rows, inputs.judge_tokens),
        cost=inputs.cost,
        retries=sum(result.retries for result in inputs.results),
        stopped=stopped,
        items=rows,
        times=SuiteTimes(
            started_at=inputs.started_at, ended_at=inputs.ended_at, ledger_sha256=inputs.ledger_sha256
        ),
    )


def _header(inputs: SuiteInputs) -> SuiteHeader:
    return SuiteHeader(
        version_tag=version_tag(inputs.harness_version),
        suite_version=VERSION,
        harness_version=inputs.harness_version,
        pool=inputs.pool,
        seed_fingerprint=inputs.seed_fingerprint,
        model=inputs.model,
        agent=inputs.agent,
        arm=inputs.arm,
        judge=inputs.judge,
        judge_pinned=inputs.judge == PINNED_JUDGE,
        judge_base_url=inputs.judge_base_url,
        manifest_sha256=inputs.manifest_sha256,
        decoding=inputs.decoding,
        reasoning=inputs.reasoning,
        wall_clock_s=inputs.wall_clock_s,
        strictly_comparable=inputs.decoding.pinned and inputs.time_suffices,
        canary=CANARY if inputs.pool is Pool.PUBLIC else None,
    )


def _by_item(results: Sequence[ItemResult]) -> dict[str, ItemResult]:
    found = {result.item_id: result for result in results}
    if len(found) != len(results):
        twice = [name for name, count in Counter(result.item_id for result in results).items() if count > 1]
        raise HarnessError("An item has two results.", found=", ".join(sorted(twice)))
    return found


def _category_row(score: CategoryScore) -> CategoryRow:
    return CategoryRow(
        id=score.category,
        title=CATEGORIES[score.category].title,
        points=score.points,
        earned=score.earned,
        percent=score.percent,
        counts=ItemCounts(
            items=score.items,
            full=score.full,
            partial=score.partial,
            none=score.none,
            not_run=score.items - score.ran,
        ),
        passed=None if score.earned is None or not score.complete else passes(score.earned, score.points),
    )


def _counts(standings: Iterable[Standing]) -> ItemCounts:
    found = Counter(standings)
    return ItemCounts(
        items=found.total(),
        full=found[Standing.FULL],
        partial=found[Standing.PARTIAL],
        none=found[Standing.NONE],
        not_run=found[Standing.NOT_RUN],
    )


def _usage(rows: Sequence[ItemRow], judge: Tokens) -> SuiteUsage:
    tokens = [run.tokens for row in rows for run in row.runs]
    return SuiteUsage(
        input_tokens=_sum([one.input for one in tokens]),
        output_tokens=_sum([one.output for one in tokens]),
        runs=len(tokens),
        runs_known=sum(one.input is not None and one.output is not None for one in tokens),
        judge=judge,
    )


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if values and len(known) == len(values) else None
