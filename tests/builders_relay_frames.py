"""The relay of frames without a container: the guest's own program as a process of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

from esac_ag.sandbox.memory_process import FakeProcess

RELAY_FRAMES = Path(__file__).parent.parent / "runner" / "guest" / "agent" / "relay_frames.py"


def frames_program(process: FakeProcess) -> int:
    """For the in-memory engine, as `FRAMES_PROGRAM`: listens on this machine's loopback, at a free port."""
    words = process.argv[5:]
    argv = [sys.executable, "-I", "-S", "-B", str(RELAY_FRAMES)]
    argv += words if words[0] == "reach" else ["0", "127.0.0.1"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as relay:
        assert relay.stdin is not None
        assert relay.stdout is not None
        threading.Thread(target=_feed, args=(process, relay), daemon=True).start()
        try:
            while data := os.read(relay.stdout.fileno(), 65536):
                process.write(data)
        finally:
            relay.kill()
    return relay.returncode


def _feed(process: FakeProcess, relay: subprocess.Popen[bytes]) -> None:
    assert relay.stdin is not None
    try:
        while line := process.next_line():
            relay.stdin.write(line)
            relay.stdin.flush()
        relay.stdin.close()
    except (OSError, ValueError):
        # The relay ended before its speaker.
        return
