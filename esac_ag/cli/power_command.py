"""`esac-ag power`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from esac_ag.cli.place import JsonOption, print_json, stdout
from esac_ag.plural import plural

if TYPE_CHECKING:
    from rich.console import Console

    from esac_ag.conduct.power import PowerReport, StudyCalibration
    from esac_ag.manifest.plan import Interval
    from esac_ag.statistics.power import PowerResult, Rate
    from esac_ag.statistics.simulation import PowerDesign

USUAL_SD_POINTS = 10.0
"""Assumed where no study and no option tells a spread."""


class ShapeName(StrEnum):
    """Shapes of effects, without importing the statistics."""

    NORMAL = "normal"
    SKEWED = "skewed"
    LUMPY = "lumpy"


def power(
    *,
    tasks: Annotated[int, typer.Option("--tasks", min=2, max=10_000, help="Paired tasks.")] = 12,
    repetitions: Annotated[
        int, typer.Option("-k", "--repetitions", min=1, max=1000, help="Runs of a task under each arm.")
    ] = 3,
    effect: Annotated[
        list[float] | None,
        typer.Option(
            "--effect",
            min=-100,
            max=100,
            help="True effect in points; may be repeated. By default none, the threshold, and twice it.",
            show_default=False,
        ),
    ] = None,
    task_sd: Annotated[
        float | None,
        typer.Option(
            "--task-sd",
            min=0,
            max=100,
            help="SD of the effect between tasks, in points; 10 unless --from tells it.",
            show_default=False,
        ),
    ] = None,
    run_sd: Annotated[
        float | None,
        typer.Option(
            "--run-sd",
            min=0,
            max=100,
            help="SD between runs of a task, in points; 10 unless --from tells it.",
            show_default=False,
        ),
    ] = None,
    reviewer_sd: Annotated[
        float, typer.Option("--reviewer-sd", min=0, max=100, help="SD of one reviewer's error, in points.")
    ] = 0.0,
    reviewers: Annotated[
        int, typer.Option("--reviewers", min=1, max=100, help="Reviewers whose scores are averaged.")
    ] = 2,
    shape: Annotated[
        ShapeName, typer.Option("--shape", help="How the effect differs between tasks.")
    ] = ShapeName.NORMAL,
    threshold: Annotated[
        float, typer.Option("--threshold", min=0.1, max=100, help="Practical improvement, in points.")
    ] = 5.0,
    method: Annotated[
        str | None,
        typer.Option("--method", help="Interval method, as in a manifest.", show_default=False),
    ] = None,
    confidence: Annotated[
        float, typer.Option("--confidence", min=0.501, max=0.999, help="Of the intervals.")
    ] = 0.95,
    replicates: Annotated[
        int, typer.Option("--replicates", min=100, max=1_000_000, help="Resamples of one interval.")
    ] = 999,
    studies: Annotated[
        int, typer.Option("--studies", min=1, max=100_000, help="Simulated studies for each effect.")
    ] = 500,
    seed: Annotated[str, typer.Option("--seed", help="Of everything that is drawn.")] = "power",
    study: Annotated[
        Path | None,
        typer.Option("--from", help="A study's folder to take the spreads from.", show_default=False),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Simulate a design before it is sealed: power, width, and how often it decides wrongly."""
    from esac_ag.conduct.power import calibrated_from, power_report

    calibration = calibrated_from(study) if study else None
    task_sd_points, run_sd_points = _spreads(calibration, task_sd, run_sd)
    effects = tuple(effect or (0.0, threshold, 2 * threshold))
    design = _design(
        tasks=tasks,
        repetitions=repetitions,
        effect_points=effects[0],
        task_sd_points=task_sd_points,
        run_sd_points=run_sd_points,
        reviewer_sd_points=reviewer_sd,
        reviewers=reviewers,
        shape=shape,
        threshold_points=threshold,
    )
    interval = _interval(method, confidence, replicates, seed)
    found = power_report(design, effects, interval, studies, calibration)
    if json:
        print_json(found)
    else:
        print_power(found, stdout())


def _spreads(
    calibration: StudyCalibration | None, task_sd: float | None, run_sd: float | None
) -> tuple[float, float]:
    from esac_ag.conduct.power import spread
    from esac_ag.statistics.estimates import estimate

    usual = estimate(USUAL_SD_POINTS)
    spreads = calibration.spreads if calibration else None
    return (
        spread(spreads.task_sd_points if spreads else usual, task_sd, "--task-sd"),
        spread(spreads.run_sd_points if spreads else usual, run_sd, "--run-sd"),
    )


def _design(*, shape: ShapeName, **values: float) -> PowerDesign:
    from esac_ag.statistics.simulation import EffectShape, PowerDesign

    return PowerDesign.model_validate({**values, "shape": EffectShape(shape.value)})


def _interval(method: str | None, confidence: float, replicates: int, seed: str) -> Interval:
    from esac_ag.manifest.plan import Interval, IntervalMethod

    plain = Interval(confidence=confidence, replicates=replicates, seed=seed)
    if method is None:
        return plain
    names = [item.value for item in IntervalMethod]
    if method not in names:
        raise typer.BadParameter(f"{method} is none of {', '.join(names)}", param_hint="--method")
    return plain.model_copy(update={"method": IntervalMethod(method)})


def print_power(found: PowerReport, console: Console) -> None:
    """What was assumed, then a line per effect."""
    from rich import box
    from rich.table import Table

    from esac_ag.report.numbers import METHOD_NAMES, percent

    design, first = found.results[0].design, found.results[0]
    for notice in found.notices:
        console.print(notice, style="bold yellow", soft_wrap=True, markup=False)
    origin = f" (from {found.calibration.study_id})" if found.calibration else ""
    console.print(
        f"{plural(design.tasks, 'task')} x {plural(design.repetitions, 'repetition')}, {design.shape} "
        "effects; SD between tasks "
        f"{design.task_sd_points:.1f}, between runs {design.run_sd_points:.1f}{origin}, of a reviewer "
        f"{design.reviewer_sd_points:.1f} ({design.reviewers}); {METHOD_NAMES[first.interval.method]}, "
        f"{percent(first.interval.confidence)}; {first.studies} studies",
        soft_wrap=True,
        markup=False,
    )
    table = Table(box=box.SIMPLE, padding=(0, 1), pad_edge=False)
    for name in ("Effect", "Sign", "Above", "Equiv.", "Width", "Covers", "Wrong", "F.ben.", "F.impr."):
        table.add_column(name, justify="right", no_wrap=True)
    for result in found.results:
        table.add_row(*_cells(result))
    console.print(table)
    console.print(
        "Sign: interval on the true side of zero; Above: above the threshold; Equiv.: within it on both "
        "sides; Width: median, points; Wrong: on the other side of zero; F.ben., F.impr.: above zero, or "
        "above the threshold, though the truth is not.",
        soft_wrap=True,
    )


def _cells(result: PowerResult) -> tuple[str, ...]:
    from esac_ag.report.numbers import maybe_points, signed_points

    def shown(rate: Rate) -> str:
        return f"{100 * rate.share:.1f}%"

    return (
        signed_points(result.true_effect_points),
        *map(shown, (result.excludes_zero, result.above_threshold, result.equivalent)),
        maybe_points(result.width_points),
        *map(shown, (result.coverage, result.wrong_sign, result.false_benefit, result.false_improvement)),
    )
