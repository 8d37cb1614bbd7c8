"""What a nightly sync of a local folder would do, without doing it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from depot.blobs import digest_of
from depot.names import key
from depot.store import Depot


@dataclass(frozen=True)
class Plan:
    """Local names to upload and local names that are up to date; depot names not found locally."""

    upload: list[str]
    unchanged: list[str]
    only_in_depot: list[str]


def plan(depot: Depot, local: Mapping[str, str]) -> Plan:
    """Compare local files, given as name and SHA-256, with the newest versions in the depot."""
    upload, unchanged = [], []
    for name, digest in sorted(local.items()):
        current = depot.current(name)
        same = current is not None and current.sha256 == digest
        (unchanged if same else upload).append(name)
    here = {key(name) for name in local}
    only_in_depot = [name for name in depot.names() if key(name) not in here]
    return Plan(upload, unchanged, only_in_depot)


def scan(folder: str | Path) -> dict[str, str]:
    """Names and SHA-256 of the regular files directly in a folder; hidden ones are left out."""
    return {
        path.name: digest_of(path.read_bytes())
        for path in Path(folder).iterdir()
        if path.is_file() and not path.is_symlink() and not path.name.startswith(".")
    }
