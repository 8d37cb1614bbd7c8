"""A real browser for tests of pages: what it shows, what it complains of, and what axe finds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Literal, TypedDict

from playwright.sync_api import Browser, Page, sync_playwright

Scheme = Literal["light", "dark"]

NARROW = 320
"""CSS pixels: a window of 1280 at 400 % zoom, as WCAG's criterion 1.4.10 has it."""


class Finding(TypedDict):
    """One rule of axe that a page breaks."""

    id: str
    help: str
    nodes: list[str]


@dataclass
class Opened:
    """A page in a browser, and what was noted since it was opened."""

    page: Page
    console: list[str] = field(default_factory=list)
    """Every message, refusals by the page's policy and errors of scripts included."""
    requests: list[str] = field(default_factory=list)
    """Every address that was asked for, the page's own first."""

    def axe(self) -> list[Finding]:
        """What axe finds wrong, every rule with the elements that break it."""
        self.page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
        found: list[Finding] = self.page.evaluate(
            """async () => (await axe.run({resultTypes: ["violations"]})).violations.map(
                ({id, help, nodes}) => ({id, help, nodes: nodes.map(node => node.html)}))"""
        )
        return found

    def overflow_px(self) -> int:
        """By how much the page is wider than its window; 0 when nobody has to scroll sideways."""
        wider: int = self.page.evaluate(
            "document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"
        )
        return wider


def browser_program() -> str:
    """The installed browser's path; one has to be there."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next((found for name in names if (found := shutil.which(name))), None)
    assert program is not None, "no browser: scripts/ensure-browser installs one"
    return program


@contextmanager
def running_browser() -> Iterator[Browser]:
    """A browser without a window.

    While it runs, its thread counts as one with an event loop: `asyncio.run` is refused there.
    """
    # Root has no sandbox of Chromium's; the pages are our own.
    own = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_program(),
            args=["--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", *own],
        )
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(
    browser: Browser, address: str, scheme: Scheme = "light", size: tuple[int, int] = (1280, 900)
) -> Iterator[Opened]:
    """An address in a fresh profile of its own.

    Args:
        browser: that runs.
        address: `http://...` or `file:///...`.
        scheme: colours that the reader prefers.
        size: of the window, CSS pixels.
    """
    width, height = size
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": height})
    try:
        found = Opened(context.new_page())
        found.page.on("console", lambda message: found.console.append(message.text))
        found.page.on("pageerror", lambda error: found.console.append(str(error)))
        found.page.on("request", lambda request: found.requests.append(request.url))
        found.page.goto(address)
        yield found
    finally:
        context.close()
