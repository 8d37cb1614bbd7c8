"""Packages that a tree declares, read without executing anything."""

from __future__ import annotations

import ast
import configparser
import json
import re
import tomllib
from collections.abc import Callable, Iterable
from typing import Any

from esac_ag.tree import FileTree, RegularFile

MAX_DECLARATION_BYTES = 1_000_000
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:[\[<>=!~;@(#\s]|$)")
_REQUIREMENTS_FILE = re.compile(rb"requirements[^/]*\.txt")

Names = Iterable[str]


class Unreadable(ValueError):
    """A declaration that cannot be read, or that is computed."""


def dependencies_added(before: FileTree, after: FileTree) -> int | None:
    """How many packages `after` declares that `before` does not; None when that cannot be known."""
    try:
        return len(_declared(after) - _declared(before))
    except Unreadable:
        return None


def _declared(tree: FileTree) -> set[tuple[str, str]]:
    """Pairs of ecosystem and package name."""
    found: set[tuple[str, str]] = set()
    for path, node in tree.items():
        name = path.rsplit(b"/", 1)[-1]
        reader = _READERS.get(name) or (_of_requirements if _REQUIREMENTS_FILE.fullmatch(name) else None)
        if reader is None or b"node_modules" in path.split(b"/"):
            continue
        if not isinstance(node, RegularFile) or len(node.data) > MAX_DECLARATION_BYTES:
            raise Unreadable(repr(path))
        ecosystem = "npm" if name == b"package.json" else "python"
        found.update((ecosystem, package) for package in _read(reader, node.data))
    return found


def _read(reader: Callable[[str], Names], data: bytes) -> set[str]:
    try:
        return set(reader(data.decode("utf-8-sig")))
    except (ValueError, SyntaxError, RecursionError, MemoryError, configparser.Error) as error:
        raise Unreadable(str(error)) from error


def _python_name(requirement: object) -> str:
    match = _REQUIREMENT.match(requirement) if isinstance(requirement, str) else None
    if match is None:
        raise Unreadable(f"not a requirement: {requirement!r}")
    return re.sub(r"[-_.]+", "-", match[1]).lower()


def _of_requirements(text: str) -> Names:
    for line in text.replace("\\\n", " ").splitlines():
        stripped = line.split("#", 1)[0].strip()
        # Options, further files and bare addresses declare no name that could be compared.
        if stripped and not stripped.startswith("-"):
            yield _python_name(stripped)


def _table(value: object, *keys: str) -> dict[str, Any]:
    """A nested table, empty where it is not declared."""
    for key in keys:
        value = value.get(key, {}) if isinstance(value, dict) else None
    if not isinstance(value, dict):
        raise Unreadable(f"{'.'.join(keys)} is no table")
    return value


def _of_pyproject(text: str) -> Names:
    document = tomllib.loads(text)
    project = _table(document, "project")
    groups = [
        *_table(project, "optional-dependencies").values(),
        *_table(document, "dependency-groups").values(),
    ]
    for group in [project.get("dependencies", []), *groups]:
        if not isinstance(group, list):
            raise Unreadable("dependencies are no list")
        yield from (_python_name(entry) for entry in group if not isinstance(entry, dict))
    poetry = _table(document, "tool", "poetry")
    tables = [_table(group, "dependencies") for group in _table(poetry, "group").values()]
    for table in [_table(poetry, "dependencies"), _table(poetry, "dev-dependencies"), *tables]:
        yield from (_python_name(name) for name in table if name != "python")


def _of_package_json(text: str) -> Names:
    document = json.loads(text)
    for key in ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies"):
        yield from _table(document, key)


def _of_setup_cfg(text: str) -> Names:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    declared = [parser.get("options", "install_requires", fallback="")]
    if parser.has_section("options.extras_require"):
        declared += [value for _, value in parser.items("options.extras_require")]
    for value in declared:
        yield from _of_requirements(value.replace(";", " ;").replace(",\n", "\n"))


def _of_setup_py(text: str) -> Names:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.keyword) and node.arg in ("install_requires", "extras_require"):
            try:
                value = ast.literal_eval(node.value)
            except (ValueError, TypeError) as error:
                raise Unreadable("dependencies are computed") from error
            lists = value.values() if isinstance(value, dict) else [value]
            for entries in lists:
                yield from (
                    _python_name(entry) for entry in ([entries] if isinstance(entries, str) else entries)
                )


_READERS: dict[bytes, Callable[[str], Names]] = {
    b"pyproject.toml": _of_pyproject,
    b"package.json": _of_package_json,
    b"setup.cfg": _of_setup_cfg,
    b"setup.py": _of_setup_py,
}
