"""Agent files: what is shipped, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from pydantic import ValidationError

from esac_ag.errors import InputRefused, UsageError
from esac_ag.manifest.agent_file import AgentFile, Hole, PresetName, PypiPackages, filled
from esac_ag.sandbox.agent_files import agent_names, read_agent
from esac_ag.sandbox.agent_images import agent_image_reference, agent_image_references
from esac_ag.sandbox.image_definition import ImageKind, read_definition
from esac_ag.sandbox.packages import locked
from tests.builders_images import RUNNER
from tests.builders_presets import a_launched_file

SHIPPED = ("claude-code", "codex", "mini-swe-agent", "opencode")


@pytest.fixture
def runner(tmp_path: Path) -> Path:
    """A `runner/` folder of our own."""
    shutil.copytree(RUNNER, tmp_path / "runner")
    return tmp_path / "runner"


def _changed(runner: Path, agent: str, /, **changes: object) -> None:
    path = runner / "agents" / f"{agent}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_an_agent_file_is_shipped_for_each_preset() -> None:
    """What the version knows to launch, it knows to install."""
    assert agent_names(RUNNER) == SHIPPED
    assert {read_agent(RUNNER, name).file.preset for name in SHIPPED} == set(PresetName)


def test_mini_swe_agent_and_all_that_it_needs_are_locked() -> None:
    """Every wheel has a digest, the agent's own of the file's version."""
    agent = read_agent(RUNNER, "mini-swe-agent")
    assert isinstance(agent.file.install, PypiPackages)
    pins = locked(agent.requirements or "", "the lock")
    assert f"mini-swe-agent=={agent.file.version}" in pins
    assert len(pins) == len(set(pins.values())) == 82


@pytest.mark.parametrize("line", ["litellm==1.0", "litellm>=1 --hash=sha256:" + "0" * 64, "-r other.txt"])
def test_a_requirement_without_a_lock_is_refused(line: str) -> None:
    """The line is named, so that it can be found."""
    with pytest.raises(InputRefused) as caught:
        locked(f"# a comment\n\n{line}\n", "some.lock")
    assert caught.value.where == "some.lock, line 3"


def test_an_agent_that_is_not_there_is_a_mistake_of_the_command_line() -> None:
    """The reader is told which there are."""
    with pytest.raises(UsageError) as caught:
        read_agent(RUNNER, "../images/base")
    assert caught.value.expected == " or ".join(SHIPPED)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"version": 2}, "version"),
        ({"unknown": 1}, "unknown"),
        ({"program": "../../bin/sh"}, "without `.` and `..`"),
        ({"program": "/bin/sh"}, "program"),
        ({"preset": None}, "either `preset` or `launch`"),
        ({"preset": "aider"}, "preset"),
        ({"install": {"source": "npm", "package": "x", "version": "^1", "integrity": "sha512-x"}}, "version"),
        ({"install": {"source": "curl", "url": "x"}}, "install"),
    ],
)
def test_a_wrong_agent_file_is_refused(runner: Path, changes: dict[str, object], told: str) -> None:
    """With the place of the fault, and never with a traceback."""
    _changed(runner, "codex", **changes)
    with pytest.raises(InputRefused) as caught:
        read_agent(runner, "codex")
    assert told in caught.value.found


@pytest.mark.parametrize("text", ["", "[", '{"name": "codex", "name": "codex"}', "\udcff"])
def test_a_file_that_is_no_strict_json_is_refused(runner: Path, text: str) -> None:
    """Duplicate keys are two opinions."""
    (runner / "agents" / "codex.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputRefused):
        read_agent(runner, "codex")


def test_files_that_an_agent_file_names_have_to_be_there(runner: Path) -> None:
    """A missing lock, a missing folder and another name are told as such."""
    (runner / "agents" / "mini-swe-agent.lock").unlink()
    _changed(runner, "codex", name="other")
    _changed(runner, "opencode", install={"source": "folder", "folder": "nothing"})
    for name in ("mini-swe-agent", "codex", "opencode"):
        with pytest.raises(InputRefused):
            read_agent(runner, name)
    assert list(agent_image_references(read_definition(runner), runner)) == ["claude-code"]


def test_an_image_s_name_follows_from_what_is_in_it(runner: Path) -> None:
    """Package, lock and agent image count; how the agent is launched is no part of the image."""

    def reference(name: str) -> str:
        return agent_image_reference(read_definition(runner), read_agent(runner, name))

    before = {name: reference(name) for name in SHIPPED}
    assert all(before[name].startswith(f"esac-ag/agent-{name}:") for name in SHIPPED)
    _changed(runner, "opencode", preset="codex")
    assert reference("opencode") == before["opencode"]
    lock = runner / "agents" / "mini-swe-agent.lock"
    lock.write_text(lock.read_text().replace("six==1.17.0", "six==1.17.1"))
    _changed(runner, "codex", version_line="codex-cli 1")
    assert reference("mini-swe-agent") != before["mini-swe-agent"]
    assert reference("codex") != before["codex"]
    assert reference("claude-code") == before["claude-code"]
    (runner / "guest" / "agent" / "more.py").write_text("print('more')\n")
    assert reference("claude-code") != before["claude-code"]


def test_agents_are_no_part_of_the_agent_and_grader_image(runner: Path) -> None:
    """A new agent file, or another way to install agents, renames neither."""
    before = read_definition(runner)
    (runner / "images" / "command-agent.Dockerfile").write_text("ARG BASE\nFROM ${BASE}\n")
    _changed(runner, "codex", version="9")
    after = read_definition(runner)
    for kind in (ImageKind.AGENT, ImageKind.GRADER):
        assert before.digest(kind) == after.digest(kind)


@pytest.mark.parametrize(
    ("launch", "told"),
    [
        ({"argv": ["x", "${modell}"]}, "unknown: modell"),
        ({"argv": ["x", "${request}"]}, "has ${request} if, and only if"),
        ({"argv": ["x"], "prompt": "argument"}, "has ${request} if, and only if"),
        ({"files": [{"path": "a"}]}, "either `text` or `data`"),
        ({"files": [{"path": "a", "text": "", "data": 1}]}, "either `text` or `data`"),
        ({"files": [{"path": "a", "data": {"k": ["${nothing}"]}}]}, "unknown: nothing"),
        ({"files": [{"path": "a", "text": ""}], "arms": {"instructions": "a"}}, "name a path twice"),
        ({"environment": {"A-B": "x"}}, "environment"),
    ],
)
def test_a_launch_that_cannot_work_is_refused(launch: dict[str, object], told: str) -> None:
    """At reading, not in the middle of a study."""
    with pytest.raises(ValidationError, match=re.escape(told)):
        a_launched_file(launch)


def test_what_is_filled_in_is_not_looked_through_again() -> None:
    """A request that holds `${token}` gets no token."""
    values = {Hole.REQUEST: "${token} $1", Hole.TOKEN: "secret"}
    assert filled("a ${request} b$c ${token}", values) == "a ${token} $1 b$c secret"


def test_a_published_example_of_a_launch_is_read() -> None:
    """The guide's agent file is one."""
    guide = (RUNNER.parent / "docs" / "agents.md").read_text()
    examples = [text.split("```")[0] for text in guide.split("```json\n")[1:]]
    (example,) = [text for text in examples if '"launch"' in text]
    assert AgentFile.model_validate_json(example).launch is not None
