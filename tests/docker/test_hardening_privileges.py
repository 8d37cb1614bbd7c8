"""What a process in a container is and may do, proved from inside."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from esac_ag.clock import Deadline
from esac_ag.sandbox.contract import Sandbox
from esac_ag.sandbox.docker import DockerEngine
from tests.builders_sandbox import UID, WORK, a_memory_volume, a_spec, run
from tests.docker.conftest import MakeSandbox

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def inside(docker_engine: DockerEngine, agent_image: str) -> Iterator[Sandbox]:
    """A running sandbox, shared by the tests of this file."""
    with docker_engine.create(a_spec(agent_image, volumes=(a_memory_volume(),))) as sandbox:
        sandbox.start()
        yield sandbox


def test_the_user_is_not_root_and_in_no_other_group(inside: Sandbox) -> None:
    """Processes run under the numeric user and group of the spec."""
    assert run(inside, "sh", "-c", "id -u; id -g; id -G").output.decode().split() == [str(UID)] * 3


def test_no_capability_is_left(inside: Sandbox) -> None:
    """All five capability sets are empty, of the first process too."""
    for process in ("self", "1"):
        status = _status(inside, process)
        names = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
        assert {name: int(status[name], 16) for name in names} == dict.fromkeys(names, 0)


def test_no_new_privileges_and_seccomp_are_on(inside: Sandbox) -> None:
    """The kernel filters system calls, and no program can gain rights."""
    status = _status(inside, "self")
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"


def test_a_setuid_program_gains_nothing(make_sandbox: MakeSandbox) -> None:
    """A program that belongs to root and has the setuid bit runs as its caller."""
    script = f"""
import os, shutil
shutil.copy(shutil.which("id"), "{WORK}/id")
os.chmod("{WORK}/id", 0o4755)
os.setgroups([]); os.setgid({UID}); os.setuid({UID})
os.execv("{WORK}/id", ["id", "-u"])
"""
    pieces: list[bytes] = []
    capabilities = ("SETUID", "SETGID")
    spec = {"uid": 0, "gid": 0, "capabilities": capabilities, "argv": ("python3", "-c", script)}
    volumes = (a_memory_volume("/unused"), a_memory_volume().model_copy(update={"owner_uid": 0}))
    disk = volumes[1].model_copy(update={"size_bytes": None})
    with make_sandbox(**spec, volumes=(disk,)) as sandbox:
        sandbox.start()
        sandbox.wait(Deadline.after_s(60), sink=pieces.append)
    assert b"".join(pieces).decode().split() == [str(UID)]


def test_only_named_capabilities_are_added(make_sandbox: MakeSandbox) -> None:
    """A supervisor that runs as root has what its spec names and nothing else."""
    with make_sandbox(uid=0, gid=0, capabilities=("SETUID", "SETGID", "KILL")) as sandbox:
        sandbox.start()
        status = _status(sandbox, "self")
    # Bits 5 (KILL), 6 (SETGID) and 7 (SETUID).
    assert int(status["CapEff"], 16) == 0b1110_0000
    assert int(status["CapBnd"], 16) == 0b1110_0000


def test_nothing_outside_of_volumes_can_be_written(make_sandbox: MakeSandbox) -> None:
    """Even root in the container cannot change the root file system."""
    places = "/ /etc /usr/bin /var /root /opt /home /sys /proc/sys/kernel"
    script = f"for p in {places}; do (echo x > $p/written-by-test) 2> /dev/null && echo $p; done; echo end"
    with make_sandbox(uid=0, gid=0) as sandbox:
        sandbox.start()
        assert run(sandbox, "sh", "-c", script).output == b"end\n"


def test_the_user_finds_no_other_place_to_write(inside: Sandbox) -> None:
    """Volumes, scratch mounts and shared memory, which are all capped, are the only writable folders."""
    result = run(inside, "sh", "-c", "find / -xdev -type d -writable; find /dev /run /sys -type d -writable")
    folders = {line for line in result.output.decode().splitlines() if not line.startswith("find:")}
    assert folders == {WORK, "/tmp", "/dev/shm", "/dev/mqueue"}


@pytest.mark.parametrize(
    "attempt",
    [
        "import ctypes; assert ctypes.CDLL(None).mount(b'none', b'/tmp', b'tmpfs', 0, None) == 0",
        "import ctypes; assert ctypes.CDLL(None).unshare(0x10000000) == 0",
        "import ctypes; assert ctypes.CDLL(None).unshare(0x20000) == 0",
        "import os; os.mknod('/tmp/disk', 0o60600, os.makedev(254, 0))",
        "import os; os.setuid(0)",
        "import os; os.chown('/tmp', 0, 0)",
        "import os; os.chroot('/tmp')",
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
        "open('/proc/sysrq-trigger', 'w').write('h')",
        "open('/proc/sys/kernel/core_pattern', 'w').write('x')",
        "open('/dev/mem', 'rb').read(1)",
        "assert open('/proc/kcore', 'rb').read(1)",
    ],
    ids=lambda text: text[-40:],
)
def test_privileged_acts_fail(inside: Sandbox, attempt: str) -> None:
    """Mounting, new namespaces, devices, other users, raw sockets and the kernel's knobs are out of reach."""
    assert run(inside, "python3", "-c", attempt).exit_code != 0


def _status(sandbox: Sandbox, process: str) -> dict[str, str]:
    text = run(sandbox, "cat", f"/proc/{process}/status").output.decode()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}
