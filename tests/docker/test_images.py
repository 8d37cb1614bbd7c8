"""The images as they are built here, seen from inside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from esac_ag.clock import Deadline
from esac_ag.sandbox.contract import Role, SandboxSpec, Termination
from esac_ag.sandbox.docker import DockerEngine, ImageStore
from esac_ag.sandbox.image_definition import ImageKind
from esac_ag.sandbox.images import ImageReport, ImageState, build_images, list_images
from tests.builders_images import a_runner, remove_images

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def store() -> Iterator[ImageStore]:
    """The engine's images."""
    made = ImageStore()
    yield made
    made.close()


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A definition of our own, so that no other test's images are touched."""
    folder = a_runner(tmp_path_factory.mktemp("runner"))
    (folder / "images" / "rootfs" / "etc" / "motd").write_text("images of a test\n")
    return folder


@pytest.fixture(scope="module")
def report(store: ImageStore, docker_engine: DockerEngine, runner: Path) -> Iterator[ImageReport]:
    """Agent and grader image of that definition."""
    made = build_images(store, docker_engine, runner, progress=lambda _: None)
    yield made
    remove_images(store, *(image.reference for image in made.images))


def _inside(engine: DockerEngine, image: str, *argv: str) -> str:
    """Standard output of a command that root runs in a container of an image."""
    output = bytearray()
    spec = SandboxSpec(
        image=image,
        role=Role.PROBE,
        study="tests",
        attempt="images",
        argv=argv,
        uid=0,
        gid=0,
        cpus=1.0,
        memory_mib=256,
        pids=64,
    )
    with engine.create(spec) as sandbox:
        sandbox.start()
        ended = sandbox.wait(Deadline.after_s(60), sink=output.extend)
    assert (ended.termination, ended.exit_code) == (Termination.EXITED, 0), output.decode()
    return output.decode()


def test_nothing_is_rebuilt_when_nothing_changed(
    store: ImageStore, docker_engine: DockerEngine, runner: Path, report: ImageReport
) -> None:
    """A second build takes no step and finds the same images."""
    steps: list[str] = []
    again = build_images(store, docker_engine, runner, progress=steps.append)
    assert steps == []
    assert {image.state for image in again.images} == {ImageState.UNCHANGED}
    assert [image.digest for image in again.images] == [image.digest for image in report.images]


def test_building_anew_on_the_same_base_gives_the_same_digests(
    store: ImageStore, docker_engine: DockerEngine, runner: Path, report: ImageReport
) -> None:
    """The content digest follows from content: neither time nor the builder's cache is in it."""
    remove_images(store, *(image.reference for image in report.images))
    anew = build_images(store, docker_engine, runner, progress=lambda _: None)
    assert {image.state for image in anew.images} == {ImageState.BUILT}
    assert [image.digest for image in anew.images] == [image.digest for image in report.images]


def test_the_listing_tells_base_and_packages(store: ImageStore, runner: Path, report: ImageReport) -> None:
    """Of each image the reader learns what it stands on, with exact versions."""
    listed = {image.reference: image for image in list_images(store, runner).images}
    for image in report.images:
        assert listed[image.reference].state is ImageState.CURRENT
        assert listed[image.reference].made_from == image.made_from
        names = {package.partition("=")[0] for package in listed[image.reference].packages}
        assert {"git", "python3", "python3-pytest", "ripgrep"} <= names
    bases = [image for image in listed.values() if image.kind is ImageKind.BASE]
    assert ImageState.CURRENT in {base.state for base in bases}


@pytest.mark.parametrize("kind", [ImageKind.AGENT, ImageKind.GRADER])
def test_nobody_becomes_somebody_else(
    docker_engine: DockerEngine, report: ImageReport, kind: ImageKind
) -> None:
    """No file of the images is setuid or setgid."""
    found = _inside(docker_engine, report.of(kind).reference, "find", "/", "-xdev", "-perm", "/6000")
    assert found == ""


