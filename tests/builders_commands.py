"""The installed command line in processes of its own, with and without a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

TOOL = Path(sys.executable).with_name("esac-ag")


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment, without what changes how the command line prints."""
    left_out = {"COLUMNS", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"}
    kept = {key: value for key, value in os.environ.items() if key not in left_out}
    return kept | dict(more or {})


def command(
    *argv: str | Path, folder: Path, more: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `esac-ag` in a folder to its end."""
    return subprocess.run(
        [TOOL, *argv],
        cwd=folder,
        env=environment(more),
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def started(*argv: str | Path, folder: Path) -> subprocess.Popen[str]:
    """Start `esac-ag` in a folder; its output can be read."""
    return subprocess.Popen(
        [TOOL, *argv],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )


def in_a_terminal(*argv: str | Path, folder: Path) -> tuple[int, str]:
    """Run `esac-ag` in a terminal of 160 columns; its exit code and all that it wrote."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [TOOL, *argv],
        cwd=folder,
        env=environment({"TERM": "xterm-256color", "COLUMNS": "160"}),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    written = b""
    try:
        while piece := os.read(ours, 65_536):
            written += piece
    except OSError:
        # Linux tells the end of a terminal by an error.
        pass
    os.close(ours)
    return process.wait(), written.decode("utf-8", "replace")
