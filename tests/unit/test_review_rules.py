"""The rules of a review: what is material disagreement, what scores come to, what order the ledger takes."""

from __future__ import annotations

import pytest

from esac_ag.attempt import Cell
from esac_ag.attempt.events import Body, StudyState
from esac_ag.attempt.review_events import (
    AdjudicationPrepared,
    ArmsGuessed,
    ReviewLocked,
    ReviewPrepared,
    ReviewUnblinded,
)
from esac_ag.manifest.package import Dimension
from esac_ag.manifest.plan import MaterialDisagreement
from esac_ag.study.disagreement import differences, opinion_of
from esac_ag.study.forms import Author, AuthorKind, Form, FormSet
from esac_ag.study.packets import Role
from esac_ag.study.scores import ReviewScores, scores_of
from tests.builders_review import a_form

RULE = MaterialDisagreement()
ZERO = "0" * 64
CELLS = {"a1": Cell(task="t", arm="careful", repetition=1), "a2": Cell(task="t", arm="neutral", repetition=1)}


def whats(*forms: Form, rule: MaterialDisagreement = RULE) -> list[str]:
    """In what forms are apart."""
    return [one.what for one in differences(forms, rule)]


def test_one_point_in_one_dimension_is_no_material_disagreement() -> None:
    """Reviewers differ; that is why there are two."""
    assert whats(a_form(score=3), a_form(score=3, scores={Dimension.BEHAVIOUR: 2})) == []


def test_two_points_in_any_dimension_are() -> None:
    """Even where the total hardly moves."""
    assert whats(a_form(score=3), a_form(score=3, scores={Dimension.MAINTAINABILITY: 1})) == [
        "maintainability"
    ]


def test_a_total_apart_by_more_than_the_rule_is_although_no_dimension_is() -> None:
    """One point in behaviour and in robustness are 13.75 points."""
    other = a_form(score=3, scores={Dimension.BEHAVIOUR: 2, Dimension.ROBUSTNESS: 2})
    assert whats(a_form(score=3), other) == ["total"]
    assert whats(a_form(score=3), other, rule=MaterialDisagreement(total_points=13.75)) == []


def test_a_critical_failure_named_by_one_only_is() -> None:
    """Named by both it is none; the type counts, not the words."""
    assert whats(a_form(critical=("data-loss",)), a_form()) == ["data-loss"]
    assert whats(a_form(critical=("data-loss",)), a_form(critical=("data-loss",), link="claim-1")) == []


def test_an_opinion_tells_scores_and_reasons_and_no_name() -> None:
    """What an adjudicator reads."""
    opinion = opinion_of(a_form("p-secret", 2, critical=("data-loss",)), 1)
    assert (opinion.number, opinion.total) == (1, 50)
    assert opinion.deductions[0] == "behaviour: something is missing (diff)"
    assert opinion.critical == ("data-loss: something is missing (diff)",)
    assert "secret" not in opinion.model_dump_json()


def form_set(name: str, role: Role = Role.REVIEWER, author: Author | None = None, **forms: Form) -> FormSet:
    """Locked forms, by attempt; a label is the attempt's id behind the first letter of the name."""
    named = tuple(form.model_copy(update={"label": f"{name[0]}-{id_}"}) for id_, form in forms.items())
    return FormSet(format_version=1, reviewer=name, role=role, author=author or Author(), forms=named)


def scored(*form_sets: FormSet) -> ReviewScores:
    """The scores that forms come to."""
    labels = {
        one.reviewer: {form.label: form.label.partition("-")[2] for form in one.forms} for one in form_sets
    }
    return scores_of(
        study_id="s",
        manifest_sha256=ZERO,
        cells=CELLS,
        form_sets=form_sets,
        labels=labels,
        guesses={},
        rule=RULE,
        seed="s",
    )


def test_where_reviewers_agree_the_mean_counts() -> None:
    """In each dimension and in total; critical failures that both named stand."""
    critical = ("data-loss",)
    ada = form_set("ada", a1=a_form(score=3, critical=critical), a2=a_form(score=4))
    lower = a_form(score=3, scores={Dimension.BEHAVIOUR: 2}, critical=critical)
    found = scored(ada, form_set("ben", a1=lower, a2=a_form(score=4)))
    first, second = found.scores
    assert (first.attempt_id, first.dimensions[Dimension.BEHAVIOUR], first.total) == ("a1", 2.5, 70.625)
    assert (first.critical_failures, first.source, first.differences) == (
        ("data-loss",),
        "mean-of-reviewers",
        (),
    )
    assert (second.total, second.critical_failures) == (100, ())
    assert not found.provisional
    assert found.not_asked == ("ada", "ben")


