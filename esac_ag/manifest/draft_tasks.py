"""Rules for a draft's tasks: there are enough, and each has its packages, sealed to each other."""

from __future__ import annotations

from esac_ag.manifest.collector import Collector
from esac_ag.manifest.draft import DraftTask
from esac_ag.manifest.draft_sections import DraftSections
from esac_ag.manifest.findings import PathPart
from esac_ag.manifest.plan import MINIMUM_TASKS
from esac_ag.manifest.version1_files import Fault
from esac_ag.manifest.version2_files import GraderFacts, TaskFacts, Version2Files

EDIT = "Correct the draft."


def default_task_path(task_id: str) -> str:
    """Where a draft's task lies unless it says so: the workspace's `tasks/` beside `manifests/`."""
    return f"../tasks/{task_id}/task.json"


def judge_draft_tasks(parts: DraftSections, files: Version2Files, out: Collector) -> None:
    """Every task that can be read; their number, if the phase is known."""
    tasks = parts.tasks
    if tasks is None:
        return
    ids = [task.id if task else None for task in tasks]
    for index, task in enumerate(tasks):
        if task is None:
            continue
        at = ("tasks", index)
        if task.id in ids[:index]:
            out.error((*at, "id"), "duplicate-task", "Two tasks have one id.", "unique ids", task.id, EDIT)
        _judge_task(task, at, files, out)
    minimum = MINIMUM_TASKS[parts.phase] if parts.phase else 1
    if len(tasks) < minimum:
        what = f"There are fewer tasks than the phase {parts.phase or ''} needs.".replace("  ", " ")
        out.unready(("tasks",), "too-few-tasks", what, f"at least {minimum}", str(len(tasks)), "Add tasks.")


def _judge_task(task: DraftTask, at: tuple[PathPart, ...], files: Version2Files, out: Collector) -> None:
    package = files.task(task.manifest or default_task_path(task.id))
    grader = files.grader(task.id)
    for name, fault in (("task package", package), ("grader package", grader)):
        if isinstance(fault, Fault):
            what = f"The {name} cannot be used: {fault.reason}"
            remedy = "Write it, or correct the id."
            out.error(at, f"task-{fault.code}", what, f"a {name}", task.id, remedy)
    if isinstance(package, TaskFacts):
        if package.package.task_id != task.id:
            what = "The task package is another task's."
            out.error(at, "task-id", what, task.id, package.package.task_id, EDIT)
        _judge_seals(task, package, None if isinstance(grader, Fault) else grader, at, out)


def _judge_seals(
    task: DraftTask, facts: TaskFacts, grader: GraderFacts | None, at: tuple[PathPart, ...], out: Collector
) -> None:
    package = facts.package
    rows = [("public_tree_sha256", package.public_tree_sha256, facts.snapshot_sha256)]
    if grader is not None:
        actual = f"{grader.package.task_id}@{grader.tree_sha256}"
        rows.append(("private_grader_id", package.private_grader_id, actual))
    for key, said, actual in rows:
        if said != actual:
            what = f"`{key}` in task.json of {task.id} does not name the files at hand."
            remedy = f"If the files are right: esac-ag task seal {task.id}"
            out.error(at, "task-unsealed", what, actual, said, remedy)
