"""Auditing the ledger beyond its chain: its tail, what it moved aside, and whether it ends as it says."""

from __future__ import annotations

from collections.abc import Iterator

from esac_ag.artifacts import file_digest
from esac_ag.attempt.events import TailRecovered
from esac_ag.conduct.audit_records import AuditFinding, Records, differing
from esac_ag.ledger import read_lines
from esac_ag.plural import plural

LEDGER = "ledger.jsonl"


def ledger_findings(study: Records, *, planned: int, done: int, stopped: int = 0) -> Iterator[AuditFinding]:
    """A torn tail, changed pieces of earlier ones, and an end that does not fit the cells."""
    lines, torn = read_lines(study.folder.ledger)
    if torn:
        what = "bytes after the last whole line, torn by a crash; the next session moves them aside"
        yield AuditFinding(where=LEDGER, what=what, expected="a line end", found=f"{len(torn)} bytes")
    for line in lines:
        if isinstance(line.body, TailRecovered):
            yield from _aside(study, line.body)
    cells = f"{done} of {plural(planned, 'cell')} done" + (f", {stopped} of stopped arms" if stopped else "")
    if study.state.finished and done + stopped < planned:
        yield AuditFinding(where=LEDGER, what="the study is finished, and cells are missing", found=cells)
    if not study.state.finished and done + stopped == planned:
        what = "every cell is done, and the study never finished; the next session finishes it"
        yield AuditFinding(where=LEDGER, what=what, expected="a line that it finished", found=cells)


def ledger_notes(study: Records) -> Iterator[AuditFinding]:
    """Pieces beside the ledger that it does not name: a crash came between moving and telling."""
    lines, _ = read_lines(study.folder.ledger)
    known = {line.body.file for line in lines if isinstance(line.body, TailRecovered)}
    for path in sorted(study.folder.path.glob(f"{LEDGER}.torn-*")):
        if path.name not in known:
            yield AuditFinding(where=path.name, what="a torn line that the ledger does not name")


def _aside(study: Records, event: TailRecovered) -> Iterator[AuditFinding]:
    path = study.folder.path / event.file
    if not path.is_file():
        what = "a torn line that was moved aside is missing"
        yield AuditFinding(where=event.file, what=what, expected=event.sha256)
        return
    yield from differing([(event.file, "a torn line was changed", event.sha256, file_digest(path))])
