"""Taking a bundle into the workspace: copy, inventory, and what a draft says of it."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from esac_ag import clock
from esac_ag.errors import InputRefused, UsageError
from esac_ag.front_matter import front_matter
from esac_ag.manifest.draft import DraftArm
from esac_ag.manifest.findings import refused, shown_text
from esac_ag.manifest.inventory import difference, inventory_of
from esac_ag.manifest.lineage import BundleLineage, DraftLineage
from esac_ag.manifest.plan import NEUTRAL, ArmKind, BundleFile
from esac_ag.record import Record, Sha256
from esac_ag.rooms.bundles import read_bundle
from esac_ag.rooms.lineages import keep_lineage, kept_lineage, refuse_lineage
from esac_ag.rooms.reading import CannotRead, read_with_mode
from esac_ag.rooms.trees import MAX_BYTES, read_tree
from esac_ag.rooms.workspace import Workspace
from esac_ag.seen_words import readable_text
from esac_ag.tree import FileTree, RegularFile

ID_PATTERN = r"[a-z0-9][a-z0-9._-]{0,99}"
SKILL_FILE = b"SKILL.md"
INSTRUCTION_FILES = (b"AGENTS.md", b"CLAUDE.md")
FOLDER_MODE = 0o755
EXECUTABLE_MODE = 0o755
PLAIN_MODE = 0o644


class FrozenArm(Record):
    """A bundle in the workspace."""

    arm: DraftArm
    """What goes into a draft's `arms`."""
    kind: ArmKind
    folder: str
    files: tuple[BundleFile, ...]
    tree_sha256: Sha256
    copied: bool
    """Whether anything was written; false when the same bundle was there before."""


class ArmList(Record):
    """The bundles of a workspace; the control has none and is not listed."""

    arms: tuple[FrozenArm, ...]


def freeze_arm(
    source: Path,
    arm_id: str,
    *,
    workspace: Workspace,
    kind: ArmKind | None = None,
    output: Path | None = None,
    revises: Path | None = None,
) -> FrozenArm:
    """Copy a skill folder, an instructions file or any folder to `arms/<id>/`, and take its inventory.

    Caches and version control in the source stay behind. What the bundle revises is kept beside its folder.

    Raises:
        UsageError: the id is the control's.
        InputRefused: the source cannot be sealed, does not fit the kind, or other content has the place.
    """
    refuse_arm_id(arm_id)
    if kind is ArmKind.NONE:
        raise UsageError(
            "The control arm has no bundle.",
            where="--kind",
            found=kind.value,
            remedy="Choose another kind; a draft names the control without a bundle.",
        )
    tree = bundle_to_freeze(source)
    known = kind_of_bundle(tree)
    _refuse_unless_fitting(tree, kind or known, source)
    folder = output or workspace.arms / arm_id
    lineage = None
    if revises is not None:
        before = bundle_to_freeze(revises).sha256()
        lineage = BundleLineage(bundle_sha256=tree.sha256(), revises=before)
        refuse_lineage(folder, lineage)
    copied = lay_down(tree, folder)
    if lineage is not None:
        keep_lineage(folder, lineage)
    return _frozen(arm_id, kind or known, folder, workspace, tree, copied=copied)


def refuse_arm_id(arm_id: str) -> None:
    """Refuse what cannot be the id of an arm with a bundle.

    Raises:
        UsageError: it is the control's, or malformed.
    """
    if arm_id == NEUTRAL:
        raise UsageError(
            "The control arm has no bundle.",
            where="--id",
            found=arm_id,
            remedy="Choose another id; a draft names the control without a bundle.",
        )
    if not re.fullmatch(ID_PATTERN, arm_id):
        raise UsageError(
            "The arm's id is malformed.",
            where="--id",
            expected="lower-case letters, digits, `.`, `_` and `-`, at most 100, a letter or digit first",
            found=shown_text(arm_id),
        )


def list_arms(workspace: Workspace) -> ArmList:
    """Every bundle in the workspace's `arms/`, in order.

    Raises:
        InputRefused: one of them cannot be sealed.
    """
    folders = sorted(path for path in workspace.arms.iterdir() if path.is_dir() and path.name[:1] != ".")
    trees = [(folder, read_bundle(folder)) for folder in folders]
    return ArmList(
        arms=tuple(
            _frozen(folder.name, kind_of_bundle(tree), folder, workspace, tree, copied=False)
            for folder, tree in trees
        )
    )


def kind_named(name: str | None) -> ArmKind | None:
    """The kind of that name.

    Raises:
        UsageError: there is none.
    """
    if name is None:
        return None
    try:
        return ArmKind(name)
    except ValueError as error:
        raise UsageError(
            "There is no such kind of bundle.",
            where="--kind",
            expected=", ".join(kind.value for kind in ArmKind if kind is not ArmKind.NONE),
            found=name,
        ) from error


