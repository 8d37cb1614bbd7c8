"""Forms as a table, for people who work in a spreadsheet: a row for each thing that is said.

label,item,value,text,link
p-01ab,behaviour,2,the empty order is not handled,shop/orders.py:14
p-01ab,behaviour,,nor is a negative one,shop/orders.py:20      one more piece of evidence for the same score
p-01ab,critical,data-loss,the old file is removed first,shop/store.py:-8
p-01ab,critical,none,,                                         there is none: this has to be said
p-01ab,uncertainty,low,,
p-01ab,rationale,,in a few words why,
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from esac_ag.manifest.package import Dimension
from esac_ag.plural import plural
from esac_ag.study.forms import (
    MOST_CHARACTERS,
    CriticalFinding,
    Evidence,
    Form,
    Judged,
    Sureness,
    Uncertainty,
)
from esac_ag.study.scales import SCALES, TOP_SCORE

COLUMNS: Final = ("label", "item", "value", "text", "link")
NONE: Final = "none"
_CRITICAL, _UNCERTAINTY, _RATIONALE = "critical", "uncertainty", "rationale"
_DIMENSIONS: Final = {scale.dimension.value: scale.dimension for scale in SCALES}
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")

Row = tuple[str, str, str, str, str]


@dataclass(frozen=True, slots=True)
class TableFault:
    """What is wrong in a row."""

    row: int
    """From 1, the heading's; as a spreadsheet counts where no cell has line ends."""
    what: str


@dataclass(slots=True)
class ReadTable:
    """What a table says."""

    forms: dict[str, Form] = field(default_factory=dict)
    """By label, in the table's order."""
    rows: dict[tuple[str, str], int] = field(default_factory=dict)
    """Row by label and pointer, so that a fault of a form can be told where it stands."""
    faults: list[TableFault] = field(default_factory=list)


