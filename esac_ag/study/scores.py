"""Quality scores of a finished review: what the forms come to once everything is locked. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Annotated, Final, Literal

from pydantic import Field

from esac_ag.attempt import Cell
from esac_ag.manifest.package import Dimension
from esac_ag.manifest.plan import MaterialDisagreement
from esac_ag.record import Identifier, Record, Sha256
from esac_ag.statistics.estimates import rounded
from esac_ag.study.agreement import Agreement, GuessedArms, agreement, guessed_arms
from esac_ag.study.disagreement import Difference, differences
from esac_ag.study.forms import REHEARSAL, Author, AuthorKind, Form, FormSet, Sureness
from esac_ag.study.packets import Role
from esac_ag.study.scales import SCALES, total_of

PROVISIONAL: Final = {
    AuthorKind.MODEL: (
        "a model filled in forms of this review: its scores are provisional, whoever agrees with them"
    ),
    AuthorKind.SCRIPTED: REHEARSAL,
}
"""Why nothing final may rest on a review, by who filled in forms of it."""


class Guesses(Record):
    """Which arm a reviewer takes each packet to be of (`guesses.json`); asked after locking."""

    format_version: Literal[1]
    reviewer: Identifier
    guesses: dict[Identifier, Identifier | None]
    """By label; null where the reviewer has no idea."""


class OneReview(Record):
    """What one person found of one submission."""

    reviewer: Identifier
    role: Role
    label: Identifier
    scores: dict[Dimension, int]
    total: float
    critical: tuple[str, ...]
    uncertainty: Sureness


class AttemptScore(Record):
    """The quality score of one submission."""

    attempt_id: Identifier
    cell: Cell
    dimensions: dict[Dimension, float]
    """0 to 4."""
    total: float
    """0 to 100."""
    critical_failures: tuple[str, ...]
    """Outside every average: those that all reviewers named, or that the adjudicator named."""
    source: Literal["mean-of-reviewers", "adjudicator"]
    differences: tuple[Difference, ...]
    """Why it went to the adjudicator; empty where the reviewers agreed."""
    reviews: tuple[OneReview, ...]
    """All of them, the adjudicator's last."""


class Participant(Record):
    """Somebody who reviewed."""

    name: Identifier
    role: Role
    author: Author
    forms: int


class ReviewScores(Record):
    """A review after unblinding (`review/scores.json`)."""

    format_version: Literal[1]
    study_id: Identifier
    manifest_sha256: Sha256
    provisional: bool
    """Whether a model or a script filled in any form; every use of these scores has to say so."""
    provisional_reason: str
    participants: tuple[Participant, ...]
    scores: tuple[AttemptScore, ...]
    """By task, arm and repetition."""
    agreement: tuple[Agreement, ...]
    """Of the reviewers, before adjudication: each dimension, then the total."""
    blinding: tuple[GuessedArms, ...]
    """Of those who were asked."""
    not_asked: tuple[Annotated[str, Field()], ...] = ()
    """Reviewers who never said which arms they took the packets to be of."""

    @property
    def is_rehearsal(self) -> bool:
        """Whether a script filled in any form."""
        return any(one.author.kind is AuthorKind.SCRIPTED for one in self.participants)


def scores_of(
    *,
    study_id: str,
    manifest_sha256: str,
    cells: Mapping[str, Cell],
    form_sets: Sequence[FormSet],
    labels: Mapping[str, Mapping[str, str]],
    guesses: Mapping[str, Guesses],
    rule: MaterialDisagreement,
    seed: str,
) -> ReviewScores:
    """Join locked forms with the key.

    Args:
        study_id: of the study.
        manifest_sha256: of its manifest.
        cells: of every attempt that was reviewed.
        form_sets: of all reviewers, and of the adjudicator if there is one.
        labels: attempt by label, by person.
        guesses: by reviewer.
        rule: the manifest's.
        seed: of the intervals.

    Raises:
        ValueError: a form is missing or incomplete: what is locked was whole.
    """
    by_person = {
        one.reviewer: {labels[one.reviewer][form.label]: form for form in one.forms} for one in form_sets
    }
    reviewers = [one.reviewer for one in form_sets if one.role is Role.REVIEWER]
    order = sorted(cells, key=lambda one: (cells[one].task, cells[one].arm, cells[one].repetition))
    scores = tuple(_attempt_score(one, cells[one], form_sets, by_person, rule) for one in order)
    kinds = {one.author.kind for one in form_sets}
    arms = len({cell.arm for cell in cells.values()})
    return ReviewScores(
        format_version=1,
        study_id=study_id,
        manifest_sha256=manifest_sha256,
        provisional=any(one.author.provisional for one in form_sets),
        provisional_reason="; ".join(why for kind, why in PROVISIONAL.items() if kind in kinds),
        participants=tuple(
            Participant(name=one.reviewer, role=one.role, author=one.author, forms=len(one.forms))
            for one in form_sets
        ),
        scores=scores,
        agreement=agreement_in(scores, seed),
        blinding=tuple(
            guessed_arms(
                name, one.guesses, {label: cells[id_].arm for label, id_ in labels[name].items()}, arms
            )
            for name, one in sorted(guesses.items())
        ),
        not_asked=tuple(name for name in reviewers if name not in guesses),
    )


