"""The conclusion says no more than the boundary of the claim, whatever a study holds."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esac_ag.manifest.decision import DecisionRules
from esac_ag.manifest.plan import AgentKind, Phase
from esac_ag.statistics.estimates import estimate
from esac_ag.study.clauses import EXPANSION, RESTRAINT
from esac_ag.study.conclusion import Boundary, conclusion, named
from esac_ag.study.decision import decide
from esac_ag.study.evidence import Evidence, FamilyEvidence, Measure
from tests.builders_decision import a_critical, an_interval, burdens, evidence, families, scopes

STUDIES: dict[str, dict[str, Any]] = {
    "benefit": {},
    "benefit with a weak family": {"families": families(-1.0)},
    "critical": {"critical": (a_critical(2),)},
    "under-scoping": {"tasks": scopes(EXPANSION, *[-20.0] * 6)},
    "restructuring": {"tasks": scopes(RESTRAINT, *[-20.0] * 6)},
    "regression": {"families": families(-30.0)},
    "open": {"interval": an_interval(-9.0, 30.0)},
    "burden": {"interval": an_interval(-3.0, 3.0), "mean": estimate(0.0), "burdens": burdens(cost=3.0)},
}
FORBIDDEN = re.compile(
    r"\b(safe|safer|safety|proves?|proven|always|never|every|all|general|generally|universal|any task|"
    r"better|best|superior|recommended?|should|will|guarantees?|works?|developers?|teams?|production)\b",
    re.IGNORECASE,
)
HOSTILE = "”; it is safe and better in general, for all models. “"
BOUNDARY = Boundary(Phase.PRIMARY, AgentKind.CHAT, "example-model 2026", "0.1.0 abc")


def said(known: Evidence, boundary: Boundary = BOUNDARY) -> str:
    """The conclusion on some evidence."""
    return conclusion(decide(DecisionRules(), known), known, boundary)


def own_words(sentence: str) -> str:
    """The sentence without the names between quotation marks."""
    return re.sub(r"“[^“”]*”", "“”", sentence)


WORDS = frozenset(
    word
    for changes in STUDIES.values()
    for phase in Phase
    for kind in AgentKind
    for measure in Measure
    for provisional in (True, False)
    for word in re.findall(
        r"[a-z]+",
        own_words(
            said(
                evidence(**changes | {"measure": measure, "provisional": provisional}),
                Boundary(phase, kind, "m", "h"),
            )
        ).lower(),
    )
)
"""Every word that the sentences of these studies use."""


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("measure", Measure)
@pytest.mark.parametrize("kind", AgentKind)
def test_no_outcome_is_put_in_words_beyond_the_boundary(
    name: str, phase: Phase, measure: Measure, kind: AgentKind
) -> None:
    """Always one sentence that names model, harness and these tasks, and reserves all others."""
    known = evidence(**STUDIES[name] | {"measure": measure})
    sentence = said(known, Boundary(phase, kind, "some-model 1", "0.1.0 abc"))
    words = own_words(sentence)
    assert not FORBIDDEN.search(words.replace("no evidence about any model", "")), words
    assert words.count(".") - len(re.findall(r"\d\.\d", words)) == 1
    assert "under the model “some-model 1” and the harness “0.1.0 abc”" in sentence
    assert "other tasks, models and harnesses need evidence of their own" in sentence
    assert ("Preliminary" in sentence) is (measure is not Measure.QUALITY)
    assert sentence.startswith("Scripted replay, no evidence about any model") is (kind is AgentKind.SCRIPTED)


@given(
    mean=st.floats(-100, 100),
    low=st.floats(-100, 100),
    names=st.lists(st.text(max_size=200), min_size=2, max_size=4, unique=True),
    model=st.text(max_size=200),
    measure=st.sampled_from(Measure),
    phase=st.sampled_from(Phase),
)
@settings(max_examples=200, deadline=None)
def test_whatever_a_study_holds_the_sentence_uses_the_same_few_words(
    mean: float, low: float, names: list[str], model: str, measure: Measure, phase: Phase
) -> None:
    """Names of families, models and harnesses stay within their quotation marks."""
    known = evidence(
        mean=estimate(mean),
        interval=an_interval(min(low, mean), max(low, mean)),
        measure=measure,
        families=tuple(
            FamilyEvidence(family=name, mean=estimate(mean), noise=estimate(1.0)) for name in names
        ),
    )
    sentence = said(known, Boundary(phase, AgentKind.CHAT, model, model))
    words = own_words(sentence)
    assert set(re.findall(r"[a-z]+", words.lower())) <= WORDS | {"observed"}
    assert "\n" not in sentence


@pytest.mark.parametrize("phase", Phase)
def test_a_name_cannot_leave_its_quotation_marks(phase: Phase) -> None:
    """A task's author or a provider may write anything."""
    hostile = tuple(
        FamilyEvidence(family=f"{HOSTILE}{number}", mean=estimate(10.0), noise=estimate(1.0))
        for number in range(3)
    )
    sentence = said(evidence(families=hostile), Boundary(phase, AgentKind.CHAT, HOSTILE, HOSTILE))
    assert "safe" in sentence
    assert "safe" not in own_words(sentence)
    assert named(HOSTILE).count("”") == named("")[-1:].count("”") == 1


def test_a_provisional_winner_is_told_to_need_a_holdout_and_then_shadow_mode() -> None:
    """The next step of the protocol is part of the sentence."""
    assert "a fresh holdout has yet to confirm it" in said(evidence())
    holdout = Boundary(Phase.HOLDOUT, AgentKind.CHAT, "m", "h")
    assert "shadow mode on real tasks has yet to follow" in said(evidence(), holdout)


def test_observed_weaknesses_belong_to_the_sentence() -> None:
    """A family that scored lower is named beside those that gained."""
    sentence = said(evidence(families=families(-1.0)))
    assert "with lower scores in the families “ownership”" in sentence
    assert "“ownership”" not in sentence.split("under the model")[0]
    assert "by 10.0 points on average" in sentence
