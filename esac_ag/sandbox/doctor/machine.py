"""The machine that the harness runs on: Python, git, clock, rooms."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from esac_ag import clock
from esac_ag.sandbox.doctor.findings import Check, failure, ok, warning

ROOMS = ("arms", "tasks", "graders", "manifests", "runner")
_CALL_LIMIT_S = 5.0
_PAUSE_S = 0.05
_MAX_DRIFT_S = 0.5
_MAX_SKEW_S = 5.0


def machine_checks(root: Path | None) -> Iterator[Check]:
    """Checks that need no engine.

    Args:
        root: the workspace, or None when there is none here.
    """
    yield _python()
    yield _git()
    yield _clock()
    yield _synchronised()
    yield _rooms(root)


def engine_clock(engine_time: str) -> Check:
    """The engine's wall clock against ours; time stamps come from both.

    Args:
        engine_time: ISO 8601 as the engine tells it, with up to nanoseconds.
    """
    name = "engine's clock"
    ours = datetime.fromisoformat(clock.now())
    try:
        skew_s = (datetime.fromisoformat(engine_time) - ours).total_seconds()
    except (ValueError, TypeError):
        return warning(name, f"cannot be read: {engine_time!r}", "compare `date` with the engine's machine")
    found = f"{skew_s:+.1f} s from ours"
    if abs(skew_s) > _MAX_SKEW_S:
        return warning(name, found, "set both clocks by NTP; durations are not concerned, time stamps are")
    return ok(name, found)


def _python() -> Check:
    found = f"{platform.python_implementation()} {platform.python_version()} at {sys.executable}"
    return ok("python", found)


def _git() -> Check:
    remedy = "install git: `apt-get install git`"
    found = _output("git", "--version")
    return ok("git", found.removeprefix("git version ")) if found else failure("git", "none on PATH", remedy)


def _clock() -> Check:
    wall, monotonic_s = datetime.fromisoformat(clock.now()), clock.monotonic_s()
    clock.sleep_s(_PAUSE_S)
    wall_s = (datetime.fromisoformat(clock.now()) - wall).total_seconds()
    drift_s = wall_s - (clock.monotonic_s() - monotonic_s)
    found = f"{clock.now()}, wall and monotonic clock {abs(drift_s) * 1000:.0f} ms apart over a pause"
    if abs(drift_s) > _MAX_DRIFT_S:
        return warning("clock", found, "wait until the clock was set; see `timedatectl`")
    return ok("clock", found)


def _synchronised() -> Check:
    name = "clock synchronisation"
    told = _output("timedatectl", "show", "--property=NTPSynchronized", "--value")
    match told:
        case "yes":
            return ok(name, "synchronised by NTP")
        case "no":
            return warning(name, "not synchronised by NTP", "`timedatectl set-ntp true`")
        case _:
            # Durations are monotonic, so that nothing of a study depends on it.
            return ok(name, "unknown here (no timedatectl answers); durations do not depend on it")


def _rooms(root: Path | None) -> Check:
    if root is None:
        remedy = "change into a workspace, or make one: `esac-ag init DIR`"
        return warning("workspace", "none here or above", remedy)
    missing = [room for room in ROOMS if not (root / room).is_dir()]
    if missing:
        return failure(
            "workspace", f"{root} lacks {', '.join(missing)}", "`esac-ag init DIR` lays all rooms out"
        )
    counts = (f"{room} {sum(1 for entry in (root / room).iterdir() if entry.is_dir())}" for room in ROOMS[:3])
    return ok("workspace", f"{root} ({', '.join(counts)})")


def _output(*argv: str) -> str:
    """First line that a program prints; empty when it is missing, fails or hangs."""
    if shutil.which(argv[0]) is None:
        return ""
    try:
        ended = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_CALL_LIMIT_S, check=True
        )
    except (subprocess.SubprocessError, OSError):
        return ""
    return ended.stdout.decode("utf-8", "replace").strip().partition("\n")[0]
