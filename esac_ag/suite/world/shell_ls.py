"""ls."""

from __future__ import annotations

from typing import Final

from . import filesystem
from .filesystem import Node, PathRefused
from .shell_call import Call, Command, encoded
from .shell_options import Options, options_of

TROUBLE: Final = 2


def ls(call: Call) -> int:
    """List files, then directories, one name per line."""
    options = options_of(call, "aAl1Rd", status=TROUBLE)
    files: list[str] = []
    folders: list[str] = []
    status = 0
    for operand in sorted(options.operands or ["."], key=encoded):
        try:
            node = filesystem.node_at(call.nodes, call.path(operand))
        except PathRefused as refused:
            call.complain(f"cannot access '{operand}': {refused.reason}")
            status = TROUBLE
            continue
        (folders if filesystem.is_directory(node) and not options.has("d") else files).append(operand)
    _rows(call, options, [(name, call.nodes[call.path(name)]) for name in files])
    headed = len(options.operands) > 1 or options.has("R")
    for number, folder in enumerate(folders):
        if files or number:
            call.out.write("\n")
        status = max(status, _folder(call, options, folder, headed=headed))
    return status


def _folder(call: Call, options: Options, shown: str, *, headed: bool) -> int:
    path = call.path(shown)
    try:
        names = filesystem.entries(call.nodes, path)
    except PathRefused as refused:
        call.complain(f"cannot open directory '{shown}': {refused.reason}")
        return TROUBLE
    if headed:
        call.out.write(f"{shown}:\n")
    if not options.has("a", "A"):
        names = [name for name in names if not name.startswith(".")]
    found = [(name, call.nodes[filesystem.joined(path, name)]) for name in names]
    itself = [(".", call.nodes[path]), ("..", call.nodes[filesystem.parent_of(path)])]
    _rows(call, options, [*(itself if options.has("a") else []), *found])
    status = 0
    for name, node in found if options.has("R") else []:
        if filesystem.is_directory(node):
            call.out.write("\n")
            below = f"{shown}{name}" if shown.endswith("/") else f"{shown}/{name}"
            status = max(status, _folder(call, options, below, headed=True))
    return status


def _rows(call: Call, options: Options, rows: list[tuple[str, Node]]) -> None:
    for name, node in rows:
        facts = f"{_mode(node)} {filesystem.size_of(node):8d} " if options.has("l") else ""
        call.out.write(f"{facts}{name}\n")


def _mode(node: Node) -> str:
    bits = int(node["mode"], 8)
    letters = [letter if bits >> (8 - at) & 1 else "-" for at, letter in enumerate("rwxrwxrwx")]
    return ("d" if filesystem.is_directory(node) else "-") + "".join(letters)


COMMANDS: dict[str, Command] = {"ls": ls}
