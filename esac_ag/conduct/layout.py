"""Lays out a workspace: the content rooms, from a checkout or from the installed wheel."""

from __future__ import annotations

import shutil
from pathlib import Path

import esac_ag
from esac_ag.errors import HarnessError, UsageError
from esac_ag.rooms.workspace import ROOMS

GUIDES = "docs"
"""What errors and pages point to."""
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", ".*_cache")


def lay_out(folder: Path) -> tuple[str, ...]:
    """Copy the rooms into a folder that has none of them; their names.

    Raises:
        UsageError: the folder has a room already, or is a file.
    """
    there = [room for room in ROOMS if (folder / room).exists()]
    if there or (folder.exists() and not folder.is_dir()):
        raise UsageError(
            "the folder cannot become a workspace",
            where=str(folder),
            expected="a new folder, or one without the rooms",
            found=f"it has {', '.join(there)}" if there else "a file",
            remedy="name another folder",
        )
    source = _source()
    for room in (*ROOMS, GUIDES):
        shutil.copytree(source / room, folder / room, ignore=LEFT_OUT, dirs_exist_ok=room == GUIDES)
    (folder / "results").mkdir(exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("results/\n.esac-ag/\n.heldout/\n")
    return ROOMS


def _source() -> Path:
    package = Path(esac_ag.__file__).parent
    for candidate in (package / "_rooms", package.parent):
        if all((candidate / room).is_dir() for room in ROOMS):
            return candidate
    raise HarnessError(
        "the installation lacks the content rooms",
        where=str(package),
        expected=f"the folders {', '.join(ROOMS)}",
        remedy="install the package again from a wheel or a whole checkout",
    )