def test_where_they_disagree_the_adjudicator_decides_alone() -> None:
    """Scores and critical failures; what the two said stays in the record."""
    ada = form_set("ada", a1=a_form(score=4), a2=a_form(score=4))
    ben = form_set("ben", a1=a_form(score=1, critical=("data-loss",)), a2=a_form(score=4))
    carl = form_set("carl", Role.ADJUDICATOR, a1=a_form(score=2))
    first = scored(ada, ben, carl).scores[0]
    assert (first.total, first.critical_failures, first.source) == (50, (), "adjudicator")
    assert [one.total for one in first.reviews] == [100, 25, 50]
    assert {one.what for one in first.differences} >= {"behaviour", "total", "data-loss"}


def test_agreement_is_that_of_the_reviewers_before_adjudication() -> None:
    """The adjudicator makes no agreement better."""
    ada = form_set("ada", a1=a_form(score=4), a2=a_form(score=4))
    ben = form_set("ben", a1=a_form(score=1), a2=a_form(score=4))
    found = scored(ada, ben, form_set("carl", Role.ADJUDICATOR, a1=a_form(score=2)))
    assert [one.what for one in found.agreement] == [*Dimension, "total"]
    assert all((one.submissions, one.equal) == (2, 1) for one in found.agreement)


def test_a_missing_adjudication_is_refused() -> None:
    """A disagreement is never averaged away."""
    with pytest.raises(ValueError, match="adjudicated"):
        scored(form_set("ada", a1=a_form(), a2=a_form()), form_set("ben", a1=a_form(score=0), a2=a_form()))


@pytest.mark.parametrize("model", ["ada", "ben"])
def test_a_model_anywhere_makes_all_scores_provisional(model: str) -> None:
    """Also where a person agrees with it."""
    authors = {model: Author(kind=AuthorKind.MODEL, label="m")}
    found = scored(
        *(form_set(name, author=authors.get(name), a1=a_form(), a2=a_form()) for name in ("ada", "ben"))
    )
    assert found.provisional
    assert "provisional" in found.provisional_reason


PREPARED = ReviewPrepared(key_sha256=ZERO, packets={"ada": ZERO, "ben": ZERO})
ADA, BEN, CARL = (
    ReviewLocked(reviewer=name, forms_sha256=ZERO, provisional=False) for name in ("ada", "ben", "carl")
)
UNBLINDED = ReviewUnblinded(scores_sha256=ZERO)


def adjudication(cases: int, name: str = "carl") -> AdjudicationPrepared:
    """Disagreement was looked for."""
    return AdjudicationPrepared(adjudicator=name, cases=cases, key_sha256=ZERO, packets_sha256=ZERO)


def test_a_review_goes_from_packets_to_unblinding() -> None:
    """With an adjudicator, and without one where nobody disagrees."""
    guessed = ArmsGuessed(reviewer="ada", guesses_sha256=ZERO)
    with_one = (PREPARED, ADA, guessed, BEN, adjudication(2), CARL, UNBLINDED)
    for bodies in (with_one, (PREPARED, BEN, ADA, adjudication(0), UNBLINDED)):
        assert StudyState.of(bodies).review.unblinded == UNBLINDED


@pytest.mark.parametrize(
    "bodies",
    [
        (ADA,),
        (PREPARED, PREPARED),
        (PREPARED, CARL),
        (PREPARED, ADA, ADA),
        (PREPARED, ADA, adjudication(0)),
        (PREPARED, ADA, BEN, adjudication(1, "ben")),
        (PREPARED, ADA, BEN, UNBLINDED),
        (PREPARED, ADA, BEN, adjudication(1), UNBLINDED),
        (PREPARED, ADA, BEN, adjudication(0), CARL),
        (PREPARED, ArmsGuessed(reviewer="ada", guesses_sha256=ZERO)),
        (PREPARED, ADA, BEN, adjudication(0), UNBLINDED, ArmsGuessed(reviewer="ada", guesses_sha256=ZERO)),
        (PREPARED, ADA, BEN, adjudication(0), UNBLINDED, UNBLINDED),
    ],
)
def test_a_ledger_that_tells_another_order_contradicts_itself(bodies: tuple[Body, ...]) -> None:
    """Nothing is locked twice, guessed before locking, or unblinded before all is locked."""
    with pytest.raises(ValueError, match=r"."):
        StudyState.of(bodies)
