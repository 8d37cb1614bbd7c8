"""Judging a run manifest of format_version 1, as the study's own validator does.

The verdict (any error, or none) is the same as there, for manifests written by others: lenient where it is
lenient, and an error where it gives up. What we add beyond it is a warning, never an error. Keys that it
does not read are not required.
"""

from __future__ import annotations

from collections.abc import Hashable

from pydantic import JsonValue

from esac_ag.manifest.collector import Collector, report_placeholders
from esac_ag.manifest.findings import Finding, PathPart, shown, shown_at
from esac_ag.manifest.plan import MINIMUM_TASKS, NEUTRAL, Phase, Status
from esac_ag.manifest.version1_files import Fault, Version1Files
from esac_ag.manifest.version1_tasks import judge_task

PHASES = frozenset(phase.value for phase in Phase)
ISOLATION_FLAGS = (
    "fresh_process_per_run",
    "isolated_config_per_arm",
    "private_material_unreadable",
    "isolation_probe_passed",
)
DESCRIPTIVE_KEYS = ("study_id", "model", "harness", "isolation", "repetitions", "policies")
EDIT = "Correct the manifest."


def judge_version1(data: JsonValue, files: Version1Files, *, file: str, strict: bool) -> list[Finding]:
    """All findings of a version 1 manifest and of the files that it names."""
    out = Collector(file, strict)
    if not isinstance(data, dict):
        out.error((), "not-an-object", "The manifest is not an object.", "an object", shown(data), EDIT)
        return out.findings
    _judge_version(data, out)
    _judge_arms(data, files, out)
    _judge_phase_and_tasks(data, files, out)
    _judge_isolation(data, out)
    _judge_status(data, out)
    report_placeholders(data, out)
    for key in DESCRIPTIVE_KEYS:
        if key not in data:
            out.warn((), "missing-key", f"The key `{key}` is missing.", key, "nothing", f"Add `{key}`.")
    return out.findings


def _judge_version(data: dict[str, JsonValue], out: Collector) -> None:
    version = data.get("format_version")
    at = ("format_version",)
    if version != 1:
        what = "The format version is not one that is known."
        out.error(
            at,
            "format-version",
            what,
            "1 or 2",
            shown_at(data, "format_version"),
            "Write 1 or 2, as a number.",
        )
    elif type(version) is not int:
        out.warn(at, "format-version", "The format version is no integer.", "1", shown(version), "Write 1.")


def _judge_arms(data: dict[str, JsonValue], files: Version1Files, out: Collector) -> None:
    arms = data.get("arms")
    if not isinstance(arms, list):
        out.error(
            ("arms",), "type", "The arms are not a list.", "a list of arms", shown_at(data, "arms"), EDIT
        )
        return
    ids: set[Hashable] = set()
    for index, arm in enumerate(arms):
        at = ("arms", index)
        if not isinstance(arm, dict):
            out.error(at, "type", "An arm is not an object.", "an object", shown(arm), EDIT)
            continue
        arm_id = arm.get("id")
        if isinstance(arm_id, dict | list):
            out.error((*at, "id"), "type", "An arm's id is no text.", "text", shown(arm_id), EDIT)
            continue
        if not isinstance(arm_id, str):
            out.warn((*at, "id"), "type", "An arm's id is no text.", "text", shown(arm_id), EDIT)
        if arm_id in ids:
            out.error(
                (*at, "id"), "duplicate-arm", "Two arms have one id.", "unique ids", shown(arm_id), EDIT
            )
        ids.add(arm_id)
        _judge_arm(arm, at, files, out)
    if NEUTRAL not in ids:
        out.error(
            ("arms",), "no-neutral", "The control arm is missing.", "an arm `neutral`", shown(arms), "Add it."
        )
    if len(ids) < 2:  # noqa: PLR2004  (the control and another)
        what = "There is no arm beside the control."
        out.error(("arms",), "too-few-arms", what, "at least two arms", shown(arms), "Add the arm to test.")


