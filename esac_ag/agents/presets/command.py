"""Any other program: what its agent file says under `launch`, with the holes filled."""

from __future__ import annotations

import json

from pydantic import JsonValue

from esac_ag.agents.contract import AGENT_HOME, AGENT_WORKSPACE
from esac_ag.agents.presets.contract import (
    REQUEST_FILE,
    ExitClass,
    Order,
    Preparation,
    class_of,
    with_request_on_stdin,
)
from esac_ag.agents.presets.placing import Places, place
from esac_ag.errors import InputRefused
from esac_ag.manifest.agent_file import ConfigFile, Hole, Launch, PromptBy, filled
from esac_ag.tree import FileTree

LONGEST_ARGUMENT_BYTES = 120_000
"""Below the kernel's 131,072 for one argument."""


class Command:
    """Launches the program of an agent file that has no preset."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self.protocol = launch.protocol

    def prepare(self, order: Order) -> Preparation:
        """Command, environment and files of one launch."""
        launch = self._launch
        _require_way_for_reasoning(launch, order)
        placed = place(order.bundle, Places(launch.arms.skills, launch.arms.instructions))
        request = "\n\n".join(part for part in (order.request, placed.in_request) if part)
        values = _values(order, request)
        argv = tuple(filled(text, values) for text in launch.argv)
        files = {file.path: _content(file, values) for file in launch.files}
        if launch.prompt is PromptBy.ARGUMENT:
            _require_argument(argv, order)
        else:
            argv = with_request_on_stdin(argv)
            files[REQUEST_FILE] = request
        return Preparation(
            argv=argv,
            environment={name: filled(text, values) for name, text in launch.environment.items()},
            home=placed.home.merged(FileTree.of_text(files)),
            placed=placed.paths,
            log=None if launch.log.file is None else f"{AGENT_HOME}/{launch.log.file}",
        )

    def exit_class(self, code: int) -> ExitClass:
        """What an exit code says, by the agent file."""
        return class_of(code, dict.fromkeys(self._launch.exit_codes_of_failure, ExitClass.FAILED))


def _values(order: Order, request: str) -> dict[Hole, str]:
    return {
        Hole.PROGRAM: order.file.program_path,
        Hole.REQUEST: request,
        Hole.MODEL: order.model,
        Hole.BASE_URL: order.base_url,
        Hole.TOKEN: order.token,
        Hole.REASONING: order.reasoning or "",
        Hole.HOME: AGENT_HOME,
        Hole.WORKSPACE: AGENT_WORKSPACE,
    }


def _content(file: ConfigFile, values: dict[Hole, str]) -> str:
    if file.text is not None:
        return filled(file.text, values)
    return json.dumps(_filled_within(file.data, values), indent=2, ensure_ascii=False)


def _filled_within(value: JsonValue, values: dict[Hole, str]) -> JsonValue:
    match value:
        case str():
            return filled(value, values)
        case list():
            return [_filled_within(item, values) for item in value]
        case dict():
            return {key: _filled_within(item, values) for key, item in value.items()}
        case _:
            return value


def _require_way_for_reasoning(launch: Launch, order: Order) -> None:
    hole = f"${{{Hole.REASONING}}}"
    if order.reasoning is not None and not any(hole in text for text in launch.texts()):
        raise InputRefused(
            "The program cannot be told how hard the model is to think.",
            where=f"runner/agents/{order.file.name}.json, /launch",
            expected=f"{hole} in `argv`, `environment` or `files`",
            found="none",
            remedy="add it there, or leave `model.reasoning` of the plan null",
        )


def _require_argument(argv: tuple[str, ...], order: Order) -> None:
    longest = max(len(text.encode("utf-8", "surrogateescape")) for text in argv)
    if longest > LONGEST_ARGUMENT_BYTES or any("\0" in text for text in argv):
        raise InputRefused(
            "The request cannot be an argument of a program.",
            where=f"runner/agents/{order.file.name}.json, /launch/prompt",
            expected=f"at most {LONGEST_ARGUMENT_BYTES} bytes, without NUL",
            found=f"{longest} bytes",
            remedy='use `"prompt": "stdin"` if the program can read it from there',
        )
