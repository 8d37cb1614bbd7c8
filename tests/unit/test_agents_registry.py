"""From a manifest to its agent, and the guide that tells how each is configured."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from esac_ag.agents.chat import ChatAgent
from esac_ag.agents.command_settings import CommandSettings
from esac_ag.agents.registry import make_agent
from esac_ag.agents.script_book import (
    ApplyPatch,
    Delete,
    Fail,
    NoOp,
    Run,
    Say,
    ScriptedSettings,
    Sleep,
    TaskScript,
    WriteFile,
    load_script_book,
)
from esac_ag.agents.scripted import ScriptedAgent
from esac_ag.agents.settings import BASE_URL_VARIABLE, ChatSettings
from esac_ag.agents.tools import TOOLS, schemas
from esac_ag.errors import InputRefused
from esac_ag.failures import FailureClass
from esac_ag.manifest.plan import AgentKind
from tests.builders_agents import a_manifest
from tests.builders_presets import an_agent_file

GUIDE = Path(__file__).parents[2] / "docs" / "agents.md"
BOOK = load_script_book(b'{"format_version": 1, "tasks": {"some-task": {"plays": {"p": []}}}}')
SCRIPTED: dict[str, JsonValue] = {"script": "demo.json"}


def test_each_kind_that_this_version_has_is_made() -> None:
    """The manifest's kind decides."""
    scripted = make_agent(a_manifest(AgentKind.SCRIPTED, settings=SCRIPTED), environ={}, script=BOOK)
    chat = make_agent(a_manifest(), environ={BASE_URL_VARIABLE: "http://127.0.0.1:1/v1"}, script=None)
    assert isinstance(scripted, ScriptedAgent)
    assert isinstance(chat, ChatAgent)


def test_a_command_line_agent_has_a_file_of_its_pinned_version() -> None:
    """Without a file, or with another version's, nothing is launched."""
    manifest = a_manifest(AgentKind.COMMAND, settings={"agent": "codex"})
    with pytest.raises(InputRefused, match="no agent file"):
        make_agent(manifest, environ={})
    with pytest.raises(InputRefused, match="another version of codex"):
        make_agent(manifest, environ={}, file=an_agent_file("codex"))


def test_a_scripted_agent_needs_a_book_for_every_task() -> None:
    """Missing plays are found before the study starts."""
    manifest = a_manifest(AgentKind.SCRIPTED, settings=SCRIPTED, tasks=("some-task", "other-task"))
    with pytest.raises(InputRefused) as caught:
        make_agent(manifest, environ={}, script=BOOK)
    assert caught.value.where == "/tasks/other-task"
    with pytest.raises(InputRefused):
        make_agent(manifest, environ={}, script=None)


@pytest.mark.parametrize("settings", [{}, {"script": 1}, {"script": "x", "speed": 2}])
def test_wrong_settings_of_the_scripted_agent_are_refused(settings: dict[str, JsonValue]) -> None:
    """Unknown and missing settings are findings."""
    with pytest.raises(InputRefused):
        make_agent(a_manifest(AgentKind.SCRIPTED, settings=settings), environ={}, script=BOOK)


def test_the_schemas_that_a_model_sees_are_those_that_are_read() -> None:
    """Names, parameters and required parameters agree with the strict reading of calls."""
    shown: list[Any] = list(schemas(ChatSettings()))
    for schema in shown:
        function = schema["function"]
        tool = TOOLS[function["name"]]
        parameters = function["parameters"]
        assert set(parameters["properties"]) == set(tool.model_fields)
        assert parameters["required"] == [
            name for name, field in tool.model_fields.items() if field.is_required()
        ]
    assert len(shown) == len(TOOLS)


def documented(name: str) -> bool:
    """Whether the guide has a table row that begins with the name as code."""
    return (
        re.search(rf"^\| `{re.escape(name)}` \|", GUIDE.read_text(encoding="utf-8"), re.MULTILINE) is not None
    )


@pytest.mark.parametrize(
    "name",
    [
        *ChatSettings.model_fields,
        *CommandSettings.model_fields,
        *ScriptedSettings.model_fields,
        *TaskScript.model_fields,
    ],
)
def test_every_setting_is_documented(name: str) -> None:
    """A setting that the guide does not tell of is unknown to its users."""
    assert documented(name)


@pytest.mark.parametrize(
    "action", [WriteFile, Run, ApplyPatch, Delete, Sleep, Say, Fail, NoOp], ids=lambda kind: kind.__name__
)
def test_every_action_is_documented_with_its_fields(action: type[WriteFile]) -> None:
    """The row of an action names each of its fields."""
    name = re.search(r"'([a-z_-]+)'", str(action.model_fields["do"].annotation))
    assert name is not None
    row = next(
        line
        for line in GUIDE.read_text(encoding="utf-8").splitlines()
        if line.startswith(f"| `{name.group(1)}` |")
    )
    assert all(f"`{field}`" in row for field in action.model_fields if field != "do")


@pytest.mark.parametrize("kind", list(FailureClass), ids=lambda kind: kind.value)
def test_every_class_of_failure_is_documented(kind: FailureClass) -> None:
    """The table of failures is complete."""
    assert documented(kind.value)


def test_every_default_of_the_chat_agent_is_documented() -> None:
    """The guide tells the default that the code has."""
    text = GUIDE.read_text(encoding="utf-8")
    for name, field in ChatSettings.model_fields.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{name}` |"))
        told = (
            BASE_URL_VARIABLE
            if field.default is None
            else str(getattr(field.default, "value", field.default))
        )
        assert f"`{told.removesuffix('.0')}`" in row
