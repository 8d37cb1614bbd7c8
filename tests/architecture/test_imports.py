"""Properties of the whole code base that no single test would notice."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import esac_ag
from esac_ag.agents.contract import ArmBundle
from esac_ag.agents.instructions import equipment
from esac_ag.conduct.launch import _contents
from esac_ag.rooms.bundles import read_bundle
from esac_ag.rooms.graders import load_grader
from esac_ag.rooms.tasks import load_task
from esac_ag.rooms.workspace import Workspace

ROOT = Path(__file__).parent.parent.parent
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(esac_ag.__path__, "esac_ag.")
    if "_rooms" not in module.name
)
TASKS = sorted(path.name for path in (ROOT / "tasks").iterdir() if path.is_dir())


@dataclass(frozen=True, slots=True)
class Imported:
    """What importing every module did."""

    home: Path
    errors: str
    said: list[str]
    """Lines of standard output, the last of which names all modules that there are then."""


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    """Import every module in a process of its own, whose home and working folder are empty."""
    home = tmp_path_factory.mktemp("home")
    program = """import importlib, sys
for name in sys.argv[1:]: importlib.import_module(name)
print(*sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-B", "-c", program, *MODULES],
        cwd=home,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Imported(home, done.stderr, done.stdout.splitlines())


def test_importing_every_module_writes_and_prints_nothing(imported: Imported) -> None:
    """Imports do nothing: no folder, no file, no output."""
    assert (imported.errors, len(imported.said)) == ("", 1)
    assert list(imported.home.iterdir()) == []


def test_no_module_imports_what_takes_a_second(imported: Imported) -> None:
    """`scipy.stats` waits for the one number that needs it; reports and audits do not wait for it."""
    names = imported.said[-1].split()
    assert "scipy.special" in names
    assert "scipy.stats" not in names


def test_the_command_line_imports_nothing_that_costs() -> None:
    """`--help` needs none of the libraries that take long to import."""
    program = "import sys; import esac_ag.cli.app; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = {"docker", "numpy", "scipy", "pydantic", "httpx", "git", "jinja2", "jsonschema", "requests"}
    assert heavy.isdisjoint(done.stdout.split())


@pytest.mark.parametrize("task_id", TASKS)
@pytest.mark.parametrize("arm", ["neutral", "current-restraint", "markskill"])
def test_no_file_of_a_grader_enters_an_agents_container(task_id: str, arm: str) -> None:
    """Neither a name nor the content of any private file is among what is put into the container."""
    workspace = Workspace(ROOT)
    task, grader = load_task(workspace.tasks / task_id), load_grader(workspace, task_id)
    bundle = None if arm == "neutral" else ArmBundle(arm, "skill", read_bundle(workspace.arms / arm))
    put = _contents(task.snapshot, equipment(bundle)).files()
    private = {node.data for node in grader.files.files().values() if node.data.strip()}
    assert [path for path, node in put.items() if node.data in private] == []
    names = {path.rsplit(b"/", 1)[-1] for path in put}
    assert names.isdisjoint({b"grader.json", b"oracle.md", b"checks.py"})
    assert (b"home/" in b" ".join(put)) == (arm != "neutral")


def test_every_module_has_one_name_that_tells_what_it_is_for() -> None:
    """No `utils`, no `helpers`, no `common`, no `misc`."""
    banned = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert [name for name in MODULES if banned & set(name.split("."))] == []
