"""The report as a page: its links, its words, and what a real browser makes of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Browser

from esac_ag.report.build import build_view
from esac_ag.report.evidence import EVIDENCE
from esac_ag.report.html_page import render_html, sections
from esac_ag.report.standing import EarlierRevision, Revision
from esac_ag.report.view import ReportView
from esac_ag.report.words import SCRIPTED_NOTICE
from tests.builders_browser import NARROW, Opened, Scheme, opened
from tests.builders_report import a_study
from tests.builders_report_page import (
    REVIEWERS,
    a_pilot_with_gaps,
    a_reviewed_pilot,
    a_scripted_pilot,
    a_small_reviewed_pilot,
)
from tests.unit.test_report_renderers import hostile_study

SECTIONS = (
    *("sealed", "manipulation", "counts", "ranks", "pairs", "runs", "dimensions", "checks", "critical"),
    *("costs", "agreement", "decision", "sensitivity", "limits", "corrections", "next", "attempts"),
)


class Parsed(HTMLParser):
    """Ids, addresses and elements of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.headings: list[int] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.tags.append(tag)
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))
        for name, value in attrs:
            if name == "id" and value:
                self.ids.append(value)
            if name in {"href", "src"} and value:
                self.addresses.append(value)
            assert not name.startswith("on")


@pytest.fixture(scope="module")
def view() -> ReportView:
    """A pilot after its review, with missing runs."""
    return build_view(a_reviewed_pilot())


@pytest.fixture(scope="module")
def page(view: ReportView) -> str:
    """Its page."""
    return render_html(view)


@contextmanager
def shown(
    browser: Browser, folder: Path, page: str, scheme: Scheme = "light", size: tuple[int, int] = (1280, 900)
) -> Iterator[Opened]:
    """A page opened from disk."""
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    with opened(browser, path.as_uri(), scheme, size) as found:
        yield found


def test_sections_come_in_the_order_of_use(view: ReportView) -> None:
    """What must be known before a number comes before it."""
    assert tuple(section.id for section in sections(view)) == SECTIONS


@pytest.mark.parametrize(
    "study",
    [a_reviewed_pilot, a_pilot_with_gaps, a_scripted_pilot, hostile_study, lambda: a_study(lambda _: None)],
)
def test_every_link_leads_somewhere(study: object) -> None:
    """Ids are there once, and every place that is named is there; nothing leaves the study's folder."""
    assert callable(study)
    found = Parsed(render_html(build_view(study())))
    assert len(found.ids) == len(set(found.ids))
    for address in set(found.addresses) - {"data:,"}:
        if address.startswith("#"):
            assert unquote(address[1:]) in found.ids, address
        else:
            assert re.fullmatch(r"\.\./attempts/[0-9a-f]{16}/[a-z./]+", address), address
    assert {"script", "img", "iframe", "link"} & set(found.tags) <= {"link"}


def test_headings_are_in_order_and_tables_have_captions_and_scopes(page: str) -> None:
    """No level is left out on the way down."""
    found = Parsed(page)
    assert found.headings[0] == 1
    assert found.headings.count(1) == 1
    steps = zip(found.headings, found.headings[1:], strict=False)
    assert all(after <= before + 1 for before, after in steps)
    assert found.tags.count("table") == found.tags.count("caption") == page.count("<thead>")
    assert "<th>" not in page


def test_evidence_is_linked_as_far_as_the_ledger_names_it(view: ReportView, page: str) -> None:
    """Every attempt's files, and only those; from a revision a folder further up."""
    named = {f"../attempts/{row.attempt_id}/{name}" for row in view.attempts for name in row.files}
    found = {address for address in Parsed(page).addresses if not address.startswith(("#", "data:"))}
    assert found == named
    assert any(len(row.files) < len(EVIDENCE) for row in view.attempts)
    earlier = EarlierRevision(number=1, at=None, reason="", files={"report/report.md": "ab" * 32})
    revision = Revision(number=2, at="2026-03-02T00:00:00.000Z", reason="prices <b>", earlier=(earlier,))
    revised = render_html(view.model_copy(update={"revision": revision}))
    later = {address for address in Parsed(revised).addresses if not address.startswith(("#", "data:"))}
    assert later == {f"../{address}" for address in named}
    assert "prices &lt;b&gt;" in revised


