"""Bundles: inventories, freezing, and substitution that is refused on the very bytes that are used."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from esac_ag.canonical import HashRule
from esac_ag.errors import InputRefused, SubstitutionRefused, UsageError
from esac_ag.manifest.draft import DraftArm
from esac_ag.manifest.inventory import difference
from esac_ag.manifest.plan import Arm, ArmKind
from esac_ag.rooms.bundles import inventory, load_arm
from esac_ag.rooms.freezing import freeze_arm, list_arms
from esac_ag.rooms.workspace import Workspace
from tests.builders_manifest import SKILL_TEXT, a_workspace, file_hash, listed, write


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace with the bundle `careful`."""
    return a_workspace(tmp_path / "space")


@pytest.fixture
def sealed(workspace: Workspace) -> Arm:
    """The arm `careful` as a manifest seals it."""
    files = inventory(workspace.arms / "careful")
    return Arm(id="careful", kind=ArmKind.SKILL, bundle="../arms/careful", files=files)


def test_an_inventory_lists_every_file_with_its_hash(workspace: Workspace) -> None:
    """Caches included: what would enter a container is listed."""
    folder = workspace.arms / "careful"
    write(folder / "__pycache__" / "x.pyc", "x")
    found = [{"path": file.path, "sha256": file.sha256} for file in inventory(folder)]
    assert found == sorted(listed(folder), key=lambda entry: entry["path"].split("/"))
    assert len(found) == 3


def test_an_inventory_tells_which_bytes_were_hashed(workspace: Workspace) -> None:
    """Pictures raw, text with LF."""
    folder = workspace.arms / "careful"
    (folder / "logo.png").write_bytes(b"\x89PNG\r\n")
    rules = {file.path: file.rule for file in inventory(folder)}
    assert (rules["SKILL.md"], rules["logo.png"]) == (HashRule.TEXT_LF, HashRule.RAW)