def _attempt_score(
    attempt_id: str,
    cell: Cell,
    form_sets: Sequence[FormSet],
    by_person: Mapping[str, Mapping[str, Form]],
    rule: MaterialDisagreement,
) -> AttemptScore:
    reviews: list[OneReview] = []
    forms: list[Form] = []
    decided: Form | None = None
    for one in form_sets:
        form = by_person[one.reviewer].get(attempt_id)
        if form is None and one.role is Role.REVIEWER:
            raise ValueError(f"{one.reviewer} has no form of attempt {attempt_id}")
        if form is None:
            continue
        reviews.append(review_of(one, form))
        if one.role is Role.ADJUDICATOR:
            decided = form
        else:
            forms.append(form)
    apart = differences(forms, rule)
    if (decided is not None) != bool(apart):
        raise ValueError(
            f"attempt {attempt_id} was adjudicated where nobody disagreed, or the other way round"
        )
    return _joined(attempt_id, cell, apart, tuple(reviews))


def joined(score: AttemptScore) -> AttemptScore:
    """The score again, from its reviews alone.

    Raises:
        ValueError: there is no review that counts.
    """
    return _joined(score.attempt_id, score.cell, score.differences, score.reviews)


def _joined(
    attempt_id: str, cell: Cell, apart: tuple[Difference, ...], reviews: tuple[OneReview, ...]
) -> AttemptScore:
    deciding = [one for one in reviews if one.role is Role.ADJUDICATOR]
    judging = deciding or reviews
    if not judging:
        raise ValueError(f"attempt {attempt_id} has no review")
    whole = [one.scores for one in judging]
    dimensions = {scale.dimension: rounded(fmean(one[scale.dimension] for one in whole)) for scale in SCALES}
    critical = frozenset.intersection(*(frozenset(one.critical) for one in judging))
    return AttemptScore(
        attempt_id=attempt_id,
        cell=cell,
        dimensions=dimensions,
        total=rounded(total_of(dimensions)),
        critical_failures=tuple(sorted(critical)),
        source="adjudicator" if deciding else "mean-of-reviewers",
        differences=apart,
        reviews=reviews,
    )


def review_of(person: FormSet, form: Form) -> OneReview:
    """What a complete form says.

    Raises:
        ValueError: a part of it is missing.
    """
    scores = form.whole_scores()
    if form.uncertainty.level is None:
        raise ValueError(f"form {form.label} lacks its uncertainty")
    return OneReview(
        reviewer=person.reviewer,
        role=person.role,
        label=form.label,
        scores=scores,
        total=rounded(total_of(scores)),
        critical=tuple(sorted(form.critical_types())),
        uncertainty=form.uncertainty.level,
    )


def agreement_in(
    scores: Sequence[AttemptScore], seed: str, *, intervals: bool = True
) -> tuple[Agreement, ...]:
    """How far the reviewers agree, before adjudication: each dimension, then the total.

    Args:
        scores: of all submissions, with the reviews of all reviewers.
        seed: of the intervals.
        intervals: whether they are computed.
    """
    whole: dict[str, list[dict[Dimension, int]]] = {}
    for score in scores:
        for review in score.reviews:
            if review.role is Role.REVIEWER:
                whole.setdefault(review.reviewer, []).append(review.scores)
    tasks = [score.cell.task for score in scores]
    found = [
        agreement(
            scale.dimension.value,
            {name: [one[scale.dimension] for one in scores] for name, scores in whole.items()},
            tasks,
            categories=True,
            seed=seed,
            intervals=intervals,
        )
        for scale in SCALES
    ]
    totals = {name: [total_of(one) for one in scores] for name, scores in whole.items()}
    total = agreement("total", totals, tasks, categories=False, seed=seed, intervals=intervals)
    return (*found, total)