def test_a_large_study_leads_to_records_in_place_of_rows(
    view: ReportView, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above the bound no attempt has a row, the page says where they are, and no link is broken."""
    monkeypatch.setattr("esac_ag.report.html_links.MOST_ATTEMPTS", 100)
    large = render_html(view)
    found = Parsed(large)
    assert not [name for name in found.ids if name.startswith("attempt-")]
    assert "they are in report.csv and report.parquet" in large
    for address in (one[1:] for one in found.addresses if one.startswith("#")):
        assert unquote(address) in found.ids
    records = {one for one in found.addresses if one.endswith("/attempt.json")}
    scored = {run.attempt_id for item in view.task_arms for run in item.runs if run.attempt_id}
    assert {f"../attempts/{one}/attempt.json" for one in scored} <= records


def test_a_page_that_a_scripted_agent_stands_behind_says_so_at_every_plot() -> None:
    """Plots are copied out of their page."""
    page = render_html(build_view(a_scripted_pilot()))
    assert SCRIPTED_NOTICE in page
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", page)
    assert captions
    assert all(caption.startswith("Scripted replay") for caption in captions)
    assert ">unavailable<" in page


def test_what_is_missing_is_no_zero(page: str) -> None:
    """A task without any run, an invalid one, an untouched snapshot without a proof."""
    assert "no pair: the arm has no run with a score" in page
    assert "not estimable: the task&#39;s proof is not at hand" in page
    assert "1 run changed nothing (1 of neutral)" in page
    row = re.search(r'<tr id="runs:checks:markskill:scope-expansion">(.*?)</tr>', page, re.DOTALL)
    assert row is not None
    assert "0 of 3" in row.group(1)
    assert not re.search(r">0(\.0)?<", row.group(1))
    assert row.group(1).count("not estimable") == 4


def test_agreement_blinding_and_provisional_scores_are_told(view: ReportView, page: str) -> None:
    """Kappa, alpha, guesses; and a model's review is marked wherever its scores are."""
    assert "Weighted kappa" in page
    assert "reviewer-1 (reviewer, a person): 104 forms." in page
    assert not any(name in page for name in REVIEWERS)
    assert "Krippendorff&#39;s alpha" in page
    assert "not shown: chance is not excluded" in page
    assert view.review is not None
    review = view.review.model_copy(update={"provisional": True, "provisional_reason": "a model judged"})
    marked = render_html(view.model_copy(update={"review": review}))
    assert marked.count("(provisional)") > 10
    rehearsed = review.model_copy(update={"is_rehearsal": True})
    page = render_html(view.model_copy(update={"review": rehearsed}))
    assert page.count("(scripted reviewers: a rehearsal, no evidence)") > 10
    assert "Quality scores are provisional: a model judged." in marked


def test_a_clause_says_whether_it_is_good_or_bad_that_it_held(page: str) -> None:
    """And the attempts that show it stand there once."""
    assert "bad for the arm: forbids a benefit, and rejects it only if reproduced" in page
    behind = re.findall(r"<li>\s*Attempts behind (.*?)</li>", page, re.DOTALL)
    listed = re.findall(r'href="#attempt-([0-9a-f]+)"', " ".join(behind))
    assert listed
    assert len(listed) == len(set(listed))


def test_hostile_text_is_dead_on_the_page() -> None:
    """No markup, no invisible character, no link of theirs."""
    page = render_html(build_view(hostile_study()))
    assert "<img" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
    assert "\\x1b[2J" in page


@pytest.fixture(scope="module")
def small() -> str:
    """A page with everything that a page can hold, of few tasks, which axe is quick with."""
    return render_html(build_view(a_small_reviewed_pilot()))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_opens_without_a_word_on_the_console_and_axe_finds_nothing(
    browser: Browser, tmp_path: Path, small: str, scheme: Scheme
) -> None:
    """Nothing is asked for but the page itself, in light and in dark."""
    with shown(browser, tmp_path, small, scheme) as found:
        assert found.console == []
        assert len(found.requests) == 1
        assert found.axe() == []


def test_axe_and_the_console_are_heard(browser: Browser, tmp_path: Path, small: str) -> None:
    """The looks above are no empty ones."""
    start, _, _ = small.partition('<section id="sealed"')
    broken = (
        start.replace("<main>", "<main><img src='https://example.invalid/x.png'>") + "</main></body></html>"
    )
    with shown(browser, tmp_path, broken) as found:
        assert found.console
        assert "image-alt" in [finding["id"] for finding in found.axe()]


def test_a_narrow_window_scrolls_in_one_direction(browser: Browser, tmp_path: Path, page: str) -> None:
    """At 400 % zoom only tables and plots scroll sideways, and the keyboard reaches those that do."""
    with shown(browser, tmp_path, page, size=(NARROW, 640)) as found:
        assert found.overflow_px() == 0
        wide = found.page.evaluate(
            "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
            ".map(e => [e.tabIndex, getComputedStyle(e).overflowX])"
        )
        assert wide
        assert all(one == [0, "auto"] for one in wide)
        widths = found.page.evaluate(
            "[...document.querySelectorAll('td.long')].map(e => e.getBoundingClientRect().width)"
        )
        assert widths
        assert min(widths) >= 12 * 16


def test_the_keyboard_meets_the_way_past_the_contents_first(
    browser: Browser, tmp_path: Path, page: str
) -> None:
    """It becomes visible, and has an outline; marks of plots take no stops."""
    with shown(browser, tmp_path, page) as found:
        found.page.keyboard.press("Tab")
        focused = found.page.evaluate(
            "(e => [e.className, e.getBoundingClientRect().left >= 0, getComputedStyle(e).outlineStyle])"
            "(document.activeElement)"
        )
        assert focused == ["skip", True, "solid"]
        stops = found.page.evaluate(
            "[...document.querySelectorAll('svg a')].filter(e => e.tabIndex >= 0).length"
        )
        assert stops == 0


def test_paper_has_every_section_dark_ink_and_no_ground(browser: Browser, tmp_path: Path, page: str) -> None:
    """A reader who prefers dark prints black on white; the attempts are turned sideways."""
    with shown(browser, tmp_path, page, "dark") as found:
        found.page.emulate_media(media="print")
        heights = found.page.evaluate(
            "[...document.querySelectorAll('section')].map(e => [e.id, e.offsetHeight > 20])"
        )
        assert heights == [[name, True] for name in ("answer", *SECTIONS)]
        colours = found.page.evaluate("(s => [s.color, s.backgroundColor])(getComputedStyle(document.body))")
        assert colours == ["rgb(28, 30, 33)", "rgb(255, 255, 255)"]
        assert found.page.evaluate("getComputedStyle(document.querySelector('#attempts')).page") == "turned"
        hidden = found.page.evaluate(
            "[...document.querySelectorAll('.scroll')]"
            ".filter(e => getComputedStyle(e).overflowX !== 'visible').length"
        )
        assert hidden == 0


def test_colours_follow_the_readers_choice(browser: Browser, tmp_path: Path, page: str) -> None:
    """Ground and marks."""
    grounds = []
    for scheme in ("light", "dark"):
        with shown(browser, tmp_path, page, scheme) as found:
            grounds.append(
                found.page.evaluate(
                    "[getComputedStyle(document.body).backgroundColor,"
                    " getComputedStyle(document.querySelector('svg .arm-2')).fill]"
                )
            )
    assert grounds == [["rgb(255, 255, 255)", "rgb(0, 127, 92)"], ["rgb(21, 23, 26)", "rgb(51, 196, 150)"]]


def test_a_mark_leads_to_the_row_of_its_attempt(browser: Browser, tmp_path: Path, page: str) -> None:
    """A click on a run's mark ends at that attempt's row."""
    with shown(browser, tmp_path, page) as found:
        link = found.page.locator("#runs-checks a[href^='#attempt-']").first
        target = link.get_attribute("href")
        link.click()
        assert target is not None
        assert found.page.url.endswith(target)
        assert found.page.locator(":target").count() == 1


def test_the_same_view_gives_the_same_page(page: str) -> None:
    """So that an audit can compute it again."""
    assert render_html(build_view(a_reviewed_pilot())) == page
    other = replace(a_reviewed_pilot(), deviations=())
    assert render_html(build_view(other)) != page