def kind_of_bundle(tree: FileTree) -> ArmKind:
    """What a bundle looks like: a skill has SKILL.md, instructions are an AGENTS.md or CLAUDE.md."""
    if SKILL_FILE in tree:
        return ArmKind.SKILL
    if any(name in tree for name in INSTRUCTION_FILES):
        return ArmKind.INSTRUCTIONS
    return ArmKind.FOLDER


def listing_warning(tree: FileTree) -> str | None:
    """What a skill's head lacks, if it lacks what agents list it by; none for other bundles."""
    skill = tree.files().get(SKILL_FILE)
    if skill is None:
        return None
    head = front_matter(readable_text(skill.data))
    missing = [key for key in ("name", "description") if not head.get(key)]
    if not missing:
        return None
    lacks = " and no ".join(missing)
    return f"SKILL.md has no {lacks} at its head: agents that list skills by these never offer it"


def bundle_to_freeze(source: Path) -> FileTree:
    """The files of a source, without caches and version control.

    Raises:
        InputRefused: it cannot be read or sealed, or is empty.
    """
    if source.is_dir():
        read = read_tree(source, skip_ignored=True)
        if read.findings:
            raise refused("The bundle cannot be sealed.", read.findings, where=str(source))
        tree = read.tree
    else:
        try:
            data, executable = read_with_mode(source, cap_bytes=MAX_BYTES)
        except CannotRead as error:
            raise InputRefused(
                "The bundle cannot be read.",
                where=shown_text(str(source)),
                expected="a folder, or an AGENTS.md or CLAUDE.md",
                found=str(error),
                remedy="Check the path.",
            ) from error
        tree = FileTree({os.fsencode(source.name): RegularFile(data, executable)})
    if not tree:
        raise InputRefused(
            "The bundle is empty.", where=shown_text(str(source)), expected="at least one file"
        )
    return tree


def _refuse_unless_fitting(tree: FileTree, kind: ArmKind, source: Path) -> None:
    needed = {ArmKind.SKILL: (SKILL_FILE,), ArmKind.INSTRUCTIONS: INSTRUCTION_FILES}.get(kind, ())
    if needed and not any(name in tree for name in needed):
        raise InputRefused(
            f"The bundle is no {kind.value} bundle.",
            where=shown_text(str(source)),
            expected=" or ".join(name.decode() for name in needed) + " at its top",
            found=f"{len(tree)} other files",
            remedy="Add the file, or choose another --kind.",
        )


def lies_there(tree: FileTree, folder: Path) -> bool:
    """Whether a folder holds a bundle already, the same; nothing is written.

    Raises:
        InputRefused: other content has the place.
    """
    if os.path.lexists(folder) and not folder.is_dir():
        raise InputRefused(
            "The place is taken by something that is no folder.",
            where=shown_text(str(folder)),
            expected="a bundle's folder, or nothing",
            found="a file or a link",
            remedy="Choose another --id or --output.",
        )
    if folder.is_dir():
        # Everything counts here, caches too: a sealed inventory lists every file of the bundle.
        unlike = (
            difference(inventory_of(read_bundle(folder)), inventory_of(tree))
            if any(folder.iterdir())
            else None
        )
        if unlike:
            raise InputRefused(
                "The place is taken by another bundle.",
                where=shown_text(str(folder)),
                expected="the same files, or nothing",
                found=str(unlike),
                remedy="Choose another --id; a bundle that was sealed is never changed.",
            )
        return unlike is not None
    return False


def lay_down(tree: FileTree, folder: Path) -> bool:
    """Write a bundle's files into a folder that is there whole or not at all; false when it was there.

    Raises:
        InputRefused: other content has the place.
    """
    if lies_there(tree, folder):
        return False
    staged = folder.with_name(f".{folder.name}.{clock.opaque_id()}")
    try:
        for path, node in tree.files().items():
            _write(staged / os.fsdecode(path), node)
        os.replace(staged, folder)  # noqa: PTH105  (an empty folder may be there)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return True


def _write(path: Path, node: RegularFile) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
    path.write_bytes(node.data)
    path.chmod(EXECUTABLE_MODE if node.executable else PLAIN_MODE)


def _frozen(
    arm_id: str, kind: ArmKind, folder: Path, workspace: Workspace, tree: FileTree, *, copied: bool
) -> FrozenArm:
    bundle = os.path.relpath(folder.resolve(), workspace.manifests.resolve())
    kept = kept_lineage(folder, tree.sha256())
    lineage = None if kept is None else DraftLineage(revises=kept.revises)
    return FrozenArm(
        arm=DraftArm(id=arm_id, bundle=Path(bundle).as_posix(), lineage=lineage),
        kind=kind,
        folder=shown_text(str(folder)),
        files=inventory_of(tree),
        tree_sha256=tree.sha256(),
        copied=copied,
    )
