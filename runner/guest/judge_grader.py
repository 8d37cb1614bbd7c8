"""The grader's child: loads the hidden checks, runs them, decides.

It runs as the user `grader`, to whom alone the checks are readable, and it never imports the submission.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import socket
import sys
import types

import esac_checks
from judge_channel import Channel
from judge_files import Entry
from judge_processes import GRADER, become

TYPE_CHECKING = False  # importing typing would cost as much as a check
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from judge_places import Places

    Check = Callable[[esac_checks.Subject], None]


FAILURES = (esac_checks.CheckFailed, esac_checks.SubjectRaised, esac_checks.SubjectFailed)
"""What makes a check fail; any other exception means that it is broken."""


class TimeUp(BaseException):
    """The check's time is up; not an `Exception`, so that checks do not catch it by accident."""


def run(
    link: socket.socket, config: dict[str, Any], places: Places, submission: list[Entry], checks: list[str]
) -> None:
    """Run the checks in order and leave the process; never returns."""
    status = 1
    try:
        become(GRADER)
        signal.signal(signal.SIGALRM, _on_alarm)
        channel = Channel(link)
        try:
            functions = load(places.grade + "/private/checks.py", config)
            for check in checks:
                if not _run_check(channel, config, places, submission, check, functions[check]):
                    return
            channel.request("done")
            status = 0
        except Exception as error:  # noqa: BLE001  (whatever it is, the grader is broken)
            channel.request("broken", reason=_told(error, "the grader"))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def load(path: str, config: dict[str, Any]) -> dict[str, Check]:
    """The functions of `checks.py` by check id.

    Raises:
        ValueError: ids differ from those that were declared.
    """
    esac_checks.registry.clear()
    module = types.ModuleType("checks")
    module.__file__ = path
    sys.modules["checks"] = module
    with open(path, "rb") as file:
        source = file.read()
    exec(compile(source, path, "exec"), module.__dict__)  # noqa: S102  (our own checks)
    declared = {check["id"] for check in config["checks"]}
    missing = sorted(declared - set(esac_checks.registry))
    surplus = [] if config.get("only") else sorted(set(esac_checks.registry) - declared)
    if missing or surplus:
        raise ValueError(f"declared without a function: {missing}; functions not declared: {surplus}")
    return dict(esac_checks.registry)


def _run_check(
    channel: Channel,
    config: dict[str, Any],
    places: Places,
    submission: list[Entry],
    check: str,
    function: Check,
) -> bool:
    """Run one check and report its verdict; False when the check itself is broken."""
    timeout_s = next(float(c["timeout_s"]) for c in config["checks"] if c["id"] == check)
    channel.request("begin", check=check)
    subject = esac_checks.Subject(channel, places, submission, _stream(config["seed"], check))
    verdict, reason = "fail", ""
    try:
        signal.setitimer(signal.ITIMER_REAL, timeout_s)
        try:
            function(subject)
            verdict = "pass"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except TimeUp:
        verdict, reason = "fail", "its time was up"
    except FAILURES as error:
        reason = str(error)
    except BaseException as error:  # noqa: BLE001  (the check is broken, whatever it raised)
        channel.request("broken", reason=_told(error, f"check {check}"))
        return False
    channel.request("end", check=check, verdict=verdict, reason=reason[:4000])
    return True


def _stream(seed: str, check: str) -> random.Random:
    """The random stream of one check of one grading."""
    material = hashlib.sha256(json.dumps([seed, check]).encode()).digest()
    return random.Random(int.from_bytes(material, "big"))  # noqa: S311  (reproducible by design)


def _on_alarm(*_: object) -> None:
    raise TimeUp


def _told(error: BaseException, who: str) -> str:
    import traceback  # noqa: PLC0415  (costs, and is hardly ever needed)

    traceback.print_exception(error)
    sys.stderr.flush()
    where = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename.endswith("checks.py"):
            where = f" at line {frame.lineno} of {os.path.basename(frame.filename)}"
    return f"{who} is broken{where}: {type(error).__name__}: {error}"[:2000]
