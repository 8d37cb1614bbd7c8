"""Checks what a bundle has on request: patches, transcripts, bundles, tasks, and the review's scores."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Final

from esac_ag.archive import unpack
from esac_ag.artifacts import WHOLE
from esac_ag.attempt.events import StudyState
from esac_ag.canonical import file_sha256
from esac_ag.conduct.audit_records import AuditFinding, Row, differing
from esac_ag.conduct.publication_opening import Bundle
from esac_ag.conduct.publishing_files import ATTEMPT_FILES
from esac_ag.manifest.inventory import difference, inventory_of
from esac_ag.manifest.plan import Manifest, Plan
from esac_ag.report.publication_view import SCORES, STUDY, Part, PublishedStudy, ReviewStanding
from esac_ag.study.agreement import Agreement
from esac_ag.study.forms import FormSet
from esac_ag.study.scores import ReviewScores, agreement_in, joined, review_of
from esac_ag.tree import FileTree, RegularFile

_REQUEST: Final = b"request.md"
_PUBLIC: Final = b"public/"


def part_findings(
    bundle: Bundle, study: PublishedStudy, plan: Plan, state: StudyState
) -> Iterator[AuditFinding]:
    """What of the parts is missing, or not what ledger and manifest name."""
    yield from _of_attempts(bundle, study, state)
    yield from _arms(bundle, study, plan)
    if isinstance(plan, Manifest):
        yield from _tasks(bundle, study, plan)
    yield from _scores(bundle, study, state)


def _of_attempts(bundle: Bundle, study: PublishedStudy, state: StudyState) -> Iterator[AuditFinding]:
    for path, digest in attempt_files(study, state).items():
        if not study.leaves_out(path):
            found = bundle.digests.get(path, "no such file")
            yield from differing([(path, "it is not the file that the ledger names", digest, found)])


def attempt_files(study: PublishedStudy, state: StudyState) -> dict[str, str]:
    """Digests of all files of attempts that the published parts have, by path; those left out, too."""
    names = [name for part, names in ATTEMPT_FILES.items() if part in study.parts for name in names]
    return {
        f"attempts/{attempt.attempt_id}/{name}": attempt.artifacts[name]
        for attempt in state.attempts.values()
        for name in names
        if name in attempt.artifacts
    }


def rationales(study: PublishedStudy, state: StudyState) -> dict[str, str]:
    """Digests of the forms of all who locked them, by path, if they are published."""
    if Part.RATIONALES not in study.parts:
        return {}
    return {
        f"review/rationales/{name}.json": locked.forms_sha256 for name, locked in state.review.locked.items()
    }


def _rationales(
    bundle: Bundle, study: PublishedStudy, state: StudyState, scores: ReviewScores
) -> Iterator[AuditFinding]:
    """Forms by their digests where names are told, and in any case as the scores have them."""
    told = {(review.reviewer, review.label): review for score in scores.scores for review in score.reviews}
    for path, digest in rationales(study, state).items():
        if study.leaves_out(path):
            continue
        if study.review.standing is ReviewStanding.NAMED:
            found = bundle.digests.get(path, "no such file")
            yield from differing([(path, "the forms are not the ones that the ledger names", digest, found)])
        locked = FormSet.model_validate_json(bundle.read(path))
        for form in locked.forms:
            said = told.pop((locked.reviewer, form.label), None)
            yield from differing(
                [(path, f"form {form.label} is not what the scores tell", said, review_of(locked, form))]
            )
    left = {name for name, _ in told}
    for name in sorted(left) if Part.RATIONALES in study.parts else ():
        path = f"review/rationales/{name}.json"
        if not study.leaves_out(path):
            yield AuditFinding(where=path, what="forms are missing that the scores tell of")


def _arms(bundle: Bundle, study: PublishedStudy, plan: Plan) -> Iterator[AuditFinding]:
    for arm in plan.arms if Part.ARMS in study.parts else ():
        path = f"arms/{arm.id}.tar"
        if arm.bundle is None or study.leaves_out(path):
            continue
        unlike = difference(arm.files, inventory_of(_tree(bundle, path)))
        if unlike:
            what = "the bundle is not the one that the manifest sealed"
            yield AuditFinding(where=path, what=what, found=str(unlike))


def _tasks(bundle: Bundle, study: PublishedStudy, plan: Manifest) -> Iterator[AuditFinding]:
    for task in plan.tasks if Part.TASKS in study.parts else ():
        path = f"tasks/{task.id}.tar"
        if study.leaves_out(path):
            continue
        tree = _tree(bundle, path)
        snapshot = FileTree(
            {name.removeprefix(_PUBLIC): node for name, node in tree.items() if name.startswith(_PUBLIC)}
        )
        request = tree.get(_REQUEST)
        asked = file_sha256(request.data) if isinstance(request, RegularFile) else "no request"
        yield from differing(
            [
                (path, "the snapshot is not the sealed one", task.public_tree_sha256, snapshot.sha256()),
                (path, "the request is not the sealed one", task.request_sha256, asked),
            ]
        )


def _scores(bundle: Bundle, study: PublishedStudy, state: StudyState) -> Iterator[AuditFinding]:
    """The review's scores: of the attempts of the ledger, and by its digest where names are told."""
    unblinded = state.review.unblinded
    if study.review.standing is ReviewStanding.NONE:
        if unblinded is not None or SCORES in bundle.digests:
            yield AuditFinding(
                where=STUDY, what="the ledger has an unblinded review, and the bundle tells of none"
            )
        return
    sealed = None if unblinded is None else unblinded.scores_sha256
    yield from differing([(STUDY, "digest of the review's scores", sealed, study.review.scores_sha256)])
    if study.review.standing is ReviewStanding.NAMED:
        found = bundle.digests.get(SCORES, "no such file")
        yield from differing([(SCORES, "the scores are not the ones that the ledger names", sealed, found)])
    scores = ReviewScores.model_validate_json(bundle.read(SCORES))
    for score in scores.scores:
        attempt = state.attempts.get(score.attempt_id)
        told = None if attempt is None else attempt.cell
        yield from differing([(SCORES, f"the cell of {score.attempt_id}", told, score.cell)])
    yield from differing(_rows_of_scores(study, state, scores))
    agreed = agreement_in(scores.scores, seed="", intervals=False)
    told_of = tuple(map(_without_intervals, scores.agreement))
    yield from differing(
        [(SCORES, "how far reviewers agree", tuple(map(_without_intervals, agreed)), told_of)]
    )
    yield from _rationales(bundle, study, state, scores)


