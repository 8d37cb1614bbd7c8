"""Judging a draft of a version 2 manifest: everything that freezing it will need, told at once."""

from __future__ import annotations

import json

from pydantic import JsonValue, ValidationError

from esac_ag.manifest.collector import Collector, report_placeholders
from esac_ag.manifest.draft import Draft
from esac_ag.manifest.findings import Finding, PathPart
from esac_ag.manifest.plan import MINIMUM_TASKS, NEUTRAL
from esac_ag.manifest.schema import report_schema_faults, schema_of
from esac_ag.manifest.soundness import report_unsound
from esac_ag.manifest.version1_files import Fault
from esac_ag.manifest.version2_files import Version2Files

SEALED_KEYS = frozenset({"harness", "images", "schedule"})
"""Keys that only freezing writes; a manifest that has one is judged as a sealed one."""

EDIT = "Correct the draft."


def is_draft(data: dict[str, JsonValue]) -> bool:
    """Whether a version 2 manifest is one that a person wrote and nobody froze."""
    return not SEALED_KEYS.intersection(data)


def judge_draft(
    data: dict[str, JsonValue], files: Version2Files, *, file: str, strict: bool
) -> list[Finding]:
    """All findings of a draft; under `strict` being a draft is one of them."""
    out = Collector(file, strict)
    if report_unsound(data, out):
        return out.findings
    report_schema_faults(data, schema_of(Draft, "draft-v2"), out)
    report_placeholders(data, out)
    remedy = "Freeze it: esac-ag freeze DRAFT -o FROZEN"
    out.unready(("status",), "status", "The plan is a draft.", '"frozen"', '"draft"', remedy)
    try:
        draft = Draft.model_validate_json(json.dumps(data))
    except ValidationError as error:
        if not out.findings:
            out.error((), "value", "The draft is malformed.", "a draft", str(error), EDIT)
        return out.findings
    _judge_arms(draft, files, out)
    _judge_tasks(draft, files, out)
    return out.findings


def _judge_arms(draft: Draft, files: Version2Files, out: Collector) -> None:
    ids = [arm.id for arm in draft.arms]
    for index, arm in enumerate(draft.arms):
        at: tuple[PathPart, ...] = ("arms", index, "bundle")
        if arm.id in ids[:index]:
            out.error(
                ("arms", index, "id"), "duplicate-arm", "Two arms have one id.", "unique ids", arm.id, EDIT
            )
        if arm.id == NEUTRAL:
            if arm.bundle is not None:
                what = "The control arm must have no bundle."
                out.error(at, "neutral-bundle", what, "null", arm.bundle, EDIT)
        elif arm.bundle is None:
            remedy = "Freeze one: esac-ag arm freeze DIR --id ID"
            out.error(at, "no-bundle", "The arm names no bundle.", "a folder", "null", remedy)
        elif isinstance(facts := files.bundle(arm.bundle), Fault):
            what = f"The bundle cannot be read: {facts.reason}."
            out.error(at, f"bundle-{facts.code}", what, "a folder", arm.bundle, EDIT)
        else:
            out.findings.extend(facts.findings)
    if NEUTRAL not in ids:
        what = "The control arm is missing."
        out.error(("arms",), "no-neutral", what, f"an arm `{NEUTRAL}`", ", ".join(ids), EDIT)
    pair = draft.analysis.primary_comparison
    for arm_id in (pair.arm, pair.control) if pair else ():
        if arm_id not in ids:
            what = "The primary comparison names an arm that is not there."
            at = ("analysis", "primary_comparison")
            out.error(at, "comparison", what, "one of " + ", ".join(ids), arm_id, EDIT)


def _judge_tasks(draft: Draft, files: Version2Files, out: Collector) -> None:
    ids = [task.id for task in draft.tasks]
    for index, task in enumerate(draft.tasks):
        at = ("tasks", index)
        if task.id in ids[:index]:
            out.error((*at, "id"), "duplicate-task", "Two tasks have one id.", "unique ids", task.id, EDIT)
        for name, fault in (
            ("task package", files.task(task.manifest or default_task_path(task.id))),
            ("grader package", files.grader(task.id)),
        ):
            if isinstance(fault, Fault):
                what = f"The {name} cannot be used: {fault.reason}"
                out.error(
                    at, f"task-{fault.code}", what, f"a {name}", task.id, "Write it, or correct the id."
                )
    minimum = MINIMUM_TASKS[draft.phase]
    if len(ids) < minimum:
        what = f"There are fewer tasks than the phase {draft.phase} needs."
        out.unready(("tasks",), "too-few-tasks", what, f"at least {minimum}", str(len(ids)), "Add tasks.")


def default_task_path(task_id: str) -> str:
    """Where a draft's task lies unless it says so: the workspace's `tasks/` beside `manifests/`."""
    return f"../tasks/{task_id}/task.json"
