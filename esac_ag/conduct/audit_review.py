"""Auditing a review: everything that the ledger names, scores computed again, and who can read the key."""

from __future__ import annotations

import stat
from collections.abc import Iterator

from esac_ag.artifacts import file_digest
from esac_ag.artifacts.review_folder import ReviewFolder, record_bytes
from esac_ag.attempt.review_events import ReviewState
from esac_ag.conduct.audit_records import AuditFinding
from esac_ag.conduct.collect import StudyRecords
from esac_ag.conduct.review_seals import digest_at, seals_of
from esac_ag.conduct.review_unblinding import computed_scores
from esac_ag.errors import HarnessError

_NOBODY_ELSE = 0o077


def review_findings(study: StudyRecords) -> Iterator[AuditFinding]:
    """What does not hold in a study's review; nothing where there is none."""
    folder, state = ReviewFolder(study.folder.path), study.state.review
    if state.prepared is None:
        if any(path.exists() for path in (folder.scores, folder.key)):
            yield AuditFinding(where="review", what="a review that the ledger does not know")
        return
    changed = False
    for seal in seals_of(folder, state):
        found = digest_at(seal.path)
        if found != seal.sha256:
            changed = True
            where = seal.path.relative_to(study.folder.path).as_posix()
            what = f"{seal.what} are not what the ledger names"
            yield AuditFinding(where=where, what=what, expected=seal.sha256, found=found)
    yield from _strangers(study, folder, state)
    yield from _readable_keys(study, folder, state)
    if not changed and state.unblinded is not None:
        yield from _scores(study, folder, state)


def _strangers(study: StudyRecords, folder: ReviewFolder, state: ReviewState) -> Iterator[AuditFinding]:
    """People and locked files that no event tells of."""
    known = {*state.reviewers, *([state.adjudication.adjudicator] if state.adjudication else [])}
    for path in sorted(folder.people.iterdir()) if folder.people.is_dir() else []:
        where = path.relative_to(study.folder.path).as_posix()
        if path.name not in known:
            yield AuditFinding(where=where, what="somebody whom the ledger does not know")
        elif (path / "locked.json").exists() and path.name not in state.locked:
            what = "locked forms that the ledger does not name; the same `review lock` goes on"
            yield AuditFinding(where=f"{where}/locked.json", what=what)
    if folder.scores.exists() and state.unblinded is None:
        yield AuditFinding(where="review/scores.json", what="scores of a review that was not unblinded")


def _readable_keys(study: StudyRecords, folder: ReviewFolder, state: ReviewState) -> Iterator[AuditFinding]:
    """Until unblinding, a key is its owner's alone."""
    for path in (folder.key, folder.adjudication_key):
        if path.exists() and state.unblinded is None:
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode & _NOBODY_ELSE:
                where = path.relative_to(study.folder.path).as_posix()
                what = "others than the owner can read a key before unblinding"
                yield AuditFinding(where=where, what=what, expected="0600", found=f"{mode:04o}")


def _scores(study: StudyRecords, folder: ReviewFolder, state: ReviewState) -> Iterator[AuditFinding]:
    """Scores are computed again from locked forms and keys."""
    try:
        data = record_bytes(computed_scores(study, folder, state))
    except (HarnessError, ValueError, KeyError) as error:
        yield AuditFinding(
            where="review/scores.json", what="the scores cannot be computed again", found=str(error)
        )
        return
    if folder.scores.read_bytes() != data:
        what = "the scores are not what the locked forms come to"
        yield AuditFinding(where="review/scores.json", what=what, found=file_digest(folder.scores))
