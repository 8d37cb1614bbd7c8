"""Reading folders: the same tree on every machine, and findings for what no digest can cover."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from esac_ag.errors import InputRefused
from esac_ag.rooms import trees
from esac_ag.rooms.reading import CannotRead, read_bounded
from esac_ag.rooms.trees import read_tree
from tests.builders_manifest import tree_hash, write


def codes(folder: Path) -> list[str]:
    """Codes of the findings of a folder."""
    return [finding.code for finding in read_tree(folder).findings]


def names(folder: Path) -> list[bytes]:
    """Paths of the files of a folder."""
    return list(read_tree(folder).tree)


def open_descriptors() -> int:
    """How many files this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small tree."""
    write(tmp_path / "tree" / "README.md", "# Hello\n")
    write(tmp_path / "tree" / "src" / "a.py", "a = 1\n")
    return tmp_path / "tree"


def test_files_are_read_with_their_bytes_and_execute_bit(folder: Path) -> None:
    """The bytes are those on disk; folders are implied."""
    (folder / "run.sh").write_bytes(b"#!/bin/sh\r\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "empty").mkdir()
    files = read_tree(folder).tree.files()
    assert list(files) == [b"README.md", b"run.sh", b"src/a.py"]
    assert (files[b"run.sh"].data, files[b"run.sh"].executable) == (b"#!/bin/sh\r\n", True)
    assert not files[b"README.md"].executable


def test_the_digest_agrees_with_the_written_format(folder: Path) -> None:
    """Sorted by components: `src/a.py` comes before `src-notes`, although `-` comes before `/`."""
    write(folder / "src-notes", "notes\n")
    write(folder / "src.txt", "text\n")
    assert read_tree(folder).tree.sha256() == tree_hash(folder)


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=6).filter(
    lambda name: name not in {".", ".."}
)

# Text that holds NUL is hashed raw, so its line ends count.
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=st.dictionaries(NAMES, TEXTS, min_size=1, max_size=6))
def test_the_digest_depends_on_names_and_text_alone(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str]
) -> None:
    """Order of creation, times, modes and umask leave no trace; CRLF is LF."""
    one, other = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("other")
    before = os.umask(0o022)
    for number, (name, text) in enumerate(files.items()):
        (one / name).write_bytes(text.replace("\r", "\n").encode())
        os.utime(one / name, (number, number))
    os.umask(0o077)
    try:
        for name, text in reversed(files.items()):
            (other / name).write_bytes(text.replace("\r", "\n").replace("\n", "\r\n").encode())
    finally:
        os.umask(before)
    assert read_tree(one).tree.sha256() == read_tree(other).tree.sha256() == tree_hash(one)


def test_the_digest_does_not_depend_on_the_time_zone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor on the locale."""
    before = read_tree(folder).tree.sha256()
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    monkeypatch.setenv("LC_ALL", "tr_TR.UTF-8")
    assert read_tree(folder).tree.sha256() == before


def test_bytes_that_are_no_text_are_hashed_as_they_are(folder: Path) -> None:
    """A picture's CR LF is no line end."""
    (folder / "logo.png").write_bytes(b"\x89PNG\r\n\0")
    with_crlf = read_tree(folder).tree.sha256()
    (folder / "logo.png").write_bytes(b"\x89PNG\n\0")
    assert read_tree(folder).tree.sha256() != with_crlf


def test_a_link_to_a_file_inside_is_read_as_that_file(folder: Path) -> None:
    """Relative or through another link, as `Path.is_file` would say."""
    (folder / "src" / "b.py").symlink_to("../README.md")
    (folder / "c.py").symlink_to("src/b.py")
    read = read_tree(folder)
    assert read.findings == ()
    assert read.tree[b"c.py"] == read.tree[b"README.md"]
    assert read.tree.sha256() == tree_hash(folder)


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("/etc/hostname", "symlink-leaves"),
        ("../secret", "symlink-leaves"),
        ("../tree2", "symlink-leaves"),
        ("src", "symlink-to-folder"),
        (".", "symlink-to-folder"),
        ("nowhere", "symlink-nowhere"),
        ("link", "symlink-nowhere"),
    ],
)
def test_any_other_link_is_a_finding_and_left_out(folder: Path, target: str, code: str) -> None:
    """Nothing outside is read, whatever a link says."""
    write(folder.parent / "secret", "canary\n")
    (folder.parent / "tree2").mkdir()
    (folder / "link").symlink_to(target)
    read = read_tree(folder)
    assert [finding.code for finding in read.findings] == [code]
    assert b"link" not in read.tree
    assert not any(b"canary" in file.data for file in read.tree.files().values())


