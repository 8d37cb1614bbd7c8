"""The pages of results in a real browser: by keyboard, in both colour schemes, in a narrow window."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from esac_ag.pages.serving import PageServer
from tests.builders_browser import NARROW, Scheme, opened
from tests.builders_view import Shown, served, some_results

MOST_TABS = 60


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """The folder of results."""
    return some_results(tmp_path_factory.mktemp("view"))


@pytest.fixture(scope="module")
def server(shown: Shown) -> Iterator[PageServer]:
    """Its pages."""
    with served(shown.path) as server:
        yield server


def press_link(page: Page, name: str) -> None:
    """Go to a link with the tabulator alone, and follow it with Enter."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.innerText") == name:
            with page.expect_navigation():
                page.keyboard.press("Enter")
            return
    pytest.fail(f"no link {name} can be reached by keyboard")


def test_the_way_to_a_diff_and_back_needs_no_mouse(
    browser: Browser, server: PageServer, shown: Shown
) -> None:
    """From the list to a study, an attempt, its diff, and up again."""
    with opened(browser, server.url) as found:
        page = found.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.innerText") == "Skip to the content"
        press_link(page, "study-1")
        press_link(page, shown.attempt())
        assert page.title().startswith(f"Attempt {shown.attempt()}")
        press_link(page, "Diff")
        assert page.url.endswith("#diff")
        assert "fixed" in page.inner_text("table.lines")
        page.go_back()
        press_link(page, "study-1")
        press_link(page, "Results")
        assert page.url == server.url
        assert found.console == []
        assert all(address.startswith((server.url, "data:")) for address in found.requests)


def test_attempts_are_filtered_with_a_form(browser: Browser, server: PageServer) -> None:
    """What was chosen stays chosen, and the table comes into view."""
    with opened(browser, f"{server.url}studies/study-1/") as found:
        page = found.page
        page.select_option("select[name=arm]", "careful")
        page.fill("input[name=least]", "50")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert page.inner_text("[role=status]") == "4 of 8 launches."
        assert page.input_value("select[name=arm]") == "careful"
        assert page.url.endswith("#attempts")


def test_links_of_a_report_lead_to_the_same_files_as_on_disk(
    browser: Browser, server: PageServer, shown: Shown
) -> None:
    """Its own styles hold; a figure's link shows the diff, or the attempt's page."""
    with opened(browser, f"{server.url}studies/study-1/report/report.html") as found:
        page = found.page
        assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(1, 2, 3)"
        assert found.console == []
        page.click("text=the diff")
        assert page.inner_text("body").strip().endswith("+fixed")
        page.go_back()
        page.click("text=the attempt")
        assert page.inner_text("h1") == f"Attempt {shown.attempt()}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["list", "study", "attempt"])
def test_pages_can_be_used_by_everybody(
    kind: str, scheme: Scheme, browser: Browser, server: PageServer, shown: Shown
) -> None:
    """Nothing that axe finds, nothing on the console, no text of an agent that acted."""
    pages = {
        "list": "",
        "study": "studies/study-1/",
        "attempt": f"studies/study-1/attempts/{shown.attempt()}/",
    }
    with opened(browser, server.url + pages[kind], scheme) as found:
        assert (found.axe(), found.console) == ([], [])
        assert found.page.title() != "owned"


@pytest.mark.parametrize("path", ["", "studies/study-1/", "studies/study-1/attempts/ATTEMPT/"])
def test_a_narrow_window_scrolls_one_way_only(
    path: str, browser: Browser, server: PageServer, shown: Shown
) -> None:
    """At 400 % zoom; wide tables scroll in themselves, by keyboard too."""
    address = server.url + path.replace("ATTEMPT", shown.attempt())
    with opened(browser, address, size=(NARROW, 800)) as found:
        assert found.overflow_px() == 0
        regions = found.page.locator(".wide")
        assert all(regions.nth(one).get_attribute("tabindex") == "0" for one in range(regions.count()))
