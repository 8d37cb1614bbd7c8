"""Typed values of a Harbor task's `task.toml`. Pure."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from esac_ag.errors import InputRefused
from esac_ag.rooms.harbor_report import Fate, Item

Table = Mapping[str, Any]
"""A table of TOML."""
_REFERENCE = re.compile(r"\$\{(\w+)(?::-(.*?))?\}")


def read_table(data: bytes, where: str) -> Table:
    """A whole file.

    Raises:
        InputRefused: it is no TOML.
    """
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputRefused(
            "task.toml cannot be read.", where=where, expected="TOML in UTF-8", found=str(error)[:300]
        ) from error


@dataclass(frozen=True, slots=True)
class TableReader:
    """Typed values of a table; each of them may raise `InputRefused`."""

    table: Table
    where: str

    def _get(self, *path: str) -> object:
        value: object = self.table
        for part in path:
            if not isinstance(value, dict):
                self._refuse(path[:-1], "a table", value)
                return None
            value = value.get(part)
            if value is None:
                return None
        return value

    def _refuse(self, path: tuple[str, ...], expected: str, found: object) -> None:
        raise InputRefused(
            "task.toml has a value of a wrong type.",
            where=f"{self.where}#/{'/'.join(path)}",
            expected=expected,
            found=type(found).__name__,
            remedy="correct it; see docs/tasks.md for what is read",
        )

    def text(self, *path: str) -> str | None:
        """A string, or None when there is none."""
        value = self._get(*path)
        if value is not None and (not isinstance(value, str) or "\0" in value):
            self._refuse(path, "a string", value)
        return value if isinstance(value, str) else None

    def seconds(self, *path: str) -> float | None:
        """A positive, finite number, or None when there is none."""
        value = self._get(*path)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            self._refuse(path, "a positive number", value)
            return None
        return float(value)

    def variables(self, section: str) -> tuple[dict[str, str], tuple[Item, ...]]:
        """A section's `env` without what comes from the host, and an item for each; values are never told."""
        table = self._get(section, "env")
        if table is None:
            return {}, ()
        if not isinstance(table, dict) or any(not isinstance(value, str) for value in table.values()):
            self._refuse((section, "env"), "a table of strings", table)
        assert isinstance(table, dict)  # noqa: S101  (refused above)
        kept, items = {}, []
        for name, value in table.items():
            resolved, item = _variable(section, name, value)
            items.append(item)
            if resolved is not None:
                kept[name] = resolved
        return kept, tuple(items)


def _variable(section: str, name: str, value: str) -> tuple[str | None, Item]:
    what = f"{section}.env.{name}"
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or name == "PATH":
        return None, Item(what=what, fate=Fate.NOT_KEPT, why="it is PATH, or no variable's name")
    found = _REFERENCE.findall(value)
    if any(not _has_default(reference) for reference in _REFERENCE.finditer(value)):
        why = "it comes from the host's environment, of which nothing enters a container"
        return None, Item(what=what, fate=Fate.NOT_KEPT, why=why)
    resolved = _REFERENCE.sub(lambda match: match.group(2), value)
    if found:
        return resolved, Item(
            what=what, fate=Fate.CHANGED, why="its default is taken, never the host's value"
        )
    if section == "environment":
        return value, Item(
            what=what, fate=Fate.CHANGED, why="test.sh and solve.sh get it; an agent's container does not"
        )
    return value, Item(what=what, fate=Fate.KEPT, why="as written")


def _has_default(match: re.Match[str]) -> bool:
    return match.group(2) is not None
