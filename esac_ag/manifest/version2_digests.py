"""Comparing what a version 2 manifest sealed with the files at hand."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from esac_ag.canonical import sha256_of
from esac_ag.manifest.collector import Collector
from esac_ag.manifest.findings import PathPart
from esac_ag.manifest.inventory import Difference, difference
from esac_ag.manifest.plan import Arm, BundleFile, TaskReference
from esac_ag.manifest.sections import Sections
from esac_ag.manifest.soundness import report_unsound
from esac_ag.manifest.version1_files import Fault
from esac_ag.manifest.version2_files import GraderFacts, TaskFacts, Version2Files

EDIT = "Correct the draft and freeze it again under a new study id."
RESTORE = "Restore the sealed files, or freeze a new study from the changed ones."


def judge_digests(parts: Sections, files: Version2Files, out: Collector) -> None:
    """Bundles, task packages, graders, proofs and the runner are the sealed ones."""
    for index, arm in enumerate(parts.arms):
        if arm is not None and arm.bundle:
            _judge_bundle(arm, arm.bundle, ("arms", index), files, out)
    for index, task in enumerate(parts.tasks):
        if task is not None:
            _judge_task(task, ("tasks", index), files, out)
            _judge_proof(task, ("tasks", index), files, out)
    _judge_harness(parts, files, out)


def _judge_bundle(
    arm: Arm, bundle: str, at: tuple[PathPart, ...], files: Version2Files, out: Collector
) -> None:
    if not _is_relative(bundle, (*at, "bundle"), out):
        return
    facts = files.bundle(bundle)
    if isinstance(facts, Fault):
        what = f"The bundle cannot be read: {facts.reason}."
        out.error((*at, "bundle"), f"bundle-{facts.code}", what, "a folder", bundle, RESTORE)
        return
    out.findings.extend(facts.findings)
    _report_difference(difference(arm.files, facts.files), arm, facts.files, (*at, "files"), out)
    paths = [file.path for file in arm.files]
    for index, path in enumerate(paths):
        if path in paths[:index]:
            out.error(
                (*at, "files", index, "path"),
                "duplicate-file",
                "A file is listed twice.",
                "once",
                path,
                RESTORE,
            )


def _is_relative(path: str, at: tuple[PathPart, ...], out: Collector) -> bool:
    portable = not (path.startswith("/") or "\\" in path)
    if not portable:
        what = "The path holds on this machine only."
        out.error(at, "absolute-path", what, "a path relative to the manifest, with /", path, EDIT)
    return portable


def _report_difference(
    unlike: Difference, arm: Arm, at_hand: Sequence[BundleFile], at: tuple[PathPart, ...], out: Collector
) -> None:
    index = {file.path: number for number, file in enumerate(arm.files)}
    listed = {file.path: file for file in arm.files}
    now = {file.path: file for file in at_hand}
    for path in unlike.edited:
        expected, found = _told_apart(listed[path], now[path])
        what = f"{path} was edited."
        out.error((*at, index[path], "sha256"), "edited-file", what, expected, found, RESTORE)
    for path in unlike.missing:
        out.error(
            (*at, index[path], "path"), "missing-file", f"{path} is missing.", path, "no such file", RESTORE
        )
    for path in unlike.added:
        what = "A file of the bundle is not listed."
        out.error(at, "added-file", what, "an entry for every file", ascii(path), RESTORE)
    for one, other in unlike.swapped:
        what = f"{one} and {other} hold each other's content."
        out.error((*at, index[one]), "swapped-files", what, listed[one].sha256, listed[other].sha256, RESTORE)


def _told_apart(sealed: BundleFile, now: BundleFile) -> tuple[str, str]:
    """The hashes, with the rules by which they were taken where only these differ."""
    if sealed.sha256 != now.sha256:
        return sealed.sha256, now.sha256
    return f"{sealed.sha256} ({sealed.rule})", f"{now.sha256} ({now.rule})"


def _judge_task(task: TaskReference, at: tuple[PathPart, ...], files: Version2Files, out: Collector) -> None:
    known = _is_relative(task.manifest, (*at, "manifest"), out)
    facts = files.task(task.manifest) if known else Fault("absolute", "its path holds on this machine only")
    if isinstance(facts, Fault):
        what = f"The task package cannot be used: {facts.reason}"
        out.error((*at, "manifest"), f"task-{facts.code}", what, "a task package", task.manifest, RESTORE)
    else:
        _judge_package(task, facts, at, out)
    grader = files.grader(task.id)
    if isinstance(grader, Fault):
        what = f"The grader package cannot be used: {grader.reason}"
        out.error(
            (*at, "private_grader_id"), f"grader-{grader.code}", what, "a grader package", task.id, RESTORE
        )
    else:
        _judge_grader(task, grader, at, out)


def _judge_package(task: TaskReference, facts: TaskFacts, at: tuple[PathPart, ...], out: Collector) -> None:
    inner = out.about(facts.name)
    package = facts.package
    tree, request, grader = "public_tree_sha256", "request_sha256", "private_grader_id"
    rows = (
        (inner, ("task_id",), task.id, package.task_id, "The task package is another task's."),
        (out, (*at, tree), task.public_tree_sha256, facts.snapshot_sha256, "The snapshot changed."),
        (inner, (tree,), package.public_tree_sha256, facts.snapshot_sha256, "The snapshot changed."),
        (out, (*at, request), task.request_sha256, facts.request_sha256, "The request changed."),
        (inner, (grader,), task.private_grader_id, package.private_grader_id, "Another grader is named."),
    )
    for place, path, expected, found, what in rows:
        if expected != found:
            place.error(path, "task-changed", what, expected, found, RESTORE)


def _judge_grader(task: TaskReference, facts: GraderFacts, at: tuple[PathPart, ...], out: Collector) -> None:
    actual = f"{task.id}@{facts.tree_sha256}"
    if task.private_grader_id != actual:
        what = "The grader changed."
        out.error((*at, "private_grader_id"), "grader-changed", what, task.private_grader_id, actual, RESTORE)


def _judge_proof(task: TaskReference, at: tuple[PathPart, ...], files: Version2Files, out: Collector) -> None:
    proof = files.proof(task.id)
    path = (*at, "proof_sha256")
    if isinstance(proof, Fault):
        what = f"The record that proved the task cannot be used: {proof.reason}."
        out.unready(path, f"proof-{proof.code}", what, "the record made at freeze", task.id, RESTORE)
    elif report_unsound(proof, out.about(f"proof of {task.id}")):
        return
    elif (digest := _digest(proof)) != task.proof_sha256:
        what = "The record that proved the task is not the sealed one."
        out.error(path, "proof-changed", what, task.proof_sha256, digest, RESTORE)


def _digest(value: JsonValue) -> str:
    return sha256_of(value)


def _judge_harness(parts: Sections, files: Version2Files, out: Collector) -> None:
    harness = parts.harness
    if harness is None:
        return
    ids = tuple(task.id for task in parts.tasks if task)
    pairs = (
        ("runner_sha256", harness.runner_sha256, files.runner_sha256()),
        ("grader_revision", harness.grader_revision, files.grader_revision(ids)),
    )
    for key, sealed, actual in pairs:
        at = ("harness", key)
        if isinstance(actual, Fault):
            what = f"It cannot be compared: {actual.reason}."
            out.unready(at, f"harness-{actual.code}", what, sealed, "unknown", RESTORE)
        elif actual != sealed:
            what = "The harness at hand is not the sealed one."
            out.unready(at, "harness-changed", what, sealed, actual, RESTORE)
