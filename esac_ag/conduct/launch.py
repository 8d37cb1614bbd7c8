"""One launch for a cell of a study: equip a fresh container, let the agent act, take out what it left."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

from esac_ag import clock
from esac_ag.agents.contract import (
    AGENT_HOME,
    AGENT_ROOT,
    AGENT_UID,
    AGENT_WORKSPACE,
    AgentEnd,
    ArmBundle,
    Attendance,
    Commission,
    Equipment,
)
from esac_ag.archive import shown
from esac_ag.artifacts import AttemptFolder
from esac_ag.attempt import Cell, LimitKind, Outcome, Submission
from esac_ag.clock import Deadline
from esac_ag.conduct.context import StudyContext, cell_seeds
from esac_ag.conduct.launch_records import archived, assigned, ended_by, written
from esac_ag.conduct.work import Launched
from esac_ag.errors import HarnessError, SandboxLost
from esac_ag.manifest.plan import Limits
from esac_ag.rooms.commits import fresh_repository
from esac_ag.rooms.tasks import LoadedTask
from esac_ag.sandbox.contract import (
    ExportedTree,
    Role,
    Sandbox,
    SandboxSpec,
    ScratchMount,
    TreeLimits,
    Volume,
)
from esac_ag.tree import Directory, FileTree, RegularFile

MIB = 1024 * 1024
IDLE = ("sleep", "infinity")
"""First process of an agent's container. It has no signal handlers, so nothing inside can end it."""


def agent_spec(
    *,
    image: str,
    limits: Limits,
    study: str,
    attempt: str,
    role: Role,
    environment: tuple[tuple[str, str], ...],
) -> SandboxSpec:
    """The container of an agent; the isolation probe's is made by the same function."""
    return SandboxSpec(
        image=image,
        role=role,
        study=study,
        attempt=attempt,
        argv=IDLE,
        uid=AGENT_UID,
        gid=AGENT_UID,
        environment=environment,
        home=AGENT_HOME,
        working_dir=AGENT_WORKSPACE,
        volumes=(
            Volume(
                path=AGENT_ROOT,
                size_bytes=limits.workspace_mib * MIB,
                max_files=limits.files,
                owner_uid=AGENT_UID,
            ),
        ),
        scratch=(ScratchMount(path="/tmp", size_bytes=limits.tmp_mib * MIB, max_files=limits.files),),  # noqa: S108
        cpus=limits.cpus,
        memory_mib=limits.memory_mib,
        pids=limits.pids,
        output_bytes=limits.output_bytes,
    )


def launch(study: StudyContext, task: LoadedTask, cell: Cell, attempt_id: str, ordinal: int) -> Launched:
    """Run one attempt to its end; every end but a refused substitution is a record.

    Raises:
        SubstitutionRefused: the arm or the snapshot at hand is not the sealed one.
    """
    bundles = study.bundles()
    folder = study.folder.attempt(attempt_id)
    started_at = clock.now()
    started_s = clock.monotonic_s()
    try:
        end, exported = _act(study, task, cell, attempt_id, bundles, folder, started_s)
    except HarnessError as error:
        end, exported = ended_by(study, error), None
    submission, end = _keep(study, task, folder, end, exported)
    return written(
        study,
        folder,
        end,
        submission,
        cell=cell,
        attempt_id=attempt_id,
        ordinal=ordinal,
        agent_label=study.agent.label,
        bundle=bundles[cell.arm],
        started_at=started_at,
    )


def _act(
    study: StudyContext,
    task: LoadedTask,
    cell: Cell,
    attempt_id: str,
    bundles: dict[str, ArmBundle | None],
    folder: AttemptFolder,
    started_s: float,
) -> tuple[AgentEnd, ExportedTree | None]:
    """The container's whole life; it is gone, and confirmed gone, when this returns."""
    commission = Commission(
        attempt_id=attempt_id,
        study=study.manifest.study_id,
        request=task.request,
        bundle=bundles[cell.arm],
        folder=folder,
        redactor=study.redactor,
        engine=study.engine,
        image=study.agent_image,
        deadline=Deadline.after_s(study.manifest.limits.wall_clock_s),
    )
    with study.agent.attend(commission) as attendance:
        return _attended(study, task, cell, attempt_id, bundles, folder, started_s, attendance)


def _attended(
    study: StudyContext,
    task: LoadedTask,
    cell: Cell,
    attempt_id: str,
    bundles: dict[str, ArmBundle | None],
    folder: AttemptFolder,
    started_s: float,
    attendance: Attendance,
) -> tuple[AgentEnd, ExportedTree | None]:
    limits, equipment = study.manifest.limits, attendance.equipment
    spec = agent_spec(
        image=study.agent_image,
        limits=limits,
        study=study.manifest.study_id,
        attempt=attempt_id,
        role=Role.AGENT,
        environment=equipment.environment,
    )
    with study.stop.sandbox(study.engine, attendance.placed(spec)) as sandbox:
        sandbox.start()
        sandbox.put(_contents(task.snapshot, equipment), AGENT_ROOT, uid=AGENT_UID, gid=AGENT_UID, mode=0o755)
        with assigned(
            study,
            cell,
            task.request,
            cell_seeds(study.manifest.schedule.seed, cell),
            bundles,
            folder,
            started_s,
            task.snapshot,
        ) as assignment:
            end = attendance.act(sandbox, assignment)
        if end.outcome in (Outcome.INFRA, Outcome.CANCELLED):
            return end, None
        exported = _export(sandbox, limits, equipment)
        if study.stop.wished and (exported is None or end.outcome is Outcome.AGENT_ERROR):
            # The container was taken away under it: nobody's doing, and done again.
            return AgentEnd(outcome=Outcome.CANCELLED, reason=study.stop.why), None
        if exported is None:
            return _lost(end, out_of_memory=sandbox.out_of_memory()), None
    return _with_bundle_at_end(end, exported.bundle), exported.workspace


