"""The wheel: built without a network, it holds the rooms, and lays out a workspace by itself."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from esac_ag.rooms.workspace import ROOMS

REPOSITORY = Path(__file__).resolve().parent.parent.parent

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel's contents, as an installer would unpack them."""
    dist, site = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", dist],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
    )
    (wheel,) = dist.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


def run(installed: Path, folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m esac_ag` from the wheel's contents."""
    return subprocess.run(
        [sys.executable, "-P", "-B", "-m", "esac_ag", *argv],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )


def is_cache(path: Path) -> bool:
    """Whether a path belongs to what tools leave behind."""
    return path.suffix == ".pyc" or any(part.endswith(("_cache", "__pycache__")) for part in path.parts)


def kept(folder: Path) -> dict[str, bytes]:
    """Contents by path of all files, caches left out."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not is_cache(path.relative_to(folder))
    }


def test_the_wheel_holds_the_package_and_no_cache(installed: Path) -> None:
    """Every module and `py.typed`; neither byte code nor tests nor results."""
    names = {path.relative_to(installed).as_posix() for path in installed.rglob("*") if path.is_file()}
    package = {f"esac_ag/{name}" for name in kept(REPOSITORY / "esac_ag")}
    assert package <= names
    assert [name for name in names if is_cache(Path(name))] == []
    tops = {Path(name).parts[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"esac_ag"}
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_in_the_wheel_byte_for_byte(installed: Path, room: str) -> None:
    """Schemas, tasks, graders, arms and runner are those of the repository."""
    shipped = kept(installed / "esac_ag" / "_rooms" / room)
    assert shipped == kept(REPOSITORY / room)
    assert shipped != {}


def test_a_workspace_is_laid_out_from_the_wheel_alone(installed: Path, tmp_path: Path) -> None:
    """`init` finds the rooms beside the unpacked package, and the new workspace is sound."""
    made = run(installed, tmp_path, "init", "space")
    assert made.returncode == 0, made.stderr
    space = tmp_path / "space"
    for room in ROOMS:
        assert kept(space / room) == kept(REPOSITORY / room), room
    assert {*ROOMS, "results", ".gitignore"} <= {path.name for path in space.iterdir()}
    assert [path for path in space.rglob("*") if is_cache(path.relative_to(space))] == []
    assert (space / "manifests" / "schema" / "manifest-v2.schema.json").is_file()
    for argv in (("schema", "--check"), ("task", "list"), ("arm", "list")):
        done = run(installed, space, *argv)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_that_ran_is_the_wheels(installed: Path, tmp_path: Path) -> None:
    """Not the checkout that this test lies in."""
    found = subprocess.run(
        [sys.executable, "-P", "-B", "-c", "import esac_ag; print(esac_ag.__file__)"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(found.stdout.strip()) == installed / "esac_ag" / "__init__.py"
