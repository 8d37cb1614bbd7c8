"""What defines the images, and what their names follow from."""

from __future__ import annotations

import io
import os
import re
import shutil
import tarfile
from pathlib import Path

import pytest

from esac_ag.errors import InputRefused, UsageError
from esac_ag.sandbox.image_definition import ImageKind, archive_of, read_definition, without_tag
from esac_ag.sandbox.images import agent_reference, grader_reference
from esac_ag.suite import world
from tests.builders_images import RUNNER, a_runner, unpinned_digest

WORLD = Path(world.__file__).parent


def _members(context: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(context)) as outer:
        overlay = outer.extractfile("overlay.tar")
        assert overlay is not None
        with tarfile.open(fileobj=io.BytesIO(overlay.read())) as inner:
            return {member.name: member for member in inner.getmembers()}


def test_the_shipped_base_is_pinned_by_digest() -> None:
    """A tag alone could mean another image tomorrow."""
    assert re.fullmatch(r"\S+@sha256:[0-9a-f]{64}", read_definition(RUNNER).base.reference)


def test_names_follow_from_content_alone(tmp_path: Path) -> None:
    """Two checkouts with other times and line ends call for the same images."""
    first, second = a_runner(tmp_path / "a"), a_runner(tmp_path / "b")
    script = second / "images" / "prepare.sh"
    script.write_bytes(script.read_bytes().replace(b"\n", b"\r\n"))
    for path in second.rglob("*"):
        os.utime(path, (1, 1))
    assert agent_reference(first) == agent_reference(second)
    assert grader_reference(first) == grader_reference(second)


def test_contexts_follow_from_content_alone(tmp_path: Path) -> None:
    """The builder is sent the same bytes by two checkouts, so it makes the same layers."""
    first, second = a_runner(tmp_path / "a"), a_runner(tmp_path / "b")
    (second / "guest" / "notes.txt").chmod(0o600)
    one, two = read_definition(first), read_definition(second)
    assert one.layer_context(ImageKind.GRADER) == two.layer_context(ImageKind.GRADER)
    assert one.base_context() == two.base_context()


def test_a_changed_guest_program_renames_the_grader_image_only(tmp_path: Path) -> None:
    """The agent image holds none of the grader's programs, so it has no reason to change."""
    runner = a_runner(tmp_path / "a")
    agent, grader = agent_reference(runner), grader_reference(runner)
    (runner / "guest" / "hello.py").write_text("print('changed')\n")
    assert agent_reference(runner) == agent
    assert grader_reference(runner) != grader


def test_a_changed_guest_program_of_the_agent_renames_the_agent_image_only(tmp_path: Path) -> None:
    """The grader image holds none of the agent's programs."""
    runner = a_runner(tmp_path / "a")
    agent, grader = agent_reference(runner), grader_reference(runner)
    (runner / "guest" / "agent" / "tool.py").write_text("print('changed')\n")
    assert agent_reference(runner) != agent
    assert grader_reference(runner) == grader


def test_a_changed_world_renames_the_agent_image_only(tmp_path: Path) -> None:
    """Two runs under one image name met the same mock environment."""
    runner, changed = a_runner(tmp_path / "a"), tmp_path / "world"
    shutil.copytree(WORLD, changed, ignore=shutil.ignore_patterns("__pycache__"))
    same = read_definition(runner, changed)
    assert same.digest(ImageKind.AGENT) == read_definition(runner).digest(ImageKind.AGENT)
    with (changed / "machine.py").open("a") as file:
        file.write("# another world\n")
    other = read_definition(runner, changed)
    assert other.reference(ImageKind.AGENT) != same.reference(ImageKind.AGENT)
    assert other.reference(ImageKind.GRADER) == same.reference(ImageKind.GRADER)


@pytest.mark.parametrize("changed", ["prepare.sh", "base.json", "agent.Dockerfile", "rootfs/etc/passwd"])
def test_a_changed_definition_renames_the_agent_image(tmp_path: Path, changed: str) -> None:
    """Every file that the image is made from is part of its name."""
    runner = a_runner(tmp_path / "a")
    before = agent_reference(runner)
    path = runner / "images" / changed
    path.write_text(path.read_text() + "\n")
    assert agent_reference(runner) != before


