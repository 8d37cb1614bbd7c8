"""Reading instruction bundles (`arms/<id>/`): their inventories, and the bytes that enter a container."""

from __future__ import annotations

from pathlib import Path

from esac_ag.errors import InputRefused, SubstitutionRefused
from esac_ag.manifest.findings import refused
from esac_ag.manifest.inventory import difference, inventory_of
from esac_ag.manifest.plan import Arm, BundleFile
from esac_ag.rooms.trees import read_tree
from esac_ag.tree import FileTree

RESTORE = "Restore the sealed bundle, or freeze a new study with the changed one."


def read_bundle(folder: Path) -> FileTree:
    """All files of a bundle.

    Raises:
        InputRefused: the folder is missing or empty, or holds what an inventory cannot cover.
    """
    read = read_tree(folder)
    if read.findings:
        raise refused("The bundle cannot be sealed.", read.findings, where=str(folder))
    if not read.tree:
        raise InputRefused(
            "The bundle is empty.",
            where=str(folder),
            expected="at least one file",
            remedy="Name the folder that holds the instructions.",
        )
    return read.tree


def inventory(folder: Path) -> tuple[BundleFile, ...]:
    """The inventory of a bundle on disk.

    Raises:
        InputRefused: as `read_bundle`.
    """
    return inventory_of(read_bundle(folder))


def load_arm(manifest_folder: Path, arm: Arm) -> FileTree:
    """The bytes of an arm's bundle, read once and proved to be the sealed ones; empty for the control.

    What is returned is what was verified: nothing is read again between the comparison and the use.

    Raises:
        SubstitutionRefused: a file was edited, removed, added or swapped, or the bundle is not there.
    """
    if arm.bundle is None:
        return FileTree()
    folder = manifest_folder / arm.bundle
    try:
        read = read_tree(folder)
    except InputRefused as error:
        raise _refusal(arm, folder, f"no bundle: {error.found}") from error
    unlike = difference(arm.files, inventory_of(read.tree))
    strange = [finding.line() for finding in read.findings]
    if unlike or strange:
        raise _refusal(arm, folder, "; ".join([str(unlike)] * bool(unlike) + strange))
    return read.tree


def _refusal(arm: Arm, folder: Path, found: str) -> SubstitutionRefused:
    return SubstitutionRefused(
        f"The bundle of arm {arm.id} is not the one that the manifest sealed.",
        where=str(folder),
        expected=f"exactly the {len(arm.files)} sealed files",
        found=found,
        remedy=RESTORE,
    )
