"""The HTML report in a real browser: it opens from disk, complains of nothing, and its charts can be seen."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from esac_ag.report.suite_arms import build_suite_arms
from esac_ag.report.suite_arms_html import render_suite_arms_html
from esac_ag.report.suite_html import render_suite_html
from tests.builders_suite import a_view, results

PAGE = render_suite_html(a_view(results({"code-2": 0.5}, without=["state", "code-3"])))
CONSOLE = re.compile(r":CONSOLE[:(]")


def browse(folder: Path, page: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Open a page from disk with a fresh profile; a browser has to be there."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next((found for name in names if (found := shutil.which(name))), None)
    assert program is not None, "no browser: scripts/ensure-browser installs one"
    path = folder / "page.html"
    path.write_text(page, encoding="utf-8")
    # Root has no sandbox of Chromium's; the page is our own.
    own = ["--no-sandbox"] if os.getuid() == 0 else []
    return subprocess.run(
        [
            *(program, "--headless", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", *own),
            *("--hide-scrollbars", "--window-size=1200,1600", "--enable-logging=stderr"),
            *(f"--user-data-dir={folder / 'profile'}", *options, path.as_uri()),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )


def picture(folder: Path, page: str) -> bytes:
    """A page as the browser paints it, PNG."""
    target = folder / "page.png"
    target.unlink(missing_ok=True)
    browse(folder, page, f"--screenshot={target}")
    return target.read_bytes()


class Elements(HTMLParser):
    """Start tags and ids of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id" and value]


def test_the_page_opens_from_disk_without_a_word_on_the_console(tmp_path: Path) -> None:
    """Both charts are in the document that the browser made of it, and every item."""
    opened = browse(tmp_path, PAGE, "--dump-dom")
    found = Elements(opened.stdout)
    assert not CONSOLE.search(opened.stderr)
    assert {"bar-chart", "radar-chart"} <= set(found.ids)
    assert (found.tags.count("svg"), found.tags.count("details")) == (2, 23)


def test_the_page_of_the_arms_opens_from_disk_without_a_word_on_the_console(tmp_path: Path) -> None:
    """Its table is in the document that the browser made of it."""
    arms = build_suite_arms(
        {"neutral": a_view(), "careful": a_view(results({"code-2": 0.5}))}, ["code-2"], ""
    )
    opened = browse(tmp_path, render_suite_arms_html(arms), "--dump-dom")
    assert not CONSOLE.search(opened.stderr)
    assert "careful - neutral" in opened.stdout
    assert Elements(opened.stdout).tags.count("table") == 1


@pytest.mark.parametrize(
    "fault",
    ["<script>console.error('seen')</script>", "<img src='https://example.invalid/x.png'>"],
    ids=["script", "image"],
)
def test_a_page_that_reaches_out_or_runs_a_script_is_noticed(fault: str, tmp_path: Path) -> None:
    """The look at the console is no empty one: what the page's policy forbids shows there."""
    opened = browse(tmp_path, PAGE.replace("<main>", f"<main>{fault}"), "--dump-dom")
    assert CONSOLE.search(opened.stderr)


def test_each_chart_can_be_seen(tmp_path: Path) -> None:
    """The same page paints the same picture, and another one once either chart is hidden."""
    whole = picture(tmp_path, PAGE)
    assert whole.startswith(b"\x89PNG")
    assert picture(tmp_path, PAGE) == whole
    for name in ("bar", "radar"):
        hidden = PAGE.replace(f'<svg id="{name}-chart"', f'<svg visibility="hidden" id="{name}-chart"')
        assert hidden != PAGE
        assert picture(tmp_path, hidden) != whole
