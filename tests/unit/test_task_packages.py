"""New task packages: begun, imported, written whole or not at all; and how far they are trusted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from esac_ag.conduct.harbor import import_harbor
from esac_ag.conduct.packages import write_package
from esac_ag.conduct.scaffold import new_task
from esac_ag.conduct.tasks import list_tasks, load_pair, refuse_unsealed, seal_tasks, unsealed
from esac_ag.errors import InputRefused, SubstitutionRefused, UsageError
from esac_ag.grading.patching import apply_patch, make_patch
from esac_ag.grading.proof_record import VariantKind
from esac_ag.grading.proof_rules import faults_of
from esac_ag.manifest.package import GraderPackage, Trust, can_be_a_folder
from esac_ag.report.claim import limits_of_claim
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.memory import InMemoryEngine
from esac_ag.tree import FileTree, Link, RegularFile
from tests.builders_conduct import a_runnable_study, run
from tests.builders_grading import a_package, a_task
from tests.builders_harbor import a_harbor_task
from tests.builders_manifest import a_workspace
from tests.unit.test_grading_proof import a_trial, a_variant


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace with four tasks."""
    return a_workspace(tmp_path / "space")


def files_of(workspace: Workspace) -> set[str]:
    """Every path of a workspace."""
    return {path.relative_to(workspace.root).as_posix() for path in workspace.root.rglob("*")}


def a_shared_package(**changes: object) -> GraderPackage:
    """A package as an import writes it: one check, one reference."""
    check = {"id": "verifier", "title": "t", "kind": "must-now-work", "dimension": "behaviour", "weight": 1}
    return a_package(checks=[check], decoys=[], **{"trust": "shared-process", **changes})


def test_a_new_task_is_sealed_and_its_patches_apply(workspace: Workspace) -> None:
    """Everything that a proof wants is there; the request is the given one."""
    begun = new_task(workspace, "my-task", request="Do it.")
    task, grader = load_pair(workspace, "my-task")
    assert not unsealed(task, grader)
    assert task.request == "Do it.\n"
    assert (len(grader.package.checks), len(grader.package.references), len(grader.package.decoys)) == (
        8,
        2,
        3,
    )
    package = grader.package
    for patch in (*(one.patch for one in package.references), *(one.patch for one in package.decoys)):
        node = grader.files[patch.encode()]
        assert isinstance(node, RegularFile)
        assert apply_patch(task.snapshot, node.data).files() != task.snapshot.files()
    assert all((workspace.root / name).exists() for name in begun.files)
    assert "esac-ag task check my-task" in (workspace.graders / "my-task" / "README.md").read_text()


@pytest.mark.parametrize("task_id", ["task-1", "", "../x", "A", "a b", "a/b", "-a", "x" * 81, "a\n"])
def test_an_id_that_is_taken_or_none_is_refused_and_nothing_is_written(
    workspace: Workspace, task_id: str
) -> None:
    """Ids are names of folders."""
    before = files_of(workspace)
    with pytest.raises(UsageError):
        new_task(workspace, task_id)
    assert files_of(workspace) == before


@pytest.mark.parametrize(
    ("changes", "wanted_id"),
    [
        ({"task.toml": 'schema_version = "9"'}, None),
        ({"environment/Dockerfile": "FROM x\nWORKDIR /app\nCOPY ../x .\n"}, None),
        ({}, "task-1"),
        ({}, "../task"),
    ],
)
def test_a_refused_import_starts_no_container_and_writes_nothing(
    workspace: Workspace, tmp_path: Path, changes: dict[str, str], wanted_id: str | None
) -> None:
    """Not even for the good task beside it."""
    engine = InMemoryEngine()
    folder = a_harbor_task(tmp_path / "all" / "b", changes=changes)
    if wanted_id is None:
        a_harbor_task(tmp_path / "all" / "a")
        folder = tmp_path / "all"
    before = files_of(workspace)
    with pytest.raises((InputRefused, UsageError)):
        import_harbor(workspace, engine, folder, wanted_id=wanted_id)
    assert files_of(workspace) == before
    assert engine.specs == []


def test_several_tasks_cannot_have_one_id_or_one_name(workspace: Workspace, tmp_path: Path) -> None:
    """Each is refused before anything runs."""
    for name in ("a", "b"):
        a_harbor_task(tmp_path / "all" / name)
    for wanted_id in (None, "x"):
        with pytest.raises(UsageError):
            import_harbor(workspace, InMemoryEngine(), tmp_path / "all", wanted_id=wanted_id)