def _without_intervals(one: Agreement) -> tuple[object, ...]:
    """What of an agreement can be computed at once."""
    return one.what, one.submissions, one.tasks, one.equal, one.kappa.estimate, one.alpha.estimate


def _rows_of_scores(study: PublishedStudy, state: StudyState, scores: ReviewScores) -> Iterator[Row]:
    """What scores have to be by the ledger, and by the reviews that stand beside them."""
    reviewed = sorted(score.attempt_id for score in scores.scores)
    counted = sorted(one.attempt_id for one in state.attempts.values() if one.counts)
    people = {one.name for one in scores.participants}
    yield SCORES, "the attempts that were reviewed", counted, reviewed
    yield (
        SCORES,
        "the study",
        (study.study_id, study.manifest_sha256),
        (scores.study_id, scores.manifest_sha256),
    )
    yield SCORES, "who reviewed", sorted(state.review.locked), sorted(people)
    yield SCORES, "whether it is provisional", study.review.provisional, scores.provisional
    for one in scores.participants:
        locked = state.review.locked.get(one.name)
        yield SCORES, f"who {one.name} is", locked and locked.provisional, one.author.provisional
    for score in scores.scores:
        where = f"{SCORES} {score.attempt_id}"
        yield where, "it is not what its reviews come to", joined(score), score


def _tree(bundle: Bundle, path: str) -> FileTree:
    data = io.BytesIO(bundle.read(path))
    return unpack(iter(lambda: data.read(1 << 20), b""), WHOLE).tree
