"""Numbers and sentences of a suite report, the same in every format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, assert_never

from esac_ag.plural import plural
from esac_ag.report.numbers import UNAVAILABLE
from esac_ag.report.suite_view import (
    CategoryRow,
    CheckRow,
    ItemCounts,
    ItemRow,
    JudgmentRow,
    RunRow,
    SuiteCost,
    SuiteView,
)
from esac_ag.suite.constitution import (
    ACTION_POINTS,
    MODIFIER_POINTS,
    THRESHOLD,
    TOKEN_POINTS,
    TOTAL_POINTS,
    VERSION,
    WALL_CLOCK_S,
    Pool,
)
from esac_ag.suite.efficiency import BEST_LEVEL, Modifier
from esac_ag.suite.replication import Variance
from esac_ag.suite.scoring import Standing
from esac_ag.suite.verdict import Decision, Verdict, below_gate

NOT_RUN: Final = "not run"
CONDITION: Final = "counts once "
"""How items begin the condition under which a check counts at all; it stands alone or after a semicolon."""
GATE_PERCENT: Final = 100 * THRESHOLD


def version_tag(harness_version: str) -> str:
    """What every report calls itself; the programme asks that nobody takes ours for its official scores."""
    return f"{VERSION}, independent implementation esac-ag {harness_version}"


def suite_notices(
    decision: Decision,
    modifier: Modifier,
    *,
    pool: Pool,
    decoding_pinned: bool,
    time_suffices: bool,
    seed_weak: bool,
    stopped: int,
) -> tuple[str, ...]:
    """What a reader must know beside the numbers, the gravest first."""
    return (
        *_verdict_notices(decision.verdict),
        *_condition_notices(decoding_pinned=decoding_pinned, time_suffices=time_suffices, stopped=stopped),
        *_notices(modifier, pool, weak=seed_weak),
    )


def _verdict_notices(verdict: Verdict) -> Iterator[str]:
    match verdict:
        case Verdict.NOT_VALID:
            yield "Not valid: the numbers stand for themselves and are no result of the suite."
        case Verdict.INCOMPLETE:
            yield "Incomplete: what did not run is missing, not zero; sums so far are lower bounds."
        case Verdict.UNDECIDED:
            yield "Undecided: the verdict would depend on token usage that was not reported."
        case Verdict.PASS | Verdict.FAIL:
            pass
        case _:
            assert_never(verdict)


def _condition_notices(*, decoding_pinned: bool, time_suffices: bool, stopped: int) -> Iterator[str]:
    if not decoding_pinned:
        yield "Not strictly comparable: decoding is not temperature 0, top_p 1 and the items' output caps."
    if not time_suffices:
        yield f"Not strictly comparable: runs of items had less than {WALL_CLOCK_S:g} s each."
    if stopped:
        launches = "1 launch was" if stopped == 1 else f"{stopped} launches were"
        yield f"{launches} stopped by a person or cut off and played again."


def _notices(modifier: Modifier, pool: Pool, *, weak: bool) -> Iterator[str]:
    if modifier.token_points is None:
        yield (
            "The token part of the efficiency modifier is unavailable: token usage is not known for every "
            f"run. It lies between {points(modifier.token_low)} and {points(modifier.token_high)}."
        )
    match pool:
        case Pool.PUBLIC:
            yield "Public pool: for checking oneself; comparative claims rest on held-out runs."
        case Pool.HELD_OUT:
            yield "Held-out pool: the report carries no expected answers, arguments or texts."
        case _:
            assert_never(pool)
    if weak:
        yield "The held-out seed is short; whoever tries many seeds may find it from its fingerprint."
    yield "An independent implementation: not an official score of the ESAC programme."


def points(value: float, allocation: float | None = None) -> str:
    """Two decimals; a value below the allocation's gate is never shown as the gate."""
    gate = None if allocation is None else THRESHOLD * allocation
    return f"{below_gate(value, 2, gate):.2f}"


def percent(value: float) -> str:
    """One decimal, with the same care for the gate."""
    return f"{below_gate(value, 1, GATE_PERCENT):.1f} %"


