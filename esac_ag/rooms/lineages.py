"""What a frozen bundle revises, kept beside its folder: an inventory covers everything that is in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from esac_ag.errors import InputRefused
from esac_ag.manifest.findings import shown_text
from esac_ag.manifest.lineage import BundleLineage
from esac_ag.rooms.records import read_record

LINEAGE_SUFFIX: Final = ".lineage.json"


def lineage_path(bundle: Path) -> Path:
    """Where the descent of a bundle's folder is kept."""
    return bundle.with_name(f"{bundle.name}{LINEAGE_SUFFIX}")


def kept_lineage(bundle: Path, sha256: str) -> BundleLineage | None:
    """What is kept of a bundle's descent; none if nothing is, or only of other bytes.

    Raises:
        InputRefused: the record cannot be read.
    """
    path = lineage_path(bundle)
    record = read_record(path, BundleLineage) if path.is_file() else None
    return record if record is not None and record.bundle_sha256 == sha256 else None


def keep_lineage(bundle: Path, lineage: BundleLineage) -> None:
    """Write what a bundle revises; the same again changes nothing.

    Raises:
        InputRefused: it is said to revise another one already, or to revise itself.
    """
    refuse_lineage(bundle, lineage)
    lineage_path(bundle).write_text(json.dumps(lineage.model_dump(), indent=2) + "\n", encoding="utf-8")


def refuse_lineage(bundle: Path, lineage: BundleLineage) -> None:
    """Refuse a descent that cannot be, before anything is written.

    Raises:
        InputRefused: as `keep_lineage`.
    """
    if lineage.revises == lineage.bundle_sha256:
        raise InputRefused(
            "The bundle is the same as the one that it would revise.",
            where=shown_text(str(bundle)),
            expected="another bundle",
            found=lineage.revises,
            remedy="leave --revises out, or name the bundle before it",
        )
    kept = kept_lineage(bundle, lineage.bundle_sha256)
    if kept is not None and kept.revises != lineage.revises:
        raise InputRefused(
            "The bundle is kept as a revision of another one.",
            where=shown_text(str(lineage_path(bundle))),
            expected=kept.revises,
            found=lineage.revises,
            remedy="choose another --id; what a bundle revises never changes",
        )