def table_of(forms: Sequence[Form]) -> str:
    """The table of forms, blank rows for what is not said yet; no cell is a formula to a spreadsheet."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for form in forms:
        for row in _rows(form):
            writer.writerow([_guarded(cell) for cell in row])
    return out.getvalue()


def _rows(form: Form) -> Iterator[Row]:
    for name, dimension in _DIMENSIONS.items():
        judged = form.scores.get(dimension, Judged())
        value = "" if judged.score is None else str(judged.score)
        for number, one in enumerate(judged.evidence or (Evidence(),)):
            yield form.label, name, value if number == 0 else "", one.text, one.link
    if form.critical:
        for finding in form.critical:
            yield form.label, _CRITICAL, finding.type, finding.evidence.text, finding.evidence.link
    else:
        yield form.label, _CRITICAL, "" if form.critical is None else NONE, "", ""
    yield form.label, _UNCERTAINTY, form.uncertainty.level or "", form.uncertainty.text, ""
    yield form.label, _RATIONALE, "", form.rationale, ""


def _guarded(cell: str) -> str:
    """Text that a spreadsheet would run gets an apostrophe; so does text that has one, to tell them apart."""
    return "'" + cell if cell.startswith((*_FORMULA, "'")) else cell


def _unguarded(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell[1:].startswith((*_FORMULA, "'")) else cell


def read_table(text: str) -> ReadTable:
    """Read a table strictly: every fault is told with its row, and nothing is guessed.

    Rows may have any order. A spreadsheet's byte order mark, and `;` in place of `,`, are taken.
    """
    text = text.removeprefix("\ufeff")
    heading = text.partition("\n")[0]
    delimiter = ";" if ";" in heading and "," not in heading else ","
    read = ReadTable()
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    drafts: dict[str, _Draft] = {}
    try:
        if tuple(next(rows, ())) != COLUMNS:
            read.faults.append(TableFault(1, f"the heading is not {','.join(COLUMNS)}"))
            return read
        for number, cells in enumerate(rows, start=2):
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(COLUMNS):
                read.faults.append(
                    TableFault(number, f"{plural(len(cells), 'cell')} where {len(COLUMNS)} are expected")
                )
                continue
            label, item, value, words, link = (_unguarded(cell) for cell in cells)
            draft = drafts.setdefault(label.strip(), _Draft(label.strip(), read))
            draft.take(number, item.strip(), value.strip(), words.strip(), link.strip())
    except csv.Error as error:
        read.faults.append(TableFault(rows.line_num, f"not a table: {error}"))
        return read
    read.forms = {label: draft.form() for label, draft in drafts.items()}
    return read


class _Draft:
    """One form, row by row."""

    def __init__(self, label: str, read: ReadTable) -> None:
        self._label = label
        self._read = read
        self._scores: dict[Dimension, int] = {}
        self._evidence: dict[Dimension, list[Evidence]] = {}
        self._critical: list[CriticalFinding] = []
        self._says_none = False
        self._once: dict[str, tuple[str, str]] = {}

    def take(self, row: int, item: str, value: str, words: str, link: str) -> None:
        """Take in a row."""
        if max(map(len, (value, words, link))) > MOST_CHARACTERS:
            self._fault(row, f"a cell has more than {MOST_CHARACTERS} characters")
        elif item in _DIMENSIONS:
            self._take_score(row, _DIMENSIONS[item], value, Evidence(text=words, link=link))
        elif item == _CRITICAL:
            self._take_critical(row, value, Evidence(text=words, link=link))
        elif item in {_UNCERTAINTY, _RATIONALE}:
            self._take_once(row, item, value, words, link)
        else:
            known = ", ".join([*_DIMENSIONS, _CRITICAL, _UNCERTAINTY, _RATIONALE])
            self._fault(row, f"the item is none of {known}")

    def _take_score(self, row: int, dimension: Dimension, value: str, evidence: Evidence) -> None:
        at = f"/scores/{dimension.value}"
        self._read.rows.setdefault((self._label, at), row)
        if value:
            if value not in map(str, range(TOP_SCORE + 1)):
                self._fault(row, f"{dimension.value} is not a whole number from 0 to {TOP_SCORE}")
            elif self._scores.setdefault(dimension, int(value)) != int(value):
                self._fault(row, f"{dimension.value} has two different scores")
        if evidence != Evidence():
            own = self._evidence.setdefault(dimension, [])
            self._read.rows[self._label, f"{at}/evidence/{len(own)}"] = row
            own.append(evidence)

    def _take_critical(self, row: int, value: str, evidence: Evidence) -> None:
        if not value:
            if evidence != Evidence():
                self._fault(row, "evidence of a critical failure without its type")
            return
        if value == NONE:
            self._says_none = True
            if evidence != Evidence():
                self._fault(row, "`none` has no evidence")
        else:
            self._read.rows[self._label, f"/critical/{len(self._critical)}"] = row
            self._critical.append(CriticalFinding(type=value, evidence=evidence))
        if self._says_none and self._critical:
            self._fault(row, "critical failures are named, and `none` is said")

    def _take_once(self, row: int, item: str, value: str, words: str, link: str) -> None:
        self._read.rows.setdefault((self._label, f"/{item}"), row)
        if item in self._once:
            self._fault(row, f"{item} is there twice")
        if link or (item == _RATIONALE and value):
            self._fault(row, f"{item} has a cell too many")
        if item == _UNCERTAINTY and value not in ("", *Sureness):
            self._fault(row, f"uncertainty is none of {', '.join(Sureness)}")
            value = ""
        self._once[item] = (value, words)

    def form(self) -> Form:
        """What the rows came to."""
        level, words = self._once.get(_UNCERTAINTY, ("", ""))
        scores = {
            dimension: Judged(
                score=self._scores.get(dimension), evidence=tuple(self._evidence.get(dimension, ()))
            )
            for dimension in _DIMENSIONS.values()
            if dimension in self._scores or dimension in self._evidence
        }
        return Form(
            label=self._label,
            scores=scores,
            critical=tuple(self._critical) if self._critical or self._says_none else None,
            uncertainty=Uncertainty(level=Sureness(level) if level else None, text=words),
            rationale=self._once.get(_RATIONALE, ("", ""))[1],
        )

    def _fault(self, row: int, what: str) -> None:
        self._read.faults.append(TableFault(row, what))


def row_of(rows: Mapping[tuple[str, str], int], label: str, pointer: str) -> int | None:
    """The row that a fault of a form is about: the nearest part of its pointer that has one."""
    parts = pointer.split("/")
    while len(parts) > 1:
        if (label, "/".join(parts)) in rows:
            return rows[label, "/".join(parts)]
        parts.pop()
    return None
