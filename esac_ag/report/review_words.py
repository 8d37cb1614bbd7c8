"""Who reviewed and how far they agree, as rows of words that Markdown and the page share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from esac_ag.plural import plural
from esac_ag.report.numbers import NOT_ESTIMABLE
from esac_ag.report.review_view import ReviewResults
from esac_ag.statistics.estimates import Estimate, NotEstimable
from esac_ag.study.agreement import AgreementInterval, Coefficient, GuessedArms
from esac_ag.study.forms import AuthorKind

NO_REVIEW: Final = (
    "No blinded review of this study was unblinded, so there are no quality scores and there is no "
    "agreement to tell of. The protocol decides on quality scores."
)
_WHO: Final = {
    AuthorKind.PERSON: "a person",
    AuthorKind.MODEL: "a model",
    AuthorKind.SCRIPTED: "a script, no evidence",
}
AGREEMENT_HEAD: Final = (
    *("Dimension", "Submissions", "Equal scores", "Weighted kappa", "Interval", "Krippendorff's alpha"),
    "Interval",
)
BLINDING_HEAD: Final = (
    *("Reviewer", "Packets", "Arm guessed", "Of these right", "Share right", "95 % interval"),
    *("By chance", "Could the arm be told?"),
)


def review_facts(review: ReviewResults) -> Iterator[str]:
    """Who judged, how much went to a third person, and what is provisional."""
    if review.provisional:
        yield f"Provisional: {review.provisional_reason}."
    for one in review.participants:
        who = _WHO[one.author.kind] + (f", {one.author.label}" if one.author.label else "")
        yield f"{one.name} ({one.role}, {who}): {plural(one.forms, 'form')}."
    third = "" if review.adjudicated is None else f", of which {review.adjudicated} went to the adjudicator"
    yield f"Submissions with a quality score: {review.submissions}{third}."
    yield (
        "A quality score is the weighted mean of five dimensions (behaviour 35 %, scope 25 %, robustness "
        "20 %, maintainability and verification 10 % each), the mean of the reviewers or the "
        "adjudicator's."
    )
    for name in review.not_asked:
        yield f"{name} never said which arms the packets were taken for."


def agreement_rows(review: ReviewResults) -> Iterator[tuple[str, ...]]:
    """One row per dimension, then the total; before any adjudication."""
    for item in review.agreement:
        yield (
            *(item.what, str(item.submissions), f"{item.equal} of {item.submissions}"),
            *(*_coefficient(item.kappa), *_coefficient(item.alpha)),
        )


def blinding_rows(review: ReviewResults) -> Iterator[tuple[str, ...]]:
    """One row per reviewer who was asked."""
    for item in review.blinding:
        yield (
            *(item.reviewer, str(item.packets), str(item.guessed), str(item.right), _share(item)),
            *(_exact(item), f"{100 * item.chance:.0f} %", _told(item)),
        )


def _coefficient(item: Coefficient) -> tuple[str, str]:
    match item.estimate:
        case NotEstimable(reason=reason):
            return f"{NOT_ESTIMABLE}: {reason}", NOT_ESTIMABLE
        case Estimate(value=value):
            return f"{value:.2f}", _interval(item.interval)


def _interval(found: AgreementInterval | NotEstimable) -> str:
    if isinstance(found, NotEstimable):
        return f"{NOT_ESTIMABLE}: {found.reason}"
    return f"{found.low:.2f} to {found.high:.2f}"


def _share(item: GuessedArms) -> str:
    if isinstance(item.share, NotEstimable):
        return f"{NOT_ESTIMABLE}: {item.share.reason}"
    return f"{100 * item.share.value:.0f} %"


def _exact(item: GuessedArms) -> str:
    if item.interval_low is None or item.interval_high is None:
        return NOT_ESTIMABLE
    return f"{100 * item.interval_low:.0f} to {100 * item.interval_high:.0f} %"


def _told(item: GuessedArms) -> str:
    if item.above_chance is None:
        return "not known"
    return "yes: above chance, so not blind" if item.above_chance else "not shown: chance is not excluded"
