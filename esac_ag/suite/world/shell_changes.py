"""Commands that change files: cp, mv, rm, mkdir, touch."""

from __future__ import annotations

from collections.abc import Callable

from . import filesystem
from .filesystem import PathRefused
from .shell_call import Call, Command, CommandFailed
from .shell_options import Options, options_of


def cp(call: Call) -> int:
    """Copy files, and directories with -r."""
    options = options_of(call, "rRnfp")
    return _pairs(call, options, lambda source, target: _copy(call, options, source, target))


def mv(call: Call) -> int:
    """Move or rename."""
    options = options_of(call, "nf")
    return _pairs(call, options, lambda source, target: _move(call, options, source, target))


def rm(call: Call) -> int:
    """Remove files, and directories with -r."""
    options = options_of(call, "rRf")
    if not options.operands and not options.has("f"):
        raise CommandFailed("missing operand")
    return _each(call, options.operands, lambda operand: _remove(call, options, operand))


def mkdir(call: Call) -> int:
    """Make directories, and missing parents with -p."""
    options = options_of(call, "p")
    if not options.operands:
        raise CommandFailed("missing operand")

    def make(operand: str) -> None:
        try:
            path = filesystem.absolute(operand, call.cwd)
            _refuse_empty(operand)
            for folder in filesystem.lineage(path) if options.has("p") else []:
                if folder not in call.nodes:
                    filesystem.make_directory(call.nodes, folder)
            if not options.has("p") or not filesystem.is_directory(call.nodes[path]):
                filesystem.make_directory(call.nodes, path)
        except PathRefused as refused:
            raise CommandFailed(f"cannot create directory '{operand}': {refused.reason}") from None

    return _each(call, options.operands, make)


def touch(call: Call) -> int:
    """Make empty files that are missing."""
    options = options_of(call, "c")
    if not options.operands:
        raise CommandFailed("missing file operand")

    def make(operand: str) -> None:
        try:
            path = call.path(operand)
            if path not in call.nodes and not options.has("c"):
                _refuse_empty("" if operand.endswith("/") else operand)
                filesystem.write(call.nodes, path, b"")
        except PathRefused as refused:
            raise CommandFailed(f"cannot touch '{operand}': {refused.reason}") from None

    return _each(call, options.operands, make)


def _pairs(call: Call, options: Options, work: Callable[[str, str], None]) -> int:
    """Work on every source and what it becomes: the last operand, or an entry of that directory."""
    if not options.operands:
        raise CommandFailed("missing file operand")
    *sources, last = options.operands
    if not sources:
        raise CommandFailed(f"missing destination file operand after '{last}'")
    into = call.is_directory(last)
    if len(sources) > 1 and not into:
        raise CommandFailed(f"target '{last}' is not a directory")

    def one(source: str) -> None:
        name = filesystem.name_of(filesystem.absolute(source, call.cwd))
        target = f"{last.rstrip('/')}/{name}" if into else last
        try:
            work(source, target)
        except PathRefused as refused:
            raise CommandFailed(f"cannot {call.name} '{source}' to '{target}': {refused.reason}") from None

    return _each(call, sources, one)


def _copy(call: Call, options: Options, source: str, target: str) -> None:
    origin = _existing(call, source)
    path = filesystem.absolute(target, call.cwd)
    folder = filesystem.is_directory(call.nodes[origin])
    if folder and not options.has("r", "R"):
        raise CommandFailed(f"-r not specified; omitting directory '{source}'")
    if path == origin:
        raise CommandFailed(f"'{source}' and '{target}' are the same file")
    if folder and path.startswith(origin.rstrip("/") + "/"):
        raise CommandFailed(f"cannot copy a directory, '{source}', into itself, '{target}'")
    if path not in call.nodes and target.endswith("/") and not folder:
        raise PathRefused("not-a-directory", target)
    _copy_tree(call, options, origin, path)