def test_a_pipe_and_a_socket_are_findings_and_do_not_block(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only regular files are opened."""
    os.mkfifo(folder / "pipe")
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert codes(folder) == ["special-file", "special-file"]


@pytest.mark.parametrize(
    ("one", "other"), [("Readme.md", "README.md"), ("caf\u00e9", "cafe\u0301"), ("stra\u00dfe", "STRASSE")]
)
def test_names_that_collide_elsewhere_are_findings(tmp_path: Path, one: str, other: str) -> None:
    """Case and Unicode form decide on macOS and Windows which of two files survives."""
    write(tmp_path / one, "1")
    write(tmp_path / other, "2")
    finding = read_tree(tmp_path).findings[0]
    assert (finding.code, ascii(one) in finding.found, ascii(other) in finding.found) == (
        "name-collision",
        True,
        True,
    )


def test_folders_that_collide_are_told_once(tmp_path: Path) -> None:
    """What lies below them is not repeated."""
    write(tmp_path / "Docs" / "a.md", "1")
    write(tmp_path / "docs" / "a.md", "2")
    assert codes(tmp_path) == ["name-collision"]


@pytest.mark.parametrize(
    ("name", "code"),
    [(b"\xff.md", "name-not-unicode"), (b"a\\b.md", "name-not-portable"), (b"a\nb.md", "name-not-portable")],
)
def test_names_that_cannot_be_listed_are_findings_shown_escaped(
    tmp_path: Path, name: bytes, code: str
) -> None:
    """They are printable in every report."""
    (tmp_path / os.fsdecode(name)).write_text("x")
    finding = read_tree(tmp_path).findings[0]
    assert finding.code == code
    assert (finding.file + finding.found).isprintable()


def test_caches_are_not_even_looked_at_when_they_are_to_be_skipped(folder: Path) -> None:
    """What no digest covers enters no container; a folder called `x.pyc` is no byte code."""
    write(folder / "__pycache__" / "a.txt", "x")
    write(folder / ".git" / "HEAD", "x")
    write(folder / "a.pyc", "x")
    write(folder / "b.pyc" / "kept.txt", "x")
    (folder / "node_modules").mkdir()
    os.mkfifo(folder / "node_modules" / "pipe")
    read = read_tree(folder, skip_ignored=True)
    assert (list(read.tree), read.findings) == ([b"README.md", b"b.pyc/kept.txt", b"src/a.py"], ())
    assert len(names(folder)) == 6


def test_a_tree_without_bottom_is_a_finding(tmp_path: Path) -> None:
    """Depth is bounded, so no stack is used up."""
    (tmp_path / "/".join(["d"] * 200)).mkdir(parents=True)
    assert codes(tmp_path) == ["too-much"]


def test_a_tree_with_too_many_files_or_bytes_is_a_finding(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is bounded."""
    monkeypatch.setattr(trees, "MAX_FILES", 1)
    assert codes(folder) == ["too-much"]
    monkeypatch.setattr(trees, "MAX_BYTES", 3)
    assert "unreadable" in codes(folder)


def test_findings_come_in_the_order_of_names(folder: Path) -> None:
    """Whatever order the file system lists them in."""
    for number in (3, 1, 2):
        (folder / f"link-{number}").symlink_to("nowhere")
    assert [f.file[-1] for f in read_tree(folder).findings] == ["1", "2", "3"]


@pytest.mark.parametrize("name", ["missing", "tree/README.md", "loop"])
def test_what_is_no_folder_is_refused(folder: Path, name: str) -> None:
    """With the path and the reason."""
    (folder.parent / "loop").symlink_to("loop")
    with pytest.raises(InputRefused) as refused:
        read_tree(folder.parent / name)
    assert refused.value.where.endswith(name)
    assert refused.value.found


def test_reading_leaves_no_descriptor_open(folder: Path) -> None:
    """Refused files and folders are closed too."""
    os.mkfifo(folder / "pipe")
    before = open_descriptors()
    for _ in range(5):
        read_tree(folder)
        for name in (folder, folder / "pipe", folder / "README.md"):
            with pytest.raises(CannotRead):
                read_bounded(name, cap_bytes=1)
    assert open_descriptors() == before
