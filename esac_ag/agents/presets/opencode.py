"""OpenCode: OpenAI chat completions, `~/.config/opencode`, request on standard input.

As an argument it would quote a request that holds spaces.
"""

from __future__ import annotations

import json

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

FOLDER = ".config/opencode"

_PLACES = Places(skills=f"{FOLDER}/skills", instructions=f"{FOLDER}/AGENTS.md")


class OpenCode:
    """Launches OpenCode."""

    protocol = WireProtocol.CHAT

    def prepare(self, order: Order) -> Preparation:
        """Command, environment and files of one launch."""
        placed = place(order.bundle, _PLACES)
        # A title of our own spares a request to the model.
        argv = (
            *(order.file.program_path, "run", "--format", "json", "--title", "attempt"),
            *("--model", f"{PROVIDER}/{order.model}"),
        )
        files = {f"{FOLDER}/opencode.json": configuration(order), REQUEST_FILE: order.request}
        return Preparation(
            argv=with_request_on_stdin(argv),
            environment={
                TOKEN_VARIABLE: order.token,
                "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
            },
            home=placed.home.merged(FileTree.of_text(files)),
            placed=placed.paths,
        )

    def exit_class(self, code: int) -> ExitClass:
        """What an exit code says; wrong arguments end it with 1 too."""
        return class_of(code, {1: ExitClass.FAILED})


def configuration(order: Order) -> str:
    """The text of `opencode.json`."""
    model = f"{PROVIDER}/{order.model}"
    options = {} if order.reasoning is None else {"options": {"reasoningEffort": order.reasoning}}
    return json.dumps(
        {
            "autoupdate": False,
            "share": "disabled",
            "model": model,
            "small_model": model,
            "permission": {"*": "allow", "webfetch": "deny", "websearch": "deny"},
            "enabled_providers": [PROVIDER],
            "provider": {
                PROVIDER: {
                    "npm": "@ai-sdk/openai-compatible",
                    "name": PROVIDER,
                    "options": {
                        "baseURL": f"{order.base_url}/v1",
                        "apiKey": f"{{env:{TOKEN_VARIABLE}}}",
                    },
                    "models": {order.model: {"name": order.model, **options}},
                }
            },
        },
        indent=2,
    )
