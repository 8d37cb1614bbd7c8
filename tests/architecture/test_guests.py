"""Guest programs stand on the standard library alone."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "runner" / "guest"
GUESTS = sorted(FOLDER.glob("*.py"))
AGENT_GUESTS = sorted((FOLDER / "agent").glob("*.py"))
_OWN = {path.stem for path in GUESTS}


def imported(tree: ast.AST) -> set[str]:
    """Top-level names of everything that a module imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").partition(".")[0])
    return names


@pytest.mark.parametrize("path", GUESTS, ids=lambda path: str(path.name))
def test_a_guest_imports_the_standard_library_and_its_neighbours_only(path: Path) -> None:
    """Nothing of ours on the host, and nothing that would have to be installed in an image."""
    foreign = imported(ast.parse(path.read_text())) - sys.stdlib_module_names - _OWN
    assert foreign == set()


@pytest.mark.parametrize("path", AGENT_GUESTS, ids=lambda path: str(path.name))
def test_a_guest_of_the_agent_imports_the_standard_library_and_the_world_only(path: Path) -> None:
    """Its image holds nothing else of ours, and nothing that judges."""
    own = {neighbour.stem for neighbour in AGENT_GUESTS} | {"esac_world"}
    assert imported(ast.parse(path.read_text())) - sys.stdlib_module_names - own == set()


def test_programs_of_the_subject_load_nothing_of_the_judge() -> None:
    """What runs beside the submission shares no module with what decides."""
    for path in (path for path in GUESTS if path.stem.startswith("subject_")):
        ours = imported(ast.parse(path.read_text())) & _OWN
        assert all(name.startswith("subject_") for name in ours), path.name


def test_the_architecture_is_looked_at() -> None:
    """The folder is not empty, so the tests above say something."""
    assert {"judge", "esac_checks", "subject_call"} <= _OWN
    assert "world_server" in {path.stem for path in AGENT_GUESTS}
