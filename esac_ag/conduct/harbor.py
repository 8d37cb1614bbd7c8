"""Imports Harbor tasks: reads them, runs what makes their files and their oracle, writes and proves them."""

from __future__ import annotations

from pathlib import Path

from esac_ag.conduct.harbor_bench import ORACLE_S, SOLUTION, Bench, build_snapshot, ending_of, left_out_items
from esac_ag.conduct.harbor_package import Made, general_items, write_import
from esac_ag.conduct.harbor_standins import stand_ins
from esac_ag.conduct.packages import require_new_id
from esac_ag.conduct.tasks import Tell, load_pair, prove_pairs
from esac_ag.errors import UsageError
from esac_ag.grading.patching import make_patch
from esac_ag.grading.proof_record import ProofRecord
from esac_ag.manifest.package import Trust
from esac_ag.plural import plural
from esac_ag.record import Record
from esac_ag.rooms.harbor import HarborTask, harbor_folders, read_harbor_task, task_id_of
from esac_ag.rooms.harbor_image import Command
from esac_ag.rooms.harbor_report import Fate, HarborImport, Item
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.contract import Engine
from esac_ag.sandbox.images import agent_reference
from esac_ag.tree import FileTree, RegularFile


class HarborImports(Record):
    """What was imported, and whether it proves itself."""

    imports: tuple[HarborImport, ...]
    proofs: tuple[ProofRecord, ...]
    """One for each import, in order."""

    @property
    def hold(self) -> bool:
        """Whether every proof holds."""
        return all(proof.holds for proof in self.proofs)


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
        write_import(workspace, one)
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


def _make(bench: Bench, task_id: str, task: HarborTask, tell: Tell) -> Made:
    commands = sum(isinstance(step, Command) for step in task.image.steps)
    tell(f"{task_id}: {plural(commands, 'command')} of its Dockerfile and its oracle to run")
    snapshot, built = build_snapshot(bench, task.image.steps, task.workdir)
    patch, oracle, solved = _oracle(bench, task, snapshot)
    script = task.tests[b"test.sh"]
    assert isinstance(script, RegularFile)  # noqa: S101  (the reader has seen to it)
    _, replaced = stand_ins(script.data.decode("utf-8", "replace"))
    items = (*general_items(task, snapshot), *task.items, *built, *replaced, *solved)
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
    return Made(task, record, snapshot, patch)


def _oracle(bench: Bench, task: HarborTask, snapshot: FileTree) -> tuple[bytes | None, str, tuple[Item, ...]]:
    """What solve.sh makes of the snapshot, as a patch; how it ended; and what was lost of it."""
    if not task.solution:
        return None, "there is no solution/solve.sh", ()
    ran = bench.run(
        ("/bin/bash", "-c", f"chmod 755 {SOLUTION}/solve.sh && exec {SOLUTION}/solve.sh"),
        tree=snapshot,
        workdir=task.workdir,
        folder=task.workdir,
        variables={**task.variables, **task.settings.solution_environment},
        solution=task.solution,
        timeout_s=ORACLE_S,
    )
    ended = f"solve.sh {ending_of(ran.result)}"
    lost = tuple(left_out_items("solution/solve.sh", ran))
    patch = make_patch(snapshot, ran.files)
    if not patch:
        why = f"it changes no file below {task.workdir}, so that there is no reference"
        return None, ended, (Item(what="solution/solve.sh", fate=Fate.NOT_KEPT, why=why), *lost)
    why = f"its changes below {task.workdir}, made without root and network, are the reference patch"
    return patch, ended, (Item(what="solution/solve.sh", fate=Fate.CHANGED, why=why), *lost)
