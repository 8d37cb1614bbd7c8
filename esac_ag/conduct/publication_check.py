"""Verifies a publication bundle by itself, for people who have nothing else of the study."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import ValidationError

from esac_ag.canonical import loads_strict
from esac_ag.conduct.audit_records import AuditFinding, differing
from esac_ag.conduct.publication_evidence import Checked
from esac_ag.conduct.publication_opening import Bundle, opened
from esac_ag.errors import HarnessError, InputRefused
from esac_ag.record import Record, Sha256
from esac_ag.report.compact import many_records
from esac_ag.report.publication_ledger import ChainBroken, read_public
from esac_ag.report.publication_lineage import Told
from esac_ag.report.publication_view import (
    LEDGER,
    STUDY,
    SUMS,
    PublishedStudy,
)


class PublicationCheck(Record):
    """What verifying a bundle found."""

    study_id: str
    bundle_sha256: Sha256
    """Of `SHA256SUMS`: compare it with what the bundle's owner says by another way."""
    files: int
    ledger_lines: int
    withheld_lines: int
    attempts: int
    findings: tuple[AuditFinding, ...]
    notes: tuple[str, ...]
    """What the bundle alone cannot prove."""

    @property
    def clean(self) -> bool:
        """Whether everything that can be checked holds."""
        return not self.findings


def verify_publication(path: Path) -> PublicationCheck:
    """Check digests, the ledger's chain, and that rows, lineage and reports follow from each other.

    Args:
        path: a folder or an archive.

    Raises:
        InputRefused: it is no publication bundle.
    """
    with opened(path) as bundle, many_records():
        study = _study_of(bundle)
        findings = list(_sums(bundle))
        try:
            ledger = read_public(bundle.read(LEDGER).removesuffix(b"\n").split(b"\n"))
            told = Told.of(ledger.bodies)
        except (ChainBroken, ValueError, HarnessError) as error:
            findings.append(AuditFinding(where=LEDGER, what="the ledger does not hold", found=str(error)))
            return _check(bundle, study, findings, ())
        checked = Checked(bundle, study, ledger, told)
        told_of_itself = (checked.seals, checked.account, checked.derived)
        for check in (*told_of_itself, checked.rows, checked.reports, checked.parts):
            findings += _guarded(check)
        return _check(bundle, study, findings, tuple(checked.notes()))


def _study_of(bundle: Bundle) -> PublishedStudy:
    data = bundle.read(STUDY)
    try:
        loads_strict(data)
        return PublishedStudy.model_validate_json(data)
    except (ValueError, RecursionError) as error:
        raise InputRefused(
            "the bundle's account of itself cannot be read",
            where=STUDY,
            found=str(error.errors()[0]["msg"] if isinstance(error, ValidationError) else error),
            remedy="verify it with the version that wrote it, or get the bundle again",
        ) from error


def _sums(bundle: Bundle) -> Iterator[AuditFinding]:
    """Files against their list: changed, missing, and such that it does not name."""
    listed = bundle.sums()
    for name in bundle.strange:
        yield AuditFinding(where=name, what="neither a file nor a folder")
    for name, expected in listed.items():
        found = bundle.digests.get(name, "no such file")
        yield from differing([(name, "a file is not the one that was published", expected, found)])
    for name in bundle.digests:
        if name != SUMS and name not in listed:
            yield AuditFinding(where=name, what="a file that SHA256SUMS does not name")


def _guarded(check: Callable[[], Iterator[AuditFinding]]) -> list[AuditFinding]:
    """A check's findings; records that cannot be read are one."""
    found: list[AuditFinding] = []
    try:
        found.extend(check())
    except (HarnessError, ValidationError, ValueError, KeyError, RecursionError) as error:
        where = getattr(error, "where", "") or "the bundle"
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        found.append(AuditFinding(where=where, what="a record cannot be read", found=first))
    return found


def _check(
    bundle: Bundle, study: PublishedStudy, findings: list[AuditFinding], notes: tuple[str, ...]
) -> PublicationCheck:
    return PublicationCheck(
        study_id=study.study_id,
        bundle_sha256=bundle.digests[SUMS],
        files=len(bundle.digests),
        ledger_lines=study.ledger.lines,
        withheld_lines=study.ledger.withheld_lines,
        attempts=study.attempts,
        findings=tuple(findings),
        notes=notes,
    )
