"""Figures about what changed between two trees."""

from __future__ import annotations

from esac_ag.patch.dependencies import dependencies_added
from esac_ag.patch.lines import LineDiffer, split_lines
from esac_ag.patch.text import is_shown, is_text
from esac_ag.record import Record
from esac_ag.tree import Directory, FileTree, Link, Node, RegularFile


class DiffStatistics(Record):
    """How much changed; folders are not counted."""

    changed_lines: int
    """Added and removed lines of text files and links; a changed line counts as both.

    A text too large to be compared counts as replaced as a whole."""
    touched_files: int
    """Files and links that were added, removed or changed, modes included."""
    added_lines: int
    removed_lines: int
    dependencies_added: int | None
    """Packages newly declared; None when a declaration could not be read."""


def diff_statistics(before: FileTree, after: FileTree) -> DiffStatistics:
    """Figures about the change from one tree to another."""
    differ = LineDiffer()
    added = removed = touched = 0
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old == new or all(node is None or isinstance(node, Directory) for node in (old, new)):
            continue
        touched += 1
        if not (_is_shown(old) and _is_shown(new)):
            removed += _line_count(old)
            added += _line_count(new)
            continue
        blocks = differ.blocks(_lines(old), _lines(new))
        removed += sum(block.stop - block.start for block in blocks)
        added += sum(block.new_stop - block.new_start for block in blocks)
    return DiffStatistics(
        changed_lines=added + removed,
        touched_files=touched,
        added_lines=added,
        removed_lines=removed,
        dependencies_added=dependencies_added(before, after),
    )


def _is_shown(node: Node | None) -> bool:
    return not isinstance(node, RegularFile) or not is_text(node.data) or is_shown(node.data)


def _line_count(node: Node | None) -> int:
    """Lines of a text, counted without splitting it."""
    if not isinstance(node, RegularFile) or not is_text(node.data):
        return 0
    return node.data.count(b"\n") + (not node.data.endswith(b"\n") and bool(node.data))


def _lines(node: Node | None) -> list[bytes]:
    """Lines of a text file or link; nothing else has lines."""
    if node is None or isinstance(node, Directory):
        return []
    data = node.target if isinstance(node, Link) else node.data
    return split_lines(data) if is_text(data) else []
