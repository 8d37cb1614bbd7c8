"""Opens a page in the user's browser, without telling its address to other users of the machine."""

from __future__ import annotations

import os
import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from markupsafe import Markup

_LEADING = Markup(
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Opening</title>'
    '<meta http-equiv="refresh" content="0;url={0}"><a href="{0}">Open the page</a></html>\n'
)


def has_display() -> bool:
    """Whether a browser could show a window here; a text browser would take the terminal."""
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


@contextmanager
def browsing(address: str, *, wanted: bool) -> Iterator[None]:
    """Open an address, if it is wanted and a window can be had.

    A program's arguments can be read by every user, and the address holds the page's secret. So the browser
    is given a file that only its owner can read, and the file leads on; it is removed at the end.

    Args:
        address: of a page on this machine.
        wanted: whether it is to be opened at all.
    """
    if not wanted or not has_display():
        yield
        return
    with tempfile.TemporaryDirectory(prefix="esac-ag-") as folder:
        page = Path(folder) / "open.html"
        page.write_text(_LEADING.format(address), encoding="utf-8")
        webbrowser.open(page.as_uri())
        yield
