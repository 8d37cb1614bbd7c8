"""Files below a folder that others wrote in: no path and no link leads out of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from esac_ag.rooms.beneath import files_beneath, open_beneath, read_beneath
from esac_ag.rooms.reading import CannotRead, TooLarge


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file, links out of it and within it, and a pipe."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret")
    folder = tmp_path / "inside"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "file.txt").write_text("shown")
    (folder / "a" / "link.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    (folder / "a" / "near.txt").symlink_to("b/file.txt")
    (folder / "out").symlink_to(tmp_path / "outside")
    os.mkfifo(folder / "pipe")
    return folder


def test_a_file_is_read(folder: Path) -> None:
    """Through a link to the folder itself, too: whoever named it chose it."""
    assert read_beneath(folder, "a/b/file.txt", cap_bytes=5) == b"shown"
    (folder.parent / "named").symlink_to(folder)
    with open_beneath(folder.parent / "named", "a/b/file.txt") as file:
        assert file.read() == b"shown"


@pytest.mark.parametrize(
    "path",
    [
        *("../outside/secret.txt", "a/../../outside/secret.txt", "/etc/passwd", "", ".", "a//b/file.txt"),
        *(
            "a/link.txt",
            "a/near.txt",
            "out/secret.txt",
            "a/b",
            "a/none",
            "a/b/file.txt/x",
            "pipe",
            "a/\0",
            "x" * 300,
        ),
    ],
)
def test_every_other_path_is_refused(path: str, folder: Path) -> None:
    """Upward, absolute, by a link of any kind, a folder, nothing, a pipe that would block."""
    with pytest.raises(CannotRead):
        open_beneath(folder, path)


def test_more_than_the_cap_is_refused(folder: Path) -> None:
    """Its bytes are not held."""
    with pytest.raises(TooLarge):
        read_beneath(folder, "a/b/file.txt", cap_bytes=4)


def test_files_are_listed_without_links_and_no_more_than_are_asked_for(folder: Path) -> None:
    """What a listing names can be opened."""
    assert list(files_beneath(folder, "a", most=10)) == ["b/file.txt"]
    assert list(files_beneath(folder, "a", most=0)) == []
    assert list(files_beneath(folder, "out", most=10)) == []
    assert list(files_beneath(folder, "none", most=10)) == []
