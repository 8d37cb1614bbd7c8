"""`esac-ag view` as a process of its own: it tells its address, answers, and ends quietly."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from esac_ag.cli import main


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_quietly(sent: signal.Signals, tmp_path: Path) -> None:
    """Exit code 0: looking was not interrupted, it ended."""
    argv = [sys.executable, "-m", "esac_ag", "view", str(tmp_path), "--no-browser"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        assert "Ctrl-C" in process.stdout.readline()
        text = httpx.get(address, trust_env=False).text
        process.send_signal(sent)
        told, complained = process.communicate(timeout=60)
    assert "There is nothing in this folder yet" in text
    assert (process.returncode, complained) == (0, "")
    assert "nothing was written" in told
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is served."""
    assert main(["view", str(tmp_path / "none"), "--no-browser"]) == 1
    assert "esac-ag view RESULTS" in capsys.readouterr().err


def test_a_port_that_is_taken_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["view", str(tmp_path), "--no-browser", "--port", str(port)]) == 2
    assert "--port" in capsys.readouterr().err
