"""What attempts left, read for packets: only files that the ledger vouches for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, assert_never

from pydantic import ValidationError

from esac_ag.agents.command_settings import CommandSettings
from esac_ag.agents.loaded import known_texts
from esac_ag.attempt.events import AttemptState
from esac_ag.conduct.collect import StudyRecords, vouched_file
from esac_ag.conduct.exporting import TRANSCRIPT, TranscriptLines
from esac_ag.errors import SubstitutionRefused
from esac_ag.manifest.plan import AgentKind, Arm, Manifest
from esac_ag.rooms.bundles import load_arm
from esac_ag.rooms.tasks import LoadedTask, load_sealed_task
from esac_ag.rooms.workspace import Workspace
from esac_ag.study.executed import Executed, RecordedCommand, executed_by_record, executed_by_tools
from esac_ag.study.giveaways import SHORTEST_NAME, Sources
from esac_ag.study.packing import Submission
from esac_ag.transcript import Entry
from esac_ag.tree import FileTree

COMMANDS: Final = "commands.jsonl"
PATCH: Final = "patch.diff"
SHORTEST_ID: Final = 6
"""Shorter ids of studies are words."""


def tasks_of(study: StudyRecords, workspace: Workspace) -> dict[str, LoadedTask]:
    """The study's tasks, by id, as they were sealed.

    Raises:
        SubstitutionRefused: one was changed.
        InputRefused: one is not in the workspace.
    """
    return {
        reference.id: load_sealed_task(
            workspace.manifests,
            reference.model_copy(update={"manifest": str(workspace.tasks / reference.id / "task.json")}),
        )
        for reference in study.manifest.tasks
    }


def known_of(task: LoadedTask) -> tuple[str, ...]:
    """What every arm of a task is given, and so tells none."""
    package = task.package
    shown = (package.task_id, package.title, package.public_command, package.baseline_expected_failure)
    return (*known_texts(task.request, task.snapshot), *_paths(task.snapshot), *shown)


def _paths(snapshot: FileTree) -> Iterator[str]:
    return (path.decode("utf-8", "replace") for path in snapshot.files())


def sources_of(study: StudyRecords, workspace: Workspace, manifest_folder: Path | None = None) -> Sources:
    """What gives arms away: the sealed bundles' bytes, names of model and agent, ids.

    Args:
        study: whose arms they are.
        workspace: where bundles are looked for.
        manifest_folder: where the sealed manifest lies, if that is not the workspace's `manifests/`.

    Raises:
        SubstitutionRefused: a bundle is not the sealed one, or not there: nothing could be masked by it.
    """
    folders = [folder for folder in (manifest_folder, workspace.manifests) if folder is not None]
    bundles = {arm.id: sealed_bundle(arm, folders, workspace) for arm in study.manifest.arms}
    study_id = study.manifest.study_id
    chosen = len(study_id) >= SHORTEST_ID and not study_id.isalpha()
    return Sources(
        bundles=bundles,
        names=tuple(name for name in _names(study.manifest) if len(name) >= SHORTEST_NAME),
        ids=(*study.state.attempts, *([study_id] if chosen else [])),
    )


def sealed_bundle(arm: Arm, folders: Sequence[Path], workspace: Workspace) -> FileTree:
    """The sealed bytes of an arm, wherever they are: what is sealed is the files, not their place.

    Args:
        arm: of a sealed plan.
        folders: that its `bundle` may be relative to.
        workspace: whose `arms/` is looked in last.

    Raises:
        SubstitutionRefused: it is nowhere as it was sealed.
    """
    here = arm.model_copy(update={"bundle": arm.bundle and PurePosixPath(arm.bundle).name})
    refusals: list[SubstitutionRefused] = []
    for folder, sought in (*((one, arm) for one in folders), (workspace.arms, here)):
        try:
            return load_arm(folder, sought)
        except SubstitutionRefused as error:
            refusals.append(error)
    raise refusals[0]


def _names(manifest: Manifest) -> Iterator[str]:
    """Names of the model and of the agent; versions that are more than a number."""
    model = manifest.model
    yield model.name
    if "/" in model.name:
        yield model.name.rpartition("/")[2]
    if not model.version.isalnum():
        yield f"{model.name} {model.version}"
    if agent := CommandSettings.agent_of(manifest.agent):
        yield agent


def submission_of(study: StudyRecords, attempt: AttemptState) -> Submission:
    """What an attempt that counts left.

    Raises:
        SubstitutionRefused: a file is not the one that the ledger names.
        InputRefused: its transcript cannot be read.
    """
    folder = study.folder.attempt(attempt.attempt_id).path
    entries = _entries(folder, attempt.artifacts)
    return Submission(
        attempt_id=attempt.attempt_id,
        task_id=attempt.cell.task,
        patch=_text(folder, attempt.artifacts, PATCH),
        entries=entries,
        executed=_executed(study.manifest.agent.kind, folder, attempt.artifacts, entries),
        grading=study.gradings.get(attempt.attempt_id),
    )


def _entries(folder: Path, artifacts: Mapping[str, str]) -> tuple[Entry, ...]:
    if TRANSCRIPT not in artifacts:
        return ()
    return tuple(TranscriptLines(vouched_file(folder / TRANSCRIPT, artifacts[TRANSCRIPT])))


def _text(folder: Path, artifacts: Mapping[str, str], name: str) -> str:
    if name not in artifacts:
        return ""
    return vouched_file(folder / name, artifacts[name]).read_bytes().decode("utf-8", "backslashreplace")


def _executed(
    kind: AgentKind, folder: Path, artifacts: Mapping[str, str], entries: tuple[Entry, ...]
) -> tuple[Executed, ...]:
    match kind:
        case AgentKind.COMMAND:
            return executed_by_tools(entries)
        case AgentKind.SCRIPTED | AgentKind.CHAT:
            return executed_by_record(tuple(_recorded(_text(folder, artifacts, COMMANDS))), entries)
        case _:
            assert_never(kind)


def _recorded(text: str) -> Iterator[RecordedCommand]:
    """Whole lines; the file's limit may have cut the last one."""
    for line in text.split("\n")[:-1]:
        try:
            yield RecordedCommand.model_validate_json(line, strict=False)
        except ValidationError:
            continue
