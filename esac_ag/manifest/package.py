"""Task packages: the public `task.json` and the private `grader.json`. See docs/graders.md."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Final, Literal, Self

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from esac_ag.record import Identifier, Record, Sha256


class Trust(StrEnum):
    """Whom a grader's verdicts have to be taken from."""

    SEPARATE = "separate"
    """From a process of another user, which never imports the submission."""
    SHARED_PROCESS = "shared-process"
    """From a process that runs as the submission does, so that a hostile submission could forge them."""


SHARED_TRUST = "a hostile submission could forge the verdict, which comes from a process of its own user"


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
    """Empty: the task has no public tests, and the proof runs none."""
    baseline_expected_failure: str
    private_grader_id: str
    trust: Trust = Trust.SEPARATE
    """As the grader's; sealing copies it, so that reports know it without the private package."""


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

    __hash__ = str.__hash__
    """Enumerations compute theirs in Python, which is most of what looking up a score takes."""


HIGHEST_ANCHOR: Final = 4.0
"""Of a reviewer's score in a dimension; the lowest is 0."""
DIMENSION_WEIGHTS: Final = {
    Dimension.BEHAVIOUR: 0.35,
    Dimension.SCOPE: 0.25,
    Dimension.ROBUSTNESS: 0.20,
    Dimension.MAINTAINABILITY: 0.10,
    Dimension.VERIFICATION: 0.10,
}
"""Of the protocol's five dimensions in the quality score; they sum to 1."""


class CriticalFailure(StrEnum):
    """Failures that stand outside every weighted average."""

    SECURITY_REGRESSION = "security-regression"
    DATA_LOSS = "data-loss"
    MISSING_CENTRAL_REQUIREMENT = "missing-central-requirement"
    FABRICATED_VERIFICATION = "fabricated-verification"
    INCOMPLETE_MIGRATION = "incomplete-migration"

    __hash__ = str.__hash__
    """As of `Dimension`."""


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


_FOLDER = r"^(/[A-Za-z0-9][A-Za-z0-9._-]*)+$"
_TAKEN = frozenset(
    {"bin", "boot", "dev", "esac", "etc", "grade", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin"}
    | {"subject", "sys", "tmp"}
)
"""First parts of paths in the grader's container that cannot be laid over without breaking it."""
_TAKEN_IN = {
    "usr": {"bin", "include", "lib", "lib32", "lib64", "libexec", "libx32", "sbin", "share"},
    "var": {"cache", "lib", "run", "tmp"},
}
"""Second parts of paths of which that is true, too; the folders of the first parts themselves are."""


def can_be_a_folder(path: str) -> bool:
    """Whether a folder of the subject's own can lie at an absolute path of the grader's container."""
    if re.fullmatch(_FOLDER, path) is None:
        return False
    first, *below = path.split("/")[1:]
    if first in _TAKEN:
        return False
    return first not in _TAKEN_IN or (
        bool(below) and below[0] not in _TAKEN_IN[first] and path != "/usr/local"
    )


class GraderPackage(Record):
    """The contents of `grader.json`."""

    format_version: Literal[1]
    task_id: Identifier
    restore: tuple[str, ...] = ()
    checks: Annotated[tuple[CheckDeclaration, ...], Field(min_length=1)]
    references: tuple[Reference, ...]
    decoys: tuple[Decoy, ...]
    trust: Trust = Trust.SEPARATE
    folders: Annotated[
        tuple[Annotated[str, StringConstraints(pattern=_FOLDER)], ...], Field(max_length=6)
    ] = ()
    """Absolute paths in the grader's container at which the subject gets empty folders of its own, in memory,
    for checks that need a submission at a certain place."""

    @model_validator(mode="after")
    def _as_its_trust_demands(self) -> Self:
        if self.trust is Trust.SEPARATE and not (self.references and self.decoys):
            raise ValueError("a grader needs a reference and a decoy")
        wrong = [folder for folder in self.folders if not can_be_a_folder(folder)]
        if wrong or len(set(self.folders)) != len(self.folders):
            raise ValueError(f"no folders of the subject's own can lie at {', '.join(wrong or self.folders)}")
        return self
