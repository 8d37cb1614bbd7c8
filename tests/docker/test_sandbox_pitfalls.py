"""Pitfalls of the real engine that the contract suite cannot show on a fake."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
from datetime import datetime, timedelta

import pytest

from esac_ag.clock import Deadline, opaque_id
from esac_ag.errors import SandboxLost, UsageError
from esac_ag.sandbox import container as container_module
from esac_ag.sandbox.contract import Termination, TreeLimits
from esac_ag.sandbox.docker import DockerEngine
from esac_ag.tree import FileTree
from tests.builders_sandbox import UID, WORK, a_memory_volume, a_spec, a_volume, run
from tests.docker.conftest import MakeSandbox

pytestmark = pytest.mark.docker

FLOOD = (
    "python3",
    "-c",
    "import sys\nb = b'x' * (1 << 20)\nfor _ in range(2048): sys.stdout.buffer.write(b)",
)
IGNORES_SIGTERM = ("sh", "-c", "trap '' TERM; while true; do sleep 1; done")

HARNESS = """
import signal, sys
from esac_ag.sandbox.docker import DockerEngine
from tests.builders_sandbox import a_memory_volume, a_spec

# A test run in the background of a shell hands an ignored SIGINT on.
signal.signal(signal.SIGINT, signal.default_int_handler)
engine = DockerEngine(sys.argv[1])
with engine.create(a_spec(sys.argv[2], volumes=(a_memory_volume(),))) as sandbox:
    sandbox.start()
    sys.stdout.write("started\\n")
    sys.stdout.flush()
    sys.stdin.read()
"""


def test_removal_asks_no_process_to_end(make_sandbox: MakeSandbox, docker_engine: DockerEngine) -> None:
    """A first process that ignores SIGTERM is never sent one, which would cost ten seconds."""
    with make_sandbox(argv=IGNORES_SIGTERM) as sandbox:
        sandbox.start()
        name = sandbox.container_id
    events = docker_engine._client.events(
        since=1, until=_seconds(docker_engine), filters={"container": name}, decode=True
    )
    signals = {event["Actor"]["Attributes"]["signal"] for event in events if event["Action"] == "kill"}
    assert signals == {"9"}


@pytest.mark.slow
def test_two_gigabytes_on_one_line_keep_memory_flat(make_sandbox: MakeSandbox) -> None:
    """A command's output is drained to its end, and only its beginning is kept."""
    with make_sandbox() as sandbox:
        sandbox.start()
        before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        result = run(sandbox, *FLOOD, within_s=300, output_bytes=1_000_000)
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib
    assert (result.termination, result.exit_code) == (Termination.EXITED, 0)
    assert result.output == b"x" * 1_000_000
    assert result.truncated
    assert grown_kib < 32 * 1024


@pytest.mark.slow
def test_a_flood_from_the_first_process_keeps_memory_flat(make_sandbox: MakeSandbox) -> None:
    """The first process's output is drained in the same way, and nothing of it is logged on disk."""
    kept = 0

    def count(piece: bytes) -> None:
        nonlocal kept
        kept += len(piece)

    with make_sandbox(argv=FLOOD, output_bytes=5_000_000) as sandbox:
        sandbox.start()
        before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        state = sandbox.wait(Deadline.after_s(300), sink=count)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 32 * 1024
    assert (state.exit_code, state.truncated, kept) == (0, True, 5_000_000)


def test_output_that_comes_at_once_is_not_lost(make_sandbox: MakeSandbox) -> None:
    """What the first process prints before anyone reads is there, from the first byte."""
    for _ in range(5):
        pieces: list[bytes] = []
        with make_sandbox(argv=("echo", "first")) as sandbox:
            sandbox.start()
            sandbox.wait(Deadline.after_s(60), sink=pieces.append)
        assert b"".join(pieces) == b"first\n"


def test_a_command_that_closed_its_output_is_waited_for(make_sandbox: MakeSandbox) -> None:
    """The end of the stream is not the end of the command."""
    with make_sandbox() as sandbox:
        sandbox.start()
        result = run(sandbox, "sh", "-c", "exec >&- 2>&-; sleep 0.3; exit 7")
        assert result.exit_code == 7
        late = run(sandbox, "sh", "-c", "exec >&- 2>&-; sleep 60", within_s=0.5)
        assert late.termination is Termination.TIMED_OUT


def test_a_container_that_vanished_is_lost(make_sandbox: MakeSandbox, docker_engine: DockerEngine) -> None:
    """Removal by somebody else is a failure of the infrastructure, and our own has nothing to do."""
    with make_sandbox() as sandbox:
        sandbox.start()
        docker_engine._client.remove_container(sandbox.container_id, v=True, force=True)
        with pytest.raises(SandboxLost):
            run(sandbox, "true")
        with pytest.raises(SandboxLost):
            sandbox.get(WORK, TreeLimits())


def test_a_kill_during_a_command_is_lost(make_sandbox: MakeSandbox, docker_engine: DockerEngine) -> None:
    """A command that dies with its container from outside has no result."""
    with make_sandbox() as sandbox:
        sandbox.start()
        killer = threading.Timer(0.5, docker_engine._client.kill, [sandbox.container_id])
        killer.start()
        with pytest.raises(SandboxLost):
            run(sandbox, "sleep", "60")
        killer.join()


def test_an_exit_code_of_137_is_no_kill(make_sandbox: MakeSandbox) -> None:
    """A subject that ends as if it had been killed gets no free retry."""
    with make_sandbox(argv=("sh", "-c", "exit 137")) as sandbox:
        sandbox.start()
        state = sandbox.wait(Deadline.after_s(60))
        assert (state.termination, state.exit_code) == (Termination.EXITED, 137)
    with make_sandbox() as sandbox:
        sandbox.start()
        result = run(sandbox, "sh", "-c", "exit 137")
        assert (result.termination, result.exit_code) == (Termination.EXITED, 137)


