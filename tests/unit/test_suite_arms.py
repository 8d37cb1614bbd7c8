"""Arms of a suite run beside the control: which way the differences go, and what has no partner."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from esac_ag.conduct.suite_results import write_suite_reports
from esac_ag.report.suite_arms import Effect, SuiteArms, build_suite_arms, render_suite_arms_text
from esac_ag.report.suite_arms_html import render_suite_arms_html
from esac_ag.report.suite_arms_markdown import render_suite_arms_markdown
from esac_ag.report.suite_html import render_suite_html
from esac_ag.report.suite_view import SuiteCost, SuiteView
from esac_ag.rooms.schemas import generated_schemas
from esac_ag.statistics.estimates import Estimate, NotEstimable
from esac_ag.suite.constitution import Category
from esac_ag.suite.contract import Tokens
from tests.builders_page import Page
from tests.builders_suite import a_bank, a_result, a_trace, a_view, golden_suite, results
from tests.builders_suite_run import (
    JUDGED,
    QUICK,
    a_chat_agent,
    a_judge,
    a_sealed_run,
    a_skill,
)
from tests.model_server import Scripted, says
from tests.playing_server import PlayingServer

ALL = [item.id for item in a_bank()]
WITHOUT_RUBRIC = [item.id for item in a_bank() if not item.rubric]


def side_by_side(
    arms: Mapping[str, SuiteView], control: SuiteView | None = None, planned: Sequence[str] = ALL
) -> SuiteArms:
    """Arms beside a perfect control."""
    return build_suite_arms({"neutral": control or a_view(), **arms}, planned, "seed")


def worse(*items: str, by: float = 0.5) -> SuiteView:
    """A run that misses a part of some items."""
    return a_view(results(dict.fromkeys(items, 1 - by)))


def value(found: Estimate | NotEstimable) -> float:
    """The value of an estimate."""
    assert isinstance(found, Estimate)
    return found.value


def test_differences_are_arm_minus_control() -> None:
    """A worse arm has negative ones, in percent of an item; the control is side A."""
    missed = WITHOUT_RUBRIC[:2]
    (arm,) = side_by_side({"careful": worse(*missed)}).arms
    by_item = {pair.task: value(pair.difference) for pair in arm.items}
    assert by_item == dict.fromkeys(ALL, 0.0) | dict.fromkeys(missed, -50.0)
    assert value(arm.overall.mean) == pytest.approx(-100.0 / len(ALL), abs=0.01)
    assert (arm.arm, arm.control) == ("careful", "neutral")
    assert arm.figures.total.difference is not None
    assert arm.figures.total.difference < 0


def test_a_better_arm_has_positive_differences() -> None:
    """The control is the one that misses."""
    (arm,) = side_by_side({"careful": a_view()}, control=worse(WITHOUT_RUBRIC[0])).arms
    assert value(arm.overall.mean) > 0
    assert arm.words[0].startswith("careful minus neutral, mean over items: +")


def test_every_item_counts_once_whatever_its_points() -> None:
    """A missed item weighs the same in every category."""
    first = {category: next(i.id for i in a_bank() if i.category is category) for category in Category}
    means = {
        round(value(side_by_side({"careful": worse(item, by=1.0)}).arms[0].overall.mean), 6)
        for item in first.values()
    }
    assert len(means) == 1


def test_every_arm_is_compared_with_the_control() -> None:
    """Not with each other."""
    found = side_by_side({"careful": worse(ALL[0]), "terse": a_view()})
    assert [(arm.arm, arm.control) for arm in found.arms] == [("careful", "neutral"), ("terse", "neutral")]


def test_an_item_that_one_of_both_did_not_run_is_unpaired() -> None:
    """No data is never zero: it has no difference, and the bounds say what it could make of the mean."""
    gone = WITHOUT_RUBRIC[0]
    (arm,) = side_by_side({"careful": a_view(results(without=[gone]))}).arms
    assert arm.overall.unpaired == (gone,)
    assert (arm.overall.tasks_planned, arm.overall.tasks_paired) == (len(ALL), len(ALL) - 1)
    assert arm.overall.missing_runs == 1
    (pair,) = [pair for pair in arm.items if pair.task == gone]
    assert isinstance(pair.difference, NotEstimable)
    assert value(arm.overall.mean) == 0.0
    assert arm.overall.bounds.low < 0.0
    assert gone in " ".join(arm.words)


def test_items_that_were_not_planned_are_no_missing_runs() -> None:
    """A run of some items compares these, and says nothing of the others."""
    planned = WITHOUT_RUBRIC[:3]
    view = a_view(results(without=[name for name in ALL if name not in planned]))
    (arm,) = side_by_side({"careful": view}, control=view, planned=planned).arms
    assert [pair.task for pair in arm.items] == planned
    assert (arm.overall.tasks_planned, arm.overall.missing_runs, arm.overall.unpaired) == (3, 0, ())


def test_the_same_records_give_the_same_comparison() -> None:
    """The bootstrap is seeded."""
    arms = {"careful": worse(*WITHOUT_RUBRIC[:5])}
    assert side_by_side(arms) == side_by_side(arms)
    again = build_suite_arms({"neutral": a_view(), **arms}, ALL, "other").arms[0]
    assert again.overall.mean == side_by_side(arms).arms[0].overall.mean
    assert again.overall.interval != side_by_side(arms).arms[0].overall.interval


def test_the_text_tells_notices_words_and_both_sides() -> None:
    """And ends in one line feed."""
    found = side_by_side({"careful": worse(WITHOUT_RUBRIC[0]), "terse": a_view()})
    text = render_suite_arms_text(found)
    for arm in found.arms:
        assert all(words in " ".join(text.split()) for words in (arm.answer, *arm.words))
    assert text.count("\nneutral: ") == 2
    assert text.index(found.arms[1].answer[:40]) < text.index("! ")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


@pytest.mark.parametrize(
    ("arm", "control", "effect", "why"),
    [
        (a_view(), worse(*WITHOUT_RUBRIC[:12]), Effect.HELPS, "careful helps: .* lies above zero"),
        (worse(*WITHOUT_RUBRIC[:12]), a_view(), Effect.HURTS, "careful hurts: .* lies below zero"),
        (
            worse(*WITHOUT_RUBRIC[:6]),
            worse(*WITHOUT_RUBRIC[6:12]),
            Effect.UNCLEAR,
            "Whether careful .* is not clear of zero",
        ),
        (worse(*ALL), worse(*ALL), Effect.UNCLEAR, "each of 23 items scored the same under neutral"),
        (worse(ALL[0]), a_view(), Effect.UNCLEAR, "is not clear of zero"),
        (
            a_view(results(without=WITHOUT_RUBRIC[12:])),
            worse(*WITHOUT_RUBRIC[:8]),
            Effect.UNCLEAR,
            "8 planned runs without a score could turn the mean difference's sign",
        ),
    ],
    ids=["helps", "hurts", "both ways", "same", "one item", "missing"],
)
def test_the_answer_follows_from_the_interval(
    arm: SuiteView, control: SuiteView, effect: Effect, why: str
) -> None:
    """And is open where the interval, or what did not run, leaves it open."""
    (found,) = side_by_side({"careful": arm}, control=control).arms
    assert found.effect is effect
    assert re.search(why, found.answer)


def test_few_items_are_no_answer_however_far_apart() -> None:
    """A claim needs 12."""
    planned = WITHOUT_RUBRIC[:11]
    without = [name for name in ALL if name not in planned]
    arm = a_view(results(dict.fromkeys(planned[:8], 0.1), without=without))
    found = side_by_side({"careful": arm}, control=a_view(results(without=without)), planned=planned)
    assert found.arms[0].effect is Effect.UNCLEAR
    assert found.arms[0].answer.endswith("11 items can be paired, and a claim needs at least 12.")


def test_the_sign_flips_of_many_items_are_drawn_and_of_few_enumerated() -> None:
    """23 differences have too many patterns; 3 have 8."""
    many = render_suite_arms_text(side_by_side({"careful": worse(ALL[0])}))
    assert "of 20,000 drawn ways" in many
    few = side_by_side({"careful": worse(ALL[0])}, planned=ALL[:3])
    assert "of all 8 ways" in render_suite_arms_text(few)


PRICED = {
    currency: SuiteCost(model=0.5, judge=None, currency=currency, source="list", date="2026-09-30")
    for currency in ("EUR", "USD")
}


def used(arm: SuiteView, control: SuiteView) -> dict[str, tuple[float | None, float | None, float | None]]:
    """What arm and control used, by row."""
    (found,) = side_by_side({"careful": arm}, control=control).arms
    return {row.name: (row.a, row.b, row.difference) for row in found.figures.usage}


def test_what_each_arm_used_stands_beside_the_control() -> None:
    """Tokens always, cost where a price is known; no difference without both, or of other runs."""
    more = a_result(a_bank()[0], trace=a_trace(tokens=Tokens(input=1700, output=300)))
    others = results(without=[ALL[0]])
    assert used(a_view([more, *others], cost=PRICED["USD"]), a_view(cost=PRICED["USD"])) == {
        "Runs": (26, 26, 0),
        "Input tokens": (18200, 19200, 1000),
        "Output tokens": (7800, 7800, 0),
        "Cost of the model (USD)": (0.5, 0.5, 0),
    }
    unknown = a_result(a_bank()[0], trace=a_trace(tokens=Tokens()))
    assert used(a_view([unknown, *others]), a_view())["Input tokens"] == (18200, None, None)
    assert used(a_view(others), a_view())["Output tokens"] == (7800, 7500, None)
    mixed = used(a_view(cost=PRICED["EUR"]), a_view(cost=PRICED["USD"]))
    assert mixed["Cost of the model (EUR)"] == (None, 0.5, None)
    assert mixed["Cost of the model (USD)"] == (0.5, None, None)


RENDERERS: dict[str, Callable[[SuiteArms], str]] = {
    "txt": render_suite_arms_text,
    "md": render_suite_arms_markdown,
    "html": render_suite_arms_html,
}


@pytest.mark.parametrize("form", RENDERERS)
def test_every_form_answers_and_has_every_figure_under_the_names_of_the_arms(form: str) -> None:
    """The control's column comes first."""
    arm = worse(*WITHOUT_RUBRIC[:12])
    found = side_by_side({"careful": arm}, control=a_view(cost=PRICED["USD"]))
    text = re.sub(r"<[^>]*>|[|\\]", " ", RENDERERS[form](found))
    shown = " ".join(text.split())
    assert found.arms[0].answer in shown
    assert "of neutral careful careful - neutral" in shown
    assert "Input tokens – 18,200 18,200 +0" in shown  # noqa: RUF001  (an en dash, as shown)
    assert "Cost of the model (USD) – 0.5000 unavailable –" in shown  # noqa: RUF001
    assert "tool-call-1 2.00 2.00 1.00 -1.00" in shown
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


