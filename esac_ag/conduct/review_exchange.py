"""Forms out to a file and in again: strict, told per row or pointer, and nothing that was there is lost."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from esac_ag.artifacts import write_atomic
from esac_ag.canonical import loads_strict
from esac_ag.conduct.review_desk import ReviewDesk
from esac_ag.errors import InputRefused, UsageError
from esac_ag.manifest.findings import pointer, shown_text
from esac_ag.plural import plural
from esac_ag.record import Record
from esac_ag.rooms.reading import CannotRead, read_bounded
from esac_ag.study.form_table import ReadTable, read_table, row_of, table_of
from esac_ag.study.forms import Author, AuthorKind, Form, FormFault, FormSet, faults_of
from esac_ag.study.packet_text import packet_text

FILE_CAP_BYTES = 200_000_000
MOST_SHOWN = 20
TABLE, JSON = ".csv", ".json"


class Exported(Record):
    """What an export wrote."""

    reviewer: str
    file: str
    packets: str
    """Folder with each packet as text."""
    forms: int


class Imported(Record):
    """What an import did."""

    reviewer: str
    replaced: int
    """Forms that are now other ones; what they replaced lies in `earlier/`."""
    unchanged: int
    submitted: int
    incomplete: dict[str, tuple[FormFault, ...]]
    """What forms that are begun still lack, by label; blank ones are left out."""


def export_forms(study: Path, reviewer: str, output: Path) -> Exported:
    """Write a reviewer's forms, as they are now, to a JSON or CSV file, and the packets as text beside it.

    Raises:
        UsageError: the file is there already (it may have been worked in), or is neither JSON nor CSV.
        InputRefused, SubstitutionRefused: as `ReviewDesk.open`.
    """
    kind = _kind_of(output)
    if output.exists():
        raise UsageError(
            "the file is there already, and somebody may have worked in it",
            where=str(output),
            remedy="name another file with -o, or move this one away",
        )
    desk = ReviewDesk.open(study, reviewer)
    forms = desk.form_set()
    data = table_of(forms.forms) if kind == TABLE else forms.model_dump_json(indent=2) + "\n"
    folder = output.with_suffix(".packets")
    for packet in desk.book.packets:
        write_atomic(folder / f"{packet.label}.txt", packet_text(packet).encode("utf-8", "backslashreplace"))
    write_atomic(output, data.encode("utf-8", "backslashreplace"))
    return Exported(reviewer=reviewer, file=str(output), packets=str(folder), forms=len(forms.forms))


def import_forms(study: Path, reviewer: str, path: Path) -> Imported:
    """Take forms from a file; complete ones are submitted. Everything is taken, or nothing.

    Forms that the file leaves blank, or does not name, stay as they are. A JSON file whose author is a script
    makes the forms a rehearsal.

    Raises:
        InputRefused: the file has faults, all of which are told with row or pointer; nothing was taken.
        UsageError: the forms are locked, or the file is neither JSON nor CSV.
        SubstitutionRefused: something that the ledger names was changed.
    """
    desk = ReviewDesk.open(study, reviewer)
    read = _read(path, reviewer)
    faults = [*read.faults, *_faults_of_forms(desk, read)]
    if faults:
        raise InputRefused(
            f"the file has {plural(len(faults), 'fault')}, so nothing of it was taken",
            where=str(path),
            found="\n            ".join(shown_text(one) for one in faults[:MOST_SHOWN])
            + ("\n            …" if len(faults) > MOST_SHOWN else ""),
            remedy="correct them and import the file again",
        )
    return take_forms(desk, tuple(form for form in read.forms if not form.is_blank), read.author)


def take_forms(desk: ReviewDesk, forms: tuple[Form, ...], author: Author | None = None) -> Imported:
    """Take forms without wrong parts in place of those that are there; complete ones are submitted.

    Args:
        desk: of the reviewer.
        forms: each of a packet of theirs.
        author: who filled them in; a person by default.

    Raises:
        UsageError, StudyBusy: as `ReviewDesk.replace`.
    """
    now = {form.label: _submitted(desk, form) for form in forms}
    changed = tuple(form for form in now.values() if form != desk.form(form.label))
    desk.replace(changed, author)
    return Imported(
        reviewer=desk.book.reviewer,
        replaced=len(changed),
        unchanged=len(now) - len(changed),
        submitted=sum(form.submitted for form in now.values()),
        incomplete={label: desk.faults(label) for label, form in now.items() if not form.submitted},
    )


@dataclass(frozen=True, slots=True)
class _File:
    forms: tuple[Form, ...]
    faults: tuple[str, ...] = ()
    table: ReadTable | None = None
    author: Author | None = None

    def place(self, number: int, fault: FormFault) -> str:
        """Where in the file a form's fault is."""
        if self.table is None:
            return f"/forms/{number}{fault.pointer}"
        row = row_of(self.table.rows, self.forms[number].label, fault.pointer)
        return f"{self.forms[number].label}{fault.pointer}" if row is None else f"row {row}"


