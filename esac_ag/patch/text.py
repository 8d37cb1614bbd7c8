"""The patch as text, in git's format: `git apply` turns the one tree into the other where all is text."""

from __future__ import annotations

from collections.abc import Iterator

from esac_ag.canonical import HashRule, hash_rule, sha256_of_bytes
from esac_ag.patch.lines import Block, LineDiffer, split_lines
from esac_ag.tree import Directory, FileTree, Link, Node, RegularFile

CONTEXT_LINES = 3
MAX_SHOWN_BYTES = 1_000_000
MAX_SHOWN_LINES = 50_000
"""Beyond either, a file is noted with size and digest: splitting it would cost many times its size."""
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/+@=,~")


def unified_diff(before: FileTree, after: FileTree) -> bytes:
    """A git-style patch from one tree to another, files in byte order of their paths.

    Names that hold anything but plain characters are quoted and escaped as git does. Files that are not
    UTF-8 text, or are too large to be read, are noted with sizes and digests, and their bytes are left out.
    Empty folders are not part of a patch.
    """
    differ = LineDiffer()
    sections: list[bytes] = []
    # Removals come first, so that a file can make room for a folder.
    for path in before:
        old, new = _content(before[path]), _content(after.get(path))
        if old is not None and (new is None or _kind(old) != _kind(new)):
            sections.append(b"".join(_section(differ, path, old, None)))
    for path in after:
        old, new = _content(before.get(path)), _content(after[path])
        if new is not None and old != new:
            same_kind = old is not None and _kind(old) == _kind(new)
            sections.append(b"".join(_section(differ, path, old if same_kind else None, new)))
    return b"".join(sections)


def is_text(data: bytes) -> bool:
    """Whether a file is text: UTF-8 without NUL."""
    return hash_rule(data) is HashRule.TEXT_LF


def is_shown(data: bytes) -> bool:
    """Whether a file's lines are shown: text that a person could read, within bounded memory."""
    return len(data) <= MAX_SHOWN_BYTES and data.count(b"\n") <= MAX_SHOWN_LINES and is_text(data)


def _content(node: Node | None) -> RegularFile | Link | None:
    return None if isinstance(node, Directory) else node


def _kind(node: RegularFile | Link) -> str:
    return "file" if isinstance(node, RegularFile) else "link"


def _mode(node: RegularFile | Link) -> bytes:
    if isinstance(node, Link):
        return b"120000"
    return b"100755" if node.executable else b"100644"


def _bytes(node: RegularFile | Link | None) -> bytes:
    if node is None:
        return b""
    return node.target if isinstance(node, Link) else node.data


def _section(
    differ: LineDiffer, path: bytes, old: RegularFile | Link | None, new: RegularFile | Link | None
) -> Iterator[bytes]:
    """All lines about one path; `None` is a side where it does not exist."""
    a, b = quoted(b"a/" + path), quoted(b"b/" + path)
    yield b"diff --git " + a + b" " + b + b"\n"
    if old is None and new is not None:
        yield b"new file mode " + _mode(new) + b"\n"
    elif new is None and old is not None:
        yield b"deleted file mode " + _mode(old) + b"\n"
    elif old is not None and new is not None and _mode(old) != _mode(new):
        yield b"old mode " + _mode(old) + b"\nnew mode " + _mode(new) + b"\n"
    before, after = _bytes(old), _bytes(new)
    if before == after:
        return
    from_name, to_name = (a if old else b"/dev/null"), (b if new else b"/dev/null")
    if not (is_shown(before) and is_shown(after)):
        kind = b"Text" if is_text(before) and is_text(after) else b"Binary"
        yield kind + b" files " + from_name + b" and " + to_name + b" differ\n"
        yield from _notes(old, new)
        return
    yield b"--- " + from_name + b"\n+++ " + to_name + b"\n"
    yield from _hunks(differ, split_lines(before), split_lines(after))


def _notes(old: RegularFile | Link | None, new: RegularFile | Link | None) -> Iterator[bytes]:
    """Size and digest of both sides of a file whose bytes are left out."""
    for name, node in (("before", old), ("after", new)):
        if node is not None:
            data = _bytes(node)
            yield f"# {name}: {len(data)} bytes, sha256 {sha256_of_bytes(data)}\n".encode()


def _hunks(differ: LineDiffer, before: list[bytes], after: list[bytes]) -> Iterator[bytes]:
    for group in _grouped(differ.blocks(before, after)):
        first, last = group[0], group[-1]
        lead = min(CONTEXT_LINES, first.start)
        trail = min(CONTEXT_LINES, len(before) - last.stop)
        old = (first.start - lead, last.stop + trail)
        new = (first.new_start - lead, last.new_stop + trail)
        yield b"@@ -" + _range(*old) + b" +" + _range(*new) + b" @@\n"
        at = old[0]
        for block in group:
            yield from (_line(b" ", line) for line in before[at : block.start])
            yield from (_line(b"-", line) for line in before[block.start : block.stop])
            yield from (_line(b"+", line) for line in after[block.new_start : block.new_stop])
            at = block.stop
        yield from (_line(b" ", line) for line in before[at : old[1]])


def _grouped(blocks: list[Block]) -> Iterator[list[Block]]:
    """Blocks whose context would touch belong to one hunk."""
    group: list[Block] = []
    for block in blocks:
        if group and block.start - group[-1].stop > 2 * CONTEXT_LINES:
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _range(start: int, stop: int) -> bytes:
    """A range as hunks write it: from 1, and the line before for an empty one."""
    return f"{start + 1 if stop > start else start},{stop - start}".encode()


def _line(sign: bytes, line: bytes) -> bytes:
    return sign + line if line.endswith(b"\n") else sign + line + b"\n\\ No newline at end of file\n"


def quoted(name: bytes) -> bytes:
    """A name as git writes it: in quotes with octal escapes unless every character is plain."""
    if _PLAIN.issuperset(name):
        return name
    return b'"' + b"".join(_escaped(byte) for byte in name) + b'"'


def _escaped(byte: int) -> bytes:
    if byte in b'"\\':
        return b"\\" + bytes([byte])
    return bytes([byte]) if 0x20 <= byte < 0x7F else b"\\%03o" % byte  # noqa: PLR2004  (printable ASCII)
