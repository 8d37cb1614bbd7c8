"""A bundle's account of itself (`study.json`): who publishes writes it, who verifies makes it again. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from esac_ag.attempt.events import StudyState
from esac_ag.canonical import tree_sha256
from esac_ag.manifest.plan import Arm, Manifest, Phase, Plan
from esac_ag.report.publication_view import (
    ATTEMPTS_JSON,
    LEDGER,
    MANIFEST,
    LedgerHead,
    Part,
    PublishedArm,
    PublishedReport,
    PublishedReview,
    PublishedStudy,
    ReviewStanding,
    Withheld,
)
from esac_ag.suite.constitution import Pool
from esac_ag.suite.plan import SuitePlan

_DIGESTS: Final = f"{ATTEMPTS_JSON}, {LEDGER}"


@dataclass(frozen=True, slots=True)
class Choices:
    """What the owner chose when publishing."""

    written_by: str
    """Version of the harness."""
    parts: tuple[Part, ...]
    left_out: tuple[str, ...]


def account_of(
    plan: Plan,
    sealed: Mapping[str, str],
    state: StudyState,
    head: LedgerHead,
    *,
    planned: int,
    reports: tuple[PublishedReport, ...],
    review: PublishedReview,
    choices: Choices,
) -> PublishedStudy:
    """The account of a study or a suite run.

    Args:
        plan: that was sealed.
        sealed: SHA-256 of manifest, schedule and tasks, by the account's own names.
        state: that the ledger tells.
        head: of the ledger.
        planned: cells of the plan.
        reports: the published ones.
        review: the published one.
        choices: of the owner.
    """
    held_out = is_held_out(plan)
    return PublishedStudy(
        written_by=choices.written_by,
        kind=plan.suite.name,
        study_id=plan.study_id,
        phase=plan.phase if isinstance(plan, Manifest) else None,
        held_out=held_out,
        finished=state.finished,
        model=plan.model,
        agent_kind=plan.agent.kind,
        manifest_sha256=sealed["manifest_sha256"],
        schedule_sha256=sealed["schedule_sha256"],
        tasks_sha256=sealed["tasks_sha256"],
        ledger=head,
        harness=plan.harness,
        images={"agent": plan.images.agent, "grader": plan.images.grader},
        arms=tuple(_arm(arm) for arm in plan.arms),
        planned=planned,
        attempts=len(state.attempts),
        reports=reports,
        review=review,
        parts=choices.parts,
        left_out=choices.left_out,
        withheld=tuple(_withheld(choices.parts, review, head, held_out=held_out)),
    )


def is_held_out(plan: Plan) -> bool:
    """Whether a plan's tasks or instances have to stay private, because they are to test again."""
    if isinstance(plan, Manifest):
        return plan.phase is Phase.HOLDOUT
    return isinstance(plan, SuitePlan) and plan.pool is Pool.HELD_OUT


def _arm(arm: Arm) -> PublishedArm:
    digest = None if arm.bundle is None else tree_sha256((file.path, file.sha256) for file in arm.files)
    return PublishedArm(id=arm.id, kind=arm.kind, bundle_sha256=digest, files=len(arm.files))


def _withheld(
    parts: tuple[Part, ...], review: PublishedReview, head: LedgerHead, *, held_out: bool
) -> Iterator[Withheld]:
    """What the owner has and the bundle has not."""
    private = "private until its owner publishes it"
    again = "it is to test again" if held_out else private
    yield Withheld(what="graders, hidden checks, solutions", why="never published", digests=MANIFEST)
    yield Withheld(what="submissions, gradings and logs", why=again, digests=_DIGESTS)
    yield Withheld(what="bodies of calls to models", why="never published", digests=_DIGESTS)
    reasons = {
        Part.PATCHES: ("patches", again, _DIGESTS),
        Part.TRANSCRIPTS: ("transcripts and commands", again, _DIGESTS),
        Part.ARMS: ("texts of instruction bundles", private, MANIFEST),
        Part.TASKS: ("requests and snapshots of tasks", again, MANIFEST),
    }
    for part, (what, why, digests) in reasons.items():
        if part not in parts:
            yield Withheld(what=what, why=why, digests=digests)
    if review.standing is not ReviewStanding.NONE:
        yield Withheld(what="packets and keys of the review", why="never published", digests=LEDGER)
        if Part.RATIONALES not in parts:
            yield Withheld(what="the reviewers' forms", why=private, digests=LEDGER)
        if review.standing is ReviewStanding.PSEUDONYMS:
            yield Withheld(what="names of reviewers", why="pseudonyms stand in their place", digests="")
    if head.withheld_lines:
        what = (
            f"parts of {head.withheld_lines} lines of the ledger: names of people, references of real tasks"
        )
        yield Withheld(what=what, why="private", digests=LEDGER)
