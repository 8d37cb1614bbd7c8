"""Marks of owners: a live process keeps what it uses, a dead one's leavings are removed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from esac_ag.owner import (
    PREFIX,
    is_alive,
    is_of_another,
    remove_abandoned_folders,
    temporary_folder,
    this_process,
)

MAKES = (
    "import sys\n"
    "from esac_ag.owner import temporary_folder, this_process\n"
    "with temporary_folder('test') as folder:\n"
    "    print(this_process(), folder, flush=True)\n"
    "    sys.stdin.read()\n"
)


def another() -> tuple[subprocess.Popen[str], str, Path]:
    """A process that has made a temporary folder, its mark, and the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", MAKES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    mark, folder = process.stdout.readline().split()
    return process, mark, Path(folder)


def test_this_process_is_alive_and_its_folders_stay() -> None:
    """What a live process made is neither another's nor abandoned."""
    with temporary_folder("test") as folder:
        assert is_alive(this_process())
        assert not is_of_another(this_process())
        assert folder.name not in remove_abandoned_folders()
        assert folder.is_dir()
    assert not folder.exists()


def test_what_a_killed_process_made_is_removed_by_the_next_command() -> None:
    """While it lives its folder is kept; after SIGKILL it is found and removed."""
    process, mark, folder = another()
    assert is_of_another(mark)
    assert folder.name not in remove_abandoned_folders()
    process.kill()
    process.communicate()
    assert not is_alive(mark)
    assert folder.name in remove_abandoned_folders()
    assert not folder.exists()


@pytest.mark.parametrize("mark", ["", "x", "..", "boot.1.2", "boot.x.y", None])
def test_a_mark_that_names_no_live_process_has_no_owner(mark: str | None) -> None:
    """Unreadable marks, other boots, and reused process ids (None here) are not alive."""
    assert not is_alive(f"{this_process()}9" if mark is None else mark)


def test_a_link_in_the_place_of_a_folder_is_left_alone(tmp_path: Path) -> None:
    """Removal never follows a link that somebody planted."""
    target = tmp_path / "target"
    target.mkdir()
    link = Path(tempfile.gettempdir()) / f"{PREFIX}b.1.1-test-{tmp_path.name}"
    link.symlink_to(target)
    try:
        remove_abandoned_folders()
        assert target.is_dir()
    finally:
        link.unlink()
