"""A simulated design for people in a terminal, whole at 80 columns: tables are narrow, sentences wrap."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from esac_ag.conduct.power_decisions import DecisionRow, DecisionTable, World
from esac_ag.plural import plural
from esac_ag.report.numbers import METHOD_NAMES, maybe_points, percent, signed_points
from esac_ag.study.decision_records import DecisionOutcome

if TYPE_CHECKING:
    from rich.console import Console

    from esac_ag.conduct.power import PowerReport
    from esac_ag.statistics.power import PowerResult, Rate

_OUTCOME_NAMES = {
    DecisionOutcome.REJECT: "Reject",
    DecisionOutcome.BENEFIT: "Benefit",
    DecisionOutcome.INCONCLUSIVE: "Inconclusive",
    DecisionOutcome.NEUTRAL: "Neutral",
}


def print_power(found: PowerReport, console: Console) -> None:
    """What was assumed, a line per effect, and what the decision rules make of each world."""
    for notice in found.notices:
        console.print(notice, style="bold yellow", markup=False)
    console.print(_assumptions(found), markup=False)
    console.print(_intervals(found.results))
    console.print(
        "Of the intervals. Sign: on the true side of zero; Above: above the threshold; Equiv.: within it on "
        "both sides; Width: median, points; Covers: hold the truth; Wrong: on the other side of zero; "
        "F.ben., F.impr.: above zero, or above the threshold, though the truth is not."
    )
    console.print()
    _print_decisions(found.decisions, found.results[0].design.task_sd_points, console)


def _assumptions(found: PowerReport) -> str:
    first = found.results[0]
    design = first.design
    origin = f" (from {found.calibration.study_id})" if found.calibration else ""
    reviewers = f"of a reviewer {design.reviewer_sd_points:.1f} ({plural(design.reviewers, 'reviewer')}"
    if design.disagreement is not None:
        reviewers += ", then an adjudicator where they are materially apart"
    return (
        f"{plural(design.tasks, 'task')} x {plural(design.repetitions, 'repetition')}, {design.shape} "
        "effects; SD between tasks "
        f"{design.task_sd_points:.1f}, between runs {design.run_sd_points:.1f}{origin}, {reviewers}), of "
        f"dimensions {design.dimension_sd_points:.1f}; critical failures in "
        f"{percent(design.critical_chance)} of the arm's runs, "
        f"{percent(design.control_critical_chance)} of the control's; costs "
        f"{design.cost_ratio:g} to 1; {METHOD_NAMES[first.interval.method]}, "
        f"{percent(first.interval.confidence)}; {first.studies} studies per effect"
    )


def _narrow(*names: str) -> Table:
    table = Table(box=box.SIMPLE, padding=(0, 1), pad_edge=False)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _intervals(results: tuple[PowerResult, ...]) -> Table:
    table = _narrow("Effect", "Sign", "Above", "Equiv.", "Width", "Covers", "Wrong", "F.ben.", "F.impr.")
    for result in results:
        table.add_row(*_cells(result))
    return table


def _cells(result: PowerResult) -> tuple[str, ...]:
    def shown(rate: Rate) -> str:
        return f"{100 * rate.share:.1f}%"

    return (
        signed_points(result.true_effect_points),
        *map(shown, (result.excludes_zero, result.above_threshold, result.equivalent)),
        maybe_points(result.width_points),
        *map(shown, (result.coverage, result.wrong_sign, result.false_benefit, result.false_improvement)),
    )


def _print_decisions(found: DecisionTable, task_sd_points: float, console: Console) -> None:
    families = plural(len(found.families), "family", "families")
    console.print(
        f"Decisions by {found.rules_from}, on {families}; % of {found.studies} studies (95 % Monte Carlo "
        "interval):",
        markup=False,
    )
    table = _narrow("Effect", *_OUTCOME_NAMES.values())
    for row in found.rows:
        rates = (_rate(row.outcomes[outcome]) for outcome in _OUTCOME_NAMES)
        table.add_row(signed_points(row.true_effect_points), *rates)
    console.print(table)
    for row in found.rows:
        console.print(_verdict(row), markup=False)
    if task_sd_points:
        console.print(
            "The effect varies between tasks, so some families do lose whatever the mean: a regression that "
            "is found in a family is then often real, although the mean shows none."
        )


def _verdict(row: DecisionRow) -> str:
    """What is right and what is wrong in a world."""
    effect = signed_points(row.true_effect_points)
    match row.world:
        case World.NO_EFFECT:
            start, right = "Without an effect", ""
        case World.GAIN:
            start, right = f"With a gain of {effect}", "power to find a provisional benefit"
        case World.HARM:
            start, right = f"With a harm of {effect}", "rightly rejected"
    parts = ((right, row.right), ("false benefit", row.false_benefit), ("falsely rejected", row.false_reject))
    said = "; ".join(f"{what} {_rate(rate)} %" for what, rate in parts if rate is not None)
    return f"{start}: {said}."


def _rate(rate: Rate) -> str:
    """Percent, with its interval rounded outwards: `2.6 (1-5)`."""
    return f"{100 * rate.share:.1f} ({math.floor(100 * rate.low)}-{math.ceil(100 * rate.high)})"