def _contents(snapshot: FileTree, equipment: Equipment) -> FileTree:
    repository = fresh_repository(snapshot).under(b"workspace/.git")
    folders = FileTree(
        {b"home": Directory(), b"workspace": Directory(), b"workspace/.git/refs/tags": Directory()}
    )
    parts = (snapshot.under(b"workspace"), repository, equipment.home.under(b"home"))
    return reduce(FileTree.merged, parts, folders)


class _Exported(NamedTuple):
    """What a container held at its end."""

    workspace: ExportedTree
    bundle: dict[bytes, bool | None]
    """Whether the arm's files were still what was put there, by path below HOME; null when not known."""


def _export(sandbox: Sandbox, limits: Limits, equipment: Equipment) -> _Exported | None:
    """The workspace of a frozen container; none when the agent's doing ended it, and memory with it.

    HOME is looked at apart, and for the arm's files only: what fills it must not use up the caps of the work,
    and agents write into their own configuration.
    """
    caps = TreeLimits(max_members=limits.files + 64, max_bytes=limits.workspace_mib * MIB)
    try:
        sandbox.freeze()
        workspace = sandbox.get(AGENT_WORKSPACE, caps)
        if not workspace.tree and not sandbox.get(AGENT_ROOT, caps).tree:
            return None
        placed = _placed(equipment)
        unchanged = _unchanged(sandbox.get(AGENT_HOME, caps), placed) if placed else {}
    except SandboxLost:
        if sandbox.out_of_memory():
            return None
        raise
    findings = (*workspace.findings, *_findings(unchanged))
    tree = ExportedTree(workspace.tree, findings, workspace.capped)
    return _Exported(tree, unchanged)


def _unchanged(home: ExportedTree, placed: dict[bytes, RegularFile]) -> dict[bytes, bool | None]:
    """Whether each file of the bundle is what was put there, by path below HOME; null when not known."""
    return {
        path: None if path not in home.tree and home.capped else home.tree.get(path) == node
        for path, node in placed.items()
    }


def _findings(unchanged: dict[bytes, bool | None]) -> list[str]:
    """A finding for every file of the bundle that is not what was put there: the record shows edits."""
    told = {
        None: "could not be read: HOME is too large.",
        False: "was changed or removed by the agent.",
    }
    return [
        f"`home/{shown(path)}` of the arm's bundle {told[kept]}"
        for path, kept in unchanged.items()
        if kept is not True
    ]


def _with_bundle_at_end(end: AgentEnd, unchanged: dict[bytes, bool | None]) -> AgentEnd:
    """The end with what became of the bundle, by the places that the record tells."""
    if end.loaded is None:
        return end
    home = f"{AGENT_HOME}/"
    by_place = {home + path.decode("utf-8", "surrogateescape"): kept for path, kept in unchanged.items()}
    by_path = {
        file.path: None if file.placed_at is None else by_place.get(file.placed_at)
        for file in end.loaded.files
    }
    return end.model_copy(update={"loaded": end.loaded.at_end(by_path)})


def _placed(equipment: Equipment) -> dict[bytes, RegularFile]:
    """The files of the arm's bundle in HOME, by path below it."""
    loaded = {place.encode("utf-8", "surrogateescape") for place in equipment.loaded}
    home = AGENT_HOME.encode() + b"/"
    return {path: node for path, node in equipment.home.files().items() if home + path in loaded}


def _lost(end: AgentEnd, *, out_of_memory: bool) -> AgentEnd:
    """The agent ended its own container: its doing, and no free retry."""
    graded = "the workspace was lost with it; the untouched snapshot is graded"
    ending = (
        {"outcome": Outcome.LIMIT, "limit": LimitKind.MEMORY, "reason": "the container ran out of memory"}
        if out_of_memory
        else {"outcome": Outcome.AGENT_ERROR, "reason": f"the agent ended its container ({end.reason})"}
    )
    return end.model_copy(update=ending | {"reason": f"{ending['reason']} and {graded}"})


def _keep(
    study: StudyContext, task: LoadedTask, folder: AttemptFolder, end: AgentEnd, exported: ExportedTree | None
) -> tuple[Submission | None, AgentEnd]:
    """Archive what the agent left, with the patch computed from the frozen snapshot."""
    if end.outcome in (Outcome.INFRA, Outcome.CANCELLED):
        return None, end
    tree = task.snapshot.with_folders() if exported is None else exported.tree
    lost = ("the workspace was lost; this is the untouched snapshot",)
    findings = lost if exported is None else tuple(filter(_is_news, exported.findings))
    # Caches and byte code are no change that anybody made; the archive keeps them.
    changed = tree.without_ignored()
    return archived(study, folder, end, tree, patch_of=(task.snapshot, changed), findings=findings)


def _is_news(finding: str) -> bool:
    """Whether a finding of the export tells more than that our own repository stays behind."""
    return not finding.startswith("`.git` was left out")
