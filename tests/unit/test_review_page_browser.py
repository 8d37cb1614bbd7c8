"""The page of a reviewer in a real browser: by keyboard, without a script, narrow, in both colours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from esac_ag.conduct.review_locking import adjudicate, lock_forms
from esac_ag.pages.guard import Secrets
from esac_ag.pages.review_app import review_application
from esac_ag.pages.review_site import ReviewSite
from esac_ag.pages.serving import PageServer
from esac_ag.study.forms import Evidence, Form, Judged, Sureness
from tests.builders_browser import NARROW, Scheme, opened
from tests.builders_review import Reviewed, a_form
from tests.builders_review_page import ServedReview, a_review_with_hostile_text, served

# The pause before a form saves itself, and a slow machine.
WAIT_MS = 15_000


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Reviewed:
    """A prepared review."""
    return a_review_with_hostile_text(tmp_path_factory.mktemp("once") / "workspace")


@pytest.fixture(scope="module")
def page(once: Reviewed) -> Iterator[ServedReview]:
    """The page of `ada`; each test that writes takes a packet of its own."""
    with served(once) as found:
        yield found


@pytest.fixture(scope="module")
def ended(once: Reviewed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedReview]:
    """The page of `ben`, whose forms are all locked, in a review where `carl` has to decide."""
    copy = once.copied(tmp_path_factory.mktemp("ended") / "copy")
    for name, score in (("ada", 1), ("ben", 3)):
        copy.fill(name, lambda packet, score=score: a_form(packet.label, score))  # type: ignore[misc]
        lock_forms(copy.path, name)
    adjudicate(copy.path, "carl")
    with served(copy, "ben") as found:
        yield found


@pytest.fixture(scope="module")
def deciding(ended: ServedReview) -> Iterator[ServedReview]:
    """The page of `carl`, the adjudicator."""
    with served(ended.reviewed, "carl") as found:
        yield found


def form_of(page: ServedReview, label: str) -> Form:
    """As it is on disk."""
    return page.reviewed.desk(page.name).form(label)


def address(page: ServedReview, label: str) -> str:
    """Of a packet."""
    return f"{page.url}packets/{label}"


def changing(page: ServedReview, number: int) -> str:
    """The label of one of the packets with a change."""
    return [packet.label for packet in page.packets() if packet.diff][number]


def unchanged(page: ServedReview, number: int) -> str:
    """The label of one of the packets without a change."""
    return [packet.label for packet in page.packets() if not packet.diff][number]


def focused(shown: Page) -> str:
    """Id of what has the focus."""
    found: str = shown.evaluate("document.activeElement.id")
    return found


def tab_to(shown: Page, wanted: str) -> None:
    """Press Tab until an element has the focus, as far as the page goes."""
    for _ in range(80):
        if focused(shown) == wanted:
            return
        shown.keyboard.press("Tab")
    raise AssertionError(f"Tab never comes to {wanted}; it is at {focused(shown)}")


def saved_itself(shown: Page) -> None:
    """Wait until the page says so."""
    expect(shown.locator("#state")).to_contain_text("Saved", timeout=WAIT_MS)


def test_a_whole_form_is_filled_in_and_submitted_by_keyboard_alone(
    browser: Browser, page: ServedReview
) -> None:
    """Scores by digits, a link by Enter on a line's number, and back into the form."""
    label = changing(page, 0)
    with opened(browser, address(page, label)) as seen:
        shown = seen.page
        tab_to(shown, "scores-behaviour-score")
        shown.keyboard.press("2")
        tab_to(shown, "scores-behaviour-evidence-0-text")
        shown.keyboard.type("4 j n p s")
        place = "shop.py:3"
        assert shown.locator(f'[id="{place}"]').get_attribute("tabindex") == "-1"
        shown.locator("#form h3").first.evaluate("document.activeElement.blur()")
        for _ in range(3):
            shown.keyboard.press("j")
        shown.keyboard.press("Tab")
        for _ in range(20):
            if focused(shown) == place:
                break
            shown.keyboard.press("ArrowDown")
        shown.keyboard.press("Enter")
        assert focused(shown) == "scores-behaviour-evidence-0-link"
        expect(shown.locator("#status")).to_have_text(
            f"{place} is the link of Complete, correct behaviour, deduction 1."
        )
        for name in ("scope", "robustness", "maintainability", "verification"):
            tab_to(shown, f"scores-{name}-score")
            shown.keyboard.press("4")
        tab_to(shown, "critical-none")
        shown.keyboard.press("Space")
        tab_to(shown, "uncertainty-level")
        shown.keyboard.press("ArrowDown")
        tab_to(shown, "rationale")
        shown.keyboard.type("by keyboard")
        shown.keyboard.press("Tab")
        shown.keyboard.press("Tab")
        shown.keyboard.press("Enter")
        expect(shown.locator("h1")).to_have_text("Packets to review", timeout=WAIT_MS)
        assert seen.console == []
    form = form_of(page, label)
    evidence = (Evidence(text="4 j n p s", link=place),)
    scores = {"behaviour": 2, "scope": 4, "robustness": 4, "maintainability": 4, "verification": 4}
    assert {dimension.value: judged.score for dimension, judged in form.scores.items()} == scores
    assert [judged for judged in form.scores.values() if judged.evidence] == [
        Judged(score=2, evidence=evidence)
    ]
    assert (form.submitted, form.critical, form.rationale) == (True, (), "by keyboard")
    assert form.uncertainty.level is Sureness.MEDIUM


