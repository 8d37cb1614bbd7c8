"""Facts of studies and attempts as a reader of pages sees them; what is not known is said, never a zero."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from esac_ag.attempt import Costs
from esac_ag.attempt.review_events import ReviewState
from esac_ag.conduct.view_look import ArmLook, StudyLook
from esac_ag.manifest.plan import Manifest, Prices
from esac_ag.plural import plural
from esac_ag.report.costs import value_of
from esac_ag.report.numbers import COST_NAMES, NO_VALUE, UNAVAILABLE, amount
from esac_ag.report.view import CostMeasure

KIB: Final = 1024


def size_words(size_bytes: int | None) -> str:
    """A size as a person reads it."""
    if size_bytes is None:
        return NO_VALUE
    if size_bytes < KIB:
        return f"{size_bytes} B"
    if size_bytes < KIB * KIB:
        return f"{size_bytes / KIB:.1f} KiB"
    return f"{size_bytes / KIB / KIB:.1f} MiB"


def moment(at: str) -> str:
    """A time of a record to the second, as `2026-03-01 10:00:00 UTC`; what is no time stays as it is."""
    try:
        return f"{datetime.fromisoformat(at):%Y-%m-%d %H:%M:%S} UTC" if at.endswith("Z") else at
    except ValueError:
        return at


def seconds_between(start: str, end: str | None) -> str:
    """How long something took; that it is not known where its end was not told."""
    try:
        took = datetime.fromisoformat(end or "") - datetime.fromisoformat(start)
    except ValueError:
        return NO_VALUE
    return f"{took.total_seconds():,.1f} s"


def cost_rows(costs: Costs, prices: Prices | None) -> list[tuple[str, str]]:
    """Every cost by its name; what is not known is unavailable."""
    rows = []
    for measure in CostMeasure:
        value = value_of(costs, measure)
        unit = f" {prices.currency}" if measure is CostMeasure.COST and prices else ""
        rows.append((COST_NAMES[measure], UNAVAILABLE if value is None else _amount(measure, value) + unit))
    return rows


def _amount(measure: CostMeasure, value: float) -> str:
    """A figure of one attempt; counts are whole, as means are not."""
    return f"{value:,}" if isinstance(value, int) else amount(measure, value)


def rest_words(arms: tuple[ArmLook, ...]) -> str:
    """What of a study's cells is not graded, in words; empty where all are."""
    counts = {
        name: sum(getattr(arm, name) for arm in arms)
        for name in ("invalid", "ungraded", "missing", "stopped", "spoiled")
    }
    names = {"spoiled": "launches that do not count"}
    return ", ".join(f"{count} {names.get(name, name)}" for name, count in counts.items() if count)


def review_words(review: ReviewState) -> str:
    """How far a blinded review is, without who reviews; empty where there is none."""
    if review.prepared is None:
        return ""
    if review.unblinded is not None:
        return "reviewed, unblinded"
    locked = sum(name in review.locked for name in review.reviewers)
    return f"blinded review under way: {locked} of {plural(len(review.reviewers), 'reviewer')} locked"


def sealed_rows(look: StudyLook) -> list[tuple[str, str]]:
    """What the plan seals, by its name."""
    plan, sealed = look.plan, look.plan.sealed
    rows = [
        ("kind", f"{plan.kind.value}, {plan.part}"),
        ("model", plan.model),
        ("provider", sealed.model.provider),
        ("agent", plan.agent + (": evidence about no model" if plan.is_scripted else "")),
        ("arms", ", ".join(plan.arms)),
        (f"{plan.unit_word}s", f"{len(plan.units)}: {', '.join(plan.units)}"),
        ("cells", f"{plan.cells_of_arm * len(plan.arms)}, {plan.cells_of_arm} an arm"),
        ("schedule", f"{sealed.schedule.algorithm}, seed {sealed.schedule.seed}"),
        ("harness", sealed.harness.version),
        ("agent image", f"{sealed.images.agent.reference} {sealed.images.agent.digest}"),
        ("grader image", f"{sealed.images.grader.reference} {sealed.images.grader.digest}"),
        ("time of an attempt", f"at most {sealed.limits.wall_clock_s:g} s"),
    ]
    if isinstance(sealed, Manifest):
        compared = sealed.analysis.primary_comparison
        rows += [
            ("primary comparison", f"{compared.arm} against {compared.control}"),
            ("practical threshold", f"{sealed.analysis.threshold_points:g} points"),
        ]
    prices = sealed.prices
    rows.append(
        ("prices", UNAVAILABLE if prices is None else f"{prices.source}, {prices.currency}, {prices.date}")
    )
    return [*rows, ("manifest digest", plan.sha256)]
