"""A workspace, a skill somewhere else, and an agent of its own, for comparisons."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from esac_ag.canonical import sha256_of_bytes
from esac_ag.clock import opaque_id
from esac_ag.conduct.comparing import CompareOptions
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.memory import InMemoryEngine
from esac_ag.sandbox.memory_process import FakeProcess
from tests.builders_freeze import a_draft, a_probe, judge, public_tests, workspace_of
from tests.builders_manifest import write
from tests.model_server import ModelServer, Recorded, Scripted, calls, never, refuses, submits

MODEL = "m-1"
SKILL = "my-skill"
TINY = "tiny"
COMMAND = "touch fixed.txt"
PRICES: dict[str, Any] = {
    "source": "a list",
    "currency": "USD",
    "date": "2026-01-01",
    "version": "1",
    "per_million": {MODEL: {"input": 1.0, "cached_input": 0.1, "output": 10.0}},
}
PROGRAM = """\
#!/usr/bin/python3
import json, subprocess, sys, urllib.request

if sys.argv[1:] == ["--version"]:
    print("tiny 1.0.0")
    sys.exit()
base_url, token, model = sys.argv[1:]
message = {"role": "user", "content": sys.stdin.read()}
tool = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}
request = urllib.request.Request(
    base_url + "/v1/chat/completions",
    json.dumps({"model": model, "messages": [message], "tools": [tool]}).encode(),
    {"Authorization": "Bearer " + token, "Content-Type": "application/json"},
)
reply = json.load(urllib.request.urlopen(request))["choices"][0]["message"]
for call in reply.get("tool_calls") or ():
    subprocess.run(["/bin/sh", "-c", json.loads(call["function"]["arguments"])["command"]], check=True)
print("done")
"""
"""Asks once, and does what the reply says."""


class WorkingServer(ModelServer):
    """A model that touches a file when it is asked first, and then submits."""

    def __init__(self) -> None:
        super().__init__([])
        self.sick = False
        """Whether it knows no key."""
        self.silent = False
        """Whether its replies never come."""

    def _reply_to(self, request: Recorded) -> Scripted:
        if self.silent:
            return never()
        if self.sick:
            return refuses(401)
        begins = not any(message["role"] == "tool" for message in request.json["messages"])
        return calls(("bash", {"command": COMMAND})) if begins else submits()


def a_skill(folder: Path, text: str = "Read first.") -> Path:
    """A skill's folder as an agent has it installed."""
    skill = folder / "installed" / SKILL
    write(skill / "SKILL.md", f"---\nname: {SKILL}\ndescription: Take care.\n---\n\n# My skill\n\n{text}\n")
    return skill


def a_compare_workspace(folder: Path) -> Workspace:
    """Four provable tasks and the runner, for the in-memory engine."""
    return workspace_of(a_draft(folder))


def a_price_table(folder: Path, **changes: Any) -> Path:  # noqa: ANN401
    """The file of a price table; `changes` replace keys."""
    return write(folder / "prices.json", json.dumps(PRICES | changes))


def limited(process: FakeProcess) -> int:
    """`timeout -k N LIMIT COMMAND...`, without the limit."""
    return process.run(process.argv[4:])


def bash(process: FakeProcess) -> int:
    """The one command that the model gives."""
    assert process.argv[2] == COMMAND
    process.files.write(process.path("fixed.txt"), b"")
    return 0


def sha256sum(process: FakeProcess) -> int:
    """`sha256sum -z -- PATH ...`."""
    for path in process.argv[3:]:
        process.write(f"{sha256_of_bytes(process.files.read(path))}  {path}\0")
    return 0


def an_engine(*, images: Mapping[str, str] | None = None) -> InMemoryEngine:
    """An engine on which tasks are proved, a chat agent acts, and submissions are judged."""
    return InMemoryEngine(
        {
            ("python3", "-I", "-S", "-B", "/esac/judge.py"): judge,
            ("python3", "-I", "/agent/home/probe.py"): a_probe(),
            ("/bin/sh", "-c"): public_tests,
            ("timeout",): limited,
            ("bash", "-c"): bash,
            ("sha256sum",): sha256sum,
        },
        images=None if images is None else dict(images),
    )


def options(*arms: str | Path, **changes: Any) -> CompareOptions:  # noqa: ANN401
    """A comparison of these arms on all tasks of the workspace, by chat; `changes` replace options."""
    given: dict[str, Any] = {
        "agent": "chat",
        "model": MODEL,
        "arms": tuple(map(str, arms)),
        "tasks": (),
        "repetitions": 3,
        "base_url": "http://127.0.0.1:9/v1",
        "study_id": "compared",
    }
    return CompareOptions(**(given | changes))


def add_tiny_agent(workspace: Workspace) -> None:
    """Describe a command-line agent of one small program, whose image takes a second to build.

    The program is no other's, and so is the image: who made it may take it away.
    """
    folder = workspace.runner / "agents"
    write(folder / TINY / "bin" / TINY, f"{PROGRAM}# {opaque_id()}\n")
    file = {
        "format_version": 1,
        "name": TINY,
        "version": "1.0.0",
        "platform": "any",
        "install": {"source": "folder", "folder": TINY},
        "program": f"bin/{TINY}",
        "version_argv": ["--version"],
        "version_line": f"{TINY} 1.0.0",
        "launch": {
            "protocol": "openai-chat",
            "prompt": "stdin",
            "argv": ["${program}", "${base_url}", "${token}", "${model}"],
        },
    }
    write(folder / f"{TINY}.json", json.dumps(file))
