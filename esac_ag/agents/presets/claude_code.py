"""Claude Code: Anthropic Messages, `~/.claude`, request on standard input."""

from __future__ import annotations

from esac_ag.agents.presets.contract import (
    REQUEST_FILE,
    ExitClass,
    Order,
    Preparation,
    class_of,
    with_request_on_stdin,
)
from esac_ag.agents.presets.placing import Places, place
from esac_ag.manifest.agent_file import WireProtocol
from esac_ag.tree import FileTree

TOOLS = ("Bash", "Edit", "Glob", "Grep", "Read", "Skill", "Write")
"""What works in a container without network, named so that a later default adds nothing to one arm only."""

_PLACES = Places(
    skills=".claude/skills",
    instructions=".claude/CLAUDE.md",
    first_files=(b"CLAUDE.md", b"AGENTS.md"),
)


class ClaudeCode:
    """Launches Claude Code."""

    protocol = WireProtocol.MESSAGES

    def prepare(self, order: Order) -> Preparation:
        """Command, environment and files of one launch."""
        placed = place(order.bundle, _PLACES)
        argv = (
            *(order.file.program_path, "-p", "--model", order.model),
            *("--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"),
            *("--tools", ",".join(TOOLS)),
            *(() if order.reasoning is None else ("--effort", order.reasoning)),
        )
        return Preparation(
            argv=with_request_on_stdin(argv),
            environment=_environment(order),
            home=placed.home.merged(FileTree.of_text({REQUEST_FILE: order.request})),
            placed=placed.paths,
        )

    def exit_class(self, code: int) -> ExitClass:
        """What an exit code says; wrong arguments end it with 1 too."""
        return class_of(code, {1: ExitClass.FAILED})


def _environment(order: Order) -> dict[str, str]:
    # The gateway lets one model through: whatever else the agent would ask for small work is named the same.
    models = ("DEFAULT_HAIKU", "DEFAULT_SONNET", "DEFAULT_OPUS", "SMALL_FAST")
    return {
        "ANTHROPIC_BASE_URL": order.base_url,
        "ANTHROPIC_API_KEY": order.token,
        **{f"ANTHROPIC_{name}_MODEL": order.model for name in models},
        "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS": "1",
        # Without it a run takes 14 s longer where nothing answers.
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        # By default it tries for more than two minutes, even after a refused key.
        "CLAUDE_CODE_MAX_RETRIES": "1",
    }
