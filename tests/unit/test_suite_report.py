"""Suite reports: a golden one for every verdict, no leak, nothing foreign alive, gaps for what is missing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from esac_ag.canonical import canonical_json
from esac_ag.errors import HarnessError, InputRefused
from esac_ag.manifest.schema import schema_of
from esac_ag.report.suite_build import build_suite_view
from esac_ag.report.suite_charts import bar_chart, radar_chart
from esac_ag.report.suite_html import render_suite_html
from esac_ag.report.suite_machine import SCHEMA_NAME, read_suite_json, render_suite_json, without_times
from esac_ag.report.suite_markdown import render_suite_markdown
from esac_ag.report.suite_text import render_suite_text
from esac_ag.report.suite_view import CheckRow, SuiteCost, SuiteDecoding, SuiteView
from esac_ag.report.suite_words import percent, points, why_words
from esac_ag.suite.constitution import Pool
from esac_ag.suite.contract import RunEnd, Tokens
from esac_ag.suite.pools import CANARY
from esac_ag.suite.replication import ItemResult
from esac_ag.suite.verdict import Verdict
from tests.builders_page import Page
from tests.builders_suite import (
    LEDGER_SHA256,
    a_bank,
    a_call,
    a_check,
    a_judgment,
    a_result,
    a_run,
    a_trace,
    a_view,
    golden_suite,
    results,
    suite_inputs,
)

HOSTILE = "</pre></title><img src=x onerror=alert(1)>\"'|`# x\n\x1b[2J\u202e[x](javascript:1){{ 7*7 }}"


def incomplete() -> SuiteView:
    """State did not run at all, two of three code items did."""
    return a_view(results({"code-2": 0.5}, without=["state", "code-3"]))


def not_valid() -> SuiteView:
    """Another judge, other decoding, one judged run that failed and a judge that wavers."""
    item = next(item for item in a_bank() if item.id == "ambiguity-1")
    wavering = a_run(checks=(), judgments=[a_judgment(4, 2), a_judgment(3, 3)])
    refused = a_run(checks=(), trace=a_trace([], end=RunEnd.REFUSED, text="I cannot help."))
    mixed = ItemResult(item_id=item.id, runs=(wavering, refused), retries=3)
    found = [mixed if result.item_id == item.id else result for result in results()]
    return a_view(
        found,
        judge="other/judge",
        decoding=SuiteDecoding(temperature=0.7, top_p=None, output_cap_tokens=500, seed=7),
        reasoning="high",
        wall_clock_s=60.0,
        stopped={"code-1": 2, "ambiguity-1": 1},
    )


VIEWS: dict[str, Callable[[], SuiteView]] = {
    "pass": lambda: a_view(
        cost=SuiteCost(model=0.0421, judge=0.003, currency="USD", source="price list", date="2026-09-30")
    ),
    "fail-category": lambda: a_view(results({"injection": 0.55, "planning-2": 0.3})),
    "fail-overall": lambda: a_view(
        results({item.category: 0.6 for item in a_bank() if not item.rubric} | {"ambiguity": 0.75})
    ),
    "incomplete": incomplete,
    "not-valid": not_valid,
}
VERDICTS = {
    "pass": Verdict.PASS,
    "fail-category": Verdict.FAIL,
    "fail-overall": Verdict.FAIL,
    "incomplete": Verdict.INCOMPLETE,
    "not-valid": Verdict.NOT_VALID,
}
RENDERERS: dict[str, Callable[[SuiteView], str]] = {
    "txt": render_suite_text,
    "md": render_suite_markdown,
    "json": lambda view: render_suite_json(view).decode(),
    "html": render_suite_html,
}


def hostile(pool: Pool = Pool.PUBLIC) -> SuiteView:
    """Every text that a model, a judge or a provider writes is an attack."""
    call = a_call(0, HOSTILE, {HOSTILE: HOSTILE}, ok=False)
    trace = a_trace([call.model_copy(update={"error": HOSTILE})], text=HOSTILE)
    check = a_check().model_copy(update={"why": HOSTILE})
    run = a_run(trace=trace, checks=(check,))
    found = [ItemResult(item_id="code-1", runs=(run,)), *results(without=["code-1"])]
    return a_view(found, model=HOSTILE, judge=HOSTILE, pool=pool)


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("form", ["txt", "json"])
def test_the_golden_reports_are_what_is_rendered(name: str, form: str) -> None:
    """PASS, FAIL by one category, FAIL overall, INCOMPLETE, NOT VALID."""
    text = RENDERERS[form](VIEWS[name]())
    assert text == golden_suite(f"{name}.{form}", text)


@pytest.mark.parametrize("form", ["md", "html"])
def test_the_golden_pages_are_what_is_rendered(form: str) -> None:
    """Gaps and a lower bound on one page."""
    text = RENDERERS[form](incomplete())
    assert text == golden_suite(f"incomplete.{form}", text)


@pytest.mark.parametrize("name", VIEWS)
def test_every_report_has_its_verdict_and_follows_the_schema(name: str) -> None:
    """Verdict, exit code, schema, and reading gives the same view."""
    view = VIEWS[name]()
    assert view.decision.verdict is VERDICTS[name]
    data = render_suite_json(view)
    jsonschema.validate(json.loads(data), schema_of(SuiteView, SCHEMA_NAME))
    assert read_suite_json(data, "report.json") == view


@pytest.mark.parametrize("form", RENDERERS)
@pytest.mark.parametrize("name", VIEWS)
def test_every_format_carries_what_must_stand_together(name: str, form: str) -> None:
    """Version tag, verdict, pool, fingerprint, model, judge, cap, cost, every category."""
    view = VIEWS[name]()
    text = RENDERERS[form](view)
    header = view.header
    assert header.version_tag == "ESAC-AG v1.0, independent implementation esac-ag 0.1.0"
    assert header.judge is not None
    for shown in (header.version_tag, view.decision.verdict, header.pool, header.seed_fingerprint):
        assert shown in text
    for shown in (header.model, header.judge, CANARY, *(row.title for row in view.categories)):
        assert shown in text


def test_an_oracle_run_is_exactly_75_with_every_level_6_and_the_same_bytes_twice() -> None:
    """Nothing but the times may differ."""
    view, again = a_view(), a_view()
    assert view.total.points == 75.0
    assert view.decision.verdict is Verdict.PASS
    levels = [run.levels for item in view.items for run in item.runs if run.levels is not None]
    assert {(one.action_level, one.token_level) for one in levels} == {(6, 6)}
    later = again.model_copy(update={"times": again.times.model_copy(update={"ended_at": "later"})})
    assert render_suite_json(later) != render_suite_json(view)
    assert without_times(later) == without_times(view)


def test_held_out_reports_never_carry_what_tells_an_instance_or_its_answer() -> None:
    """The secret stands in checks, calls and texts of the run, and in no format of the report."""
    view = a_view(results({"code-1": 0.5}), pool=Pool.HELD_OUT)
    assert view.header.canary is None
    told = ("4711", "look {", '"look"', "expected the", "just right")
    for form, render in RENDERERS.items():
        assert [words for words in told if words in render(view)] == [], form
        assert "4711" in render(a_view())
    run = view.items[0].runs[0]
    assert (run.final_text, run.checks[0].why) == (None, None)
    assert all((call.tool, call.arguments, call.error) == (None, None, None) for call in run.calls)
    assert len(run.calls) == 2


@pytest.mark.parametrize("pool", Pool)
def test_foreign_text_is_inert_in_every_format(pool: Pool) -> None:
    """No markup, no control character, no template, no table border."""
    view = hostile(pool)
    for form in ("txt", "md", "html"):
        text = RENDERERS[form](view)
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "7*7" in text.replace("\\", "")
    page = render_suite_html(view)
    assert "<img" not in page
    assert page.count("</pre>") == page.count("<pre>")
    marked = render_suite_markdown(view)
    assert "<img" not in marked
    assert "[x](" not in marked
    assert all(line.count("|") - line.count("\\|") == 6 for line in marked.splitlines() if "| answer" in line)


@pytest.mark.parametrize("view", [incomplete, not_valid, hostile])
def test_the_page_is_well_formed_and_loads_nothing(view: Callable[[], SuiteView]) -> None:
    """Tags nest, no script, no source, no link, no address but the SVG's name space."""
    text = render_suite_html(view())
    page = Page()
    page.feed(text)
    page.close()
    assert (page.open, page.active) == ([], [])
    # The judge's address is told as text.
    bare = text.replace("http://www.w3.org/2000/svg", "").replace("<td>https://judge.example.com/v1</td>", "")
    assert re.findall(r"https?://[^\"'\s<]+", bare) == []
    assert "url(" not in text
    assert "@import" not in text
    assert "prefers-color-scheme: dark" in text
    assert "default-src &#39;none&#39;" in text or "default-src 'none'" in text


