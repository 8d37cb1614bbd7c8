"""From an agent file to the preset that launches it."""

from __future__ import annotations

from typing import assert_never

from esac_ag.agents.presets.claude_code import ClaudeCode
from esac_ag.agents.presets.codex import Codex
from esac_ag.agents.presets.command import Command
from esac_ag.agents.presets.contract import Preset
from esac_ag.agents.presets.mini_swe_agent import MiniSweAgent
from esac_ag.agents.presets.opencode import OpenCode
from esac_ag.errors import InputRefused
from esac_ag.manifest.agent_file import AgentFile, PresetName


def preset_of(file: AgentFile) -> Preset:
    """How the agent of a file is launched.

    Raises:
        InputRefused: the file has neither a preset nor a launch.
    """
    if file.launch is not None:
        return Command(file.launch)
    match file.preset:
        case PresetName.CLAUDE_CODE:
            return ClaudeCode()
        case PresetName.CODEX:
            return Codex()
        case PresetName.OPENCODE:
            return OpenCode()
        case PresetName.MINI_SWE_AGENT:
            return MiniSweAgent()
        case None:
            raise InputRefused(
                "An agent is launched in no known way.", where=f"runner/agents/{file.name}.json"
            )
        case _:
            assert_never(file.preset)
