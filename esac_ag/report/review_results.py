"""The results of a blinded review, from the same runs with quality scores in place of check scores."""

from __future__ import annotations

from esac_ag.manifest.package import Dimension
from esac_ag.record import Record
from esac_ag.report.comparisons import arm_comparison, arm_scores, dimension_comparison, task_arm
from esac_ag.report.counts import reviewed_critical_count, reviewed_critical_runs
from esac_ag.report.decision_evidence import ReviewedFacts
from esac_ag.report.inputs import ReportInputs
from esac_ag.report.review_view import ReviewResults
from esac_ag.report.sensitivity import study_sensitivity
from esac_ag.study.packets import Role
from esac_ag.study.quality import is_rehearsed
from esac_ag.study.scores import ReviewScores

_MODEL_ALONE = "a model alone judged: these scores are provisional"


def review_results(inputs: ReportInputs) -> ReviewResults | None:
    """What a review came to; none before it was unblinded."""
    quality, review = inputs.quality, inputs.review
    if quality is None:
        return None
    facts = ReviewedFacts(inputs)
    provisional = any(score.provisional for score in quality.values())
    comparisons = tuple(arm_comparison(facts, arm) for arm in facts.arms if arm != facts.control)
    critical = reviewed_critical_runs(facts)
    found = ReviewResults(
        provisional=provisional,
        is_rehearsal=is_rehearsed(quality),
        provisional_reason=(review.provisional_reason if review else _MODEL_ALONE) if provisional else "",
        submissions=len(quality),
        adjudicated=sum(one.source == "adjudicator" for one in review.scores) if review else None,
        scores=tuple(arm_scores(facts, arm, "quality") for arm in facts.arms),
        comparisons=comparisons,
        task_arms=tuple(task_arm(facts, task, arm) for task in facts.tasks for arm in facts.arms),
        dimensions=tuple(
            dimension_comparison(facts, arm, dimension) for dimension in Dimension for arm in facts.arms
        ),
        critical_counts=tuple(reviewed_critical_count(facts, arm, critical) for arm in facts.arms),
        critical_runs=critical,
        sensitivity=study_sensitivity(facts, comparisons),
    )
    return found if review is None else found.model_copy(update=_who(review))


def _who(review: ReviewScores) -> dict[str, tuple[Record | str, ...]]:
    """Who reviewed and how far they agree, without their names."""
    reviewers = [one.name for one in review.participants if one.role is Role.REVIEWER]
    names = {name: f"reviewer-{number}" for number, name in enumerate(reviewers, start=1)}
    return {
        "participants": tuple(
            one.model_copy(update={"name": names.get(one.name, one.role.value)})
            for one in review.participants
        ),
        "agreement": review.agreement,
        "blinding": tuple(
            one.model_copy(update={"reviewer": names.get(one.reviewer, Role.ADJUDICATOR.value)})
            for one in review.blinding
        ),
        "not_asked": tuple(names[name] for name in review.not_asked),
    }
