"""Packing is deterministic, and what was packed is what comes out."""

from __future__ import annotations

import io
import tarfile

from hypothesis import given
from hypothesis import strategies as st

from esac_ag.archive import folders_of, pack
from esac_ag.tree import Directory, FileTree, Link, Node, RegularFile
from tests.builders_archive import unpacked

_PARTS = st.binary(min_size=1, max_size=120).filter(
    lambda part: part not in {b".", b"..", b".git"} and b"/" not in part and b"\0" not in part
)
_PATHS = st.lists(_PARTS, min_size=1, max_size=4).map(b"/".join)
_TARGETS = st.binary(min_size=1, max_size=200).filter(lambda target: b"\0" not in target)
_NODES: st.SearchStrategy[Node] = st.one_of(
    st.builds(RegularFile, st.binary(max_size=1500), st.booleans()),
    st.builds(Link, _TARGETS),
    st.just(Directory()),
)


@st.composite
def _trees(draw: st.DrawFn) -> FileTree:
    """Trees in which every folder is listed and nothing lies below a file."""
    nodes = draw(st.dictionaries(_PATHS, _NODES, max_size=8))
    folders = folders_of(nodes)
    return FileTree(nodes | dict.fromkeys(folders, Directory()))


@given(_trees())
def test_what_was_packed_is_what_comes_out(tree: FileTree) -> None:
    """Names, bytes, execute bits and link targets survive, whatever they are made of."""
    assert dict(unpacked(pack(tree, uid=1, gid=2)).tree) == dict(tree)


@given(_trees())
def test_the_same_tree_packs_to_the_same_bytes(tree: FileTree) -> None:
    """The order in which a tree was built leaves no trace."""
    backwards = FileTree(dict(reversed(list(tree.items()))))
    assert pack(tree, uid=1, gid=1) == pack(backwards, uid=1, gid=1)


@given(_trees())
def test_other_readers_agree(tree: FileTree) -> None:
    """Python's own reader finds the same names, kinds and bytes."""
    with tarfile.open(
        fileobj=io.BytesIO(pack(tree, uid=7, gid=8)), encoding="utf-8", errors="surrogateescape"
    ) as archive:
        found = {m.name.encode("utf-8", "surrogateescape"): m for m in archive.getmembers()}
        assert set(found) == set(tree)
        for path, node in tree.items():
            member = found[path]
            assert (member.uid, member.gid, member.mtime) == (7, 8, 0)
            if isinstance(node, RegularFile):
                content = archive.extractfile(member)
                assert content is not None
                assert content.read() == node.data
                assert bool(member.mode & 0o100) == node.executable


def test_folders_that_paths_imply_are_made() -> None:
    """A folder that nobody listed gets an entry, so that it belongs to the given user."""
    names = _members(pack(FileTree.of_text({"a/b/c": "x"}), uid=5, gid=6))
    assert {name: (m.uid, m.isdir()) for name, m in names.items()} == {
        "a": (5, True),
        "a/b": (5, True),
        "a/b/c": (5, False),
    }


def test_a_mode_for_the_root_comes_first() -> None:
    """The folder that the archive is unpacked in gets owner and mode before anything lies in it."""
    members = _members(pack(FileTree.of_text({"a": "x"}), uid=5, gid=6, root_mode=0o700))
    name, first = next(iter(members.items()))
    assert (name, first.mode, first.uid, first.isdir()) == ("", 0o700, 5, True)


def test_a_prefix_carries_the_mode_and_the_base_keeps_its_own() -> None:
    """Below a prefix the mode is the prefix's, and the root can have an owner of its own."""
    tree = FileTree.of_text({"a": "x"})
    members = _members(pack(tree, uid=5, gid=5, root_mode=0o700, prefix=b"p/q", base=(9, 9, 0o755)))
    assert {name: (m.uid, m.mode) for name, m in members.items()} == {
        "": (9, 0o755),
        "p": (5, 0o755),
        "p/q": (5, 0o700),
        "p/q/a": (5, 0o644),
    }


def test_existing_folders_are_left_alone() -> None:
    """A second archive changes neither owner nor mode of folders that are there, unless asked to."""
    tree = FileTree.of_text({"a": "x"})
    assert set(_members(pack(tree, uid=5, gid=5, prefix=b"p", existing={b"p"}))) == {"p/a"}
    asked = pack(tree, uid=5, gid=5, prefix=b"p", root_mode=0o700, existing={b"p"})
    assert set(_members(asked)) == {"p", "p/a"}


def _members(archive: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        return {member.name.strip("/"): member for member in opened.getmembers()}