def earned(value: float | None, allocation: float) -> str:
    """`6.00 of 10`, or that nothing ran."""
    return NOT_RUN if value is None else f"{points(value, allocation)} of {allocation:.4g}"


def total_words(view: SuiteView) -> str:
    """The total out of 75; a range when the token part is unavailable."""
    total = view.total
    so_far = f" so far, with {view.counts.not_run} of {view.counts.items} items not run"
    open_end = so_far if view.counts.not_run else ""
    if total.points is not None:
        return f"{points(total.points, TOTAL_POINTS)} of {view.out_of}{open_end}"
    low, high = points(total.low, TOTAL_POINTS), points(total.high, TOTAL_POINTS)
    return f"{low} to {high} of {view.out_of} (token part unavailable){open_end}"


def category_percent(row: CategoryRow) -> str:
    """The percentage, marked where it is a lower bound."""
    if row.percent is None:
        return NOT_RUN
    return percent(row.percent) if row.counts.not_run == 0 else f"at least {percent(row.percent)}"


def gate_words(row: CategoryRow) -> str:
    """Whether the category passes its gate."""
    if row.passed is None:
        return "open"
    return "passes" if row.passed else "fails"


def modifier_words(modifier: Modifier) -> str:
    """The modifier and its two parts; items that did not run count nothing so far."""
    so_far = "" if modifier.ran == modifier.eligible else f", {modifier.ran} of {modifier.eligible} items ran"
    action = f"action {points(modifier.action_points)} of {ACTION_POINTS:g}"
    if modifier.points is None or modifier.token_points is None:
        return f"{UNAVAILABLE} ({action}; tokens {UNAVAILABLE}{so_far})"
    tokens = f"tokens {points(modifier.token_points)} of {TOKEN_POINTS:g}"
    return f"{points(modifier.points)} of {MODIFIER_POINTS} ({action}; {tokens}{so_far})"


def facts_of_run(view: SuiteView) -> tuple[tuple[str, str], ...]:
    """Conditions, usage and cost as pairs of name and value; values may hold foreign text."""
    header, usage = view.header, view.usage
    judge = header.judge or "none was used"
    return (
        ("Version", header.version_tag),
        ("Pool", header.pool),
        ("Seed fingerprint", header.seed_fingerprint),
        ("Model", header.model),
        ("Agent", header.agent),
        ("Arm", header.arm or "none"),
        ("Judge", judge if header.judge is None or header.judge_pinned else f"{judge} (not the pinned one)"),
        *((("Judge asked at", header.judge_base_url),) if header.judge_base_url else ()),
        ("Decoding", _decoding(view)),
        ("Output cap", _output_cap(view)),
        ("Reasoning effort", header.reasoning or "not set"),
        ("Time per run", "not told" if header.wall_clock_s is None else f"{header.wall_clock_s:g} s at most"),
        ("Items", counts_words(view.counts)),
        ("Retries", str(view.retries)),
        ("Stopped launches", str(view.stopped)),
        ("Tokens", f"{_count(usage.input_tokens)} input, {_count(usage.output_tokens)} output"),
        ("Runs with known tokens", f"{usage.runs_known} of {usage.runs}"),
        ("Judge's tokens", _judge_tokens(view)),
        ("Cost", cost_words(view.cost)),
        ("Manifest", header.manifest_sha256 or "none"),
        *((("Canary", header.canary),) if header.canary else ()),
        ("Started", view.times.started_at),
        ("Ended", view.times.ended_at),
        *((("Ledger's last line", view.times.ledger_sha256),) if view.times.ledger_sha256 else ()),
    )


def counts_words(counts: ItemCounts) -> str:
    """How many items stand how."""
    found = f"{counts.full} full, {counts.partial} partial, {counts.none} none, {counts.not_run} not run"
    return f"{counts.items}: {found}"


