"""What a sealed study will take: at most by its limits, and about by what runs took before."""

from __future__ import annotations

from pathlib import Path

from esac_ag.conduct.earlier_runs import EarlierRuns, earlier_runs
from esac_ag.conduct.opening import load_manifest
from esac_ag.record import Record
from esac_ag.rooms.workspace import Workspace
from esac_ag.schedule import Plan, make_plan


class Forecast(Record):
    """What a sealed study will take, without retries."""

    bound: Plan
    """By its limits."""
    expected: Plan | None
    """By what was measured; null when nothing was."""
    earlier: EarlierRuns | None
    """Earlier runs of the same agent and model, if there are any."""
    run_s: float | None = None
    """Seconds of one run that somebody told: they come before those of earlier runs."""
    run_cost: float | None = None
    """Cost of one run that somebody told: it comes before that of earlier runs."""


def forecast(
    sealed: Path,
    *,
    workspace: Workspace,
    results: Path,
    concurrency: int,
    run_s: float | None = None,
    run_cost: float | None = None,
) -> Forecast:
    """What a sealed study will take.

    Args:
        sealed: its manifest.
        workspace: where its tasks and bundles lie.
        results: the folder with earlier studies.
        concurrency: runs at the same time.
        run_s: measured seconds of one run with its grading; by default the mean of earlier runs.
        run_cost: measured cost of one run; by default the mean of earlier runs.

    Raises:
        InputRefused: the manifest does not hold.
    """
    manifest = load_manifest(sealed, workspace=workspace)
    earlier = earlier_runs(manifest, results)
    expected = None
    if earlier is not None or run_s is not None or run_cost is not None:
        expected = make_plan(
            manifest,
            concurrency=concurrency,
            run_s=earlier.run_s if run_s is None and earlier else run_s,
            run_cost=earlier.run_cost if run_cost is None and earlier else run_cost,
        )
    bound = make_plan(manifest, concurrency=concurrency)
    return Forecast(bound=bound, expected=expected, earlier=earlier, run_s=run_s, run_cost=run_cost)
