"""A form of `study/forms.py` as the fields of an HTML form, and back. Pure.

A field's name and id are the form's JSON pointer with `-` for `/`: `/scores/scope/evidence/0/link` is
`scores-scope-evidence-0-link`. So a fault leads to its field. Rows without an entry are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from pydantic import ValidationError

from esac_ag.errors import InputRefused
from esac_ag.manifest.package import Dimension
from esac_ag.pages.shown import anchor
from esac_ag.record import faults_in
from esac_ag.study.forms import (
    MOST_EVIDENCE,
    CriticalFinding,
    Evidence,
    Form,
    FormFault,
    Judged,
    Sureness,
)
from esac_ag.study.packets import Packet
from esac_ag.study.scales import SCALES, TOP_SCORE, Scale

NO_CRITICAL: Final = "critical-none"
CONTRADICTION: Final = FormFault(
    pointer="/critical/none",
    what="you said that there is none, and named one: what you named was kept and the mark taken away",
)

_ROW: Final = re.compile(r"(.+)-(\d{1,4})-(?:evidence-)?(?:type|text|link)")


class Entered(NamedTuple):
    """What somebody entered."""

    form: Form
    contradicts_itself: bool
    """Whether critical failures are denied and named at once; what is named is kept."""


class RowFields(NamedTuple):
    """One piece of evidence, or an empty row for one more."""

    id: str
    """What the ids of its fields begin with."""
    type: str
    """Of a critical failure."""
    text: str
    link: str
    seen_at: str
    """Fragment of the place that the link names, if the packet has it."""


class ScaleFields(NamedTuple):
    """One dimension."""

    scale: Scale
    id: str
    score: int | None
    rows: tuple[RowFields, ...]


class FormFields(NamedTuple):
    """A form, ready for the template."""

    scales: tuple[ScaleFields, ...]
    critical_none: bool
    critical: tuple[RowFields, ...]
    sureness: Sureness | None
    unsure_of: str
    rationale: str


def fields_of(form: Form, packet: Packet) -> FormFields:
    """The fields of a form, with an empty row at the end of each list."""
    links = packet.links()
    return FormFields(
        scales=tuple(_scale(scale, form, links) for scale in SCALES),
        critical_none=form.critical == (),
        critical=tuple(
            _row(f"critical-{number}", finding.type, finding.evidence, links, "evidence-")
            for number, finding in enumerate((*(form.critical or ()), CriticalFinding(type="")))
        ),
        sureness=form.uncertainty.level,
        unsure_of=form.uncertainty.text,
        rationale=form.rationale,
    )


def _scale(scale: Scale, form: Form, links: frozenset[str]) -> ScaleFields:
    judged = form.scores.get(scale.dimension, Judged())
    start = f"scores-{scale.dimension.value}"
    rows = (
        _row(f"{start}-evidence-{number}", "", evidence, links)
        for number, evidence in enumerate((*judged.evidence, Evidence()))
    )
    return ScaleFields(scale, f"{start}-score", judged.score, tuple(rows))


def _row(start: str, kind: str, evidence: Evidence, links: frozenset[str], inner: str = "") -> RowFields:
    seen_at = anchor(evidence.link) if evidence.link in links else ""
    return RowFields(
        f"{start}-{inner}" if inner else f"{start}-", kind, evidence.text, evidence.link, seen_at
    )


def field_of(fault: FormFault) -> str:
    """Id of the field that a fault is of."""
    found = fault.pointer.strip("/").replace("/", "-")
    if found == "critical":
        return NO_CRITICAL
    return f"{found}-0-text" if found.endswith("-evidence") and found.startswith("scores-") else found


def read_fields(values: Mapping[str, str], label: str) -> Entered:
    """The form that was entered.

    Args:
        values: by field; those that a form does not know are left out.
        label: of the packet.

    Raises:
        InputRefused: a value is none that the page can send: too long, too many, no score.
    """
    lines = {name: value.replace("\r\n", "\n") for name, value in values.items()}
    rows = _rows(lines)
    critical = tuple(
        {"type": row.get("type", ""), "evidence": _evidence(row)} for row in rows.get("critical", ())
    )
    denied = NO_CRITICAL in lines
    found = {
        "label": label,
        "scores": {
            dimension: judged
            for dimension in Dimension
            if (judged := _judged(lines, rows, dimension)) is not None
        },
        "critical": critical or (() if denied else None),
        "uncertainty": {
            "level": lines.get("uncertainty-level") or None,
            "text": lines.get("uncertainty-text", ""),
        },
        "rationale": lines.get("rationale", ""),
    }
    try:
        return Entered(Form.model_validate(found, strict=False), denied and bool(critical))
    except ValidationError as error:
        raise InputRefused(
            "the form cannot be saved as it is",
            where=label,
            expected=f"texts of bounded length, at most {MOST_EVIDENCE} pieces of evidence, "
            f"scores from 0 to {TOP_SCORE}",
            found=faults_in(error),
            remedy="go back in the browser: what you wrote is still there; shorten it",
        ) from error


def _judged(
    lines: Mapping[str, str], rows: Mapping[str, Sequence[Mapping[str, str]]], dimension: Dimension
) -> dict[str, object] | None:
    start = f"scores-{dimension.value}"
    score = lines.get(f"{start}-score") or None
    evidence = tuple(map(_evidence, rows.get(f"{start}-evidence", ())))
    if score is None and not evidence:
        return None
    return {"score": score, "evidence": evidence}


def _evidence(row: Mapping[str, str]) -> dict[str, str]:
    return {"text": row.get("text", ""), "link": row.get("link", "").strip()}


def _rows(lines: Mapping[str, str]) -> dict[str, tuple[dict[str, str], ...]]:
    """Rows with an entry, in their numbers' order, by the list that they are of."""
    found: dict[str, dict[int, dict[str, str]]] = {}
    for name, value in lines.items():
        if match := _ROW.fullmatch(name):
            of_list = found.setdefault(match[1], {})
            of_list.setdefault(int(match[2]), {})[name.rpartition("-")[2]] = value
    return {
        name: tuple(row for _, row in sorted(of_list.items()) if any(map(str.strip, row.values())))
        for name, of_list in found.items()
    }
