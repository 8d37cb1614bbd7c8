"""Judging a run manifest of format_version 2: schema, then meaning; digests are in `version2_digests`.

All findings come in one pass: parts that are well formed are judged even when others are not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from pydantic import BaseModel, JsonValue, ValidationError

from esac_ag.manifest.agent_rules import judge_network, judge_tool_calls
from esac_ag.manifest.arms_rules import judge_arms
from esac_ag.manifest.collector import Collector, report_placeholders
from esac_ag.manifest.findings import Finding, shown
from esac_ag.manifest.plan import MINIMUM_TASKS, Manifest, Status
from esac_ag.manifest.prices_rules import judge_prices
from esac_ag.manifest.probe_rules import judge_isolation
from esac_ag.manifest.schema import report_schema_faults, schema_of
from esac_ag.manifest.sections import Sections
from esac_ag.manifest.soundness import report_unsound
from esac_ag.manifest.version2_digests import judge_digests
from esac_ag.manifest.version2_files import Version2Files

ScheduleDigest = Callable[[str, Sequence[str], Sequence[str], int], str]
"""Seed, task ids, arm ids, repetitions: the digest of the schedule that follows from them."""

EDIT = "Correct the draft and freeze it again under a new study id."
MAX_CELLS = 200_000
"""Runs that a schedule is derived for; a larger one would only use up the reader's machine."""


def judge_version2(
    data: dict[str, JsonValue],
    files: Version2Files,
    schedule_sha256: ScheduleDigest,
    *,
    file: str,
    strict: bool,
) -> list[Finding]:
    """All findings of a sealed version 2 manifest and of what it sealed."""
    out = Collector(file, strict)
    if report_unsound(data, out):
        return out.findings
    if not report_schema_faults(data, schema_of(Manifest, "manifest-v2"), out):
        report_record_faults(data, Manifest, out)
    parts = Sections.of(data)
    if parts.status is Status.DRAFT:  # any other word is refused by the schema
        remedy = "Freeze it: esac-ag freeze DRAFT -o FROZEN"
        out.unready(("status",), "status", "The plan is not frozen.", '"frozen"', '"draft"', remedy)
    report_placeholders(data, out)
    if isinstance(data.get("arms"), list):
        judge_arms(parts.arms, out)
    if isinstance(data.get("tasks"), list):
        _judge_tasks(parts, out)
    _judge_meaning(parts, schedule_sha256, out)
    judge_isolation(parts, files, out)
    judge_digests(parts, files, out)
    return out.findings


def report_record_faults(
    data: dict[str, JsonValue], kind: type[BaseModel], out: Collector, remedy: str = EDIT
) -> None:
    """Report what the record refuses although its schema allows it."""
    try:
        kind.model_validate_json(json.dumps(data))
    except ValidationError as error:
        for fault in error.errors():
            what = "The value is not one that the record takes."
            out.error(fault["loc"], "value", what, fault["msg"], shown(fault["input"]), remedy)


def _judge_meaning(parts: Sections, schedule_sha256: ScheduleDigest, out: Collector) -> None:
    _judge_comparison(parts, out)
    if parts.agent is not None and parts.network is not None:
        judge_network(parts.agent.kind, parts.network, out)
    if parts.agent is not None and parts.limits is not None:
        judge_tool_calls(parts.agent.kind, parts.limits, out)
    _judge_schedule(parts, schedule_sha256, out)
    judge_revision(parts, out)
    judge_prices(parts, out)


def _judge_tasks(parts: Sections, out: Collector) -> None:
    seen: set[str] = set()
    for index, task in enumerate(parts.tasks):
        if task is not None and task.id in seen:
            out.error(
                ("tasks", index, "id"),
                "duplicate-task",
                "Two tasks have one id.",
                "unique ids",
                task.id,
                EDIT,
            )
        seen.update([task.id] if task else [])
    minimum = MINIMUM_TASKS[parts.phase] if parts.phase else 1
    if len(parts.tasks) < minimum:
        what = f"There are fewer tasks than the phase {parts.phase or ''} needs.".replace("  ", " ")
        found = str(len(parts.tasks))
        out.unready(("tasks",), "too-few-tasks", what, f"at least {minimum}", found, "Add tasks.")


def _judge_comparison(parts: Sections, out: Collector) -> None:
    analysis = parts.analysis
    if analysis is None:
        return
    at = ("analysis", "primary_comparison")
    pair = analysis.primary_comparison
    ids = [arm.id for arm in parts.arms if arm]
    for key, arm in (("arm", pair.arm), ("control", pair.control)):
        if arm not in ids:
            what = "The primary comparison names an arm that is not there."
            out.error((*at, key), "comparison", what, "one of " + ", ".join(ids), arm, EDIT)
    if pair.arm == pair.control:
        what = "The primary comparison compares an arm with itself."
        out.error(at, "comparison", what, "two arms", pair.arm, EDIT)
    policies = parts.policies
    if policies and policies.practical_improvement_points != analysis.threshold_points:
        what = "Policy and analysis name different thresholds."
        found = str(analysis.threshold_points)
        expected = f"{policies.practical_improvement_points}, as the policies say"
        out.warn(("analysis", "threshold_points"), "threshold", what, expected, found, EDIT)


def _judge_schedule(parts: Sections, schedule_sha256: ScheduleDigest, out: Collector) -> None:
    tasks = [task.id for task in parts.tasks if task]
    arms = [arm.id for arm in parts.arms if arm]
    whole = len(tasks) == len(parts.tasks) and len(arms) == len(parts.arms)
    distinct = len(set(tasks)) == len(tasks) and len(set(arms)) == len(arms)
    if parts.schedule is None or not parts.repetitions or not (whole and distinct and tasks and arms):
        return
    cells = len(tasks) * len(arms) * parts.repetitions
    if cells > MAX_CELLS:
        what = "The plan has more runs than anybody makes."
        out.error(("repetitions",), "too-many-runs", what, f"at most {MAX_CELLS}", str(cells), EDIT)
        return
    derived = schedule_sha256(parts.schedule.seed, tasks, arms, parts.repetitions)
    if derived != parts.schedule.sha256:
        what = "The schedule that follows from the seed is another one."
        out.error(("schedule", "sha256"), "schedule", what, parts.schedule.sha256, derived, EDIT)


def judge_revision(parts: Sections, out: Collector) -> None:
    """Warnings of a harness whose code no commit tells."""
    harness = parts.harness
    if harness is None:
        return
    remedy = "Freeze from a clean checkout if others should be able to find this very code."
    if harness.revision == "unversioned":
        what = "The harness has no revision; its code's digest alone tells which it was."
        out.warn(("harness", "revision"), "revision", what, "a commit", harness.revision, remedy)
    if harness.dirty:
        what = "The harness had changes that are in no commit."
        out.warn(("harness", "dirty"), "revision", what, "false", "true", remedy)