def test_a_whole_form_is_filled_in_and_submitted_without_a_script(
    browser: Browser, page: ServedReview
) -> None:
    """What is missing comes back as a list that has the focus; a second deduction has room after saving."""
    label = unchanged(page, 0)
    context = browser.new_context(java_script_enabled=False)
    try:
        shown = context.new_page()
        shown.goto(address(page, label))
        shown.get_by_role("button", name="Submit").click()
        assert "The form cannot be submitted yet" in shown.locator("#faults").inner_text()
        expect(shown.locator("#faults")).to_be_focused(timeout=WAIT_MS)
        shown.locator("#faults a").first.click()
        expect(shown).to_have_url(re.compile("#scores-behaviour-score$"), timeout=WAIT_MS)
        for name in ("behaviour", "scope", "robustness", "maintainability", "verification"):
            shown.locator(f"[name=scores-{name}-score][value='3']").check()
            shown.locator(f"#scores-{name}-evidence-0-text").fill("nothing was done")
            shown.locator(f"#scores-{name}-evidence-0-link").fill("diff")
        shown.get_by_role("button", name="Save").click()
        expect(shown.locator("#state")).to_have_text("Saved.", timeout=WAIT_MS)
        shown.locator("#scores-scope-evidence-1-text").fill("nor looked for")
        shown.locator("#scores-scope-evidence-1-link").fill("claim-1")
        shown.get_by_label("I saw no critical failure").check()
        shown.get_by_label("high").check()
        shown.get_by_role("button", name="Submit").click()
        expect(shown.locator(".notice[role=status]")).to_have_text(f"{label} is submitted.", timeout=WAIT_MS)
    finally:
        context.close()
    form = form_of(page, label)
    assert form.submitted
    assert sorted(len(judged.evidence) for judged in form.scores.values()) == [1, 1, 1, 1, 2]


def test_what_is_typed_saves_itself_and_survives_a_reload(browser: Browser, page: ServedReview) -> None:
    """Nothing has to be pressed; what is still missing is told."""
    label = unchanged(page, 1)
    with opened(browser, address(page, label)) as seen:
        seen.page.locator("#rationale").fill("kept <b>as it is</b> & \u202ethis")
        saved_itself(seen.page)
        assert "7 things are missing" in seen.page.locator("#state").inner_text()
        seen.page.reload()
        assert seen.page.locator("#rationale").input_value() == "kept <b>as it is</b> & \u202ethis"
    assert form_of(page, label).rationale == "kept <b>as it is</b> & \u202ethis"


def test_what_is_typed_is_sent_when_the_page_is_left(browser: Browser, page: ServedReview) -> None:
    """Before the pause is over."""
    label = unchanged(page, 2)
    with opened(browser, address(page, label)) as seen:
        seen.page.locator("#rationale").fill("left at once")
        seen.page.goto(page.url)
        begun = seen.page.locator("tr", has_text=label).locator(".state.begun")
        for _ in range(100):
            if begun.count():
                break
            seen.page.reload()
    assert form_of(page, label).rationale == "left at once"


def test_two_tabs_of_one_form_do_not_write_over_each_other(browser: Browser, page: ServedReview) -> None:
    """The later one is told, nothing is lost, and both can be looked at."""
    label = changing(page, 1)
    with opened(browser, address(page, label)) as first, opened(browser, address(page, label)) as second:
        first.page.locator("#rationale").fill("first")
        saved_itself(first.page)
        second.page.locator("#rationale").fill("second")
        alarm = second.page.locator("#alarm")
        expect(alarm).to_contain_text("saved in another tab", timeout=WAIT_MS)
        assert form_of(page, label).rationale == "first"
        alarm.get_by_role("button", name="Show both").click()
        expect(second.page.locator("#changed")).to_be_focused(timeout=WAIT_MS)
        assert "first" in second.page.locator("#changed").inner_text()
        assert second.page.locator("#rationale").input_value() == "second"
        assert second.axe() == []
        second.page.get_by_role("button", name="Save").click()
        second.page.wait_for_url("**?saved")
    assert form_of(page, label).rationale == "second"


