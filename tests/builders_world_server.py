"""The guest's tool server without a container: in this process, or installed as in the agent image."""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import io
import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from esac_ag.sandbox.memory_process import FakeProcess, Program
from esac_ag.suite import world as world_package
from esac_ag.suite.contract import Instance
from esac_ag.suite.play import world_of
from esac_ag.suite.world import World

Twist = Callable[[bytes], bytes]

AGENT_GUESTS = Path(__file__).parent.parent / "runner" / "guest" / "agent"


def agent_guest(name: str) -> ModuleType:
    """A program of the agent image as a module."""
    spec = importlib.util.spec_from_file_location(f"agent_guest_{name}", AGENT_GUESTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


world_server = agent_guest("world_server")


def tools_of(instance: Instance) -> list[dict[str, Any]]:
    """The instance's tools as its server is given them."""
    return [tool.model_dump() for tool in instance.tools]


def public_part(instance: Instance) -> str:
    """What the server reads: initial state and tools, as JSON."""
    return json.dumps({"state": instance.initial_state, "tools": tools_of(instance)})


@dataclass(frozen=True)
class Served:
    """What a session left."""

    answers: list[Any]
    log: list[dict[str, Any]]


def served(instance: Instance, *messages: object) -> Served:
    """Send messages to a server in this process: JSON values, or bytes as they are."""
    lines = [m if isinstance(m, bytes) else json.dumps(m).encode() + b"\n" for m in messages]
    sink, log = io.BytesIO(), io.BytesIO()
    world_server.serve(world_of(instance), tools_of(instance), io.BytesIO(b"".join(lines)), sink, log)
    answers, records = ([json.loads(line) for line in file.getvalue().splitlines()] for file in (sink, log))
    return Served(answers, records)


def request(method: str, params: object = None, number: object = 1) -> dict[str, object]:
    """A JSON-RPC request; without parameters when they are none."""
    message = {"jsonrpc": "2.0", "id": number, "method": method}
    return message if params is None else message | {"params": params}


def call(tool: object, arguments: object, number: int = 1) -> dict[str, object]:
    """A request for a call."""
    return request("tools/call", {"name": tool, "arguments": arguments}, number)


def install(folder: Path) -> Path:
    """Lay the server out as the agent image does; its path."""
    shutil.copytree(AGENT_GUESTS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    source = Path(world_package.__file__).parent
    shutil.copytree(source, folder / "esac_world", ignore=shutil.ignore_patterns("__pycache__"))
    return folder / "world_server.py"


def server_argv(program: Path, instance: Instance, folder: Path) -> Sequence[str]:
    """Arguments of an interpreter that serves an instance; its files lie in a folder."""
    public = folder / "instance.json"
    public.write_text(public_part(instance))
    return ["-I", "-B", str(program), str(public), str(folder / "log.jsonl")]


class _Source:
    """A process's standard input as a file that is read by line."""

    def __init__(self, process: FakeProcess) -> None:
        self._process = process

    def readline(self, _limit: int) -> bytes:
        return self._process.read_line()


class _Sink:
    """A process's standard output as a file; what is written can be twisted."""

    def __init__(self, process: FakeProcess, twist: Twist) -> None:
        self._process, self._twist = process, twist

    def write(self, data: bytes) -> None:
        self._process.write(self._twist(data))

    def flush(self) -> None:
        """Nothing is held back."""


class _Log:
    """A new file of the fake, which grows."""

    def __init__(self, process: FakeProcess, path: str) -> None:
        self._process, self._path = process, path
        with contextlib.suppress(FileNotFoundError):
            process.files.read(path)
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        self.write(b"")

    def write(self, data: bytes) -> None:
        self._process.files.write(self._path, data, append=True)

    def flush(self) -> None:
        """Nothing is held back."""


def twisted_world_program(twist: Twist) -> Program:
    """The tool server as a program of the in-memory sandbox that lies: every answer is twisted."""

    def program(process: FakeProcess) -> int:
        public, log = process.argv[-2:]
        instance = json.loads(process.files.read(public))
        world = World(instance["state"], [tool["name"] for tool in instance["tools"]])
        source, sink = _Source(process), _Sink(process, twist)
        world_server.serve(world, instance["tools"], source, sink, _Log(process, log))
        return 0

    return program


world_program = twisted_world_program(bytes)
"""The tool server as a program of the in-memory sandbox."""
