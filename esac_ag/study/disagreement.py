"""When reviewers disagree so much that a third person decides. Pure; the rule is the manifest's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from esac_ag.manifest.package import Dimension
from esac_ag.manifest.plan import MaterialDisagreement
from esac_ag.record import Record
from esac_ag.statistics.estimates import SAME
from esac_ag.study.forms import Evidence, Form
from esac_ag.study.packets import Opinion
from esac_ag.study.scales import SCALES, total_of


class Difference(Record):
    """One way in which forms of the same submission are materially apart."""

    what: str
    """A dimension, `total`, or a type of critical failure."""
    apart: float | None
    """Points between the lowest and the highest; null for a critical failure that not all named."""


def differences(forms: Sequence[Form], rule: MaterialDisagreement) -> tuple[Difference, ...]:
    """All material differences between complete forms of one submission; empty when they agree.

    Dimensions count from `dimension_points` on, the total beyond `total_points`, and a critical failure when
    some name it and others do not.
    """
    return tuple(_differences(forms, rule))


def _differences(forms: Sequence[Form], rule: MaterialDisagreement) -> Iterator[Difference]:
    scores = [form.whole_scores() for form in forms]
    for scale in SCALES:
        apart = _spread([one[scale.dimension] for one in scores])
        if apart >= rule.dimension_points:
            yield Difference(what=scale.dimension.value, apart=apart)
    apart = _spread([total_of(one) for one in scores])
    if apart > rule.total_points + SAME:
        yield Difference(what="total", apart=apart)
    named = [form.critical_types() for form in forms]
    for kind in sorted(frozenset[str]().union(*named)):
        if not all(kind in types for types in named):
            yield Difference(what=kind, apart=None)


def _spread(values: Sequence[float]) -> float:
    return max(values) - min(values)


def opinion_of(form: Form, number: int) -> Opinion:
    """A reviewer's complete form as an adjudicator sees it."""
    scores = form.whole_scores()
    return Opinion(
        number=number,
        scores=scores,
        total=total_of(scores),
        deductions=tuple(_deductions(form, scores)),
        critical=tuple(f"{one.type}: {_shown(one.evidence)}" for one in form.critical or ()),
        uncertainty=": ".join(filter(None, (form.uncertainty.level or "", form.uncertainty.text))),
        rationale=form.rationale,
    )


def _deductions(form: Form, scores: Mapping[Dimension, int]) -> Iterator[str]:
    for dimension in scores:
        for evidence in form.scores[dimension].evidence:
            yield f"{dimension.value}: {_shown(evidence)}"


def _shown(evidence: Evidence) -> str:
    return f"{evidence.text} ({evidence.link})"
