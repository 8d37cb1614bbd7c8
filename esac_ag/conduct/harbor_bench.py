"""The container in which commands of a Harbor task are run on import: an agent's, without an agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from esac_ag.agents.contract import AGENT_UID
from esac_ag.clock import Deadline, opaque_id
from esac_ag.conduct.launch import IDLE
from esac_ag.manifest.plan import Limits
from esac_ag.rooms.harbor import inside, mount_of
from esac_ag.rooms.harbor_image import Command, Files
from esac_ag.rooms.harbor_report import Fate, Item
from esac_ag.sandbox.contract import (
    CommandResult,
    Engine,
    Role,
    SandboxSpec,
    ScratchMount,
    Termination,
    TreeLimits,
    Volume,
)
from esac_ag.tree import FileTree, Link

STUDY = "task-import"
SOLUTION = "/solution"
COMMAND_S = 120.0
ORACLE_S = 600.0
_MIB = 1024 * 1024
_WORKSPACE_MIB = 128
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that was run."""

    result: CommandResult
    files: FileTree
    """Of the working directory, afterwards."""
    left_out: tuple[str, ...]
    """What of it could not be taken out, in sentences."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where commands are run."""

    engine: Engine
    image: str
    """The agent's image, by id."""

    def run(
        self,
        argv: tuple[str, ...],
        *,
        tree: FileTree,
        workdir: str,
        folder: str,
        variables: Mapping[str, str],
        solution: FileTree,
        timeout_s: float,
    ) -> Ran:
        """Run a command in a fresh container, without a network.

        Args:
            argv: the command.
            tree: files of the working directory.
            workdir: where they lie.
            folder: current folder of the command.
            variables: its environment.
            solution: files that lie in `/solution`; none are put when there are none.
            timeout_s: its time.

        Raises:
            SandboxLost, EngineUnavailable, ImageMissing: the machine's fault.
        """
        limits = Limits()
        with self.engine.create(_spec(self.image, workdir, limits)) as sandbox:
            sandbox.start()
            sandbox.put(tree, workdir, uid=AGENT_UID, gid=AGENT_UID, mode=0o755)
            if solution:
                sandbox.put(solution, SOLUTION, uid=AGENT_UID, gid=AGENT_UID, mode=0o755)
            result = sandbox.execute(
                argv,
                deadline=Deadline.after_s(timeout_s),
                output_bytes=limits.output_bytes,
                working_dir=folder,
                environment=tuple(variables.items()),
            )
            sandbox.freeze()
            exported = sandbox.get(workdir, TreeLimits())
        return Ran(result, exported.tree.without_ignored(), exported.findings)


def _spec(image: str, workdir: str, limits: Limits) -> SandboxSpec:
    size_bytes = _WORKSPACE_MIB * _MIB
    return SandboxSpec(
        image=image,
        role=Role.AGENT,
        study=STUDY,
        attempt=f"import-{opaque_id()}",
        argv=IDLE,
        uid=AGENT_UID,
        gid=AGENT_UID,
        working_dir="/",
        volumes=tuple(
            Volume(path=path, size_bytes=size_bytes, max_files=limits.files, owner_uid=AGENT_UID)
            for path in (mount_of(workdir), SOLUTION)
        ),
        scratch=(ScratchMount(path="/tmp", size_bytes=limits.tmp_mib * _MIB, max_files=limits.files),),  # noqa: S108
        cpus=limits.cpus,
        memory_mib=limits.memory_mib,
        pids=limits.pids,
        output_bytes=limits.output_bytes,
    )


def build_snapshot(
    bench: Bench, steps: tuple[Files | Command, ...], workdir: str
) -> tuple[FileTree, tuple[Item, ...]]:
    """The files that the agent begins with, and what became of each command.

    A command that fails leaves nothing behind: each runs in a container of its own, on what came before.
    """
    tree = FileTree()
    items = []
    for step in steps:
        if isinstance(step, Files):
            tree = tree.merged(inside(step.tree, workdir))
            continue
        ran = bench.run(
            ("/bin/sh", "-c", step.text),
            tree=tree,
            workdir=workdir,
            folder=step.folder,
            variables=step.variables,
            solution=FileTree(),
            timeout_s=COMMAND_S,
        )
        after = ran.files
        if ran.result.exit_code != 0:
            why = f"in our image, without root and network, it {ending_of(ran.result)}"
            items.append(Item(what=step.shown, fate=Fate.NOT_KEPT, why=why))
            continue
        items += left_out_items(step.shown, ran)
        changed = after.files() != tree.files()
        tree = FileTree({path: node for path, node in after.items() if not isinstance(node, Link)})
        items.append(_of_command(step, workdir, changed=changed, links=len(after) - len(tree)))
    return FileTree(tree.files()), tuple(items)


def left_out_items(what: str, ran: Ran) -> list[Item]:
    """What of the files of a command was lost on their way out of its container: an item, if there is any."""
    if not ran.left_out:
        return []
    why = f"not all that it left is taken along: {' '.join(ran.left_out)[:_SHOWN]}"
    return [Item(what=what, fate=Fate.CHANGED, why=why)]


def _of_command(step: Command, workdir: str, *, changed: bool, links: int) -> Item:
    if links:
        why = f"it was run; {links} symbolic links that it makes are left out, which a snapshot cannot hold"
        return Item(what=step.shown, fate=Fate.CHANGED, why=why)
    if not changed:
        why = f"it was run and changed no file below {workdir}; nothing else is kept, empty folders neither"
        return Item(what=step.shown, fate=Fate.NOT_KEPT, why=why)
    return Item(what=step.shown, fate=Fate.KEPT, why="it was run; the files that it made are in the snapshot")


def ending_of(result: CommandResult) -> str:
    """How a command ended, with the end of its output."""
    match result.termination:
        case Termination.TIMED_OUT:
            ended = "did not end in time"
        case Termination.OUT_OF_MEMORY:
            ended = "ran out of memory"
        case Termination.EXITED | Termination.CONTAINER_ENDED:
            ended = f"ended with exit code {result.exit_code}"
        case _:
            assert_never(result.termination)
    said = " ".join(result.output.decode("utf-8", "backslashreplace").split())[-_SHOWN:]
    return f"{ended}, saying {said!r}" if said else ended
