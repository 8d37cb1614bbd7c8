"""Task packages: the public `task.json` and the private `grader.json`. See docs/graders.md."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from esac_ag.record import Identifier, Record, Sha256


class TaskPackage(Record):
    """The contents of `task.json`; unknown keys are kept out of our way."""

    model_config = ConfigDict(extra="ignore")

    task_id: Identifier
    title: str = ""
    family: str
    contrast: str
    """`restraint` or `expansion`; packages written by others may use other words."""
    request: str = "request.md"
    public_root: str
    public_tree_sha256: Sha256
    public_command: str
    baseline_expected_failure: str
    private_grader_id: str


class TaskPackages(Record):
    """Copies of the packages of a study's tasks (`tasks.json` of its results)."""

    packages: dict[str, TaskPackage]
    """By task id."""


class CheckKind(StrEnum):
    """What a check is there for."""

    MUST_NOW_WORK = "must-now-work"
    MUST_STILL_WORK = "must-still-work"
    GUARD = "guard"


class Dimension(StrEnum):
    """The five dimensions of the protocol's quality score."""

    BEHAVIOUR = "behaviour"
    SCOPE = "scope"
    ROBUSTNESS = "robustness"
    MAINTAINABILITY = "maintainability"
    VERIFICATION = "verification"


class CriticalFailure(StrEnum):
    """Failures that stand outside every weighted average."""

    SECURITY_REGRESSION = "security-regression"
    DATA_LOSS = "data-loss"
    MISSING_CENTRAL_REQUIREMENT = "missing-central-requirement"
    FABRICATED_VERIFICATION = "fabricated-verification"
    INCOMPLETE_MIGRATION = "incomplete-migration"


class CheckDeclaration(Record):
    """One hidden check, as declared before anything ran."""

    id: Identifier
    title: str
    kind: CheckKind
    dimension: Dimension
    weight: Annotated[float, Field(gt=0)]
    critical: CriticalFailure | None = None
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 20.0


class Reference(Record):
    """An accepted solution."""

    id: Identifier
    patch: str
    why: str


class Decoy(Record):
    """A plausible wrong solution and the checks that it must fail."""

    id: Identifier
    patch: str
    fails: Annotated[tuple[Identifier, ...], Field(min_length=1)]
    why: str


class GraderPackage(Record):
    """The contents of `grader.json`."""

    format_version: Literal[1]
    task_id: Identifier
    restore: tuple[str, ...] = ()
    checks: Annotated[tuple[CheckDeclaration, ...], Field(min_length=1)]
    references: Annotated[tuple[Reference, ...], Field(min_length=1)]
    decoys: Annotated[tuple[Decoy, ...], Field(min_length=1)]
