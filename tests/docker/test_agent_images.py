"""Images of command-line agents, built for real, and the real agents launched in them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from esac_ag.agents.presets.choosing import preset_of
from esac_ag.agents.presets.contract import ExitClass
from esac_ag.clock import opaque_id
from esac_ag.conduct.launch import agent_spec
from esac_ag.errors import InfrastructureFailure
from esac_ag.manifest.plan import Limits
from esac_ag.sandbox.agent_files import read_agent
from esac_ag.sandbox.agent_images import agent_image_references, require_version
from esac_ag.sandbox.contract import Role
from esac_ag.sandbox.docker import DockerEngine, ImageStore
from esac_ag.sandbox.image_definition import ImageKind, read_definition
from esac_ag.sandbox.images import ImageReport, ImageState, OurImage, build_images, list_images
from tests.builders_commands import command
from tests.builders_images import RUNNER, remove_images
from tests.builders_presets import REQUEST, a_bundle, a_launched_file, an_agent_file, really_launched
from tests.builders_sandbox import run

pytestmark = [pytest.mark.docker, pytest.mark.slow]

AGENTS = ("claude-code", "codex")


@pytest.fixture(scope="module")
def store() -> Iterator[ImageStore]:
    """The engine's images."""
    made = ImageStore()
    yield made
    made.close()


@pytest.fixture(scope="module")
def report(store: ImageStore, docker_engine: DockerEngine) -> ImageReport:
    """The images of both agents, built if they are missing."""
    return build_images(store, docker_engine, RUNNER, agents=AGENTS, progress=lambda _: None)


def image_of(report: ImageReport, name: str) -> OurImage:
    """The image of one agent."""
    version = an_agent_file(name).version
    return next(image for image in report.images if image.command_agent == f"{name} {version}")


@pytest.mark.parametrize("name", AGENTS)
def test_the_program_tells_its_pinned_version_in_the_container_of_a_run(
    docker_engine: DockerEngine, report: ImageReport, name: str
) -> None:
    """Uid 10001, no capability, read-only root, no network: the program starts, and is the pinned one."""
    file = an_agent_file(name)
    spec = agent_spec(
        image=image_of(report, name).reference,
        limits=Limits(),
        study="tests",
        attempt=opaque_id(),
        role=Role.AGENT,
        environment=(),
    )
    with docker_engine.create(spec) as sandbox:
        sandbox.start()
        ended = run(sandbox, file.program_path, *file.version_argv)
        who = run(sandbox, "sh", "-c", f"id -u; touch {file.folder}/x 2>&1; ls /sys/class/net")
        owners = run(sandbox, "find", "/opt/agents", "-printf", "%u:%g %m\n")
    assert (ended.exit_code, file.version_line in ended.output.decode().splitlines()) == (0, True)
    assert who.output.decode().splitlines()[::2] == ["10001", "lo"]
    assert "Read-only file system" in who.output.decode()
    assert set(owners.output.decode().splitlines()) <= {"root:root 755", "root:root 644"}


def test_a_second_build_takes_no_step(
    store: ImageStore, docker_engine: DockerEngine, report: ImageReport
) -> None:
    """What is there is found by its name: no client is asked, nothing is built."""
    steps: list[str] = []
    again = build_images(store, docker_engine, RUNNER, agents=AGENTS, progress=steps.append)
    assert steps == []
    assert {image.state for image in again.images} == {ImageState.UNCHANGED}
    assert [image.digest for image in again.images] == [image.digest for image in report.images]


def test_the_command_builds_the_agents_that_it_names(report: ImageReport) -> None:
    """`images build --agent` finds the same images, and tells the digests that a manifest seals."""
    argv = [word for name in AGENTS for word in ("--agent", name)]
    done = command("images", "build", *argv, "--json", folder=RUNNER.parent)
    assert done.returncode == 0, done.stderr
    told = {image["command_agent"]: image for image in json.loads(done.stdout)["images"]}
    for name in AGENTS:
        built = image_of(report, name)
        found = told[built.command_agent]
        assert (found["reference"], found["digest"]) == (built.reference, built.digest)


def test_an_agent_that_is_not_described_is_no_image(report: ImageReport) -> None:
    """Exit code 64, and the agents that there are."""
    done = command("images", "build", "--agent", "codecs", folder=RUNNER.parent)
    assert (done.returncode, "codex" in done.stderr) == (64, True), done.stderr


def test_the_listing_tells_agent_and_version(store: ImageStore, report: ImageReport) -> None:
    """An agent's image is current, and known by its content as the others are."""
    listed = {image.reference: image for image in list_images(store, RUNNER).images}
    for name in AGENTS:
        built = image_of(report, name)
        found = listed[built.reference]
        assert (found.state, found.kind) == (ImageState.CURRENT, ImageKind.COMMAND_AGENT)
        assert (found.digest, found.command_agent) == (built.digest, built.command_agent)


