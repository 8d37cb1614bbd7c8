"""Task packages: listed, sealed, and proved in the real grader container, with proofs kept by content."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from pydantic import JsonValue, ValidationError

from esac_ag.artifacts import write_atomic
from esac_ag.canonical import canonical_json, loads_strict, sha256_of
from esac_ag.conduct.revision import runner_sha256
from esac_ag.errors import HarnessError, InputRefused, UsageError
from esac_ag.grading.proof import prove
from esac_ag.grading.proof_record import ProofRecord
from esac_ag.manifest.package import Trust
from esac_ag.manifest.plan import GraderLimits
from esac_ag.plural import plural
from esac_ag.record import Record
from esac_ag.rooms.graders import LoadedGrader, load_grader
from esac_ag.rooms.reading import MANIFEST_CAP_BYTES, CannotRead, read_bounded
from esac_ag.rooms.tasks import LoadedTask, load_task
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.contract import Engine
from esac_ag.sandbox.images import grader_reference

Tell = Callable[[str], None]


class TaskLine(Record):
    """One task of the workspace."""

    id: str
    fault: str = ""
    """Why the package cannot be read; the other fields say nothing then."""
    title: str = ""
    family: str = ""
    contrast: str = ""
    checks: int | None = None
    references: int | None = None
    decoys: int | None = None
    trust: Trust | None = None
    sealed: bool = False
    """Whether task.json names the digests of the files at hand."""


class TaskList(Record):
    """The workspace's tasks."""

    tasks: tuple[TaskLine, ...]


class Proofs(Record):
    """Proofs of several tasks."""

    proofs: tuple[ProofRecord, ...]

    @property
    def hold(self) -> bool:
        """Whether every one holds."""
        return all(proof.holds for proof in self.proofs)


