"""What becomes of a command when somebody at the other end of a pipe or socket leaves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from esac_ag.cli.errors import READER_LEFT
from esac_ag.conduct.layout import lay_out

HANG_UP = """
import socket
from esac_ag.cli import main

main(["--version"])
one, other = socket.socketpair()
other.close()
try:
    one.send(b"x")
except BrokenPipeError:
    print("an error, and no end")
"""


def ran(
    argv: list[str], folder: Path, *, stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    """A Python program's run."""
    return subprocess.run(
        [sys.executable, *argv], cwd=folder, stdout=stdout, stderr=stderr, text=True, check=False
    )


@pytest.fixture
def unread() -> int:
    """The writing end of a pipe that nobody reads; the program's copy is the only one that counts."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


@pytest.mark.parametrize("words", [["--version"], ["task", "list"], ["task", "list", "--json"]])
def test_a_command_whose_output_nobody_reads_ends_quietly(
    words: list[str], unread: int, tmp_path: Path
) -> None:
    """Plain text, tables and JSON, with the code that shells know for it."""
    lay_out(tmp_path / "space")
    try:
        done = ran(["-m", "esac_ag", *words], tmp_path / "space", stdout=unread)
    finally:
        os.close(unread)
    assert (done.returncode, done.stderr) == (READER_LEFT, "")


def test_progress_that_nobody_reads_does_not_end_the_work(unread: int, tmp_path: Path) -> None:
    """A study is not lost with the terminal that showed it."""
    program = "from esac_ag.cli.place import stderr\nfor _ in range(3): stderr().print('x')\nprint('done')"
    try:
        done = ran(["-c", program], tmp_path, stderr=unread)
    finally:
        os.close(unread)
    assert (done.returncode, done.stdout) == (0, "done\n")


def test_a_peer_that_hangs_up_does_not_end_the_harness(tmp_path: Path) -> None:
    """The gateway writes to sockets of agents that may go away at any moment, by no doing of ours."""
    done = ran(["-c", HANG_UP], tmp_path)
    assert done.returncode == 0
    assert done.stdout.endswith("an error, and no end\n")
