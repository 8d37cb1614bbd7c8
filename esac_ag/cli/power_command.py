"""`esac-ag power`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from esac_ag.cli.place import JsonOption, print_json, stdout

if TYPE_CHECKING:
    from esac_ag.conduct.power_plan import PlannedDesign
    from esac_ag.manifest.plan import Interval
    from esac_ag.statistics.simulation import PowerDesign

USUAL_TASKS, USUAL_REPETITIONS, USUAL_THRESHOLD = 12, 3, 5.0
USUAL_REPLICATES = 999
"""Of one interval: a plan's ten thousand would take ten times as long and change a share by a percent."""


class ShapeName(StrEnum):
    """Shapes of effects, without importing the statistics."""

    NORMAL = "normal"
    SKEWED = "skewed"
    LUMPY = "lumpy"


def power(
    *,
    plan: Annotated[
        Path | None,
        typer.Option(
            "--manifest",
            "--draft",
            help="A draft or manifest to take rules, families, sizes and analysis from.",
            show_default=False,
        ),
    ] = None,
    tasks: Annotated[
        int | None,
        typer.Option(
            "--tasks",
            min=2,
            max=10_000,
            help="Paired tasks; 12 unless a plan tells them.",
            show_default=False,
        ),
    ] = None,
    repetitions: Annotated[
        int | None,
        typer.Option(
            "-k",
            "--repetitions",
            min=1,
            max=1000,
            help="Runs of a task under each arm; 3 unless a plan tells them.",
            show_default=False,
        ),
    ] = None,
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
        int | None,
        typer.Option(
            "--reviewers",
            min=1,
            max=100,
            help="Reviewers whose scores are averaged; 2 unless a plan tells them.",
            show_default=False,
        ),
    ] = None,
    dimension_sd: Annotated[
        float,
        typer.Option("--dimension-sd", min=0, max=100, help="SD of a run's dimensions about its score."),
    ] = 10.0,
    critical: Annotated[
        float,
        typer.Option("--critical", min=0, max=1, help="Chance of a critical failure in a run of the arm."),
    ] = 0.0,
    control_critical: Annotated[
        float,
        typer.Option("--control-critical", min=0, max=1, help="The same in a run of the control."),
    ] = 0.0,
    cost_ratio: Annotated[
        float,
        typer.Option("--cost-ratio", min=0.01, max=100, help="True costs of the arm to the control's."),
    ] = 1.0,
    shape: Annotated[
        ShapeName, typer.Option("--shape", help="How the effect differs between tasks.")
    ] = ShapeName.NORMAL,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            min=0.1,
            max=100,
            help="Practical improvement, in points; 5 unless a plan tells it.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option("--method", help="Interval method, as in a manifest.", show_default=False),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(
            "--confidence",
            min=0.501,
            max=0.999,
            help="Of the intervals; 0.95 unless a plan tells it.",
            show_default=False,
        ),
    ] = None,
    replicates: Annotated[
        int, typer.Option("--replicates", min=100, max=1_000_000, help="Resamples of one interval.")
    ] = USUAL_REPLICATES,
    studies: Annotated[
        int, typer.Option("--studies", min=1, max=100_000, help="Simulated studies for each effect.")
    ] = 1000,
    seed: Annotated[str, typer.Option("--seed", help="Of everything that is drawn.")] = "power",
    study: Annotated[
        Path | None,
        typer.Option("--from", help="A study's folder to take the spreads from.", show_default=False),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Simulate a design before it is sealed: power, width, and how often its rules decide wrongly."""
    from esac_ag.cli.power_rendering import print_power
    from esac_ag.conduct.power import calibrated_from, power_report, spreads_of
    from esac_ag.conduct.power_plan import DecisionPlan, planned_design
    from esac_ag.manifest.plan import ReviewPlan

    planned = planned_design(plan) if plan else None
    calibration = calibrated_from(study) if study else None
    spreads = spreads_of(calibration, task_sd, run_sd)
    usual = planned.decision if planned else DecisionPlan.usual(tasks or USUAL_TASKS)
    decided = usual.of_size(tasks or len(usual.places))
    limit = threshold or (planned.threshold_points if planned else USUAL_THRESHOLD)
    review = planned.review if planned else ReviewPlan()
    effects = tuple(effect or (0.0, limit, 2 * limit))
    design = _design(
        shape,
        tasks=len(decided.places),
        repetitions=repetitions or (planned.repetitions if planned else USUAL_REPETITIONS),
        effect_points=effects[0],
        task_sd_points=spreads.task_sd_points,
        run_sd_points=spreads.run_sd_points,
        reviewer_sd_points=reviewer_sd,
        reviewers=reviewers or review.reviewers,
        threshold_points=limit,
        disagreement=review.disagreement,
        dimension_sd_points=dimension_sd,
        critical_chance=critical,
        control_critical_chance=control_critical,
        cost_ratio=cost_ratio,
    )
    found = power_report(
        design,
        effects,
        _interval(planned, method, confidence, replicates, seed),
        studies,
        plan=decided,
        calibration=calibration,
        notices=(*(planned.notices if planned else ()), *spreads.notices),
    )
    if json:
        print_json(found)
    else:
        print_power(found, stdout())


def _design(shape: ShapeName, **values: object) -> PowerDesign:
    from esac_ag.statistics.simulation import EffectShape, PowerDesign

    return PowerDesign.model_validate({**values, "shape": EffectShape(shape.value)})


def _interval(
    planned: PlannedDesign | None, method: str | None, confidence: float | None, replicates: int, seed: str
) -> Interval:
    from esac_ag.manifest.plan import Interval, IntervalMethod

    plain = planned.interval if planned else Interval(seed=seed)
    names = [item.value for item in IntervalMethod]
    if method is not None and method not in names:
        raise typer.BadParameter(f"{method} is none of {', '.join(names)}", param_hint="--method")
    return Interval(
        method=plain.method if method is None else IntervalMethod(method),
        confidence=confidence or plain.confidence,
        replicates=replicates,
        seed=seed,
    )