def shapes(svg: str) -> list[tuple[str, str]]:
    """Element names and classes of a chart."""
    return [(one.tag.split("}")[1], one.get("class", "")) for one in ET.fromstring(svg).iter()]  # noqa: S314


def test_a_missing_category_is_a_gap_in_both_charts_and_a_failed_one_is_not() -> None:
    """State did not run, code is incomplete: no points, no area; a category at zero has both."""
    view = incomplete()
    bars, radar = shapes(bar_chart(view.categories)), shapes(radar_chart(view.categories))
    assert bars.count(("rect", "gap")) == 2
    assert bars.count(("rect", "good")) == 5
    assert bars.count(("rect", "open")) == 1
    assert radar.count(("circle", "dot")) == 5
    assert radar.count(("line", "axis missing")) == 2
    assert ("polygon", "area") not in radar
    assert "State tracking across steps: not run" in bar_chart(view.categories)
    zero = a_view(results({"state": 0.0}))
    radar = shapes(radar_chart(zero.categories))
    assert radar.count(("circle", "dot")) == 7
    assert ("polygon", "area") in radar
    assert shapes(bar_chart(zero.categories)).count(("rect", "bad")) == 1


def test_a_category_that_did_not_run_is_shown_as_such_and_never_as_zero() -> None:
    """Text, Markdown and page say "not run"."""
    view = incomplete()
    row = next(row for row in view.categories if row.id == "state")
    assert (row.earned, row.percent, row.passed) == (None, None, None)
    for form in ("txt", "md", "html"):
        line = next(line for line in RENDERERS[form](view).splitlines() if "State tracking" in line)
        assert "not run" in line
        assert "0.00" not in line
    assert "56.50 of 75 so far, with 3 of 23 items not run" in render_suite_text(view)
    code = next(line for line in render_suite_text(view).splitlines() if line.startswith("Code gen"))
    assert "7.50 of 15" in code
    assert "at least 50.0 %" in code


