"""The package that an imported Harbor task becomes."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue

from esac_ag.agents.contract import AGENT_WORKSPACE
from esac_ag.conduct.harbor_checks import CHECK, checks_text
from esac_ag.conduct.harbor_standins import stand_ins
from esac_ag.conduct.packages import write_package
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
from esac_ag.report.escaping import markdown
from esac_ag.rooms.harbor import HarborTask, mount_of
from esac_ag.rooms.harbor_report import Fate, HarborImport, Item
from esac_ag.rooms.harbor_settings import MAX_CHECK_S
from esac_ag.rooms.workspace import Workspace
from esac_ag.tree import FileTree, RegularFile

_REFERENCE = "oracle"
_LONGEST_QUOTED = 2000
_PLACING_S = 30.0
"""Of the check, beside test.sh: to put files in their place and to read the reward."""


@dataclass(frozen=True, slots=True)
class Made:
    """A task that is ready to be written."""

    task: HarborTask
    record: HarborImport
    snapshot: FileTree
    patch: bytes | None


def general_items(task: HarborTask, snapshot: FileTree) -> tuple[Item, ...]:
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


def write_import(workspace: Workspace, made: Made) -> None:
    """Write an import's two folders, sealed.

    Raises:
        UsageError: its id is taken.
    """
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


def _package(made: Made) -> GraderPackage:
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


def _grader_files(made: Made) -> FileTree:
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
    name = _quoted(record.name)
    headings = {Fate.NOT_KEPT: "Not kept", Fate.CHANGED: "Changed", Fate.KEPT: "Kept"}
    lines = [
        f"# {record.id}",
        "",
        f"Imported from the Harbor task {name} (schema {record.schema_version}). What is right is",
        "what its `files/tests/test.sh` rewards with 1; the reference is what its solve.sh makes.",
        "",
        f"Trust: {record.trust.value}. Be warned that {SHARED_TRUST}.",
        "",
        f"Oracle: {_quoted(record.oracle)}.",
    ]
    for fate, heading in headings.items():
        told = (f"- {_quoted(item.what)}: {_quoted(item.why)}" for item in record.of(fate))
        lines += ["", f"## {heading}", "", *told]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """What a stranger's task says, as words that steer neither a terminal nor a page."""
    return markdown(text, _LONGEST_QUOTED)
