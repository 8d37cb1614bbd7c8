"""Inventories of bundles: taking one, and comparing files at hand with a sealed one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from esac_ag.canonical import file_sha256, hash_rule
from esac_ag.manifest.plan import BundleFile
from esac_ag.tree import FileTree


def inventory_of(tree: FileTree) -> tuple[BundleFile, ...]:
    """Every regular file of a bundle with its hash, sorted by the parts of its path."""
    files = [
        BundleFile(path=os.fsdecode(path), sha256=file_sha256(node.data), rule=hash_rule(node.data))
        for path, node in tree.files().items()
    ]
    return tuple(sorted(files, key=lambda file: file.path.split("/")))


@dataclass(frozen=True, slots=True)
class Difference:
    """How files at hand differ from a sealed inventory; paths in order."""

    edited: tuple[str, ...]
    missing: tuple[str, ...]
    added: tuple[str, ...]
    swapped: tuple[tuple[str, str], ...]
    """Pairs of files that hold each other's sealed content."""

    def __bool__(self) -> bool:
        return bool(self.edited or self.missing or self.added or self.swapped)

    def __str__(self) -> str:
        """The differences in words, kinds that occur only."""
        kinds = {
            "edited": self.edited,
            "missing": self.missing,
            "added": self.added,
            "swapped": tuple(f"{one} with {other}" for one, other in self.swapped),
        }
        return "; ".join(f"{kind}: {', '.join(map(ascii, paths))}" for kind, paths in kinds.items() if paths)


def difference(sealed: Sequence[BundleFile], at_hand: Sequence[BundleFile]) -> Difference:
    """Compare the files at hand with the sealed ones."""
    before = {file.path: (file.sha256, file.rule) for file in sealed}
    now = {file.path: (file.sha256, file.rule) for file in at_hand}
    changed = sorted(path for path in before.keys() & now.keys() if before[path] != now[path])
    swapped = _swapped(changed, before, now)
    in_swap = {path for pair in swapped for path in pair}
    return Difference(
        edited=tuple(path for path in changed if path not in in_swap),
        missing=tuple(sorted(before.keys() - now.keys())),
        added=tuple(sorted(now.keys() - before.keys())),
        swapped=swapped,
    )


def _swapped(
    changed: Sequence[str], before: Mapping[str, object], now: Mapping[str, object]
) -> tuple[tuple[str, str], ...]:
    return tuple(
        (one, other)
        for index, one in enumerate(changed)
        for other in changed[index + 1 :]
        if before[one] == now[other] and before[other] == now[one]
    )
