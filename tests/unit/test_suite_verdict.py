"""The dual gate, the order of the verdicts, and what unknown tokens may decide."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esac_ag.suite.constitution import CATEGORIES, PINNED_JUDGE, Category
from esac_ag.suite.efficiency import Modifier
from esac_ag.suite.scoring import category_scores
from esac_ag.suite.verdict import Decision, Verdict, decide, exit_code, passes, total
from tests.builders_suite import a_bank


def a_modifier(
    action: float = 3.5, tokens: float | None = 1.5, low: float = 0.0, high: float = 1.5
) -> Modifier:
    """A modifier over 20 items; bounds matter when the tokens are unknown."""
    return Modifier(
        eligible=20,
        ran=20,
        action_points=action,
        token_points=tokens,
        token_low=low if tokens is None else tokens,
        token_high=high if tokens is None else tokens,
    )


def decision(
    share: float = 1.0,
    extra: Modifier | None = None,
    *,
    judge: str | None = PINNED_JUDGE,
    without: int = 0,
    weak: Category | None = None,
) -> Decision:
    """The decision for items of one fraction, those of a weak category at 0.59."""
    fractions = {item.id: 0.59 if item.category is weak else share for item in a_bank()[without:]}
    return decide(category_scores(a_bank(), fractions), extra or a_modifier(), judge=judge, judged=True)


def test_a_perfect_run_passes() -> None:
    """75.00 of 75."""
    scores = category_scores(a_bank(), {item.id: 1.0 for item in a_bank()})
    found = total(scores, a_modifier())
    assert (found.points, found.low, found.high) == (75.0, 75.0, 75.0)
    assert decision().verdict is Verdict.PASS


def test_exactly_60_percent_passes_both_gates() -> None:
    """60 % of every category is 42 points; 3 of the modifier make 45.00."""
    found = decision(0.6, a_modifier(action=2.1, tokens=0.9))
    assert (found.verdict, found.exit_code) == (Verdict.PASS, 0)


def test_rounding_noise_below_the_gate_passes_and_anything_more_fails() -> None:
    """The tolerance is 1e-9."""
    assert passes(6.0 - 1e-10, 10)
    assert not passes(6.0 - 1e-8, 10)
    assert decision(0.6, a_modifier(action=2.1, tokens=0.9 - 1e-7)).verdict is Verdict.FAIL


@pytest.mark.parametrize("category", list(Category))
def test_one_weak_category_fails_a_strong_run(category: Category) -> None:
    """A strong average does not rescue it, and the reason names it alone."""
    found = decision(weak=category)
    assert (found.verdict, found.exit_code, len(found.reasons)) == (Verdict.FAIL, 1, 1)
    assert found.reasons[0].startswith(f"{CATEGORIES[category].title}: ")


def test_a_reason_tells_what_was_earned_apart_from_what_is_needed() -> None:
    """Points and share of the category; what misses the gate by little is not shown as the gate."""
    scores = category_scores(a_bank(), {item.id: 0.4 for item in a_bank()})
    found = decide(scores, a_modifier(), judge=PINNED_JUDGE, judged=True)
    assert found.reasons[0] == "Tool-call correctness: 4.00 of 10 (40.0 %); 6.00 are needed."
    scores = category_scores(a_bank(), {item.id: 0.59999 for item in a_bank()})
    found = decide(scores, a_modifier(), judge=PINNED_JUDGE, judged=True)
    assert found.reasons[0] == "Tool-call correctness: 5.99 of 10 (59.9 %); 6.00 are needed."


def test_a_total_whose_token_part_is_unknown_is_given_at_its_most() -> None:
    """42 points, 1.5 for actions, and 1.49 for tokens at best."""
    found = decision(0.6, a_modifier(action=1.5, tokens=None, high=1.49))
    assert found.reasons == ("Total: at most 44.99 of 75 (59.9 %); 45.00 are needed.",)


def test_sixty_percent_of_every_category_without_efficiency_fails_overall() -> None:
    """42 of 75 lie below 45."""
    found = decision(0.6, a_modifier(action=0, tokens=0))
    assert found.verdict is Verdict.FAIL
    assert found.reasons == ("Total: 42.00 of 75 (56.0 %); 45.00 are needed.",)


def test_the_modifier_has_no_gate_of_its_own() -> None:
    """A run without any efficiency passes on capability."""
    assert decision(1.0, a_modifier(action=0, tokens=0)).verdict is Verdict.PASS


def test_a_missing_item_makes_the_run_incomplete() -> None:
    """Even when what ran would pass already."""
    found = decision(without=1)
    assert (found.verdict, found.exit_code) == (Verdict.INCOMPLETE, 1)
    assert found.reasons == ("22 of 23 items ran.",)


@pytest.mark.parametrize("judge", ["other/judge", PINNED_JUDGE.upper(), f"{PINNED_JUDGE} ", "", None])
def test_any_judge_but_the_pinned_one_makes_the_run_not_valid(judge: str | None) -> None:
    """Also one that differs in a letter, and one that nobody named."""
    found = decision(judge=judge)
    assert (found.verdict, found.exit_code) == (Verdict.NOT_VALID, 3)


def test_not_valid_comes_before_incomplete_and_fail() -> None:
    """What another judge judged cannot be mended by resuming."""
    assert decision(0.0, judge="other/judge", without=3).verdict is Verdict.NOT_VALID


def test_a_partial_run_without_judged_items_needs_no_judge() -> None:
    """It is incomplete, not invalid."""
    scores = category_scores(a_bank(), {"tool-call-1": 1.0})
    found = decide(scores, a_modifier(), judge=None, judged=False)
    assert found.verdict is Verdict.INCOMPLETE


def test_judged_items_without_any_judgment_need_no_judge() -> None:
    """Every run failed, so nobody was asked: the gates decide."""
    scores = category_scores(a_bank(), {item.id: 0.0 if item.rubric else 1.0 for item in a_bank()})
    assert decide(scores, a_modifier(), judge=None, judged=False).verdict is Verdict.FAIL


def test_unknown_tokens_do_not_hinder_a_verdict_that_they_cannot_change() -> None:
    """Far above the gate it passes, far below it fails, and with a weak category it fails."""
    unknown = a_modifier(tokens=None)
    assert decision(1.0, unknown).verdict is Verdict.PASS
    assert decision(0.6, a_modifier(action=0, tokens=None)).verdict is Verdict.FAIL
    assert decision(1.0, unknown, weak=Category.CODE).verdict is Verdict.FAIL


def test_unknown_tokens_that_could_decide_leave_the_run_undecided() -> None:
    """42 + 2 points and a token part between 0 and 1.5: 45 may or may not be reached."""
    found = decision(0.6, a_modifier(action=2.0, tokens=None))
    assert (found.verdict, found.exit_code) == (Verdict.UNDECIDED, 1)


def test_bounds_that_touch_the_gate_decide() -> None:
    """The least value at the gate passes; the greatest just below it fails."""
    assert decision(0.6, a_modifier(action=3.0, tokens=None)).verdict is Verdict.PASS
    assert decision(0.6, a_modifier(action=1.5, tokens=None, high=1.49)).verdict is Verdict.FAIL
    assert decision(0.6, a_modifier(action=1.5, tokens=None, high=1.5)).verdict is Verdict.UNDECIDED


@given(st.floats(0.5, 0.8), st.floats(0, 3.5), st.floats(0, 1.5))
@settings(max_examples=60, deadline=None)
def test_a_verdict_without_tokens_is_the_verdict_with_any_tokens(
    share: float, action: float, tokens: float
) -> None:
    """Where the three-valued verdict speaks, no value of the missing part contradicts it."""
    without = decision(share, a_modifier(action=action, tokens=None)).verdict
    known = decision(share, a_modifier(action=action, tokens=tokens)).verdict
    assert without in (known, Verdict.UNDECIDED)


def test_every_verdict_has_its_exit_code() -> None:
    """PASS 0, FAIL, UNDECIDED and INCOMPLETE 1, NOT VALID 3; 2 is kept for aborts."""
    assert {verdict.value: exit_code(verdict) for verdict in Verdict} == {
        "PASS": 0,
        "FAIL": 1,
        "UNDECIDED": 1,
        "INCOMPLETE": 1,
        "NOT VALID": 3,
    }
