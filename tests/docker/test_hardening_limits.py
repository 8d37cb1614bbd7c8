"""Every limit of a container, proved by running into it from inside."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from esac_ag.sandbox.contract import Sandbox, ScratchMount, Termination
from esac_ag.sandbox.docker import DockerEngine
from tests.builders_sandbox import MIB, WORK, a_memory_volume, a_spec, run

pytestmark = pytest.mark.docker


SPINNING = """
import pathlib
found = pathlib.Path("/sys/fs/cgroup/cpu/cpu.stat")
found = found if found.exists() else pathlib.Path("/sys/fs/cgroup/cpu.stat")
while "nr_throttled 0\\n" in found.read_text():
    sum(range(1_000_000))
print("throttled")
"""
"""Works until its group was throttled once, which takes as long as others leave it less than its quota."""


@pytest.fixture(scope="module")
def inside(docker_engine: DockerEngine, agent_image: str) -> Iterator[Sandbox]:
    """A running sandbox with small limits, shared by the tests of this file."""
    spec = a_spec(
        agent_image,
        volumes=(a_memory_volume(size_bytes=4 * MIB), a_memory_volume("/few", max_files=20)),
        scratch=(ScratchMount(path="/tmp", size_bytes=2 * MIB, max_files=30),),
        cpus=0.2,
        memory_mib=64,
        pids=24,
    )
    with docker_engine.create(spec) as sandbox:
        sandbox.start()
        yield sandbox


@pytest.mark.parametrize(("place", "size_bytes"), [(WORK, 4 * MIB), ("/tmp", 2 * MIB)])
def test_a_place_takes_no_more_bytes_than_its_size(inside: Sandbox, place: str, size_bytes: int) -> None:
    """Filling the workspace or `/tmp` ends with `No space left on device` at the cap."""
    script = f"dd if=/dev/zero of={place}/fill bs=64k count=1000; stat -c %s {place}/fill; rm {place}/fill"
    # Output and errors by one pipe: by two they come in either order.
    output = run(inside, "sh", "-c", f"exec 2>&1; {script}").output.decode()
    assert "No space left on device" in output
    assert size_bytes // 2 < int(output.split()[-1]) <= size_bytes


@pytest.mark.parametrize(("place", "files"), [("/few", 20), ("/tmp", 30)])
def test_a_place_takes_no_more_files_than_its_number(inside: Sandbox, place: str, files: int) -> None:
    """Empty files use up inodes and then fail."""
    script = f"""
import os
made = []
try:
    for n in range(100):
        open(f"{place}/f{{n}}", "x").close()
        made.append(n)
except OSError as error:
    print(len(made), error.strerror)
for n in made:
    os.remove(f"{place}/f{{n}}")
"""
    made, reason = run(inside, "python3", "-c", script).output.decode().strip().split(" ", 1)
    assert reason == "No space left on device"
    assert files // 2 < int(made) < files


def test_memory_has_no_swap_to_flee_to(inside: Sandbox) -> None:
    """The limit of memory and swap together is the limit of memory."""
    limits = _cgroup(inside, "memory/memory.limit_in_bytes", "memory.max").split()
    both = _cgroup(inside, "memory/memory.memsw.limit_in_bytes", "memory.swap.max").split()
    assert limits == [str(64 * MIB)]
    assert both in ([str(64 * MIB)], ["0"])


def test_a_memory_hog_is_killed_and_the_container_lives(inside: Sandbox) -> None:
    """Using twice the limit ends the process that did it."""
    result = run(inside, "python3", "-c", "x = bytearray(128 << 20); print(len(x))")
    assert result.termination is Termination.OUT_OF_MEMORY
    assert result.output == b""
    assert run(inside, "true").exit_code == 0


def test_the_cpu_quota_throttles(inside: Sandbox) -> None:
    """A fifth of a processor is granted, and a busy process is throttled, however busy the machine is."""
    quota = _cgroup(inside, "cpu/cpu.cfs_quota_us", "cpu.max").split()
    assert quota in (["20000"], ["20000", "100000"])
    assert run(inside, "python3", "-c", SPINNING, within_s=300).output == b"throttled\n"


def test_a_fork_bomb_meets_the_limit_of_processes(inside: Sandbox) -> None:
    """Forking fails before the limit is passed, and later commands run again."""
    bomb = """
import os, time
children = []
try:
    while len(children) < 200:
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        children.append(child)
except OSError as error:
    print(len(children), error.strerror)
for child in children:
    os.kill(child, 9)
    os.waitpid(child, 0)
"""
    output = run(inside, "python3", "-c", bomb).output.decode()
    made, reason = output.split(" ", 1)
    assert 0 < int(made) < 24
    assert "Resource temporarily unavailable" in reason
    assert run(inside, "true").exit_code == 0


def test_open_files_and_core_dumps_are_limited(inside: Sandbox) -> None:
    """No core dump is written, and file descriptors have a hard limit."""
    output = run(inside, "sh", "-c", "ulimit -Hn; ulimit -Sc; ulimit -Hc").output.decode()
    assert output.split() == ["4096", "0", "0"]


def test_shared_memory_has_a_size(inside: Sandbox) -> None:
    """`/dev/shm` is small, and its pages count as the container's memory."""
    output = run(inside, "sh", "-c", "df -k --output=size /dev/shm").output.decode()
    assert int(output.split()[-1]) == 64 * 1024


def _cgroup(sandbox: Sandbox, version_1: str, version_2: str) -> str:
    """A value of the container's control group, in whichever version this machine has."""
    script = f"cat /sys/fs/cgroup/{version_1} 2>/dev/null || cat /sys/fs/cgroup/{version_2}"
    return run(sandbox, "sh", "-c", script).output.decode()
