"""Builders for command-line agents: orders, arms, and real launches where the model refuses everything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from esac_ag.agents.contract import AGENT_HOME, AGENT_ROOT, AGENT_UID, ArmBundle
from esac_ag.agents.presets.choosing import preset_of
from esac_ag.agents.presets.contract import Order, Preparation
from esac_ag.clock import Deadline
from esac_ag.conduct.launch import agent_spec
from esac_ag.manifest.agent_file import AgentFile
from esac_ag.manifest.plan import Limits
from esac_ag.sandbox.agent_files import read_agent
from esac_ag.sandbox.contract import CommandResult, Engine, Role, Sandbox
from esac_ag.tree import Directory, FileTree, RegularFile
from tests.builders_images import RUNNER
from tests.builders_sandbox import run

MODEL_PROGRAM = Path(__file__).parent / "refusing_model.py"
REQUEST = '--help -x $HOME `id` "quoted" it\'s\n/second line ${TOKEN} {{task}} ünï \N{GRINNING FACE}'
"""What a careless launch would take for options, commands, templates or quoting."""

SKILL = "---\nname: marker-skill\ndescription: Zebra quokka description.\n---\n# Body\nThe body xyzzy.\n"


def an_agent_file(name: str = "claude-code") -> AgentFile:
    """A shipped agent file."""
    return read_agent(RUNNER, name).file


def a_launched_file(launch: Mapping[str, object], **changes: object) -> AgentFile:
    """An agent file with a launch of its own."""
    whole = {
        "format_version": 1,
        "name": "mine",
        "version": "1",
        "platform": "any",
        "install": {"source": "folder", "folder": "mine"},
        "program": "bin/mine",
        "version_argv": ["--version"],
        "version_line": "mine 1",
        "launch": {"protocol": "openai-chat", "prompt": "stdin", "argv": ["${program}"], **launch},
    }
    return AgentFile.model_validate_json(json.dumps(whole | changes))


def a_bundle(
    kind: str = "skill", files: Mapping[str, str] | None = None, *, mention: bool = False
) -> ArmBundle:
    """The bundle of an arm; without files a skill of two."""
    texts = files or {"SKILL.md": SKILL, "notes/more.md": "More.\n"}
    return ArmBundle("some-arm", kind, FileTree.of_text(texts), mention_in_instructions=mention)


def an_order(file: AgentFile | str = "claude-code", **changes: object) -> Order:
    """An order for one attempt."""
    known = an_agent_file(file) if isinstance(file, str) else file
    values: dict[str, Any] = {
        "file": known,
        "request": REQUEST,
        "model": "m-1",
        "base_url": "http://127.0.0.1:8080",
        "token": "dummy-token",
        "bundle": None,
    }
    return Order(**(values | changes))


def prepared(order: Order) -> Preparation:
    """What the preset of the order's agent makes of it."""
    return preset_of(order.file).prepare(order)


def text_of(tree: FileTree, path: str) -> str:
    """A text file of a tree."""
    return tree.files()[path.encode()].data.decode()


@dataclass(frozen=True, slots=True)
class Launched:
    """What came of a real launch."""

    ended: CommandResult
    requests: tuple[dict[str, Any], ...]
    """Path, key and body of each request to the model."""
    present: bool
    """Whether every placed file lay in its place."""

    def text(self) -> str:
        """All bodies, as the model would have read them."""
        return json.dumps([request["body"] for request in self.requests], ensure_ascii=False)


def really_launched(
    engine: Engine,
    image: str,
    agent: AgentFile | str,
    bundle: ArmBundle | None,
    *,
    reasoning: str | None = None,
) -> Launched:
    """Launch an agent in a container as a run's is, beside a model that refuses every request."""
    spec = agent_spec(
        image=image,
        limits=Limits(),
        study="tests",
        attempt="0123456789abcdef",
        role=Role.AGENT,
        environment=(),
    )
    with engine.create(spec) as sandbox:
        sandbox.start()
        sandbox.put(_model(), AGENT_ROOT, uid=AGENT_UID, gid=AGENT_UID, mode=0o755)
        order = an_order(agent, bundle=bundle, base_url=_served(sandbox), reasoning=reasoning)
        preparation = prepared(order)
        sandbox.put(preparation.home, AGENT_HOME, uid=AGENT_UID, gid=AGENT_UID)
        present = run(sandbox, "ls", "-d", AGENT_HOME, *preparation.placed.values())
        ended = sandbox.execute(
            preparation.argv,
            deadline=Deadline.after_s(120),
            output_bytes=1_000_000,
            environment=tuple(preparation.environment.items()),
        )
        requests = run(sandbox, "cat", "/agent/requests", output_bytes=10_000_000).output.decode()
    return Launched(ended, tuple(json.loads(line) for line in requests.splitlines()), present.exit_code == 0)


def _model() -> FileTree:
    program = RegularFile(MODEL_PROGRAM.read_bytes())
    return FileTree({b"model.py": program, b"home": Directory(), b"workspace": Directory()})


def _served(sandbox: Sandbox) -> str:
    """Start the model in the container; its address there."""
    script = (
        "touch /agent/requests; python3 -I /agent/model.py /agent/requests >/agent/port 2>&1 </dev/null & "
        "until [ -s /agent/port ]; do sleep 0.05; done; cat /agent/port"
    )
    port = run(sandbox, "sh", "-c", script).output.decode().strip()
    return f"http://127.0.0.1:{port}"