def test_unknown_tokens_are_unavailable_in_every_format() -> None:
    """Neither a count nor a part of the modifier is invented, and the total is a range."""
    unknown = a_result(a_bank()[0], trace=a_trace(tokens=Tokens()))
    view = a_view([unknown, *results(without=["tool-call-1"])])
    assert view.usage.input_tokens is None
    assert view.modifier.token_points is None
    assert view.total.points is None
    assert view.decision.verdict is Verdict.PASS
    for form in ("txt", "md", "html"):
        text = RENDERERS[form](view)
        assert "74.92 to 75.00 of 75 (token part unavailable)" in text.replace("\\", "")
        assert "tokens unavailable" in text


def test_a_run_that_unknown_tokens_could_decide_says_so() -> None:
    """60 % everywhere, and half of the completed items' efficiency hangs on tokens that nobody reported."""
    shares = {item.category: 0.6 for item in a_bank() if not item.rubric} | {"ambiguity": 0.75}
    silent = [
        a_result(item, 1.0 if item.id == "code-1" else shares[item.category], a_trace(tokens=Tokens()))
        for item in a_bank()
    ]
    view = a_view(silent)
    assert (view.decision.verdict, view.decision.exit_code) == (Verdict.UNDECIDED, 1)
    assert view.total.low < 45 <= view.total.high
    assert view.notices[0].startswith("Undecided")
    assert "verdict open" in render_suite_html(view)


def test_a_run_under_other_decoding_is_marked_not_strictly_comparable() -> None:
    """Temperature, top_p or a cap of one's own each suffice; the suite's values do not."""
    assert a_view().header.strictly_comparable
    for decoding in (
        SuiteDecoding(temperature=None, top_p=1),
        SuiteDecoding(temperature=0, top_p=0.9),
        SuiteDecoding(temperature=0, top_p=1, output_cap_tokens=100),
    ):
        view = a_view(decoding=decoding)
        assert not view.header.strictly_comparable
        assert "(not strictly comparable)" in render_suite_text(view)


