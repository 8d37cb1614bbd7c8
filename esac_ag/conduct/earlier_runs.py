"""What earlier studies of the same agent and model measured, for the estimate of the next one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from esac_ag.conduct.collect import StudyRecords, read_study
from esac_ag.errors import HarnessError
from esac_ag.manifest.plan import Manifest
from esac_ag.record import Record


class EarlierRuns(Record):
    """Means over graded runs of earlier studies."""

    studies: tuple[str, ...]
    runs: int
    run_s: float
    """Mean seconds of a run with its grading."""
    run_cost: float | None
    """Mean cost of a run; null where it is unknown, or was reckoned by other prices."""


def earlier_runs(manifest: Manifest, results: Path) -> EarlierRuns | None:
    """What the runs in a folder of results measured with this agent and model; none when there are none.

    Studies that cannot be read are passed over: they only help to estimate.
    """
    studies, seconds, costs = [], list[float](), list[float | None]()
    for study in _alike(manifest, results):
        rows = list(_measured(study))
        if not rows:
            continue
        studies.append(study.manifest.study_id)
        same_prices = study.manifest.prices == manifest.prices
        seconds += [run_s for run_s, _ in rows]
        costs += [cost if same_prices else None for _, cost in rows]
    if not seconds:
        return None
    known = [cost for cost in costs if cost is not None]
    return EarlierRuns(
        studies=tuple(studies),
        runs=len(seconds),
        run_s=sum(seconds) / len(seconds),
        run_cost=sum(known) / len(known) if len(known) == len(costs) else None,
    )


def _alike(manifest: Manifest, results: Path) -> Iterator[StudyRecords]:
    for path in sorted(results.glob("*/ledger.jsonl")):
        try:
            study = read_study(path.parent)
        except (HarnessError, OSError):
            continue
        if _who(study.manifest) == _who(manifest):
            yield study


def _who(manifest: Manifest) -> tuple[str, object, str, str | None]:
    agent = manifest.agent
    return agent.kind, agent.settings.get("agent"), manifest.model.name, manifest.model.reasoning


def _measured(study: StudyRecords) -> Iterator[tuple[float, float | None]]:
    """Seconds and cost of each run that is graded."""
    for attempt_id, grading in study.gradings.items():
        attempt = study.attempts.get(attempt_id)
        if attempt is not None:
            took = datetime.fromisoformat(attempt.ended_at) - datetime.fromisoformat(attempt.started_at)
            yield took.total_seconds() + grading.duration_s, attempt.costs.cost