@pytest.mark.parametrize("form", RENDERERS)
def test_the_golden_comparisons_are_what_is_rendered(form: str) -> None:
    """One arm that hurts, one that changes nothing."""
    arms = {"careful": worse(*WITHOUT_RUBRIC[:12]), "terse": a_view()}
    text = RENDERERS[form](side_by_side(arms, control=a_view(cost=PRICED["USD"])))
    assert text == golden_suite(f"arms.{form}", text)


@pytest.mark.parametrize("form", RENDERERS)
def test_foreign_text_is_inert_in_every_form(form: str) -> None:
    """A model's name and a notice are an attack."""
    hostile = "</p><img src=x onerror=alert(1)>|`\x1b[2J\u202e[x](javascript:1){{ 7*7 }}"
    view = a_view(model=hostile)
    view = view.model_copy(update={"notices": (hostile,)})
    text = RENDERERS[form](side_by_side({"careful": view}, control=view))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "7*7" in text.replace("\\", "")
    if form != "txt":
        assert "<img" not in text
        assert "[x](" not in text or form == "html"


def test_the_page_of_the_arms_is_well_formed_and_loads_nothing() -> None:
    """Under the policy of the suite report's page."""
    text = render_suite_arms_html(side_by_side({"careful": worse(ALL[0]), "terse": a_view()}))
    page = Page()
    page.feed(text)
    page.close()
    assert (page.open, page.active) == ([], [])
    assert "://" not in text
    policy = re.compile(r"<meta http-equiv[^>]*>")
    assert policy.findall(text) == policy.findall(render_suite_html(a_view())) != []