def _faults_of_forms(desk: ReviewDesk, read: _File) -> Iterator[str]:
    """What is wrong in the forms; what is only missing is not."""
    packets = {packet.label: packet for packet in desk.book.packets}
    for number, form in enumerate(read.forms):
        if form.label not in packets:
            yield f"there is no packet {form.label} of {desk.book.reviewer}"
            continue
        if form.label in [earlier.label for earlier in read.forms[:number]]:
            yield f"/forms/{number}/label: {form.label} is there twice"
        for fault in faults_of(form, packets[form.label], desk.book.critical_failures):
            if not fault.missing:
                yield f"{read.place(number, fault)}: {fault.what}"


def _submitted(desk: ReviewDesk, form: Form) -> Form:
    whole = not faults_of(form, desk.packet(form.label), desk.book.critical_failures)
    return form.model_copy(update={"submitted": whole})


def _kind_of(path: Path) -> str:
    kind = path.suffix.lower()
    if kind not in {TABLE, JSON}:
        raise UsageError(
            "forms are a JSON or a CSV file", where=str(path), expected="a name that ends in .json or .csv"
        )
    return kind


def _read(path: Path, reviewer: str) -> _File:
    kind = _kind_of(path)
    text = _text_of(path)
    if kind == TABLE:
        table = read_table(text)
        faults = tuple(f"row {fault.row}: {fault.what}" for fault in table.faults)
        return _File(tuple(table.forms.values()), faults, table)
    return _read_json(text, reviewer)


def _text_of(path: Path) -> str:
    try:
        return read_bounded(path, cap_bytes=FILE_CAP_BYTES).decode("utf-8")
    except (CannotRead, UnicodeDecodeError) as error:
        raise InputRefused(
            "the file cannot be read", where=str(path), expected="a text file in UTF-8", found=str(error)
        ) from error


def _read_json(text: str, reviewer: str) -> _File:
    try:
        loads_strict(text)
        found = FormSet.model_validate_json(text)
    except ValidationError as error:
        return _File((), tuple(f"{pointer(*one['loc'])}: {one['msg']}" for one in error.errors()))
    except (ValueError, RecursionError) as error:
        return _File((), (f"not JSON: {error}",))
    if found.reviewer != reviewer:
        return _File((), (f"/reviewer: the forms are of {found.reviewer}, not of {reviewer}",))
    if found.author.kind is AuthorKind.MODEL:
        return _File((), ("/author: a model's forms are made by `review judge`, never imported",))
    return _File(found.forms, author=found.author)


def read_guesses(path: Path) -> dict[str, str | None]:
    """Guesses of arms from a CSV file with the columns `label` and `arm`; an empty arm is no idea.

    Raises:
        InputRefused: it is no such table, or names a label twice; every fault is told with its row.
    """
    rows = list(csv.reader(io.StringIO(_text_of(path).removeprefix("\ufeff"), newline="")))
    faults = [] if rows and rows[0] == ["label", "arm"] else ["row 1: the heading is not label,arm"]
    found: dict[str, str | None] = {}
    for number, cells in enumerate(rows[1:], start=2):
        if not any(cells):
            continue
        if len(cells) != 2:  # noqa: PLR2004  (label and arm)
            faults.append(f"row {number}: {plural(len(cells), 'cell')} where 2 are expected")
            continue
        label, arm = (cell.strip() for cell in cells)
        if label in found:
            faults.append(f"row {number}: {shown_text(label)} is there twice")
        found[label] = arm or None
    if faults:
        raise InputRefused(
            "the guesses cannot be read", where=str(path), found="; ".join(faults[:MOST_SHOWN])
        )
    return found
