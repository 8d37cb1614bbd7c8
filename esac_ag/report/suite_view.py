"""The report of a suite run as records: computed once, shown by every renderer.

Schema: `manifests/schema/suite-report-v1.schema.json`. In a report of the held-out pool everything that could
tell an instance or its answer is null: texts, tool names, arguments, and why a check came out as it did.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from esac_ag.record import Record, Sha256
from esac_ag.suite.constitution import Category, Pool
from esac_ag.suite.contract import Fraction, RunEnd, Tokens
from esac_ag.suite.efficiency import ActionFacts, Modifier, RunLevels
from esac_ag.suite.replication import Spread
from esac_ag.suite.scoring import Standing
from esac_ag.suite.verdict import Decision, Total

Count = Annotated[int, Field(ge=0)]


class SuiteDecoding(Record):
    """Decoding parameters that were sent with every model call."""

    temperature: float | None
    top_p: float | None
    output_cap_tokens: Annotated[int, Field(gt=0)] | None = None
    """A cap that replaced the items' own; null when these held."""
    seed: int | None = None
    """Null when none was sent."""

    @property
    def pinned(self) -> bool:
        """Whether the suite's own values held: temperature 0, top_p 1, the items' caps."""
        return self.temperature == 0 and self.top_p == 1 and self.output_cap_tokens is None


class SuiteCost(Record):
    """What the run cost by a price table; an unknown amount is null, never zero."""

    model: float | None
    judge: float | None
    currency: str
    source: str
    date: str
    """Date of the prices."""


class SuiteHeader(Record):
    """What was measured, and under which conditions."""

    version_tag: str
    """`ESAC-AG v1.0, independent implementation esac-ag <version>`."""
    suite_version: str
    harness_version: str
    pool: Pool
    seed_fingerprint: Sha256
    model: str
    agent: str
    """What acted, in words."""
    arm: str | None
    """Id of the instruction bundle that was installed; null for none."""
    judge: str | None
    """The judge actually used; null when nothing was judged. Another name that answered is another judge."""
    judge_pinned: bool
    judge_base_url: str | None = None
    """Where it was asked; null when nothing was judged, and in reports that do not tell."""
    manifest_sha256: Sha256 | None
    decoding: SuiteDecoding
    reasoning: str | None = None
    """Reasoning effort that was asked for: part of the model under test. Null for none."""
    wall_clock_s: Annotated[float, Field(gt=0)] | None = None
    """Longest time of one run of an item; null where no time was kept, and in reports that do not tell."""
    strictly_comparable: bool
    """Whether decoding was as the suite pins it, and no run had less time than the suite gives."""
    canary: str | None
    """In reports of the public pool."""


class SuiteTimes(Record):
    """The only part of a report that differs between two identical runs."""

    started_at: str
    ended_at: str
    ledger_sha256: Sha256 | None = None
    """SHA-256 of the last line of the ledger that the report was made from; null where there is none."""


class ItemCounts(Record):
    """Items, never categories: items = full + partial + none + not run."""

    items: Count
    full: Count
    partial: Count
    none: Count
    not_run: Count


class CategoryRow(Record):
    """One category, raw and as a percentage of its declared allocation."""

    id: Category
    title: str
    points: float
    earned: float | None
    """Null when no item ran; a lower bound when not every item did."""
    percent: float | None
    counts: ItemCounts
    passed: bool | None
    """Null when not every item ran."""


class CheckRow(Record):
    """One check of a run, or one criterion of a judgment."""

    id: str
    share: float
    """Its part of the item, 0 to 1."""
    fraction: Fraction
    why: str | None
    """Null in held-out reports."""


class CallRow(Record):
    """One call of the log."""

    index: Count
    tool: str | None
    """Null in held-out reports."""
    arguments: str | None
    """JSON text; null in held-out reports."""
    ok: bool
    error: str | None
    """Code of an error reply; null also in held-out reports, where `ok` tells it."""
    changed_state: bool


class JudgmentRow(Record):
    """One judgment of one response."""

    observation: Fraction
    """Fraction of the item by this judgment, deterministic checks included."""
    criteria: tuple[CheckRow, ...]


class RunRow(Record):
    """One run of an item."""

    end: RunEnd
    fraction: Fraction
    """Mean over its judgments, where there are any."""
    checks: tuple[CheckRow, ...]
    judgments: tuple[JudgmentRow, ...]
    calls: tuple[CallRow, ...]
    facts: ActionFacts
    levels: RunLevels | None
    """Null when the item is not eligible."""
    tokens: Tokens
    final_text: str | None
    """Null in held-out reports."""


class ItemRow(Record):
    """One item of the bank, whether it ran or not."""

    id: str
    category: Category
    title: str
    measures: str
    judged: bool
    points: float
    earned: float | None
    """Null when it did not run."""
    fraction: Fraction | None
    standing: Standing
    turns_cap: int
    output_cap_tokens: int
    """The item's own cap per model call."""
    eligible: bool
    """Whether it counts for the efficiency modifier."""
    action_share: Fraction | None
    """Its part of the mean; 0 when it was not completed, null when it did not run or is not eligible."""
    token_share: Fraction | None
    """Likewise; null also when its tokens are unknown."""
    spread: Spread | None
    retries: Count
    stopped: Count = 0
    """Launches that a person stopped or that were cut off; each was played again, or will be."""
    runs: tuple[RunRow, ...]


class SuiteUsage(Record):
    """Tokens of all runs; null when a run's are unknown."""

    input_tokens: Count | None
    output_tokens: Count | None
    runs: Count
    runs_known: Count
    judge: Tokens


class SuiteView(Record):
    """Everything that a report of a suite run shows."""

    format_version: Literal[1]
    header: SuiteHeader
    decision: Decision
    total: Total
    out_of: int
    notices: tuple[str, ...]
    """What a reader must know beside the numbers."""
    categories: tuple[CategoryRow, ...]
    modifier: Modifier
    counts: ItemCounts
    usage: SuiteUsage
    cost: SuiteCost | None
    """Null when no prices are known."""
    retries: Count
    """Requests repeated after failures of the infrastructure; they are no part of any score."""
    stopped: Count = 0
    """Launches that a person stopped or that were cut off, of all items; none of them is a retry."""
    items: tuple[ItemRow, ...]
    times: SuiteTimes