def test_a_server_that_is_gone_is_said_and_the_text_stays(
    browser: Browser, once: Reviewed, tmp_path: Path
) -> None:
    """Loudly, with a way to try again once it is back on the same address."""
    copy = once.copied(tmp_path / "copy")
    secrets = Secrets()
    application = review_application(ReviewSite(copy.path, "ada"), secrets.csrf)
    with PageServer(application, secrets) as server:
        label = copy.desk("ada").book.packets[0].label
        with opened(browser, f"{server.url}packets/{label}") as seen:
            server.__exit__(None, None, None)
            seen.page.locator("#rationale").fill("not lost")
            expect(seen.page.locator("#alarm")).to_contain_text(
                "Not saved: the server does not answer", timeout=WAIT_MS
            )
            assert seen.page.locator("#rationale").input_value() == "not lost"
            with PageServer(application, secrets, port=server.port):
                seen.page.get_by_role("button", name="Save again").click()
                saved_itself(seen.page)
                expect(seen.page.locator("#alarm")).to_be_empty(timeout=WAIT_MS)
    assert copy.desk("ada").form(label).rationale == "not lost"


def test_keys_can_be_turned_off_and_stay_off(browser: Browser, page: ServedReview) -> None:
    """A single letter then does nothing, as somebody who speaks to a computer needs it."""
    label = page.packets()[0].label
    with opened(browser, address(page, label)) as seen:
        shown = seen.page
        shown.locator(".keys summary").click()
        shown.get_by_label("Use the keys below").uncheck()
        shown.reload()
        shown.keyboard.press("n")
        shown.locator(".keys summary").click()
        assert not shown.get_by_label("Use the keys below").is_checked()
        shown.get_by_label("Use the keys below").check()
        with shown.expect_navigation():
            shown.keyboard.press("n")
        assert shown.url == address(page, page.packets()[1].label)


def test_a_click_on_a_line_goes_into_the_deduction_that_one_works_on(
    browser: Browser, page: ServedReview
) -> None:
    """A second row too; names with quotes and markup are exactly themselves."""
    label = changing(page, 2)
    with opened(browser, address(page, label)) as seen:
        shown = seen.page
        shown.locator(".scale .more").first.click()
        assert focused(shown) == "scores-behaviour-evidence-1-text"
        shown.keyboard.type("odd")
        shown.locator("[data-place*='odd']").first.click()
        place = shown.locator("#scores-behaviour-evidence-1-link").input_value()
        assert place in page.reviewed.desk("ada").packet(label).links()
        assert place.endswith("<b>.py:1")
        saved_itself(shown)
        shown.reload()
        shown.get_by_role("link", name="Go to odd").click()
        expect(shown.locator(":target")).to_have_attribute("data-place", place, timeout=WAIT_MS)
        assert seen.console == []


ADDRESSES = (
    "{page}",
    "{page}packets/{label}",
    "{page}packets/{label}?check=all",
    "{page}packets/{label}/files/0",
    "{page}lock",
    "{page}nowhere",
    "{ended}",
    "{ended}guesses",
    "{ended}packets/{locked}",
    "{deciding}packets/{case}",
)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", NARROW)])
def test_every_kind_of_page_is_accessible_and_fits(
    scheme: Scheme,
    width: int,
    browser: Browser,
    page: ServedReview,
    ended: ServedReview,
    deciding: ServedReview,
) -> None:
    """No finding of axe, nothing to scroll sideways at 400 %, no complaint of the policy, no other server."""
    names = {
        "page": page.url,
        "ended": ended.url,
        "label": changing(page, 3),
        "locked": changing(ended, 0),
        "deciding": deciding.url,
        "case": changing(deciding, 0),
    }
    with opened(browser, page.url, scheme, (width, 800)) as seen:
        for pattern in ADDRESSES:
            seen.page.goto(pattern.format(**names))
            assert (pattern, seen.axe(), seen.overflow_px()) == (pattern, [], 0)
        own = tuple(f"http://127.0.0.1:{one.server.port}/" for one in (page, ended, deciding))
        assert [one for one in seen.requests if not one.startswith(own)] == []
        assert [text for text in seen.console if "404" not in text] == []


def test_a_printed_packet_has_its_diff_and_no_buttons(browser: Browser, page: ServedReview) -> None:
    """On paper."""
    with opened(browser, address(page, changing(page, 3))) as seen:
        seen.page.emulate_media(media="print")
        assert not seen.page.get_by_role("button", name="Submit").is_visible()
        assert seen.page.locator(".lines .add").first.is_visible()
        assert seen.overflow_px() == 0
