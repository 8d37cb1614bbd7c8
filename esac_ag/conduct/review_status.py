"""How far a review is, and what comes next. It tells no arm."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from esac_ag.attempt.review_events import ReviewState
from esac_ag.conduct.review_desk import ReviewDesk
from esac_ag.conduct.review_seals import reviewed
from esac_ag.record import Record
from esac_ag.study.forms import Author, FormFault, Progress
from esac_ag.study.packets import Role


class PersonStatus(Record):
    """How far somebody is."""

    name: str
    role: Role
    author: Author
    provisional: bool
    """Whether a model or a script fills the forms in."""
    progress: Progress
    guessed: bool
    """Whether arms were guessed."""
    lacking: dict[str, tuple[FormFault, ...]] = Field(default_factory=dict)
    """What forms still lack, by label; told for one person only."""


class ReviewStatus(Record):
    """How far a review is."""

    people: tuple[PersonStatus, ...]
    disagreements: int | None
    """Submissions that went to the adjudicator; null until it was looked for."""
    unblinded: bool
    next: str
    """What has to be done next."""


def review_status(study: Path, reviewer: str | None = None) -> ReviewStatus:
    """How far a review is; with a name, what that person's forms still lack.

    Raises:
        UsageError: the review is not prepared, or nobody of that name reviews.
        SubstitutionRefused: something that the ledger names was changed.
    """
    _, state = reviewed(study)
    names = (*state.reviewers, *([state.adjudicator] if state.adjudicator else []))
    asked = names if reviewer is None else (reviewer,)
    return ReviewStatus(
        people=tuple(_person(study, name, state, whole=reviewer is not None) for name in asked),
        disagreements=None if state.adjudication is None else state.adjudication.cases,
        unblinded=state.unblinded is not None,
        next=_next(study, state),
    )


def _person(study: Path, name: str, state: ReviewState, *, whole: bool) -> PersonStatus:
    desk = ReviewDesk.open(study, name)
    lacking = {
        packet.label: faults
        for packet in (desk.book.packets if whole else ())
        if (faults := desk.faults(packet.label))
    }
    return PersonStatus(
        name=name,
        role=desk.book.role,
        author=desk.author,
        provisional=desk.author.provisional,
        progress=desk.progress(),
        guessed=name in state.guesses,
        lacking=lacking,
    )


def _next(study: Path, state: ReviewState) -> str:
    waiting = [name for name in state.reviewers if name not in state.locked]
    if waiting:
        return _forms_left(study, waiting)
    if state.adjudication is None:
        return "look for disagreement: review adjudicate"
    if not state.all_locked():
        return _forms_left(study, [state.adjudicator] if state.adjudicator else [])
    if state.unblinded is None:
        unasked = [name for name in state.reviewers if name not in state.guesses]
        guess = f"ask {', '.join(unasked)} for their guesses (review guess), then " if unasked else ""
        return f"{guess}review unblind"
    return "bring review/scores.json into the report: report, or report revise if there is one"


def _forms_left(study: Path, names: Sequence[str]) -> str:
    """Who has forms to fill in, and who has only to lock."""
    left = {name: ReviewDesk.open(study, name).progress() for name in names}
    done = [name for name, one in left.items() if one.submitted == one.packets]
    open_ = [name for name in names if name not in done]
    said = [f"forms of {', '.join(open_)}: fill in, submit, review lock"] if open_ else []
    if done:
        said.append(f"all forms of {', '.join(done)} are submitted: review lock")
    return "; ".join(said)
