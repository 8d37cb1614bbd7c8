"""Patches between trees: their text, their bounded cost, and figures about them."""

from __future__ import annotations

import tracemalloc

from hypothesis import given, settings
from hypothesis import strategies as st

from esac_ag.grading.patching import apply_patch
from esac_ag.patch import diff_statistics, unified_diff
from esac_ag.patch.lines import LineDiffer, split_lines
from esac_ag.patch.text import quoted
from esac_ag.tree import Directory, FileTree, Link, RegularFile

_NAMES = st.sampled_from(
    [
        b"a",
        b"b/c",
        b"b/d",
        b"d e",
        b'q"x',
        b"back\\slash",
        "naïve".encode(),
        b"tab\tname",
        b"new\nline",
        b"a/x",
    ]
)
_LINES = st.sampled_from(
    ["", "one", "two", "three", "--- a/b", "+++", "@@ -1 +1 @@", "\\ No newline", "x\r", "é"]
)
_TEXTS = st.builds(
    lambda lines, end: "\n".join(lines) + ("\n" if end and lines else ""),
    st.lists(_LINES, max_size=30),
    st.booleans(),
)
_FILES = st.builds(lambda text, mode: RegularFile(text.encode(), mode), _TEXTS, st.booleans())
_LINKS = st.builds(Link, st.sampled_from([b"target", b"../up", b"sp ace"]))


def _consistent(nodes: dict[bytes, RegularFile | Link]) -> FileTree:
    """Without nodes that lie below another one, which no file system can hold."""
    return FileTree(
        {path: node for path, node in nodes.items() if not any(path.startswith(p + b"/") for p in nodes)}
    )


_TREES = st.dictionaries(_NAMES, st.one_of(_FILES, _FILES, _LINKS), max_size=5).map(_consistent)


def _without_folders(tree: FileTree) -> FileTree:
    return FileTree({path: node for path, node in tree.items() if not isinstance(node, Directory)})


@settings(deadline=None, max_examples=60)
@given(before=_TREES, after=_TREES)
def test_git_apply_turns_the_one_tree_into_the_other(before: FileTree, after: FileTree) -> None:
    """What `git apply` makes of the patch is the second tree: names, modes, links and bytes."""
    patch = unified_diff(before, after)

    applied = _without_folders(apply_patch(before, patch)) if patch else before

    assert applied == after


@given(before=st.lists(_LINES, max_size=40), after=st.lists(_LINES, max_size=40), budget=st.integers(0, 400))
def test_blocks_rebuild_the_second_sequence_whatever_the_budget(
    before: list[str], after: list[str], budget: int
) -> None:
    """Replacing the blocks gives the second sequence, also where the budget cuts the search short."""
    old, new = [line.encode() for line in before], [line.encode() for line in after]
    rebuilt: list[bytes] = []
    at = 0
    for block in LineDiffer(budget).blocks(old, new):
        rebuilt += old[at : block.start] + new[block.new_start : block.new_stop]
        at = block.stop
    assert rebuilt + old[at:] == new


def test_equal_trees_have_an_empty_patch() -> None:
    """No change, no text."""
    tree = FileTree.of_text({"a": "x\n"})
    assert unified_diff(tree, tree) == b""


def test_a_changed_line_is_shown_with_three_lines_of_context() -> None:
    """Lines beyond the context are left out."""
    before = FileTree.of_text({"f": "".join(f"{n}\n" for n in range(20))})
    after = FileTree.of_text({"f": "".join(f"{'ten' if n == 10 else n}\n" for n in range(20))})

    assert unified_diff(before, after) == (
        b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -8,7 +8,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n"
    )


def test_carriage_returns_stay_in_the_patch() -> None:
    """A file that changes its line ends shows each line as changed, with its CR."""
    before, after = FileTree.of_text({"f": "a\nb\n"}), FileTree.of_text({"f": "a\r\nb\r\n"})
    assert b"+a\r\n+b\r\n" in unified_diff(before, after)


def test_bytes_that_are_no_text_are_noted_and_left_out() -> None:
    """A binary file shows sizes and digests, never its bytes."""
    before = FileTree({b"f": RegularFile(b"\0old")})
    after = FileTree({b"f": RegularFile(b"\xff\x1b[31mnew")})

    patch = unified_diff(before, after)

    assert b"Binary files a/f and b/f differ\n# before: 4 bytes, sha256 " in patch
    assert b"\x1b" not in patch


def test_names_with_control_characters_are_escaped() -> None:
    """A name cannot steer a terminal or forge a line of the patch."""
    name = b"x\n+++ b/\x1b[0m\xff"
    patch = unified_diff(FileTree(), FileTree({name: RegularFile(b"t\n")}))

    assert quoted(b"b/" + name) == b'"b/x\\012+++ b/\\033[0m\\377"'
    assert b"\x1b" not in patch
    assert patch.count(b"\n") == 6


def test_a_file_that_makes_room_for_a_folder_can_be_applied() -> None:
    """The removal comes before what lies below the new folder."""
    before, after = FileTree.of_text({"a": "x\n"}), FileTree.of_text({"a/b": "y\n"})
    assert _without_folders(apply_patch(before, unified_diff(before, after))) == after


def test_a_hundred_thousand_shuffled_lines_are_replaced_as_a_whole() -> None:
    """Cost is bounded: such a file is one block and not a search for the shortest script."""
    before = [b"%d\n" % n for n in range(100_000)]
    blocks = LineDiffer().blocks(before, before[::-1])
    assert len(blocks) == 1


def test_a_used_up_budget_replaces_further_files_as_a_whole() -> None:
    """Many files that differ everywhere cost no more than the budget of all."""
    differ = LineDiffer(step_budget=5_000)
    old = [b"%d" % (n % 7) for n in range(400)]
    new = [b"%d" % (n % 5) for n in range(400)]
    assert [len(differ.blocks(old, new)) for _ in range(3)][1:] == [1, 1]


def test_only_a_line_feed_ends_a_line() -> None:
    """Other separators are part of a line, as for git."""
    assert split_lines("a\r\nb\x0b\u2028c".encode()) == [b"a\r\n", "b\x0b\u2028c".encode()]


def test_figures_count_lines_files_and_packages() -> None:
    """A changed line counts once as added and once as removed; folders count nothing."""
    before = FileTree.of_text({"a.py": "1\n2\n", "gone": "x\n", "requirements.txt": "six\n"})
    after = FileTree.of_text({"a.py": "1\n3\n4\n", "requirements.txt": "six\nHttpx[http2]>=1  # why\n"})

    figures = diff_statistics(before, after.merged({b"folder": Directory()}))

    assert (figures.added_lines, figures.removed_lines, figures.changed_lines) == (3, 2, 5)
    assert figures.touched_files == 3
    assert figures.dependencies_added == 1


def test_a_text_too_large_to_read_is_noted_and_counted_without_being_split() -> None:
    """Thirty million short lines cost the harness no more than reading them once."""
    huge = b"a\n" * 3_000_000
    before = FileTree({b"t.txt": RegularFile(b"one\ntwo\n")})
    after = FileTree({b"t.txt": RegularFile(huge)})
    tracemalloc.start()
    patch = unified_diff(before, after)
    statistics = diff_statistics(before, after)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert b"Text files a/t.txt and b/t.txt differ" in patch
    assert len(patch) < 1000
    assert (statistics.removed_lines, statistics.added_lines) == (2, 3_000_000)
    assert peak_bytes < 20_000_000
