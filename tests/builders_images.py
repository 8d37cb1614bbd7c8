"""Builders for image definitions, and a registry on loopback."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

from esac_ag.clock import Deadline, sleep_s
from esac_ag.sandbox.docker import ImageStore
from esac_ag.sandbox.images import images_lock

ROOT = Path(__file__).resolve().parent.parent
RUNNER = ROOT / "runner"
_TOOLS = ROOT / ".esac-ag" / "tools" / "usr" / "bin"
_START_LIMIT_S = 30.0


def a_runner(folder: Path, *, base: Mapping[str, object] | None = None) -> Path:
    """A `runner/` folder with the shipped images and a guest program for each of them.

    Args:
        folder: where to make it.
        base: keys of `base.json` to change.
    """
    shutil.copytree(RUNNER / "images", folder / "images")
    (folder / "guest").mkdir()
    (folder / "guest" / "hello.py").write_text("#!/usr/bin/env python3\nprint('hello')\n")
    (folder / "guest" / "notes.txt").write_text("plain\n")
    (folder / "guest" / "agent").mkdir()
    (folder / "guest" / "agent" / "tool.py").write_text("print('a tool')\n")
    path = folder / "images" / "base.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **(base or {})}))
    return folder


def remove_images(store: ImageStore, *references: str) -> None:
    """Take images away while nobody on this machine builds any."""
    with images_lock():
        for reference in references:
            store.remove(reference)


def unpinned_digest() -> str:
    """A digest that no registry has."""
    return "sha256:" + "a" * 64


def free_port() -> int:
    """A TCP port on loopback on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


@contextmanager
def a_registry(folder: Path) -> Iterator[str]:
    """A registry that keeps its blobs below a folder; yields `host:port`."""
    program = shutil.which("docker-registry", path=f"{_TOOLS}:/usr/bin:/usr/local/bin")
    assert program, "docker-registry is missing; `make test` fetches it (scripts/ensure-registry)"
    port = free_port()
    settings = folder / "registry.yml"
    settings.write_text(
        f"version: 0.1\nlog: {{level: error}}\nhttp: {{addr: '127.0.0.1:{port}'}}\n"
        f"storage: {{filesystem: {{rootdirectory: '{folder / 'blobs'}'}}}}\n"
    )
    with (folder / "registry.log").open("wb") as log:
        process = subprocess.Popen([program, "serve", str(settings)], stdout=log, stderr=log)
    try:
        _await_answer(f"http://127.0.0.1:{port}/v2/", process)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _await_answer(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = Deadline.after_s(_START_LIMIT_S)
    while not deadline.has_passed():
        assert process.poll() is None, "the registry ended at once"
        try:
            httpx.get(url, trust_env=False)
        except httpx.TransportError:
            sleep_s(0.05)
        else:
            return
    raise AssertionError(f"no registry answers at {url}")
