"""The documentation is true: commands and options exist, JSON is what it says, links lead somewhere."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from esac_ag.cli.app import app
from esac_ag.manifest.draft import Draft
from esac_ag.manifest.package import GraderPackage

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"(?:^|`)(esac-ag [^`#\n]*)", re.MULTILINE)
PLACEHOLDERS = {"MANIFEST", "DRAFT", "FROZEN", "STUDY", "DIR", "ID"}


def commands() -> Iterator[tuple[str, str]]:
    """Every `esac-ag ...` of every page, by page."""
    for page in PAGES:
        for found in COMMAND.findall(page.read_text()):
            yield page.name, found.strip()


def blocks(language: str) -> Iterator[tuple[str, str]]:
    """Every fenced block of a language, by page."""
    for page in PAGES:
        for found, text in FENCE.findall(page.read_text()):
            if found == language:
                yield page.name, text


@pytest.mark.parametrize(("page", "command"), sorted(set(commands())))
def test_every_documented_command_and_option_exists(page: str, command: str) -> None:
    """A page that names a command or an option names one that there is."""
    words = [word.strip("[]") for word in shlex.split(command)[1:]]
    group = typer.main.get_command(app)
    known = {"--help", "--version"}
    for word in words:
        children = getattr(group, "commands", {})
        if word.startswith("-"):
            options = {
                name for parameter in group.params for name in (*parameter.opts, *parameter.secondary_opts)
            }
            assert word.split("=")[0] in options | known, f"{page}: {command}"
        elif children:
            default = getattr(group, "default_command", None)
            assert word in children or default, f"{page}: {command}"
            group = children[word if word in children else default]


def test_every_command_is_documented() -> None:
    """The README's table names every command."""
    text = (ROOT / "README.md").read_text()
    group = typer.main.get_command(app)
    missing = [name for name in getattr(group, "commands", {}) if f"`{name}" not in text]
    assert missing == []


@pytest.mark.parametrize(("page", "text"), list(blocks("json")))
def test_documented_json_is_what_its_page_says(page: str, text: str) -> None:
    """Whole drafts and grader packages validate; fragments are at least JSON."""
    data = json.loads(text if text.startswith("{") else f"{{{text}}}")
    if data.get("status") == "draft":
        Draft.model_validate_json(text)
    elif "checks" in data:
        GraderPackage.model_validate_json(text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    """Relative links name files that exist."""
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    missing = [link for link in links if not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_tests_that_pages_name_exist(page: Path) -> None:
    """A page that points to a file of the repository points to one that there is."""
    named = re.findall(r"`((?:esac_ag|tests|runner|docs|manifests|scripts)/[\w./*-]+)`", page.read_text())
    missing = [name for name in named if not list(ROOT.glob(name))]
    assert missing == []