def test_byte_code_of_guests_is_no_input(tmp_path: Path) -> None:
    """Running a guest program on the host leaves byte code that must neither enter nor rename an image."""
    runner = a_runner(tmp_path / "a")
    before = grader_reference(runner)
    (runner / "guest" / "__pycache__").mkdir()
    (runner / "guest" / "__pycache__" / "hello.pyc").write_bytes(b"\0")
    assert grader_reference(runner) == before


def test_each_context_holds_its_own_guest_programs(tmp_path: Path) -> None:
    """What judges is never in the image of what is judged, and the world is whole."""
    definition = read_definition(a_runner(tmp_path / "a"))
    agent, grader = (_members(definition.layer_context(kind)) for kind in (ImageKind.AGENT, ImageKind.GRADER))
    assert set(grader) - set(agent) == {"esac", "esac/hello.py", "esac/notes.txt"}
    world = {f"opt/esac/esac_world/{path.name}" for path in WORLD.glob("*.py")}
    assert set(agent) - set(grader) == {"opt", "opt/esac", "opt/esac/tool.py", "opt/esac/esac_world", *world}


def test_members_belong_to_root_and_only_programs_are_executable(tmp_path: Path) -> None:
    """Owner and mode never come from the checkout."""
    members = _members(read_definition(a_runner(tmp_path / "a")).layer_context(ImageKind.GRADER))
    assert {(member.uid, member.gid) for member in members.values()} == {(0, 0)}
    assert members["esac/hello.py"].mode == 0o755
    assert members["esac/notes.txt"].mode == 0o644
    assert {"agent", "grade", "subject"} <= {name for name, member in members.items() if member.isdir()}


def test_parent_folders_come_before_their_files() -> None:
    """A builder that meets a file first would make its folder with the time of the build."""
    with tarfile.open(fileobj=io.BytesIO(archive_of({"a/b/c": b""}, 7, folders=("z",)))) as archive:
        assert [(member.name, member.mtime) for member in archive] == [
            ("a", 7),
            ("a/b", 7),
            ("a/b/c", 7),
            ("z", 7),
        ]


@pytest.mark.parametrize("name", ["debian", "debian:12", "registry.invalid:5000/a/b", "localhost:5000/a:tag"])
def test_a_tag_beside_a_digest_is_dropped_and_a_port_is_kept(name: str) -> None:
    """The digest says which image it is; some engines refuse both."""
    digest = unpinned_digest()
    expected = {"debian:12": "debian", "localhost:5000/a:tag": "localhost:5000/a"}.get(name, name)
    assert without_tag(f"{name}@{digest}") == f"{expected}@{digest}"


@pytest.mark.parametrize(
    "reference", ["", "debian", "debian:12", "debian@sha256:12", "a b@sha256:" + "0" * 64]
)
def test_a_base_without_a_digest_is_refused(reference: str) -> None:
    """An unpinned base is the user's mistake: exit code 64."""
    with pytest.raises(UsageError) as caught:
        without_tag(reference)
    assert "sha256" in caught.value.expected


def test_a_missing_file_of_the_definition_is_named(tmp_path: Path) -> None:
    """The reader is told which file to restore."""
    runner = a_runner(tmp_path / "a")
    (runner / "images" / "grader.Dockerfile").unlink()
    with pytest.raises(InputRefused) as caught:
        read_definition(runner)
    assert caught.value.where.endswith("grader.Dockerfile")


@pytest.mark.parametrize(
    "change", [{"packages": ["a; rm"]}, {"packages": "git"}, {"epoch_s": -1}, {"more": 1}, {"left_out": [1]}]
)
def test_a_wrong_base_definition_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    """Package names reach a shell and a package manager: only well-formed ones pass."""
    runner = a_runner(tmp_path / "a", base=change)
    with pytest.raises(InputRefused) as caught:
        read_definition(runner)
    assert next(iter(change)) in caught.value.found
