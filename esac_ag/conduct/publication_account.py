"""Checks a bundle's account of itself: what it says of the study, and which files it may have at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from esac_ag.attempt.events import StudyState
from esac_ag.conduct.audit_records import AuditFinding, differing
from esac_ag.conduct.publication_opening import Bundle
from esac_ag.conduct.publication_parts import attempt_files, rationales
from esac_ag.conduct.publishing_account import Choices, account_of
from esac_ag.manifest.plan import Manifest, Plan
from esac_ag.report.publication_ledger import PublicLedger
from esac_ag.report.publication_view import (
    ALWAYS,
    SCORES,
    STUDY,
    SUMS,
    Part,
    PublishedReport,
    PublishedReview,
    PublishedStudy,
    ReviewStanding,
)

_STRAY: Final = "a file that no part of the bundle names"
_SEALED: Final = ("manifest_sha256", "schedule_sha256", "tasks_sha256")


def account_findings(
    study: PublishedStudy, plan: Plan, ledger: PublicLedger, state: StudyState, planned: int
) -> Iterator[AuditFinding]:
    """Whatever the account says that plan and ledger do not.

    Its own word is taken for what the owner chose, and for the digests of reports that no revision names.

    Args:
        study: the account.
        plan: the published one, which the account's digest was compared with.
        ledger: that holds.
        state: that the ledger tells.
        planned: cells of the plan.
    """
    made = account_of(
        plan,
        {name: getattr(study, name) for name in _SEALED},
        state,
        ledger.head,
        planned=planned,
        reports=tuple(_reports(study, state)),
        review=_review(study, state),
        choices=Choices(study.written_by, study.parts, study.left_out),
    )
    yield from differing(
        (STUDY, f"{name} is not what plan and ledger give", getattr(made, name), getattr(study, name))
        for name in PublishedStudy.model_fields
    )
    for name in ledger.renamed:
        if study.review.standing is not ReviewStanding.PSEUDONYMS:
            yield AuditFinding(where=STUDY, what="names are withheld, and it does not say so", found=name)


def _reports(study: PublishedStudy, state: StudyState) -> Iterator[PublishedReport]:
    """Every report with number, time and reason as the ledger has them, and files as it names them."""
    told = {event.number: event for event in state.revisions}
    claimed = {report.number: report.files for report in study.reports}
    for number in range(1, len(told) + 2):
        event, later = told.get(number), told.get(number + 1)
        files = claimed.get(number, {}) if event is None else event.files
        yield PublishedReport(
            number=number,
            at=None if event is None else event.at,
            reason="" if event is None else event.reason,
            files=dict(sorted((files if later is None else later.earlier).items())),
        )


def _review(study: PublishedStudy, state: StudyState) -> PublishedReview:
    unblinded, standing = state.review.unblinded, study.review.standing
    if unblinded is None:
        return PublishedReview(standing=ReviewStanding.NONE, scores_sha256=None, provisional=False)
    return PublishedReview(
        standing=ReviewStanding.PSEUDONYMS if standing is ReviewStanding.NONE else standing,
        scores_sha256=unblinded.scores_sha256,
        provisional=any(one.provisional for one in state.review.locked.values()),
    )


def stray_findings(
    bundle: Bundle, study: PublishedStudy, plan: Plan, state: StudyState
) -> Iterator[AuditFinding]:
    """Files that no bundle of this study has: nothing vouches for them."""
    known = {SUMS, *ALWAYS, *(name for report in study.reports for name in report.files)}
    known |= attempt_files(study, state).keys() | rationales(study, state).keys()
    if study.review.standing is not ReviewStanding.NONE:
        known.add(SCORES)
    if Part.ARMS in study.parts:
        known |= {f"arms/{arm.id}.tar" for arm in plan.arms if arm.bundle is not None}
    if Part.TASKS in study.parts:
        known |= {f"tasks/{task}.tar" for task in _task_ids(plan)}
    for name in bundle.digests:
        if name not in known:
            what = "a file of an attempt that nothing names" if name.startswith("attempts/") else _STRAY
            yield AuditFinding(where=name, what=what)
        elif study.leaves_out(name):
            yield AuditFinding(where=name, what="a file that the bundle says it leaves out")


def _task_ids(plan: Plan) -> tuple[str, ...]:
    return tuple(task.id for task in plan.tasks) if isinstance(plan, Manifest) else ()