def test_an_image_whose_program_tells_another_version_is_not_kept(
    docker_engine: DockerEngine, report: ImageReport
) -> None:
    """A package may be other than its name says; the program's own word counts."""
    image = image_of(report, "codex").reference
    other = an_agent_file("codex").model_copy(update={"version_line": "codex-cli 9.9.9"})
    with pytest.raises(InfrastructureFailure) as caught:
        require_version(docker_engine, other, image)
    assert "codex-cli 0.171.0" in caught.value.found


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Today's definition with an agent of our own: a script that shows what it is given."""
    folder = tmp_path_factory.mktemp("own") / "runner"
    shutil.copytree(RUNNER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "agents" / "mine").mkdir()
    script = '#!/bin/sh\n[ "$1" = --version ] && echo mine 1 && exit\necho "$KEY $*"; cat; echo; exit 4\n'
    (folder / "agents" / "mine" / "mine").write_text(script)
    launch = {"argv": ["${program}", "--model", "${model}"], "environment": {"KEY": "${token}"}}
    file = a_launched_file(launch | {"exit_codes_of_failure": [4]}, program="mine")
    (folder / "agents" / "mine.json").write_text(file.model_dump_json())
    return folder


def test_any_other_program_is_installed_and_launched_as_its_file_says(
    store: ImageStore, docker_engine: DockerEngine, report: ImageReport, runner: Path
) -> None:
    """Built twice from nothing it has the same digest; it gets request, key and model."""
    built = []
    try:
        for _ in range(2):
            image = build_images(
                store, docker_engine, runner, agents=["mine"], progress=lambda _: None
            ).images[-1]
            built.append((image.state, image.digest))
            if len(built) == 1:
                remove_images(store, image.reference)
        file = read_agent(runner, "mine").file
        launched = really_launched(docker_engine, image.reference, file, None)
    finally:
        remove_images(store, image.reference)
    assert built[0] == built[1] == (ImageState.BUILT, image.digest)
    assert launched.ended.output.decode() == f"dummy-token --model m-1\n{REQUEST}\n"
    assert preset_of(file).exit_class(launched.ended.exit_code or 0) is ExitClass.FAILED


def test_nothing_is_kept_of_an_image_whose_program_does_not_start(
    store: ImageStore, docker_engine: DockerEngine, report: ImageReport, runner: Path
) -> None:
    """The name is free again, so the next build does not take the image for a sound one."""
    path = runner / "agents" / "mine.json"
    path.write_text(path.read_text().replace("mine 1", "mine 2"))
    reference = agent_image_references(read_definition(runner), runner)["mine"]
    with pytest.raises(InfrastructureFailure):
        build_images(store, docker_engine, runner, agents=["mine"], progress=lambda _: None)
    assert store.inspect(reference) is None


@pytest.mark.parametrize("name", AGENTS)
def test_the_real_agent_is_launched_with_request_and_arm(
    docker_engine: DockerEngine, report: ImageReport, name: str
) -> None:
    """The first request holds the task word by word, the skill and the line on it, by the dummy key."""
    image = image_of(report, name).reference
    launched = really_launched(docker_engine, image, name, a_bundle(mention=True), reasoning="low")
    assert launched.present
    assert launched.requests, launched.ended.output.decode()
    first = launched.requests[0]
    assert first["key"] in {"dummy-token", "Bearer dummy-token"}
    assert {request["body"]["model"] for request in launched.requests} == {"m-1"}
    assert first["body"]["output_config" if name == "claude-code" else "reasoning"]["effort"] == "low"
    assert any(text == REQUEST for text in _texts(first["body"]))
    for marker in ("marker-skill", "Zebra quokka description.", "SKILL.md fully before you begin"):
        assert marker in launched.text()
    assert "xyzzy" not in launched.text()
    assert preset_of(an_agent_file(name)).exit_class(launched.ended.exit_code or 0) is ExitClass.FAILED


@pytest.mark.parametrize("name", AGENTS)
def test_the_control_s_requests_hold_nothing_of_an_arm_and_no_web_tool(
    docker_engine: DockerEngine, report: ImageReport, name: str
) -> None:
    """Neither skills nor instructions nor tools of the provider's own."""
    launched = really_launched(docker_engine, image_of(report, name).reference, name, None)
    assert launched.requests, launched.ended.output.decode()
    for marker in ("marker-skill", "quokka", "some-arm", "before you begin, and follow it"):
        assert marker not in launched.text()
    tools = {
        str(tool.get("name") or tool.get("type"))
        for request in launched.requests
        for tool in request["body"]["tools"]
    }
    assert [tool for tool in tools if "web" in tool.lower()] == []


def _texts(value: object) -> Iterator[str]:
    """All texts within a body."""
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _texts(item)
        case dict():
            for item in value.values():
                yield from _texts(item)
        case _:
            return