def _copy_tree(call: Call, options: Options, origin: str, path: str) -> None:
    node, there = call.nodes[origin], call.nodes.get(path)
    if not filesystem.is_directory(node):
        if there is not None and filesystem.is_directory(there):
            raise CommandFailed(f"cannot overwrite directory '{path}' with non-directory")
        if there is None or not options.has("n"):
            filesystem.write(call.nodes, path, filesystem.read(call.nodes, origin), mode=node["mode"])
        return
    names = filesystem.entries(call.nodes, origin)
    if there is None:
        # Writable until it is filled, as cp does it.
        filesystem.make_directory(call.nodes, path)
    elif not filesystem.is_directory(there):
        raise CommandFailed(f"cannot overwrite non-directory '{path}' with directory '{origin}'")
    for name in names:
        _copy_tree(call, options, filesystem.joined(origin, name), filesystem.joined(path, name))
    if there is None:
        call.nodes[path]["mode"] = node["mode"]


def _move(call: Call, options: Options, source: str, target: str) -> None:
    origin = _existing(call, source)
    path = filesystem.absolute(target, call.cwd)
    folder = filesystem.is_directory(call.nodes[origin])
    there = call.nodes.get(path)
    if path == origin:
        raise CommandFailed(f"'{source}' and '{target}' are the same file")
    if path.startswith(origin.rstrip("/") + "/"):
        raise CommandFailed(f"cannot move '{source}' to a subdirectory of itself, '{target}'")
    if there is None and target.endswith("/") and not folder:
        raise PathRefused("not-a-directory", target)
    if there is not None:
        if options.has("n"):
            return
        _refuse_replacing(call, options, path, folder=folder)
    filesystem.writable_parent(call.nodes, origin)
    filesystem.writable_parent(call.nodes, path)
    if there is not None:
        filesystem.remove_tree(call.nodes, path)
    filesystem.move(call.nodes, origin, path)


def _refuse_replacing(call: Call, options: Options, path: str, *, folder: bool) -> None:
    there = call.nodes[path]
    if folder and not filesystem.is_directory(there):
        raise CommandFailed(f"cannot overwrite non-directory '{path}' with directory")
    if not folder and filesystem.is_directory(there):
        raise CommandFailed(f"cannot overwrite directory '{path}' with non-directory")
    if folder and filesystem.children(call.nodes, path):
        raise PathRefused("not-empty", path)
    if not filesystem.allows(there, filesystem.WRITE) and not options.has("f"):
        raise PathRefused("permission-denied", path)


def _remove(call: Call, options: Options, operand: str) -> None:
    if filesystem.name_of(operand.rstrip("/")) in {".", ".."} or not operand.strip("/"):
        raise CommandFailed(f"refusing to remove '{operand}'")
    try:
        path = call.path(operand)
        node = filesystem.node_at(call.nodes, path)
        _refuse_kept(call, options, path, node)
    except PathRefused as refused:
        if options.has("f") and refused.code in {"not-found", "not-a-directory"}:
            return
        raise CommandFailed(f"cannot remove '{operand}': {refused.reason}") from None
    filesystem.remove_tree(call.nodes, path)


def _refuse_kept(call: Call, options: Options, path: str, node: filesystem.Node) -> None:
    """Refuse a tree of which something may not be removed; nothing of it is removed then."""
    if filesystem.is_directory(node) and not options.has("r", "R"):
        raise PathRefused("is-a-directory", path)
    doomed = [there for there in call.nodes if there == path or there.startswith(path + "/")]
    for there in doomed:
        filesystem.writable_parent(call.nodes, there)
        locked = not filesystem.allows(call.nodes[there], filesystem.WRITE)
        if locked and not filesystem.is_directory(call.nodes[there]) and not options.has("f"):
            raise PathRefused("permission-denied", there)


def _refuse_empty(operand: str) -> None:
    if not operand:
        raise PathRefused("not-found", "")


def _existing(call: Call, source: str) -> str:
    try:
        path = call.path(source)
        filesystem.node_at(call.nodes, path)
    except PathRefused as refused:
        raise CommandFailed(f"cannot stat '{source}': {refused.reason}") from None
    return path


def _each(call: Call, operands: list[str], work: Callable[[str], None]) -> int:
    """Work on every operand; complain of those that fail and go on."""
    status = 0
    for operand in operands:
        try:
            work(operand)
        except CommandFailed as failed:
            call.complain(failed.message)
            status = failed.status
    return status


COMMANDS: dict[str, Command] = {"cp": cp, "mv": mv, "rm": rm, "mkdir": mkdir, "touch": touch}