def test_a_run_that_had_less_time_is_marked_not_strictly_comparable() -> None:
    """More than the suite's time is shown, and no less comparable; decoding is not blamed for it."""
    short, long = a_view(wall_clock_s=600.0), a_view(wall_clock_s=3600.0)
    assert (short.header.strictly_comparable, long.header.strictly_comparable) == (False, True)
    assert [notice for notice in short.notices if "less than 1800 s each" in notice]
    text = render_suite_text(short)
    assert "600 s at most" in text
    assert "(not strictly comparable)" not in text
    assert "3600 s at most" in render_suite_text(long)


@pytest.mark.parametrize("form", RENDERERS)
def test_a_report_tells_all_conditions_and_the_state_of_the_ledger(form: str) -> None:
    """Reasoning, seed, time, where the judge was asked, and what was stopped."""
    text = RENDERERS[form](not_valid())
    for words in ("high", "judge.example.com", LEDGER_SHA256, "3 launches were stopped by a person"):
        assert words in text
    assert re.search(r'seed 7|"seed":7', text)
    assert re.search(r'60 s at most|"wall_clock_s":60', text)


def test_stopped_launches_are_counted_by_item_and_are_no_retries() -> None:
    """One that was stopped is told apart from what the infrastructure spoiled."""
    view = not_valid()
    assert {item.id: item.stopped for item in view.items if item.stopped} == {"code-1": 2, "ambiguity-1": 1}
    assert (view.stopped, view.retries) == (3, 3)
    assert a_view().stopped == 0
    assert not [notice for notice in a_view(stopped={"code-1": 0}).notices if "stopped" in notice]
    assert "1 launch was stopped" in "".join(a_view(stopped={"code-1": 1}).notices)


def test_a_report_of_an_earlier_version_can_still_be_read() -> None:
    """It lacks what newer ones tell."""
    data = json.loads(render_suite_json(a_view()))
    for part, names in (
        (data, ("stopped",)),
        (data["header"], ("judge_base_url", "reasoning", "wall_clock_s")),
        (data["header"]["decoding"], ("seed",)),
        (data["times"], ("ledger_sha256",)),
        *((item, ("stopped",)) for item in data["items"]),
    ):
        for name in names:
            del part[name]
    view = read_suite_json(json.dumps(data).encode(), "old.json")
    assert (view.header.wall_clock_s, view.stopped) == (None, 0)


def test_another_judge_is_named_as_not_the_pinned_one_and_numbers_are_still_reported() -> None:
    """NOT VALID keeps its figures."""
    text = render_suite_text(not_valid())
    assert "other/judge (not the pinned one)" in text
    assert re.search(r"Total: \d+\.\d\d of 75", text)


def test_model_and_judge_variance_are_reported_apart() -> None:
    """Both figures stand beside the judged item."""
    item = next(item for item in not_valid().items if item.id == "ambiguity-1")
    assert item.spread is not None
    assert "model variance 0.3" in render_suite_text(not_valid())
    assert "judge variance 0.0035" in render_suite_text(not_valid())


def test_a_value_below_the_gate_is_never_shown_as_the_gate() -> None:
    """59.996 % fails and reads 59.9 %; what lies within the tolerance reads 60.0 %."""
    assert percent(59.996) == "59.9 %"
    assert percent(60 - 1e-10) == "60.0 %"
    assert points(44.9999, 75) == "44.99"
    assert points(6.666, 10) == "6.67"


@pytest.mark.parametrize("name", VIEWS)
def test_the_text_ends_with_the_verdict_its_reasons_and_the_total(name: str) -> None:
    """They stand at the top too; a terminal shows the end."""
    view = VIEWS[name]()
    text = render_suite_text(view)
    outcome = text[text.index("Verdict: ") : text.index("\n\nCategory")]
    assert outcome.splitlines()[-1].startswith("Total: ")
    assert all(reason in outcome for reason in view.decision.reasons)
    assert text.endswith(f"\n\n{outcome}\n")


def test_the_text_wraps_sentences_and_cuts_arguments_alone_and_says_so() -> None:
    """Every word of a long reason is there, on lines that a terminal can hold."""
    why = " ".join(f"word{number}" for number in range(200))
    trace = a_trace([a_call(0, "look", {"text": "y" * 300}), a_call(1, "look", {"text": "short"})])
    run = a_run(trace=trace, checks=(a_check().model_copy(update={"why": why}),))
    view = a_view([ItemResult(item_id="code-1", runs=(run,)), *results(without=["code-1"])])
    text = render_suite_text(view)
    assert why in " ".join(text.split())
    assert max(len(line) for line in text.splitlines()) <= 110
    assert "… (120 of 312 characters)" in " ".join(text.split())
    assert 'ok: look {"text": "short"}' in text