def cost_words(cost: SuiteCost | None) -> str:
    """Amounts with source and date of the prices, or that they are unavailable."""
    if cost is None:
        return UNAVAILABLE
    model, judge = (
        UNAVAILABLE if amount is None else f"{amount:,.4f} {cost.currency}"
        for amount in (cost.model, cost.judge)
    )
    return f"model {model}, judge {judge} (prices: {cost.source}, {cost.date})"


def item_words(item: ItemRow) -> str:
    """An item's result on one line, and how many requests for it were repeated, where any was."""
    repeated = f"; retries: {item.retries}" if item.retries else ""
    if item.fraction is None:
        return f"{NOT_RUN} (worth {points(item.points)}){repeated}"
    return f"{points(item.points * item.fraction)} of {points(item.points)}, {item.standing}{repeated}"


def run_words(item: ItemRow, run: RunRow) -> str:
    """How a run ended, its calls, its tokens and its efficiency on one line."""
    facts = run.facts
    calls = (
        f"{plural(facts.calls, 'call')} ({facts.redundant} redundant, {facts.rework} rework, "
        f"{facts.after_goal} after the goal, {facts.rejected} rejected)"
    )
    return f"ended: {run.end}; {calls}; {_levels(item, run)}"


def why_words(check: CheckRow) -> str:
    """What a check found; of a passed one without the condition that a failed one tells."""
    if check.why is None:
        return ""
    found, rule, _ = check.why.partition(CONDITION)
    if not rule or check.fraction < 1 or (found and not found.endswith("; ")):
        return check.why
    return found.removesuffix("; ") or "met"


def judgment_words(number: int, judgment: JudgmentRow) -> str:
    """One judgment's observation."""
    return f"judgment {number}: {percent(100 * judgment.observation)}"


def spread_words(item: ItemRow) -> str | None:
    """Model variance and judge variance; none for an item that is not judged or did not run."""
    if item.spread is None:
        return None
    return f"model variance {_variance(item.spread.model)}; judge variance {_variance(item.spread.judge)}"


def _variance(value: Variance) -> str:
    return f"not estimable ({value.why_not})" if value.value is None else f"{value.value:.4f}"


def _levels(item: ItemRow, run: RunRow) -> str:
    if run.levels is None:
        return f"tokens {_tokens(run)}; not eligible for efficiency"
    levels = run.levels
    tokens = "tokens " + (
        UNAVAILABLE
        if levels.token_level is None
        else f"{_count(levels.tokens)}, level {levels.token_level}/{BEST_LEVEL}"
    )
    completed = item.standing is Standing.FULL
    lost = "" if completed else "; counts 0, for the item was not completed"
    return f"actions {levels.effective_actions:g}, level {levels.action_level}/{BEST_LEVEL}; {tokens}{lost}"


def _tokens(run: RunRow) -> str:
    used = run.tokens
    return UNAVAILABLE if used.input is None or used.output is None else f"{used.input + used.output:,}"


def _decoding(view: SuiteView) -> str:
    decoding = view.header.decoding
    shown = ", ".join(
        f"{name} {'not set' if value is None else f'{value:g}'}"
        for name, value in (("temperature", decoding.temperature), ("top_p", decoding.top_p))
    )
    if decoding.seed is not None:
        shown += f", seed {decoding.seed}"
    return shown if decoding.pinned else f"{shown} (not strictly comparable)"


def _output_cap(view: SuiteView) -> str:
    cap = view.header.decoding.output_cap_tokens
    if cap is not None:
        return f"{cap:,} tokens per call (not the items' own)"
    caps = [item.output_cap_tokens for item in view.items]
    if min(caps) == max(caps):
        return f"{min(caps):,} tokens per call"
    return f"{min(caps):,} to {max(caps):,} tokens per call, by item"


def _judge_tokens(view: SuiteView) -> str:
    if not any(run.judgments for item in view.items for run in item.runs):
        return "none: nothing was judged"
    judge = view.usage.judge
    return f"{_count(judge.input)} input, {_count(judge.output)} output"


def _count(value: int | None) -> str:
    return UNAVAILABLE if value is None else f"{value:,}"
