"""`esac-ag review serve` as a person runs it: an address, a browser that is told it privately, Ctrl-C."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import webbrowser
from pathlib import Path

import httpx
import pytest

from esac_ag.cli import main
from esac_ag.pages.browsing import browsing, has_display
from tests.builders_review import Reviewed
from tests.builders_review_page import a_review_with_hostile_text

# Notes what it was called with, and the page that it was given.
BROWSER = """#!/bin/sh
printf '%s' "$1" > "{folder}/address"
cat "${{1#file://}}" > "{folder}/page.part" && mv "{folder}/page.part" "{folder}/page"
"""


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> Reviewed:
    """A prepared review."""
    return a_review_with_hostile_text(tmp_path_factory.mktemp("review") / "workspace")


def test_it_prints_an_address_that_works_until_ctrl_c(reviewed: Reviewed) -> None:
    """And ends with a word on what was saved, as done."""
    argv = ["review", "serve", str(reviewed.path), "--reviewer", "ada", "--no-browser"]
    command = [sys.executable, "-u", "-m", "esac_ag", *argv]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        url = serving.stdout.readline().split()[-1]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[0-9a-f]{64}/", url)
        assert "Packets to review" in httpx.get(url, trust_env=False).text
        serving.send_signal(signal.SIGINT)
        said, complaint = serving.communicate(timeout=60)
    assert serving.returncode == 0
    assert "every form that was saved is in" in said
    assert complaint == ""


def test_a_name_that_does_not_review_is_told_at_once(
    reviewed: Reviewed, capsys: pytest.CaptureFixture[str]
) -> None:
    """With those who do; nothing is served."""
    assert main(["review", "serve", str(reviewed.path), "--reviewer", "eve", "--no-browser"]) == 64
    assert "ada or ben" in capsys.readouterr().err


def test_a_browser_gets_the_address_in_a_private_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not among its arguments, which every user of the machine can read; the file is gone afterwards."""
    program = tmp_path / "browser"
    program.write_text(BROWSER.format(folder=tmp_path))
    program.chmod(0o700)
    monkeypatch.setenv("BROWSER", f"{program} %s")
    monkeypatch.setattr(webbrowser, "_tryorder", None)  # looks for browsers again
    monkeypatch.setenv("DISPLAY", ":0")
    address = "http://127.0.0.1:1/" + "a" * 64 + "/"
    with browsing(address, wanted=True):
        told = Path((tmp_path / "address").read_text().removeprefix("file://"))
        assert told.parent.stat().st_mode & 0o077 == 0
        assert f'content="0;url={address}"' in (tmp_path / "page").read_text()
    assert address not in str(told)
    assert not told.exists()


@pytest.mark.parametrize(("wanted", "display"), [(False, ":0"), (True, "")])
def test_no_browser_is_opened_when_none_is_wanted_or_can_be_seen(
    *, wanted: bool, display: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text browser would take the terminal."""
    program = tmp_path / "browser"
    program.write_text(BROWSER.format(folder=tmp_path))
    program.chmod(0o700)
    monkeypatch.setenv("BROWSER", f"{program} %s")
    monkeypatch.setattr(webbrowser, "_tryorder", None)
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert has_display() is bool(display)
    with browsing("http://127.0.0.1:1/", wanted=wanted):
        assert list(tmp_path.iterdir()) == [program]
