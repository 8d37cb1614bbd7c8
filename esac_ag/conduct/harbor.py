"""Imports Harbor tasks: reads them, runs what makes their files and their oracle, writes and proves them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from esac_ag.agents.contract import AGENT_WORKSPACE
from esac_ag.conduct.harbor_bench import ORACLE_S, SOLUTION, Bench, build_snapshot, ending_of
from esac_ag.conduct.harbor_checks import CHECK, checks_text
from esac_ag.conduct.harbor_standins import stand_ins
from esac_ag.conduct.packages import require_new_id, write_package
from esac_ag.conduct.tasks import Tell, load_pair, prove_pairs
from esac_ag.errors import UsageError
from esac_ag.grading.patching import make_patch
from esac_ag.grading.proof_record import ProofRecord
from esac_ag.manifest.package import (
    SHARED_TRUST,
    CheckDeclaration,
    CheckKind,
    CriticalFailure,
    Dimension,
    GraderPackage,
    Reference,
    Trust,
)
from esac_ag.record import Record
from esac_ag.rooms.harbor import HarborTask, harbor_folders, mount_of, read_harbor_task, task_id_of
from esac_ag.rooms.harbor_image import Command
from esac_ag.rooms.harbor_report import Fate, HarborImport, Item
from esac_ag.rooms.harbor_settings import MAX_CHECK_S
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.contract import Engine
from esac_ag.sandbox.images import agent_reference
from esac_ag.tree import FileTree, RegularFile

_REFERENCE = "oracle"
_PLACING_S = 30.0
"""Of the check, beside test.sh: to put files in their place and to read the reward."""


class HarborImports(Record):
    """What was imported, and whether it proves itself."""

    imports: tuple[HarborImport, ...]
    proofs: tuple[ProofRecord, ...]
    """One for each import, in order."""

    @property
    def hold(self) -> bool:
        """Whether every proof holds."""
        return all(proof.holds for proof in self.proofs)


@dataclass(frozen=True, slots=True)
class _Made:
    """A task that is ready to be written."""

    task: HarborTask
    record: HarborImport
    snapshot: FileTree
    patch: bytes | None


def import_harbor(
    workspace: Workspace,
    engine: Engine,
    folder: Path,
    *,
    wanted_id: str | None = None,
    repeats: int = 2,
    concurrency: int = 2,
    tell: Tell = lambda _: None,
) -> HarborImports:
    """Import a Harbor task, or every task of a folder.

    All of them are read before anything is run, and run before anything is written.

    Args:
        workspace: where the packages go.
        engine: makes the containers.
        folder: a Harbor task, or a folder of them.
        wanted_id: of the one task; by default its name's last part.
        repeats: of each trial of the proof.
        concurrency: containers of the proof at a time.
        tell: receives progress, a line each.

    Raises:
        UsageError: there is no Harbor task, an id is taken, or one id is given for several tasks.
        InputRefused: a task cannot be read.
        SandboxLost, EngineUnavailable, ImageMissing: the machine's fault.
    """
    tasks = _named(workspace, folder, wanted_id)
    bench = Bench(engine, engine.image_id(agent_reference(workspace.runner)))
    made = [_make(bench, task_id, task, tell) for task_id, task in tasks.items()]
    for one in made:
        _write(workspace, one)
        tell(f"{one.record.id}: written to tasks/{one.record.id} and graders/{one.record.id}")
    proofs = prove_pairs(
        workspace,
        engine,
        (load_pair(workspace, task_id) for task_id in tasks),
        repeats=repeats,
        concurrency=concurrency,
        tell=tell,
    )
    return HarborImports(imports=tuple(one.record for one in made), proofs=proofs.proofs)


def _named(workspace: Workspace, folder: Path, wanted_id: str | None) -> dict[str, HarborTask]:
    """The tasks by the id that they get."""
    folders = harbor_folders(folder)
    if wanted_id is not None and len(folders) > 1:
        raise UsageError(
            "one id cannot name several tasks",
            where=str(folder),
            found=f"{len(folders)} Harbor tasks",
            remedy="leave --id out, or name the folder of one task",
        )
    named: dict[str, HarborTask] = {}
    for one in folders:
        task = read_harbor_task(one)
        task_id = wanted_id or task_id_of(task)
        if task_id in named:
            raise UsageError(
                f"two Harbor tasks would be called {task_id}",
                where=str(one),
                found=f"{named[task_id].folder}, too",
                remedy="import them one by one, with --id",
            )
        require_new_id(workspace, task_id)
        named[task_id] = task
    return named


def _make(bench: Bench, task_id: str, task: HarborTask, tell: Tell) -> _Made:
    commands = sum(isinstance(step, Command) for step in task.image.steps)
    tell(f"{task_id}: {commands} commands of its Dockerfile and its oracle are run")
    snapshot, built = build_snapshot(bench, task.image.steps, task.workdir)
    patch, oracle, solved = _oracle(bench, task, snapshot)
    script = task.tests[b"test.sh"]
    assert isinstance(script, RegularFile)  # noqa: S101  (the reader has seen to it)
    _, replaced = stand_ins(script.data.decode("utf-8", "replace"))
    items = (*_general(task, snapshot), *task.items, *built, *replaced, *solved)
    record = HarborImport(
        format_version=1,
        id=task_id,
        name=task.name,
        schema_version=task.settings.schema_version,
        workdir=task.workdir,
        trust=Trust.SHARED_PROCESS,
        oracle=oracle,
        items=items,
    )
    return _Made(task, record, snapshot, patch)


def _oracle(bench: Bench, task: HarborTask, snapshot: FileTree) -> tuple[bytes | None, str, tuple[Item, ...]]:
    """What solve.sh makes of the snapshot, as a patch; how it ended; and what was lost of it."""
    if not task.solution:
        return None, "there is no solution/solve.sh", ()
    result, after = bench.run(
        ("/bin/bash", "-c", f"chmod 755 {SOLUTION}/solve.sh && exec {SOLUTION}/solve.sh"),
        tree=snapshot,
        workdir=task.workdir,
        folder=task.workdir,
        variables={**task.variables, **task.settings.solution_environment},
        solution=task.solution,
        timeout_s=ORACLE_S,
    )
    ended = f"solve.sh {ending_of(result)}"
    patch = make_patch(snapshot, after)
    if not patch:
        why = f"it changes no file below {task.workdir}, so that there is no reference"
        return None, ended, (Item(what="solution/solve.sh", fate=Fate.NOT_KEPT, why=why),)
    why = f"its changes below {task.workdir}, made without root and network, are the reference patch"
    return patch, ended, (Item(what="solution/solve.sh", fate=Fate.CHANGED, why=why),)


def _general(task: HarborTask, snapshot: FileTree) -> tuple[Item, ...]:
    """What holds for every import."""
    items = [
        Item(
            what="rewards",
            fate=Fate.CHANGED,
            why="the check passes from a reward of 1 on (`reward`, or every number where reward.json has no "
            "such key): shares in between and single numbers are not scores of ours",
        ),
        Item(
            what="tests/test.sh",
            fate=Fate.CHANGED,
            why=f"it runs in the grader's container, without root and network, as the submission's user: "
            f"{SHARED_TRUST} (trust: {Trust.SHARED_PROCESS.value})",
        ),
        Item(
            what="public tests",
            fate=Fate.NOT_KEPT,
            why="Harbor has none, so the proof runs no public command",
        ),
    ]
    if preface(task):
        why = f"a line before it says that {task.workdir} is {AGENT_WORKSPACE} in the agent's container"
        items.append(Item(what="instruction.md", fate=Fate.CHANGED, why=why))
    else:
        items.append(Item(what="instruction.md", fate=Fate.KEPT, why="as written"))
    if task.workdir != AGENT_WORKSPACE:
        why = (
            f"the agent works in {AGENT_WORKSPACE}, where {task.workdir} does not exist; in the grader's "
            "container both paths lead to the submission"
        )
        items.append(Item(what=f"WORKDIR {task.workdir}", fate=Fate.CHANGED, why=why))
    if not snapshot:
        items.append(Item(what="snapshot", fate=Fate.KEPT, why="it is empty: the agent begins without files"))
    return tuple(items)


def preface(task: HarborTask) -> str:
    """What stands before the instruction; empty when it names no path that is elsewhere here."""
    if task.workdir == AGENT_WORKSPACE or task.workdir not in task.instruction:
        return ""
    meant = f"where the text below says {task.workdir}, it means that folder."
    return f"The working directory is {AGENT_WORKSPACE}: {meant}\n\n"


def _write(workspace: Workspace, made: _Made) -> None:
    task, record = made.task, made.record
    title = task.settings.description.strip().split("\n")[0] or task.name
    document: dict[str, JsonValue] = {
        "task_id": record.id,
        "title": " ".join(title.split())[:200],
        "family": "harbor",
        "contrast": "imported",
        "public_command": "",
        "baseline_expected_failure": "",
    }
    write_package(
        workspace,
        document=document,
        request=preface(task) + task.instruction,
        snapshot=made.snapshot,
        grader=_grader_files(made),
        package=_package(made),
    )


def _package(made: _Made) -> GraderPackage:
    references: tuple[Reference, ...] = ()
    if made.patch is not None:
        patch = f"references/{_REFERENCE}.patch"
        references = (Reference(id=_REFERENCE, patch=patch, why="what Harbor's solution/solve.sh makes"),)
    folders = {mount_of(made.task.workdir), "/agent", "/tests", "/logs"}
    return GraderPackage(
        format_version=1,
        task_id=made.record.id,
        checks=(
            CheckDeclaration(
                id=CHECK,
                title="Harbor's test.sh gives a reward of 1",
                kind=CheckKind.MUST_NOW_WORK,
                dimension=Dimension.BEHAVIOUR,
                weight=1.0,
                critical=CriticalFailure.MISSING_CENTRAL_REQUIREMENT,
                timeout_s=min(made.task.settings.verifier_s + _PLACING_S, MAX_CHECK_S),
            ),
        ),
        references=references,
        decoys=(),
        trust=Trust.SHARED_PROCESS,
        folders=tuple(sorted(folders)),
    )


def _grader_files(made: _Made) -> FileTree:
    task = made.task
    script = task.tests[b"test.sh"]
    assert isinstance(script, RegularFile)  # noqa: S101  (the reader has seen to it)
    programs, _ = stand_ins(script.data.decode("utf-8", "replace"))
    checks = checks_text(
        workdir=task.workdir,
        timeout_s=task.settings.verifier_s,
        variables={**task.variables, **task.settings.verifier_environment},
    )
    files = FileTree.of_text(
        {
            "checks.py": checks,
            "oracle.md": oracle_text(made.record),
            "import.json": made.record.model_dump_json(indent=2) + "\n",
        }
    )
    if made.patch is not None:
        files = files.merged({f"references/{_REFERENCE}.patch".encode(): RegularFile(made.patch)})
    return files.merged(task.tests.under(b"files/tests")).merged(programs.under(b"files/stand-ins"))


def oracle_text(record: HarborImport) -> str:
    """`oracle.md` of an import: where it comes from, how far to trust it, and what became of everything."""
    headings = {Fate.NOT_KEPT: "Not kept", Fate.CHANGED: "Changed", Fate.KEPT: "Kept"}
    lines = [
        f"# {record.id}",
        "",
        f"Imported from the Harbor task {record.name} (schema {record.schema_version}). What is right is",
        "what its `files/tests/test.sh` rewards with 1; the reference is what its solve.sh makes.",
        "",
        f"Trust: {record.trust.value}. Be warned that {SHARED_TRUST}.",
        "",
        f"Oracle: {record.oracle}.",
    ]
    for fate, heading in headings.items():
        lines += ["", f"## {heading}", "", *(f"- {item.what}: {item.why}" for item in record.of(fate))]
    return "\n".join(lines) + "\n"