def test_a_windows_checkout_has_the_same_inventory(workspace: Workspace) -> None:
    """CRLF changes no hash of text."""
    before = inventory(workspace.arms / "careful")
    for path in (workspace.arms / "careful").rglob("*.md"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert inventory(workspace.arms / "careful") == before


def test_an_empty_bundle_is_refused(tmp_path: Path) -> None:
    """An arm that holds nothing would be a second control."""
    with pytest.raises(InputRefused, match="empty"):
        inventory(tmp_path)


def test_the_sealed_bytes_are_handed_out(workspace: Workspace, sealed: Arm) -> None:
    """Exactly what lies there, in memory."""
    tree = load_arm(workspace.manifests, sealed)
    assert list(tree) == [b"SKILL.md", b"references/more.md"]
    assert tree.files()[b"SKILL.md"].data == SKILL_TEXT.encode()


def test_the_control_has_no_bytes(workspace: Workspace) -> None:
    """Nothing is read for it."""
    control = Arm(id="neutral", kind=ArmKind.NONE, bundle=None, files=())
    assert len(load_arm(workspace.manifests, control)) == 0


def swap(folder: Path) -> None:
    """Let two files change places."""
    one, other = (folder / "SKILL.md").read_bytes(), (folder / "references/more.md").read_bytes()
    (folder / "SKILL.md").write_bytes(other)
    (folder / "references/more.md").write_bytes(one)


def link_copy(folder: Path) -> None:
    """Put a link to the same bytes elsewhere in a file's place."""
    (folder / "SKILL.md").rename(folder.with_name("copy.md"))
    (folder / "SKILL.md").symlink_to("../copy.md")


SUBSTITUTIONS: dict[str, tuple[Callable[[Path], object], str]] = {
    "edit": (lambda f: write(f / "SKILL.md", "# other\n"), "edited: 'SKILL.md'"),
    "add": (lambda f: write(f / "new.md", "new\n"), "added: 'new.md'"),
    "add a cache": (lambda f: write(f / "__pycache__/a.pyc", "new\n"), "added: '__pycache__/a.pyc'"),
    "remove": (lambda f: (f / "references/more.md").unlink(), "missing: 'references/more.md'"),
    "rename": (lambda f: (f / "SKILL.md").rename(f / "skill.md"), "missing: 'SKILL.md'; added: 'skill.md'"),
    "swap": (swap, "swapped: 'SKILL.md with references/more.md'"),
    "remove all": (lambda f: f.rename(f.with_name("gone")), "no bundle"),
    "replace by a link to a copy": (
        link_copy,
        "a symbolic link leaves",
    ),
    "a pipe": (lambda f: os.mkfifo(f / "pipe"), "special file"),
    "bytes that are no text": (lambda f: (f / "SKILL.md").write_bytes(b"\xff"), "edited: 'SKILL.md'"),
}


@pytest.mark.parametrize("name", SUBSTITUTIONS)
def test_a_substituted_bundle_is_refused_at_a_later_launch(
    workspace: Workspace, sealed: Arm, name: str
) -> None:
    """The first launch is fine; the change in between is told in words."""
    load_arm(workspace.manifests, sealed)
    change, words = SUBSTITUTIONS[name]
    change(workspace.arms / "careful")
    with pytest.raises(SubstitutionRefused) as refused:
        load_arm(workspace.manifests, sealed)
    assert words.lower() in refused.value.found.lower()
    assert (refused.value.exit_code, "careful" in refused.value.what) == (1, True)


def test_what_was_verified_is_what_is_used(workspace: Workspace, sealed: Arm) -> None:
    """A change after the comparison changes nothing that was handed out."""
    tree = load_arm(workspace.manifests, sealed)
    write(workspace.arms / "careful" / "SKILL.md", "# other\n")
    assert tree.files()[b"SKILL.md"].data == SKILL_TEXT.encode()


def test_the_same_inventory_has_no_difference(sealed: Arm) -> None:
    """In any order."""
    assert not difference(sealed.files, tuple(reversed(sealed.files)))


def test_a_skill_folder_is_frozen_without_its_caches(workspace: Workspace, tmp_path: Path) -> None:
    """The entry for a draft points from `manifests/` to the copy."""
    write(tmp_path / "skill" / "SKILL.md", SKILL_TEXT)
    write(tmp_path / "skill" / "scripts" / "run.sh", "#!/bin/sh\n").chmod(0o755)
    write(tmp_path / "skill" / ".git" / "HEAD", "ref\n")
    frozen = freeze_arm(tmp_path / "skill", "mine", workspace=workspace)
    assert (frozen.kind, frozen.arm, frozen.copied) == (
        ArmKind.SKILL,
        DraftArm(id="mine", bundle="../arms/mine"),
        True,
    )
    assert [file.path for file in frozen.files] == ["SKILL.md", "scripts/run.sh"]
    assert frozen.files == inventory(workspace.arms / "mine")
    assert os.access(workspace.arms / "mine/scripts/run.sh", os.X_OK)


@pytest.mark.parametrize("name", ["AGENTS.md", "CLAUDE.md"])
def test_an_instructions_file_is_frozen_as_a_bundle_of_one_file(
    workspace: Workspace, tmp_path: Path, name: str
) -> None:
    """Under the name that agents look for."""
    frozen = freeze_arm(write(tmp_path / name, "Be brief.\n"), "rules", workspace=workspace)
    assert (frozen.kind, [file.path for file in frozen.files]) == (ArmKind.INSTRUCTIONS, [name])
    assert file_hash(workspace.arms / "rules" / name) == frozen.files[0].sha256


def test_any_other_folder_is_frozen_as_a_folder(workspace: Workspace, tmp_path: Path) -> None:
    """Unless its kind is given, and fits."""
    write(tmp_path / "notes" / "style.txt", "Short.\n")
    assert freeze_arm(tmp_path / "notes", "notes", workspace=workspace).kind is ArmKind.FOLDER
    with pytest.raises(InputRefused) as refused:
        freeze_arm(tmp_path / "notes", "notes-2", workspace=workspace, kind=ArmKind.SKILL)
    assert refused.value.expected.startswith("SKILL.md")


def test_freezing_twice_changes_nothing_and_freezing_something_else_is_refused(
    workspace: Workspace, tmp_path: Path
) -> None:
    """A bundle that may be sealed somewhere is never overwritten."""
    source = write(tmp_path / "AGENTS.md", "One.\n")
    freeze_arm(source, "rules", workspace=workspace)
    assert not freeze_arm(source, "rules", workspace=workspace).copied
    write(source, "Two.\n")
    with pytest.raises(InputRefused) as refused:
        freeze_arm(source, "rules", workspace=workspace)
    assert refused.value.found == "edited: 'AGENTS.md'"
    assert (workspace.arms / "rules/AGENTS.md").read_text() == "One.\n"
    assert not [path for path in workspace.arms.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("make", [Path.touch, lambda path: path.symlink_to("nowhere")])
def test_a_place_that_is_no_folder_is_left_alone(
    workspace: Workspace, tmp_path: Path, make: Callable[[Path], object]
) -> None:
    """Neither a file nor a dangling link is replaced."""
    make(workspace.arms / "rules")
    with pytest.raises(InputRefused):
        freeze_arm(write(tmp_path / "AGENTS.md", "One.\n"), "rules", workspace=workspace)
    assert (workspace.arms / "rules").lstat().st_size < 10


def test_freezing_a_bundle_in_its_place_takes_its_inventory(workspace: Workspace) -> None:
    """A folder that was written in `arms/` needs no copy."""
    frozen = freeze_arm(workspace.arms / "careful", "careful", workspace=workspace)
    assert (frozen.copied, frozen.files) == (False, inventory(workspace.arms / "careful"))


@pytest.mark.parametrize("target", ["/etc/hostname", "nowhere", "."])
def test_a_bundle_with_findings_is_not_frozen(workspace: Workspace, tmp_path: Path, target: str) -> None:
    """Nothing is written."""
    write(tmp_path / "skill" / "SKILL.md", SKILL_TEXT)
    (tmp_path / "skill" / "link").symlink_to(target)
    with pytest.raises(InputRefused):
        freeze_arm(tmp_path / "skill", "mine", workspace=workspace)
    assert not (workspace.arms / "mine").exists()


@pytest.mark.parametrize("arm_id", ["neutral", "Mine", "../mine", "", "a b", "mine\n"])
def test_an_id_that_is_taken_by_the_control_or_malformed_is_a_usage_error(
    workspace: Workspace, arm_id: str
) -> None:
    """Ids are file names and labels."""
    with pytest.raises(UsageError):
        freeze_arm(workspace.arms / "careful", arm_id, workspace=workspace)


def test_the_workspaces_bundles_are_listed_in_order(workspace: Workspace, tmp_path: Path) -> None:
    """With kind and inventory."""
    freeze_arm(write(tmp_path / "AGENTS.md", "One.\n"), "a-rule", workspace=workspace)
    arms = list_arms(workspace).arms
    assert [(arm.arm.id, arm.kind) for arm in arms] == [
        ("a-rule", ArmKind.INSTRUCTIONS),
        ("careful", ArmKind.SKILL),
    ]


def test_the_shipped_arms_are_skills_with_references() -> None:
    """Each has its front matter, and names every reference that it has."""
    workspace = Workspace.find(start=Path(__file__))
    arms = {arm.arm.id: arm for arm in list_arms(workspace).arms}
    assert set(arms) >= {"current-restraint", "markskill"}
    for arm_id in ("current-restraint", "markskill"):
        text = (workspace.arms / arm_id / "SKILL.md").read_text()
        head = text.split("---\n")[1]
        assert arms[arm_id].kind is ArmKind.SKILL
        assert f"name: {arm_id}\n" in head
        assert "description: " in head
        references = [file.path for file in arms[arm_id].files if file.path != "SKILL.md"]
        assert references
        assert all(path in text for path in references)


def test_a_frozen_arm_is_what_a_draft_takes(workspace: Workspace) -> None:
    """The printed entry parses as a draft's arm."""
    frozen = freeze_arm(workspace.arms / "careful", "careful", workspace=workspace)
    entry = json.loads(frozen.arm.model_dump_json())
    assert DraftArm.model_validate_json(json.dumps(entry)) == frozen.arm
