"""What an agent may leave in its workspace, made for real and exported."""

from __future__ import annotations

import pytest

from esac_ag.sandbox.contract import Sandbox, TreeLimits
from esac_ag.tree import Link, RegularFile
from tests.builders_sandbox import MIB, WORK, a_memory_volume, run
from tests.docker.conftest import MakeSandbox

pytestmark = pytest.mark.docker

ODD_FILES = rf"""
import os, socket
os.chdir("{WORK}")
open("plain", "w").write("x")
os.link("plain", "second-name")
os.symlink("/etc/passwd", "out")
os.symlink("..", "up")
os.mkfifo("fifo")
s = socket.socket(socket.AF_UNIX); s.bind("socket")
open("privileged", "w").close(); os.chmod("privileged", 0o6755)
composed, decomposed = "\u00e9".encode(), "e\u0301".encode()
for name in (b"bad-\xff", b"new\nline", b"\x1b[31mred", composed, decomposed, b"Case", b"case"):
    open(name, "w").close()
os.makedirs("/".join(["deep"] * 80))
os.makedirs(".git/hooks"); open(".git/hooks/pre-commit", "w").write("evil")
os.makedirs("sub/.git"); open("sub/kept", "w").write("y")
os.chmod("sub", 0)
"""


def test_everything_odd_is_told_and_everything_plain_is_kept(make_sandbox: MakeSandbox) -> None:
    """Links are data, special files are left out, names are bytes, and locked folders are read as well."""
    with make_sandbox(volumes=(a_memory_volume(),)) as sandbox:
        _script(sandbox, ODD_FILES)
        export = sandbox.get(WORK, TreeLimits())
    tree, findings = export.tree, "\n".join(export.findings)
    assert tree[b"plain"] == RegularFile(b"x")
    assert tree[b"second-name"] == RegularFile(b"x")
    assert tree[b"out"] == Link(b"/etc/passwd")
    assert tree[b"up"] == Link(b"..")
    assert tree[b"sub/kept"] == RegularFile(b"y")
    assert {b"bad-\xff", b"new\nline", b"\x1b[31mred", b"Case", b"case"} <= set(tree)
    assert not any(b".git" in path or b"fifo" in path or b"socket" in path for path in tree)
    assert max(path.count(b"/") for path in tree) < 64
    for words in ("hard link", "a FIFO", "setuid", "collides", "deeper", "`.git` was", "`sub/.git` was"):
        assert words in findings
    assert findings.isascii()
    assert "\x1b" not in findings


def test_a_giant_sparse_file_does_not_stop_the_export(make_sandbox: MakeSandbox) -> None:
    """Its apparent size counts, it is left out, and reading ends long before its end."""
    with make_sandbox(volumes=(a_memory_volume(),)) as sandbox:
        make = f"open('{WORK}/a', 'w').write('x'); open('{WORK}/b', 'w').close()"
        _script(sandbox, f"{make}; os.truncate('{WORK}/b', 1 << 40)")
        export = sandbox.get(WORK, TreeLimits(max_bytes=MIB, max_file_bytes=MIB))
    assert dict(export.tree) == {b"a": RegularFile(b"x")}
    assert export.capped


def test_too_many_files_are_capped(make_sandbox: MakeSandbox) -> None:
    """The first ones are kept, and the connection is given up, not drained."""
    with make_sandbox(volumes=(a_memory_volume(),)) as sandbox:
        _script(sandbox, f"[open('{WORK}/%05d' % n, 'w').close() for n in range(3000)]")
        export = sandbox.get(WORK, TreeLimits(max_members=100))
        assert len(export.tree) == 100
        assert export.capped
        assert len(sandbox.get(WORK, TreeLimits()).tree) == 3000


def test_a_link_in_the_middle_of_a_path_leads_no_further_than_the_container(
    make_sandbox: MakeSandbox,
) -> None:
    """A planted link to `/` is resolved inside of the container, never on the host."""
    with make_sandbox(volumes=(a_memory_volume(),)) as sandbox:
        _script(sandbox, f"os.symlink('/etc', '{WORK}/etc'); os.symlink('/', '{WORK}/root')")
        export = sandbox.get(WORK, TreeLimits())
        host_name = sandbox.get(f"{WORK}/root/etc", TreeLimits()).tree[b"hostname"]
    assert dict(export.tree) == {b"etc": Link(b"/etc"), b"root": Link(b"/")}
    assert host_name == RegularFile(b"sandbox\n")


def test_a_workspace_in_the_grip_of_a_fork_bomb_can_be_read(make_sandbox: MakeSandbox) -> None:
    """Freezing stops a bomb that keeps writing, and the export is whole."""
    bomb = f"""
for n in range(20):
    if os.fork() == 0:
        while True:
            open("{WORK}/%d" % os.getpid(), "w").write("x" * 1000)
            if os.fork() == 0:
                continue
            os.wait()
time.sleep(100)
"""
    with make_sandbox(volumes=(a_memory_volume(max_files=100),), pids=40) as sandbox:
        sandbox.start()
        run(sandbox, "python3", "-c", "import os, time\n" + bomb, within_s=1.0)
        first = sandbox.get(WORK, TreeLimits()).tree
        assert len(first) > 0
        assert sandbox.get(WORK, TreeLimits()).tree.exact_sha256() == first.exact_sha256()


def _script(sandbox: Sandbox, text: str) -> None:
    sandbox.start()
    result = run(sandbox, "python3", "-c", "import os\n" + text)
    assert (result.exit_code, result.output) == (0, b"")
