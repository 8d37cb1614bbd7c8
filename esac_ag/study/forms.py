"""Forms: what a reviewer says of one packet, and what a form still lacks.

A form that is being filled in may lack anything. It is complete when `faults_of` finds nothing: a score in
each dimension, evidence for every deduction, an explicit word on critical failures, and how sure one is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Annotated, Final, Literal, assert_never

from pydantic import Field, StringConstraints

from esac_ag.manifest.package import Dimension
from esac_ag.record import Identifier, Record
from esac_ag.study.packets import WHOLE_DIFF, Label, Packet, Role
from esac_ag.study.scales import SCALES, TOP_SCORE

MOST_CHARACTERS: Final = 20_000
MOST_EVIDENCE: Final = 200
REHEARSAL: Final = "scripted reviewers: a rehearsal, no evidence"
"""Said wherever scores are shown that a script's forms are part of."""

Text = Annotated[str, StringConstraints(max_length=MOST_CHARACTERS)]
Score = Annotated[int, Field(ge=0, le=TOP_SCORE)]


class Sureness(StrEnum):
    """How uncertain a reviewer is of a form."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class AuthorKind(StrEnum):
    """Who filled a form in."""

    PERSON = "person"
    MODEL = "model"
    """Provisional, whatever else is true of it."""
    SCRIPTED = "scripted"
    """A program that follows fixed rules: a rehearsal of the review, and no evidence."""


class Author(Record):
    """Who filled in the forms of a reviewer's name."""

    kind: AuthorKind = AuthorKind.PERSON
    label: str = ""
    """Of a model: what it is called at its endpoint. Of a script: which one it is."""

    @property
    def provisional(self) -> bool:
        """Whether nothing final may rest on it."""
        return self.mark != ""

    @property
    def mark(self) -> str:
        """What has to stand beside everything that it says; nothing for a person."""
        match self.kind:
            case AuthorKind.PERSON:
                return ""
            case AuthorKind.MODEL:
                return "PROVISIONAL"
            case AuthorKind.SCRIPTED:
                return "REHEARSAL, no evidence"
            case _:
                assert_never(self.kind)


class Evidence(Record):
    """Why points were deducted, and where it can be seen."""

    text: Text = ""
    link: Text = ""
    """`path:12` for a line after the change, `path:-12` for a removed one, `command-3`, `claim-1`,
    `check-<id>` where checks are shown, or `diff` for what is missing from the whole."""


class CriticalFinding(Record):
    """A critical failure that the reviewer saw."""

    type: Text
    """One of the types that the manifest names."""
    evidence: Evidence = Evidence()


class Judged(Record):
    """A dimension's score with the evidence for what was deducted."""

    score: Score | None = None
    evidence: Annotated[tuple[Evidence, ...], Field(max_length=MOST_EVIDENCE)] = ()


class Uncertainty(Record):
    """How sure the reviewer is, and of what not."""

    level: Sureness | None = None
    text: Text = ""


class Form(Record):
    """What a reviewer says of one packet, finished or not."""

    label: Label
    scores: dict[Dimension, Judged] = Field(default_factory=dict)
    critical: Annotated[tuple[CriticalFinding, ...], Field(max_length=MOST_EVIDENCE)] | None = None
    """Null until the reviewer has said; empty for none."""
    uncertainty: Uncertainty = Uncertainty()
    rationale: Text = ""
    submitted: bool = False

    @property
    def is_blank(self) -> bool:
        """Whether nothing was filled in."""
        return self == Form(label=self.label)

    def score(self, dimension: Dimension) -> int | None:
        """The score of a dimension, if there is one yet."""
        judged = self.scores.get(dimension)
        return None if judged is None else judged.score

    def whole_scores(self) -> dict[Dimension, int]:
        """All scores of a complete form.

        Raises:
            ValueError: one is missing.
        """
        found = {scale.dimension: self.score(scale.dimension) for scale in SCALES}
        scores = {dimension: score for dimension, score in found.items() if score is not None}
        if len(scores) != len(found):
            raise ValueError(f"form {self.label} lacks a score")
        return scores

    def critical_types(self) -> frozenset[str]:
        """The types of critical failures that it names."""
        return frozenset(finding.type for finding in self.critical or ())


class FormSet(Record):
    """All forms of one reviewer: what is exported, imported, and locked (`locked.json`)."""

    format_version: Literal[1]
    reviewer: Identifier
    role: Role
    author: Author = Author()
    forms: tuple[Form, ...]
    """In the order of the packets."""


class FormFault(Record):
    """What a form lacks, or has wrong."""

    pointer: str
    """JSON pointer into the form, such as `/scores/scope/evidence/0/link`."""
    what: str
    missing: bool = False
    """Whether it only is not filled in yet."""


class Progress(Record):
    """How far a reviewer is."""

    packets: int
    begun: int
    """Forms with anything in them, submitted ones included."""
    submitted: int
    locked: bool


def faults_of(form: Form, packet: Packet, critical_failures: Sequence[str]) -> tuple[FormFault, ...]:
    """Everything that keeps a form from being submitted; empty when it is complete.

    Args:
        form: as it is now.
        packet: the packet of the same label.
        critical_failures: the types that the manifest names.
    """
    links = packet.links()
    found: list[FormFault] = []
    if form.label != packet.label:
        found.append(FormFault(pointer="/label", what=f"the form is of {form.label}, not of {packet.label}"))
    for scale in SCALES:
        found += _score_faults(scale.dimension, form.scores.get(scale.dimension, Judged()), links)
    found += _critical_faults(form, links, critical_failures)
    if form.uncertainty.level is None:
        found.append(FormFault(pointer="/uncertainty/level", what="say low, medium or high", missing=True))
    return tuple(found)


def _score_faults(dimension: Dimension, judged: Judged, links: frozenset[str]) -> Iterator[FormFault]:
    at = f"/scores/{dimension.value}"
    if judged.score is None:
        yield FormFault(pointer=f"{at}/score", what="give a score from 0 to 4", missing=True)
    elif judged.score < TOP_SCORE and not judged.evidence:
        what = "a score below 4 needs evidence for the deduction"
        yield FormFault(pointer=f"{at}/evidence", what=what, missing=True)
    for index, evidence in enumerate(judged.evidence):
        yield from _evidence_faults(f"{at}/evidence/{index}", evidence, links)


def _critical_faults(form: Form, links: frozenset[str], known: Sequence[str]) -> Iterator[FormFault]:
    if form.critical is None:
        yield FormFault(
            pointer="/critical", what="name the critical failures, or say that there is none", missing=True
        )
        return
    for index, finding in enumerate(form.critical):
        at = f"/critical/{index}"
        if finding.type not in known:
            yield FormFault(pointer=f"{at}/type", what=f"one of {', '.join(known)} is expected")
        if finding.type in [earlier.type for earlier in form.critical[:index]]:
            yield FormFault(pointer=f"{at}/type", what="this type is named twice")
        yield from _evidence_faults(f"{at}/evidence", finding.evidence, links)


def _evidence_faults(at: str, evidence: Evidence, links: frozenset[str]) -> Iterator[FormFault]:
    if not evidence.text.strip():
        yield FormFault(pointer=f"{at}/text", what="say in words what is wrong", missing=True)
    if not evidence.link:
        what = f"point at a line (path:12), a command, a claim, or `{WHOLE_DIFF}` for the whole"
        yield FormFault(pointer=f"{at}/link", what=what, missing=True)
    elif evidence.link not in links:
        yield FormFault(pointer=f"{at}/link", what="the packet has no such line, command, claim or check")
