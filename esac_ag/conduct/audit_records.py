"""What an audit tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from esac_ag.record import Record


class AuditFinding(Record):
    """One thing that does not hold, or that is worth a note."""

    where: str
    what: str
    expected: str = ""
    found: str = ""


def differing(rows: Iterable[tuple[str, str, object, object]]) -> Iterator[AuditFinding]:
    """Findings of the rows (where, what, expected, found) whose values differ."""
    for where, what, expected, found in rows:
        if expected != found:
            yield AuditFinding(where=where, what=what, expected=str(expected), found=str(found))
