"""The record of a task's proof."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from esac_ag.manifest.package import Trust
from esac_ag.manifest.plan import Digest
from esac_ag.record import Identifier, Record, Sha256


class VariantKind(StrEnum):
    """What a tried tree is."""

    BASELINE = "baseline"
    """The untouched snapshot."""
    REFERENCE = "reference"
    DECOY = "decoy"


class Trial(Record):
    """One grading of a variant."""

    seed: str
    valid: bool
    invalid_reason: str | None
    failed: tuple[str, ...]
    """Ids of failed checks, in order of declaration."""
    reasons: dict[str, str]
    """Why they failed; private."""
    duration_s: float


class PublicOutcome(Record):
    """One run of the public command on a variant."""

    exit_code: int | None
    failed: tuple[str, ...]
    passed: int | None


class Variant(Record):
    """A tree that was tried, with all its trials."""

    kind: VariantKind
    id: Identifier
    trials: tuple[Trial, ...]
    public: tuple[PublicOutcome, ...]
    """Empty for decoys, and for tasks without public tests."""


class ProofRecord(Record):
    """What was tried for a task, and whether it proves the task."""

    format_version: Literal[1]
    task_id: Identifier
    public_tree_sha256: Sha256
    grader_tree_sha256: Sha256
    grader_image_digest: Digest
    repeats: Annotated[int, Field(ge=1)]
    seeds: tuple[str, ...]
    """One for each repetition, the same for all variants."""
    variants: tuple[Variant, ...]
    trust: Trust = Trust.SEPARATE
    holds: bool
    faults: tuple[str, ...]
    """One sentence for each rule that is broken."""