@pytest.mark.parametrize("kind", [ImageKind.AGENT, ImageKind.GRADER])
def test_nothing_but_tmp_is_writable_for_everybody(
    docker_engine: DockerEngine, report: ImageReport, kind: ImageKind
) -> None:
    """`/tmp` gives its mode to the memory file system that is mounted there; nothing else is open."""
    argv = ("find", "/", "-xdev", "!", "-type", "l", "-perm", "-0002")
    assert _inside(docker_engine, report.of(kind).reference, *argv) == "/tmp\n"


def test_each_image_holds_its_own_guests(docker_engine: DockerEngine, report: ImageReport) -> None:
    """Guest programs are root's and read-only; the agent's image has no trace of what judges."""
    listing = ("find", "/esac", "-printf", "%p %u %m\n")
    grader = _inside(docker_engine, report.of(ImageKind.GRADER).reference, *listing)
    assert sorted(grader.splitlines()) == [
        "/esac root 755",
        "/esac/hello.py root 755",
        "/esac/notes.txt root 644",
    ]
    named = ("find", "/", "-xdev", "(", "-name", "esac*", "-o", "-name", "prepare.sh", ")")
    agent = _inside(docker_engine, report.of(ImageKind.AGENT).reference, *named)
    assert sorted(agent.splitlines()) == ["/opt/esac", "/opt/esac/esac_world"]
    modes = _inside(
        docker_engine, report.of(ImageKind.AGENT).reference, "find", "/opt/esac", "-printf", "%u %m %TY\n"
    )
    assert set(modes.splitlines()) == {"root 755 2025", "root 644 2025"}


def test_what_the_agent_image_holds_of_ours_is_compiled(
    docker_engine: DockerEngine, report: ImageReport
) -> None:
    """Each module has byte code that is never checked against it."""
    script = (
        "import pathlib\n"
        "root = pathlib.Path('/opt/esac')\n"
        "codes = [*root.rglob('*.pyc')]\n"
        "flags = {int.from_bytes(p.read_bytes()[4:8], 'little') for p in codes}\n"
        "print(len(codes) == len([*root.rglob('*.py')]), flags)\n"
    )
    found = _inside(docker_engine, report.of(ImageKind.AGENT).reference, "python3", "-B", "-c", script)
    assert found == "True {1}\n"


@pytest.mark.parametrize("kind", [ImageKind.AGENT, ImageKind.GRADER])
def test_users_and_mount_points_are_fixed(
    docker_engine: DockerEngine, report: ImageReport, kind: ImageKind
) -> None:
    """The three users exist with their numbers and homes, and the homes are folders of root's."""
    script = "getent passwd 10001 10002 10003 | cut -d: -f1,3,6; stat -c '%n %u %a' /agent /grade /subject"
    assert _inside(docker_engine, report.of(kind).reference, "sh", "-c", script).splitlines() == [
        "agent:10001:/agent",
        "grader:10002:/grade",
        "subject:10003:/subject",
        "/agent 0 755",
        "/grade 0 755",
        "/subject 0 755",
    ]


def test_an_agent_finds_its_tools(docker_engine: DockerEngine, report: ImageReport) -> None:
    """What agents call most is there."""
    tools = "bash git rg patch diff sed awk grep find python python3 sqlite3 less make jq ps file tar gzip"
    script = (
        f"for tool in {tools}; do command -v $tool >/dev/null || echo $tool; done; python3 -c 'import pytest'"
    )
    assert _inside(docker_engine, report.of(ImageKind.AGENT).reference, "bash", "-c", script) == ""


def test_python_need_not_compile_its_library_at_each_start(
    docker_engine: DockerEngine, report: ImageReport
) -> None:
    """The root is read-only, so stale byte code would cost every start of Python."""
    script = (
        "import pathlib, sys\n"
        "found = [p.read_bytes()[4:8] for d in sys.path for p in pathlib.Path(d).rglob('*.pyc')]\n"
        "print(len(found) > 500, {int.from_bytes(flags, 'little') for flags in found})\n"
    )
    # Flag 1: valid by hash, and never checked against the source.
    found = _inside(docker_engine, report.of(ImageKind.AGENT).reference, "python3", "-B", "-c", script)
    assert found == "True {1}\n"
