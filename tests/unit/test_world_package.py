"""The world's package: it stands alone, runs under another name, and its page is complete."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from esac_ag.suite import world
from esac_ag.suite.world import TOOLS, World
from esac_ag.suite.world import building as build
from esac_ag.suite.world.machine import OPERATIONS
from tests.builders_world import a_company

PACKAGE = Path(world.__file__).parent
PAGE = (Path(__file__).parent.parent.parent / "docs" / "suite-world.md").read_text()
MODULES = sorted(PACKAGE.glob("*.py"))
IMPURE = {
    "os",
    "io",
    "pathlib",
    "subprocess",
    "socket",
    "time",
    "random",
    "secrets",
    "tempfile",
    "shutil",
    "uuid",
}
PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
from esac_world import World
world = World(json.load(sys.stdin))
world.call("shell_run", {"command": "ls / | sort -r > listing; cat listing"})
world.call("calendar_find_slot", {"user_ids": ["u-1", "u-2"], "duration_minutes": 60, "date": "2026-03-03"})
world.call("tickets_get", "{broken")
json.dump(world.log, sys.stdout)
"""


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_the_world_imports_the_standard_library_and_its_siblings_alone(module: Path) -> None:
    """No third party, nothing of ours outside of it, and nothing that reads a clock, a file or chance."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            names = {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = {(node.module or "").partition(".")[0]}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 1, f"{module.name} looks outside of its package"
            continue
        else:
            continue
        assert names <= sys.stdlib_module_names
        assert not names & IMPURE


def test_a_copy_of_the_package_behaves_the_same_in_an_isolated_interpreter(tmp_path: Path) -> None:
    """As `esac_world` under `python3 -I`: the log is the same to the byte."""
    shutil.copytree(PACKAGE, tmp_path / "esac_world", ignore=shutil.ignore_patterns("__pycache__"))
    state = a_company()
    done = subprocess.run(
        [sys.executable, "-I", "-c", PROGRAM, str(tmp_path)],
        input=json.dumps(state),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    here = World(state)
    here.call("shell_run", {"command": "ls / | sort -r > listing; cat listing"})
    here.call(
        "calendar_find_slot", {"user_ids": ["u-1", "u-2"], "duration_minutes": 60, "date": "2026-03-03"}
    )
    here.call("tickets_get", "{broken")
    assert json.loads(done.stdout) == here.log


def test_every_tool_has_an_operation_and_every_operation_a_schema() -> None:
    """Neither is forgotten."""
    assert OPERATIONS.keys() == TOOLS.keys()


def test_the_page_lists_every_tool_with_its_arguments() -> None:
    """Required ones bare, optional ones with a question mark, in the order of the schema."""
    for name, schema in TOOLS.items():
        parameters = schema["parameters"]
        arguments = ", ".join(
            argument + ("" if argument in parameters["required"] else "?")
            for argument in parameters["properties"]
        )
        assert f"`{name}({arguments})`" in PAGE


def test_the_page_lists_every_error_code() -> None:
    """A code in the source is a code on the page."""
    source = "\n".join(module.read_text() for module in MODULES)
    codes = set(re.findall(r"(?:Refused|PathRefused)\(\s*\"([a-z-]+)\"", source))
    assert len(codes) > 25
    assert [code for code in sorted(codes) if f"`{code}`" not in PAGE] == []


def test_the_page_lists_every_key_of_the_state() -> None:
    """And an empty state has them all."""
    assert [key for key in build.empty_state() if f"| `{key}` |" not in PAGE] == []


def test_builders_leave_the_given_state_as_it_was() -> None:
    """Every builder returns a new state; an id that is taken is a mistake."""
    empty = build.empty_state()
    before = json.dumps(empty)
    built = build.with_file(build.with_ticket(empty, "T-1", "One"), "/data/deep/x.bin", b"\xff", mode=0o600)
    assert json.dumps(empty) == before
    assert built["fs"]["/data/deep"] == {"kind": "directory", "mode": "0755"}
    assert built["fs"]["/data/deep/x.bin"] == {"kind": "file", "mode": "0600", "base64": "/w=="}
    with pytest.raises(ValueError, match="T-1"):
        build.with_ticket(built, "T-1", "Again")
