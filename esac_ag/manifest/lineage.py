"""Where a study stands in its programme: which bundle an arm revises, which study a holdout repeats."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from esac_ag.record import Identifier, Record, Sha256

MOST_CYCLES: Final = 2
"""Prompt revisions that one task set allows (protocol, "stopping and revision")."""

Cycle = Annotated[int, Field(ge=0, le=MOST_CYCLES)]


class DraftLineage(Record):
    """What a draft says of an arm's descent; freezing counts the cycle."""

    revises: Sha256
    """Tree digest of the bundle before it, as `esac-ag arm freeze` prints it."""
    cycle: Cycle | None = None
    """Checked if given."""


class Lineage(Record):
    """What a sealed arm descends from."""

    revises: Sha256
    """Tree digest of the bundle before it."""
    cycle: Cycle
    """Which prompt revision on this task set it is; 0: no bundle of its lineage had met the set before."""


class BundleLineage(Record):
    """The descent of a frozen bundle, kept beside its folder as `<folder>.lineage.json`."""

    bundle_sha256: Sha256
    """Tree digest of the bundle that this is about."""
    revises: Sha256


class HoldoutOf(Record):
    """The study whose provisional winner a holdout confirms or not."""

    study_id: Identifier
    manifest_sha256: Sha256