def test_the_json_follows_its_published_schema() -> None:
    """As a program would check it."""
    found = side_by_side({"careful": worse(*WITHOUT_RUBRIC[:12]), "terse": a_view()})
    schema = json.loads(generated_schemas()["suite-arms-v1.schema.json"])
    jsonschema.validate(json.loads(found.model_dump_json()), schema)


def test_what_an_endpoint_says_cannot_steer_a_terminal() -> None:
    """Notices quote it; control characters are shown as such."""
    control = a_view()
    control = control.model_copy(update={"notices": ("Another name answered: \x1b[31mred\x07.",)})
    text = render_suite_arms_text(side_by_side({"careful": a_view()}, control=control))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[31mred" in text


def test_identical_arms_differ_by_nothing(tmp_path: Path) -> None:
    """A whole run of policies, which read no bundle: every difference is zero, of the planned items alone."""
    run = a_sealed_run(tmp_path, arms={"careful": a_skill(tmp_path / "skill")})
    run.run()
    arms = write_suite_reports(run.folder.path).arms
    assert arms is not None
    assert {pair.task: value(pair.difference) for pair in arms.arms[0].items} == dict.fromkeys(QUICK, 0.0)
    assert arms.notices[0].startswith("Scripted:")
    assert SuiteArms.model_validate_json((run.folder.report / "arms.json").read_text()) == arms
    assert render_suite_arms_text(arms) == (run.folder.report / "arms.txt").read_text()


def test_an_arm_that_misleads_the_model_shows_in_its_items(tmp_path: Path) -> None:
    """A played model that obeys its bundle fails one item under the arm, and both are judged alike."""

    class Misled(PlayingServer):
        def _turn(self, messages: list[dict[str, Any]]) -> Scripted:
            misled = messages[0]["role"] == "system"
            spoken = [message for message in messages if message["role"] != "system"]
            item, _ = self._by_prompt[spoken[0]["content"]]
            if misled and item.id == QUICK[0] and len(spoken) == 1:
                return says("I had rather not.")
            return super()._turn(messages)

    with Misled() as server:
        run = a_sealed_run(
            tmp_path,
            *QUICK,
            JUDGED,
            agent=a_chat_agent(server.base_url),
            judge=a_judge(server.base_url),
            arms={"lazy": a_skill(tmp_path / "skill")},
        )
        run.run()
    arms = write_suite_reports(run.folder.path).arms
    assert arms is not None
    differences = {pair.task: value(pair.difference) for pair in arms.arms[0].items}
    assert differences.pop(QUICK[0]) < 0
    assert set(differences.values()) == {0.0}
    assert server.judged == [JUDGED] * 8
