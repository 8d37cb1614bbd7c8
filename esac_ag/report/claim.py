"""What may be concluded from a report at most."""

from __future__ import annotations

from collections.abc import Mapping

from esac_ag.manifest.package import TaskPackage, Trust
from esac_ag.manifest.plan import AgentKind, Manifest
from esac_ag.report.numbers import METHOD_NAMES, percent
from esac_ag.report.words import SCRIPTED_NOTICE

_CHECKS_ONLY = (
    "Scores are shares of hidden checks. The quality score of a blinded review is another measure; the two "
    "are never mixed, and check scores alone decide nothing."
)
_READ_TOGETHER = (
    "No single significance value is given: read the differences of the single tasks, the interval, the "
    "critical failures and the costs together."
)


def limits_of_claim(manifest: Manifest, tasks: Mapping[str, TaskPackage]) -> tuple[str, ...]:
    """The boundary of the claim, in sentences; the same for every outcome.

    Args:
        manifest: of the study.
        tasks: packages by task id.
    """
    return (
        _boundary(manifest),
        _CHECKS_ONLY,
        *_trust(tasks),
        _unit(manifest),
        _intervals(manifest),
        _READ_TOGETHER,
    )


def _trust(tasks: Mapping[str, TaskPackage]) -> tuple[str, ...]:
    shared = sorted(id_ for id_, task in tasks.items() if task.trust is Trust.SHARED_PROCESS)
    if not shared:
        return ()
    whose = f"Verdicts of {', '.join(shared)} (trust: {Trust.SHARED_PROCESS.value})"
    return (f"{whose} come from a process of the submission's user: a hostile submission could forge them.",)


def _boundary(manifest: Manifest) -> str:
    if manifest.agent.kind is AgentKind.SCRIPTED:
        return f"{SCRIPTED_NOTICE}. What follows would bound the claim if a model had acted."
    return (
        f"At most: these bundles, on these tasks, with {manifest.model.name} {manifest.model.version} under "
        "this harness. Other tasks, models, harnesses and kinds of work need evidence of their own."
    )


def _unit(manifest: Manifest) -> str:
    return (
        "The task is the unit. Repetitions are averaged within a task and make no further tasks (planned: "
        f"{manifest.repetitions} per task and arm)."
    )


def _intervals(manifest: Manifest) -> str:
    interval = manifest.analysis.interval
    return (
        f"Intervals: {METHOD_NAMES[interval.method]}, {percent(interval.confidence)} nominal, "
        f"{interval.replicates:,} replicates, seed {interval.seed}. They treat the tasks as a sample of "
        "tasks of their kind, which a handful of chosen tasks is only roughly. The intervals of families, "
        "contrasts and secondary arms are not adjusted for being many; their sign-flip shares are (Holm)."
    )