def task_ids(workspace: Workspace, wanted: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The wanted task ids, or all of the workspace.

    Raises:
        UsageError: there is no such task, or none at all.
    """
    known = sorted(path.parent.name for path in workspace.tasks.glob("*/task.json"))
    unknown = sorted(set(wanted) - set(known))
    if unknown or not known:
        raise UsageError(
            f"there is no task {', '.join(unknown)}" if unknown else "the workspace has no tasks",
            where=str(workspace.tasks),
            expected=f"one of {', '.join(known)}" if known else "folders with a task.json",
            remedy="see docs/graders.md for how a task is written",
        )
    return wanted or tuple(known)


def list_tasks(workspace: Workspace) -> TaskList:
    """What tasks there are."""
    lines = []
    for task_id in task_ids(workspace):
        try:
            task, grader = load_pair(workspace, task_id)
        except InputRefused as error:
            lines.append(TaskLine(id=task_id, fault=f"{error.what} {' '.join(error.found.split())}"))
            continue
        lines.append(
            TaskLine(
                id=task_id,
                title=task.package.title,
                family=task.package.family,
                contrast=task.package.contrast,
                checks=len(grader.package.checks),
                references=len(grader.package.references),
                decoys=len(grader.package.decoys),
                trust=grader.package.trust,
                sealed=not unsealed(task, grader),
            )
        )
    return TaskList(tasks=tuple(lines))


def load_pair(workspace: Workspace, task_id: str) -> tuple[LoadedTask, LoadedGrader]:
    """A task and its grader."""
    return load_task(workspace.tasks / task_id), load_grader(workspace, task_id)


def unsealed(task: LoadedTask, grader: LoadedGrader) -> dict[str, str]:
    """Keys of task.json that do not name the files at hand, with the right values."""
    right = {
        "public_tree_sha256": task.snapshot_sha256,
        "private_grader_id": grader.private_grader_id,
        "trust": grader.package.trust.value,
    }
    return {key: value for key, value in right.items() if getattr(task.package, key) != value}


def seal_tasks(workspace: Workspace, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Write the digests of the files at hand into each task.json; a line for each task."""
    lines = []
    for task_id in task_ids(workspace, wanted):
        _fill_in(workspace.tasks / task_id / "task.json", task_id)
        task, grader = load_pair(workspace, task_id)
        changes = unsealed(task, grader)
        if changes:
            _rewrite(task.path, changes)
        lines.append(f"{task_id}: {'sealed ' + ', '.join(changes) if changes else 'sealed already'}")
    return tuple(lines)


def _fill_in(path: Path, task_id: str) -> None:
    """Give a new task.json the two keys that sealing is there for, so that it can be read at all."""
    blank = {"public_tree_sha256": "0" * 64, "private_grader_id": f"{task_id}@{'0' * 64}"}
    document = _document(path)
    missing = {key: value for key, value in blank.items() if not document.get(key)}
    if missing:
        _rewrite(path, missing)


def _rewrite(path: Path, changes: Mapping[str, str]) -> None:
    text = json.dumps(_document(path) | dict(changes), indent=2, ensure_ascii=False) + "\n"
    write_atomic(path, text.encode())


def _document(path: Path) -> dict[str, JsonValue]:
    try:
        document = loads_strict(read_bounded(path, cap_bytes=MANIFEST_CAP_BYTES))
    except (CannotRead, ValueError, RecursionError) as error:
        raise InputRefused(
            "task.json cannot be read",
            where=str(path),
            expected="a JSON object",
            found=str(error),
            remedy="see docs/graders.md for its keys",
        ) from error
    if not isinstance(document, dict):
        raise InputRefused("task.json is not an object", where=str(path), remedy="see docs/graders.md")
    return document


def check_tasks(
    workspace: Workspace,
    engine: Engine,
    wanted: tuple[str, ...],
    *,
    repeats: int,
    fresh: bool = False,
    concurrency: int = 2,
    limits: GraderLimits | None = None,
    tell: Tell = lambda _: None,
) -> Proofs:
    """Prove tasks of the workspace; see `prove_pairs`.

    Raises:
        UsageError: there is no such task.
        InputRefused: a package is wrong, or its task.json is not sealed.
        InfrastructureFailure: the engine failed.
    """
    pairs = (load_pair(workspace, task_id) for task_id in task_ids(workspace, wanted))
    return prove_pairs(
        workspace,
        engine,
        pairs,
        repeats=repeats,
        fresh=fresh,
        concurrency=concurrency,
        limits=limits,
        tell=tell,
    )


def prove_pairs(
    workspace: Workspace,
    engine: Engine,
    pairs: Iterable[tuple[LoadedTask, LoadedGrader]],
    *,
    repeats: int,
    fresh: bool = False,
    concurrency: int = 2,
    limits: GraderLimits | None = None,
    tell: Tell = lambda _: None,
) -> Proofs:
    """Prove tasks in real grader containers; what was proved of the same bytes before is not proved again.

    Raises:
        InputRefused: a task.json is not sealed.
        InfrastructureFailure: the engine failed.
    """
    image = grader_reference(workspace.runner)
    digest, image_id = engine.image_digest(image), engine.image_id(image)
    limits = limits or GraderLimits()
    runner = runner_sha256(workspace)

    def one(task: LoadedTask, grader: LoadedGrader) -> ProofRecord:
        task_id = task.package.task_id
        refuse_unsealed(task, grader)
        key = sha256_of(
            {
                "task": task.snapshot_sha256,
                "command": task.package.public_command,
                "baseline": task.package.baseline_expected_failure,
                "grader": grader.tree_sha256,
                "image": digest,
                "runner": runner,
                "limits": limits.model_dump(mode="json"),
            }
        )
        kept = workspace.root / ".esac-ag" / "proofs" / f"{task_id}-{key[:32]}.json"
        known = None if fresh else _kept(kept)
        if known is not None and known.holds and known.repeats >= repeats:
            tell(f"{task_id}: proved before, of the same bytes")
            return known
        proof = prove(
            engine,
            image=image_id,
            image_digest=digest,
            limits=limits,
            task=task.package,
            package=grader.package,
            private=grader.files,
            snapshot=task.snapshot,
            repeats=repeats,
            study="task-proofs",
            log=lambda _: None,
            concurrency=concurrency,
        )
        if proof.holds:
            write_atomic(kept, canonical_json(proof))
        tell(f"{task_id}: {'proved' if proof.holds else 'does not hold'}, {plural(repeats, 'time')} each")
        return proof

    return Proofs(proofs=tuple(one(task, grader) for task, grader in pairs))


def refuse_unsealed(task: LoadedTask, grader: LoadedGrader) -> None:
    """Refuse a package whose task.json names other bytes.

    Raises:
        InputRefused: it does.
    """
    wrong = unsealed(task, grader)
    if wrong:
        raise InputRefused(
            f"task.json of {task.package.task_id} does not name the files at hand",
            where=str(task.path),
            expected="; ".join(f"{key} {value}" for key, value in wrong.items()),
            found="; ".join(f"{key} {getattr(task.package, key)}" for key in wrong),
            remedy=f"if the files are right, run `esac-ag task seal {task.package.task_id}`",
        )


def _kept(path: Path) -> ProofRecord | None:
    """A proof made before; one that cannot be read is made again."""
    try:
        return ProofRecord.model_validate_json(path.read_bytes())
    except (OSError, ValidationError, HarnessError):
        return None
