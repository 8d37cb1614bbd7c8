"""mini-swe-agent: OpenAI chat completions through LiteLLM; it reads no skills and no instructions.

The request stands in a configuration file, and the arm's text follows it there.
"""

from __future__ import annotations

import json
import re

from pydantic import JsonValue

from esac_ag.agents.contract import AGENT_HOME
from esac_ag.agents.instructions import FOLDERS
from esac_ag.agents.presets.contract import ExitClass, Order, Preparation, class_of
from esac_ag.agents.presets.placing import Places, place
from esac_ag.manifest.agent_file import WireProtocol
from esac_ag.manifest.plan import ArmKind
from esac_ag.tree import FileTree

FOLDER = ".config/mini-swe-agent"
TRAJECTORY = "mini-swe-agent.traj.json"
"""Its log, below HOME."""

_YAML_ESCAPED = re.compile("[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")
"""JSON is YAML, but for characters that YAML refuses or takes for ends of lines."""

_PLACES = Places(skills=FOLDERS[ArmKind.SKILL], instructions=None)


class MiniSweAgent:
    """Launches mini-swe-agent."""

    protocol = WireProtocol.CHAT

    def prepare(self, order: Order) -> Preparation:
        """Command, environment and files of one launch."""
        placed = place(order.bundle, _PLACES)
        request = "\n\n".join(part for part in (order.request, placed.in_request) if part)
        # By its whole path: a file of that name in the workspace would be taken first.
        defaults = f"{order.file.folder}/site/minisweagent/config/mini.yaml"
        log = f"{AGENT_HOME}/{TRAJECTORY}"
        files = {f"{FOLDER}/run.yaml": configuration(order, request)}
        return Preparation(
            argv=(
                *(order.file.program_path, "-c", defaults, "-c", f"{AGENT_HOME}/{FOLDER}/run.yaml"),
                # The option's own default wins over what a configuration says.
                *("-o", log),
            ),
            environment={
                "OPENAI_API_KEY": order.token,
                "OPENAI_BASE_URL": f"{order.base_url}/v1",
                "MSWEA_CONFIGURED": "true",
                # Costs are the gateway's to count.
                "MSWEA_COST_TRACKING": "ignore_errors",
                "MSWEA_GLOBAL_CONFIG_DIR": f"{AGENT_HOME}/{FOLDER}",
                "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "2",
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            },
            home=placed.home.merged(FileTree.of_text(files)),
            placed=placed.paths,
            log=log,
        )

    def exit_class(self, code: int) -> ExitClass:
        """What an exit code says."""
        return class_of(code, {1: ExitClass.FAILED, 2: ExitClass.MISUSED})


def configuration(order: Order, request: str) -> str:
    """The text of `run.yaml`, laid over the agent's own defaults."""
    model: dict[str, JsonValue] = {"model_name": f"openai/{order.model}"}
    if order.reasoning is not None:
        # LiteLLM would leave it out for models that it does not know.
        model["model_kwargs"] = {
            "reasoning_effort": order.reasoning,
            "allowed_openai_params": ["reasoning_effort"],
        }
    settings = json.dumps(
        {
            "run": {"task": request},
            "agent": {"mode": "yolo", "confirm_exit": False, "cost_limit": 0},
            "model": model,
        },
        indent=2,
        ensure_ascii=False,
    )
    return _YAML_ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", settings)