def _judge_arm(
    arm: dict[str, JsonValue], at: tuple[PathPart, ...], files: Version1Files, out: Collector
) -> None:
    bundle, listed = arm.get("bundle"), arm.get("files")
    if arm.get("id") == NEUTRAL:
        if bundle is not None:
            what = "The control arm has a bundle."
            out.error((*at, "bundle"), "neutral-bundle", what, "null", shown(bundle), "Write null.")
        if listed != []:
            what = "The control arm lists files."
            out.error((*at, "files"), "neutral-bundle", what, "an empty list", shown(listed), "Write [].")
        return
    if not isinstance(bundle, str) or not bundle:
        what = "The arm names no bundle."
        out.error((*at, "bundle"), "no-bundle", what, "a folder's path", shown(bundle), "Name its folder.")
        return
    present = files.bundle_files(bundle)
    if isinstance(present, Fault):
        what = f"The bundle cannot be read: {present.reason}."
        remedy = "Restore the folder, or correct the path (it is relative to the manifest's folder)."
        out.error((*at, "bundle"), f"bundle-{present.code}", what, "a folder", shown(bundle), remedy)
        return
    out.findings.extend(files.bundle_notes(bundle))
    if not isinstance(listed, list) or not listed:
        what = "The arm does not list its bundle's files."
        out.error((*at, "files"), "no-inventory", what, "a list of path and sha256", shown(listed), EDIT)
        return
    named = _judge_inventory(bundle, listed, (*at, "files"), files, out)
    for path in sorted(present - named):
        what = "A file of the bundle is not listed."
        remedy = "Remove the file, or freeze the bundle again under a new study id."
        out.error((*at, "files"), "unlisted-file", what, "an entry for every file", ascii(path), remedy)


def _judge_inventory(
    bundle: str, listed: list[JsonValue], at: tuple[PathPart, ...], files: Version1Files, out: Collector
) -> set[str]:
    named: set[str] = set()
    for index, item in enumerate(listed):
        here = (*at, index)
        path = item.get("path") if isinstance(item, dict) else None
        if not isinstance(item, dict) or not isinstance(path, str):
            what = "An entry of the inventory names no path."
            out.error(here, "inventory-entry", what, "an object with path and sha256", shown(item), EDIT)
            continue
        path = path.replace("\\", "/")
        named.add(path)
        actual = files.bundle_file_sha256(bundle, path)
        if isinstance(actual, Fault):
            what = f"A listed file cannot be used: {actual.reason}."
            remedy = "Restore the file, or correct the path."
            out.error(
                (*here, "path"), f"file-{actual.code}", what, "a file in the bundle", shown(path), remedy
            )
        elif actual != item.get("sha256"):
            what = f"The hash of {path} differs."
            remedy = "Restore the frozen file, or freeze the bundle again under a new study id."
            out.error(
                (*here, "sha256"), "hash-mismatch", what, shown(item.get("sha256")), shown(actual), remedy
            )
    return named


def _judge_phase_and_tasks(data: dict[str, JsonValue], files: Version1Files, out: Collector) -> None:
    phase, tasks = data.get("phase"), data.get("tasks")
    known = phase if isinstance(phase, str) and phase in PHASES else None
    if known is None:
        out.error(
            ("phase",),
            "phase",
            "The phase is unknown.",
            "one of " + ", ".join(sorted(PHASES)),
            shown(phase),
            EDIT,
        )
    if not isinstance(tasks, list):
        out.error(
            ("tasks",), "type", "The tasks are not a list.", "a list of tasks", shown_at(data, "tasks"), EDIT
        )
        return
    # An unknown phase needs one task, so that an empty list is told of as well.
    minimum = MINIMUM_TASKS[Phase(known)] if known else 1
    if len(tasks) < minimum:
        what = f"There are fewer tasks than the phase {known or ''} needs.".replace("  ", " ")
        out.unready(("tasks",), "too-few-tasks", what, f"at least {minimum}", str(len(tasks)), "Add tasks.")
    seen: set[str] = set()
    for index, task in enumerate(tasks):
        task_id = task.get("id") if isinstance(task, dict) else None
        if not isinstance(task, dict) or not isinstance(task_id, str):
            what = "A task is no object with an id."
            out.error(("tasks", index), "type", what, "an object with an id", shown(task), EDIT)
            continue
        if task_id in seen:
            at = ("tasks", index, "id")
            out.error(at, "duplicate-task", "Two tasks have one id.", "unique ids", shown(task_id), EDIT)
        seen.add(task_id)
        judge_task(task, task_id, ("tasks", index), files, out)


def _judge_isolation(data: dict[str, JsonValue], out: Collector) -> None:
    isolation = data.get("isolation", {})
    if not isinstance(isolation, dict):
        what = "The isolation flags are not an object."
        out.error(("isolation",), "type", what, "an object", shown(isolation), EDIT)
        return
    for flag in ISOLATION_FLAGS:
        if isolation.get(flag) is not True:
            what = f"`{flag}` is not proved."
            found = shown_at(isolation, flag)
            remedy = "Probe the isolation first, then write true."
            out.unready(("isolation", flag), "isolation", what, "true", found, remedy)


def _judge_status(data: dict[str, JsonValue], out: Collector) -> None:
    if data.get("status") != Status.FROZEN.value:
        remedy = "Freeze the manifest before a scored run."
        out.unready(
            ("status",), "status", "The plan is not frozen.", '"frozen"', shown_at(data, "status"), remedy
        )
