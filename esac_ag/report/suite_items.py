"""Rows of single items and their runs; a held-out run's texts stay out of them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from esac_ag.report.suite_view import CallRow, CheckRow, ItemRow, JudgmentRow, RunRow
from esac_ag.suite.contract import CheckResult, Item, ToolCall
from esac_ag.suite.efficiency import ItemEfficiency, RunLevels
from esac_ag.suite.replication import ItemOutcome, ItemResult, RunResult
from esac_ag.suite.scoring import ItemScore


def item_row(
    item: Item,
    score: ItemScore,
    result: ItemResult | None,
    outcome: ItemOutcome | None,
    efficiency: ItemEfficiency | None,
    *,
    stopped: int,
    secret: bool,
) -> ItemRow:
    """One item; result and outcome are none when it did not run, efficiency also when it is not eligible."""
    runs: tuple[RunRow, ...] = ()
    if result is not None and outcome is not None:
        levels = efficiency.runs if efficiency is not None else (None,) * len(result.runs)
        runs = tuple(
            _run_row(run, observed, level, secret=secret)
            for run, observed, level in zip(result.runs, outcome.observations, levels, strict=True)
        )
    return ItemRow(
        id=item.id,
        category=item.category,
        title=item.title,
        measures=item.measures,
        judged=bool(item.rubric),
        points=score.points,
        earned=score.earned,
        fraction=score.fraction,
        standing=score.standing,
        turns_cap=item.turns,
        output_cap_tokens=item.output_tokens,
        eligible=item.efficiency is not None,
        action_share=None if efficiency is None else efficiency.action_share,
        token_share=None if efficiency is None or not efficiency.tokens_known else efficiency.token_bounds[0],
        spread=None if outcome is None else outcome.spread,
        retries=0 if result is None else result.retries,
        stopped=stopped,
        runs=runs,
    )


def _run_row(run: RunResult, observed: Sequence[float], levels: RunLevels | None, *, secret: bool) -> RunRow:
    weight = math.fsum(check.weight for check in (*run.checks, *(run.judgments[0] if run.judgments else ())))
    return RunRow(
        end=run.trace.end,
        fraction=math.fsum(observed) / len(observed),
        checks=_check_rows(run.checks, weight, secret=secret),
        judgments=tuple(
            JudgmentRow(observation=value, criteria=_check_rows(judgment, weight, secret=secret))
            for value, judgment in zip(observed, run.judgments, strict=False)
        ),
        calls=tuple(_call_row(call, secret=secret) for call in run.trace.calls),
        facts=run.facts,
        levels=levels,
        tokens=run.trace.tokens,
        final_text=None if secret else run.trace.final_text,
    )


def _check_rows(checks: Sequence[CheckResult], weight: float, *, secret: bool) -> tuple[CheckRow, ...]:
    return tuple(
        CheckRow(
            id=check.id,
            share=check.weight / weight,
            fraction=check.fraction,
            why=None if secret else check.why,
        )
        for check in checks
    )


def _call_row(call: ToolCall, *, secret: bool) -> CallRow:
    # The right call is the answer of some items: of a held-out call only its fate is told.
    return CallRow(
        index=call.index,
        tool=None if secret else call.tool,
        arguments=None if secret else json.dumps(call.arguments, ensure_ascii=False, sort_keys=True),
        ok=call.ok,
        error=None if secret else call.error,
        changed_state=call.changed_state,
    )