def test_memory_is_told_without_the_hosts_control_groups(
    make_sandbox: MakeSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an engine on another machine its own events tell."""
    monkeypatch.setattr(container_module, "memory_kills", lambda _: None)
    with make_sandbox() as sandbox:
        sandbox.start()
        assert not sandbox.out_of_memory()
        hog = "x = bytearray(1 << 30)"
        assert run(sandbox, "python3", "-c", hog).termination is Termination.OUT_OF_MEMORY
        assert sandbox.out_of_memory()


def test_owners_and_modes_hold_between_users(make_sandbox: MakeSandbox) -> None:
    """A folder of another user is closed, and later files do not open it."""
    volumes = (a_volume(), a_volume("/private", owner_uid=0))
    other = 20_000
    with make_sandbox(volumes=volumes) as sandbox:
        sandbox.put(FileTree.of_text({"a": "x"}), f"{WORK}/closed", uid=other, gid=other, mode=0o700)
        sandbox.put(FileTree.of_text({"b": "x"}), f"{WORK}/closed/more", uid=UID, gid=UID)
        sandbox.put(FileTree.of_text({"c": "x"}), "/private", uid=other, gid=other, mode=0o700)
        sandbox.start()
        # One stream: the engine may deliver an error before output that was written earlier.
        script = (
            f"exec 2>&1; stat -c '%u %g %a' {WORK} {WORK}/closed /private; cat {WORK}/closed/a /private/c"
        )
        result = run(sandbox, "sh", "-c", script)
    assert result.output.decode().splitlines()[:3] == [
        f"{UID} {UID} 755",
        f"{other} {other} 700",
        f"{other} {other} 700",
    ]
    assert result.output.count(b"Permission denied") == 2


def test_files_can_be_put_into_a_running_containers_disk_volume(make_sandbox: MakeSandbox) -> None:
    """Only memory volumes ask for an order."""
    with make_sandbox(volumes=(a_volume(), a_memory_volume("/fast"))) as sandbox:
        sandbox.start()
        sandbox.put(FileTree.of_text({"a": "x"}), WORK, uid=UID, gid=UID)
        assert run(sandbox, "cat", f"{WORK}/a").output == b"x"
        sandbox.freeze()
        with pytest.raises(UsageError):
            sandbox.put(FileTree.of_text({"a": "x"}), "/fast", uid=UID, gid=UID)


def test_a_lifecycle_makes_few_calls(make_sandbox: MakeSandbox, docker_engine: DockerEngine) -> None:
    """Each call costs milliseconds: create, put, attach, start, freeze, get, and three to remove."""
    calls: list[str] = []

    def note(answer: object, *_: object, **__: object) -> None:
        calls.append(str(getattr(answer, "url", "")))

    hooks = docker_engine._client.hooks["response"]
    hooks.append(note)
    try:
        with make_sandbox() as sandbox:
            sandbox.put(FileTree.of_text({"a": "x"}), WORK, uid=UID, gid=UID)
            sandbox.start()
            sandbox.freeze()
            sandbox.get(WORK, TreeLimits())
    finally:
        hooks.remove(note)
    assert len(calls) == 9


def test_a_seccomp_profile_of_our_own_takes_effect(docker_workspace: str, agent_image: str) -> None:
    """A stricter profile replaces the engine's default."""
    denied = {"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO"}
    profile = json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [denied]})
    engine = DockerEngine(docker_workspace, seccomp=profile)
    with engine.create(a_spec(agent_image)) as sandbox:
        sandbox.start()
        result = run(sandbox, "mkdir", "/tmp/new")
    engine.close()
    assert b"Operation not permitted" in result.output


def test_eight_sandboxes_at_once(make_sandbox: MakeSandbox) -> None:
    """One engine object serves eight threads, and each gets its own answer."""
    answers: dict[int, bytes] = {}

    def live(number: int) -> None:
        with make_sandbox() as sandbox:
            sandbox.start()
            answers[number] = run(sandbox, "echo", str(number)).output

    threads = [threading.Thread(target=live, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: f"{number}\n".encode() for number in range(8)}


def test_ctrl_c_leaves_nothing(docker_engine: DockerEngine, agent_image: str) -> None:
    """A harness that gets SIGINT removes its container and volumes on the way out."""
    workspace = f"tests-{opaque_id()}"
    process = _harness(workspace, agent_image)
    assert list(docker_engine.leftovers(workspace)) != []
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert list(docker_engine.leftovers(workspace)) == []


def test_a_killed_harness_is_cleaned_up_by_a_later_command(
    docker_engine: DockerEngine, agent_image: str
) -> None:
    """After SIGKILL container and volume are found by their label, and one call removes them."""
    workspace = f"tests-{opaque_id()}"
    process = _harness(workspace, agent_image)
    process.kill()
    process.communicate(timeout=60)
    left = list(docker_engine.leftovers(workspace))
    assert [line.split()[0] for line in left] == ["container", "volume"]
    assert docker_engine.clean(workspace) != ()
    assert list(docker_engine.leftovers(workspace)) == []


def _harness(workspace: str, image: str) -> subprocess.Popen[str]:
    """A process of its own that holds a running sandbox until it is ended."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HARNESS), workspace, image],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    return process


def _seconds(engine: DockerEngine) -> int:
    """A moment in the engine's near future, by its own clock."""
    now = datetime.fromisoformat(str(engine._client.info()["SystemTime"])[:19] + "+00:00")
    return int((now + timedelta(seconds=1)).timestamp())
