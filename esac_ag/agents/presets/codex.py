"""Codex: OpenAI Responses, `$CODEX_HOME`, request on standard input."""

from __future__ import annotations

import json

from esac_ag.agents.contract import AGENT_HOME
from esac_ag.agents.presets.contract import (
    PROVIDER,
    REQUEST_FILE,
    TOKEN_VARIABLE,
    ExitClass,
    Order,
    Preparation,
    class_of,
    with_request_on_stdin,
)
from esac_ag.agents.presets.placing import Places, place
from esac_ag.manifest.agent_file import WireProtocol
from esac_ag.tree import FileTree

CODEX_HOME = ".codex"
"""Below HOME. It has to exist, to be writable, and not to lie in a folder of temporary files."""

_PLACES = Places(skills=f"{CODEX_HOME}/skills", instructions=f"{CODEX_HOME}/AGENTS.md")


class Codex:
    """Launches Codex."""

    protocol = WireProtocol.RESPONSES

    def prepare(self, order: Order) -> Preparation:
        """Command, environment and files of one launch."""
        placed = place(order.bundle, _PLACES)
        argv = (
            *(order.file.program_path, "exec", "--json", "--skip-git-repo-check", "--strict-config"),
            # Its own sandbox cannot be made inside of a hardened container, which is the sandbox.
            *("--dangerously-bypass-approvals-and-sandbox", "-"),
        )
        files = {f"{CODEX_HOME}/config.toml": configuration(order), REQUEST_FILE: order.request}
        return Preparation(
            argv=with_request_on_stdin(argv),
            environment={"CODEX_HOME": f"{AGENT_HOME}/{CODEX_HOME}", TOKEN_VARIABLE: order.token},
            home=placed.home.merged(FileTree.of_text(files)),
            placed=placed.paths,
        )

    def exit_class(self, code: int) -> ExitClass:
        """What an exit code says."""
        return class_of(code, {1: ExitClass.FAILED, 2: ExitClass.MISUSED})


def configuration(order: Order) -> str:
    """The text of `config.toml`."""
    effort = "" if order.reasoning is None else f"model_reasoning_effort = {_quoted(order.reasoning)}\n"
    return f"""\
{effort}model = {_quoted(order.model)}
model_provider = "{PROVIDER}"
web_search = "disabled"
check_for_update_on_startup = false

[model_providers.{PROVIDER}]
name = "{PROVIDER}"
base_url = {_quoted(order.base_url + "/v1")}
wire_api = "responses"
env_key = "{TOKEN_VARIABLE}"
request_max_retries = 1
stream_max_retries = 1

[analytics]
enabled = false

[features]
plugins = false
apps = false
# By default a refused connection is tried again without end.
unbounded_connection_retries = false

[skills]
bundled = {{ enabled = false }}
"""


def _quoted(text: str) -> str:
    """A basic string of TOML: as in JSON, but that a delete character is escaped too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
