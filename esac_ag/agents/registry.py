"""From a manifest's plan to the agent that carries it out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from esac_ag.agents.contract import Agent
from esac_ag.agents.script_book import ScriptBook, ScriptedSettings
from esac_ag.agents.scripted import ScriptedAgent
from esac_ag.errors import InputRefused
from esac_ag.manifest.agent_file import AgentFile
from esac_ag.manifest.plan import AgentKind, Manifest


def make_agent(
    manifest: Manifest,
    *,
    environ: Mapping[str, str],
    script: ScriptBook | None = None,
    file: AgentFile | None = None,
) -> Agent:
    """The agent of a manifest, ready to act in many containers.

    Args:
        manifest: the sealed plan.
        environ: the host's environment: the model endpoint's address and key.
        script: the book that `agent.settings.script` names; only kind `scripted` has one.
        file: the agent file that `agent.settings.agent` names; only kind `command` has one.

    Raises:
        UsageError: the environment lacks something.
        InputRefused: the agent's settings, or the book, cannot be used.
        SubstitutionRefused: the book is not the sealed one.
    """
    kind = manifest.agent.kind
    match kind:
        case AgentKind.SCRIPTED:
            return _scripted(manifest, script)
        case AgentKind.CHAT:
            # httpx and what it brings cost a tenth of a second that scripted runs need not pay.
            from esac_ag.agents.chat import make_chat_agent  # noqa: PLC0415

            return make_chat_agent(manifest, environ)
        case AgentKind.COMMAND:
            # The gateway's server costs as much again.
            from esac_ag.agents.command import make_command_agent  # noqa: PLC0415

            return make_command_agent(manifest, _described(file), environ)
        case _:
            assert_never(kind)


def _described(file: AgentFile | None) -> AgentFile:
    if file is None:
        raise InputRefused(
            "The command-line agent has no agent file",
            where="/agent/settings/agent",
            remedy="name one of runner/agents/ (docs/agents.md)",
        )
    return file


def _scripted(manifest: Manifest, script: ScriptBook | None) -> ScriptedAgent:
    settings = ScriptedSettings.read(manifest.agent.settings)
    if script is None:
        raise InputRefused(
            "The scripted agent has no script book",
            where="/agent/settings/script",
            found=settings.script,
            remedy="name a readable script book, relative to the manifest",
        )
    book = settings.accept(script)
    for task in manifest.tasks:
        book.script_for(task.id)
    return ScriptedAgent(book)