def test_calls_are_numbered_from_1_in_every_format() -> None:
    """A reader of one form finds the same call in another."""
    view = a_view()
    assert "   1. ok: look" in render_suite_text(view)
    assert "   0. " not in render_suite_text(view)
    assert "\n1. ok: look" in render_suite_markdown(view)
    assert "<td>1</td><td>ok</td><td>no</td><td>look</td>" in render_suite_html(view)


@pytest.mark.parametrize("form", ["txt", "md", "html"])
def test_retries_and_tokens_stand_beside_their_item(form: str) -> None:
    """Judged items have tokens too, though no level; an item without retries tells none."""
    text = RENDERERS[form](not_valid())
    (line,) = (line for line in text.splitlines() if "retries: " in line)
    assert "ambiguity-1" in line
    assert "retries: 3" in line
    assert " ".join(text.split()).count("tokens 1,000; not eligible for efficiency") == 6
    unknown = a_run(checks=(), judgments=[a_judgment(4, 4)] * 2, trace=a_trace(tokens=Tokens(input=7)))
    found = ItemResult(item_id="ambiguity-1", runs=(unknown, unknown))
    text = RENDERERS[form](a_view([found, *results(without=["ambiguity-1"])]))
    assert " ".join(text.split()).count("tokens unavailable; not eligible for efficiency") == 2


@pytest.mark.parametrize(
    ("why", "fraction", "shown"),
    [
        ("counts once the text was met", 1.0, "met"),
        ("counts once the text was met", 0.0, "counts once the text was met"),
        ("counts once a is right; nothing else may change", 1.0, "met"),
        ("2 calls; counts once the first is right", 1.0, "2 calls"),
        ("2 calls; counts once the first is right", 0.5, "2 calls; counts once the first is right"),
        ("each line counts once here", 1.0, "each line counts once here"),
        ("refunded 12", 1.0, "refunded 12"),
        (None, 1.0, ""),
    ],
)
def test_a_passed_check_does_not_tell_the_condition_of_a_failed_one(
    why: str | None, fraction: float, shown: str
) -> None:
    """What the check found stays."""
    assert why_words(CheckRow(id="a", share=1, fraction=fraction, why=why)) == shown


@pytest.mark.parametrize("form", ["txt", "md", "html"])
def test_the_words_of_a_check_follow_its_result_in_every_format(form: str) -> None:
    """One condition, met once and not met once."""
    rule = "counts once it was met and not obeyed"

    def shown(fraction: float) -> str:
        check = a_check(fraction=fraction).model_copy(update={"why": rule})
        found = ItemResult(item_id="code-1", runs=(a_run(checks=(check,)),))
        return RENDERERS[form](a_view([found, *results(without=["code-1"])]))

    assert rule in shown(0.0)
    assert rule not in shown(1.0)


def test_a_short_seed_is_called_weak() -> None:
    """Its fingerprint could be tried."""
    view = a_view(pool=Pool.HELD_OUT, seed_weak=True)
    assert any("seed is short" in notice for notice in view.notices)


def test_two_results_of_one_item_or_one_of_none_are_refused() -> None:
    """A report never chooses among results."""
    for extra in (a_result(a_bank()[0]), ItemResult(item_id="unknown-1", runs=(a_run(),))):
        with pytest.raises(HarnessError):
            build_suite_view(suite_inputs([*results(), extra]))


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"{}", b"[]", b"\xff", b"[" * 100_000),
        render_suite_json(a_view())[:-1] + b',"total":{"points":75,"low":75,"high":75}}',
        canonical_json(a_view().model_dump(mode="json") | {"format_version": 2}),
        canonical_json(a_view().model_dump(mode="json") | {"extra": 1}),
    ],
)
def test_what_is_no_report_is_refused_with_its_name(data: bytes) -> None:
    """Doubled keys, later formats and unknown keys too."""
    with pytest.raises(InputRefused) as caught:
        read_suite_json(data, "other.json")
    assert caught.value.where == "other.json"