def test_a_package_that_cannot_be_written_whole_leaves_nothing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The grader's folder goes again when the task's cannot be put."""
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if target.parent == workspace.tasks:
            raise OSError("no space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    before = files_of(workspace)
    with pytest.raises(OSError, match="no space"):
        write_package(
            workspace,
            document={"task_id": "new"},
            request="r",
            snapshot=FileTree(),
            grader=FileTree(),
            package=a_package(task_id="new"),
        )
    assert files_of(workspace) == before


def test_sealing_copies_the_graders_trust_and_a_wrong_one_is_refused(workspace: Workspace) -> None:
    """Reports read it from task.json, so it has to be the grader's."""
    path = workspace.graders / "task-1" / "grader.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"trust": "shared-process"}))
    task, grader = load_pair(workspace, "task-1")
    with pytest.raises(InputRefused):
        refuse_unsealed(task, grader)
    seal_tasks(workspace, ("task-1",))
    task, grader = load_pair(workspace, "task-1")
    assert task.package.trust is Trust.SHARED_PROCESS
    lines = {line.id: line.trust for line in list_tasks(workspace).tasks}
    assert (lines["task-1"], lines["task-2"]) == (Trust.SHARED_PROCESS, Trust.SEPARATE)


def test_a_study_refuses_a_task_that_changed_what_it_says_of_its_graders_trust(tmp_path: Path) -> None:
    """No digest of a manifest covers that key of task.json."""
    study = a_runnable_study(tmp_path)
    for path in sorted((study.folder / "tasks").glob("*/task.json")) or sorted(
        tmp_path.glob("tasks/*/task.json")
    ):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"trust": "shared-process"}))
    with pytest.raises(SubstitutionRefused) as refused:
        run(study)
    assert "trust" in refused.value.what


def test_a_shared_package_needs_one_check_and_one_reference() -> None:
    """And a separate one what it always needed."""
    good = (a_variant(VariantKind.BASELINE, a_trial("verifier")), a_variant(VariantKind.REFERENCE, a_trial()))
    quiet = tuple(variant.model_copy(update={"public": ()}) for variant in good)
    assert faults_of(a_task(), a_shared_package(), quiet) == ()
    assert "0 references, at least 1 are needed" in faults_of(
        a_task(), a_shared_package(references=[]), quiet
    )
    with pytest.raises(ValidationError):
        a_shared_package(trust="separate")


@pytest.mark.parametrize(
    "folder", ["app", "/", "/etc", "/tmp/x", "/usr/bin/x", "/a/../b", "/a//b", "/grade/x", "/var"]
)
def test_folders_that_would_cover_the_system_are_refused(folder: str) -> None:
    """Or the judge."""
    assert not can_be_a_folder(folder)
    with pytest.raises(ValidationError):
        a_shared_package(folders=[folder])


@pytest.mark.parametrize(
    "folder", ["/app", "/root", "/usr/src/app", "/usr/local/src", "/var/www/html", "/opt/x"]
)
def test_folders_beside_the_system_are_allowed(folder: str) -> None:
    """Where tasks of Harbor lie."""
    assert a_shared_package(folders=[folder]).folders == (folder,)


def test_a_made_patch_is_exact_for_any_bytes() -> None:
    """Binary files, links, modes, a file in a folder's place, attributes that would change line ends."""
    before = FileTree(
        {
            b"kept": RegularFile(b"1\r\n2\r\n"),
            b"folder/x": RegularFile(b"x"),
            b"gone": RegularFile(b"\0\xff"),
            b".gitattributes": RegularFile(b"* text eol=lf\n*.z binary\n"),
        }
    )
    after = FileTree(
        {
            b"kept": RegularFile(b"1\r\n3\r\n", executable=True),
            b"folder": RegularFile(b"\0\x01\xff"),
            b"link": Link(b"kept"),
            b".gitignore": RegularFile(b"*\n"),
            b"empty": RegularFile(b""),
        }
    )
    made = apply_patch(before, make_patch(before, after))
    assert {path: node for path, node in made.items() if path in after} == dict(after)
    assert set(made) == set(after)
    assert make_patch(before, before) == b""


def test_a_report_bounds_its_claim_by_the_tasks_that_are_not_separate(tmp_path: Path) -> None:
    """By name; without one there is no such sentence."""
    from tests.builders_report import a_manifest  # noqa: PLC0415

    manifest = a_manifest()
    shared = a_task().model_copy(update={"trust": Trust.SHARED_PROCESS})
    told = " ".join(limits_of_claim(manifest, {"one": shared, "two": a_task()}))
    assert "Verdicts of one (trust: shared-process)" in told
    assert "trust" not in " ".join(limits_of_claim(manifest, {"two": a_task()}))
    assert tmp_path.exists()
