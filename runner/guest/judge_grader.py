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
from judge_processes import GRADER, GRADER_OOM_SCORE, become, offer_to_memory_killer

TYPE_CHECKING = False  # importing typing would cost as much as a check
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from judge_places import Places

    Check = Callable[[esac_checks.Subject], None]


FAILURES = (esac_checks.CheckFailed, esac_checks.SubjectRaised, esac_checks.SubjectFailed)
"""Failures that speak for themselves."""
RAN_OUT = 75
"""Exit code of a grader that lacked memory, processes or descriptors outside of any check."""
REASON_CHARACTERS = 4_000


class TimeUp(BaseException):
    """The check's time is up; not an `Exception`, so that checks do not catch it by accident."""


def run(
    link: socket.socket, config: dict[str, Any], places: Places, submission: list[Entry], checks: list[str]
) -> None:
    """Run the checks in order and leave the process; never returns."""
    status = 1
    try:
        offer_to_memory_killer(GRADER_OOM_SCORE)
        become(GRADER)
        signal.signal(signal.SIGALRM, _on_alarm)
        channel = Channel(link)
        functions = _loaded(channel, places.grade + "/private/checks.py", config)
        if functions is not None:
            for check in checks:
                _run_check(channel, config, places, submission, check, functions[check])
            channel.request("done")
            status = 0
    except (OSError, MemoryError):
        status = RAN_OUT
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _loaded(channel: Channel, path: str, config: dict[str, Any]) -> dict[str, Check] | None:
    """The check functions; None when there are none to run, which the supervisor is told."""
    try:
        return load(path, config)
    except BaseException as error:  # noqa: BLE001  (whatever it is, no check can be run)
        channel.request("broken", reason=f"the checks cannot be loaded: {_described(error)}")
        return None


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
) -> None:
    """Run one check and report its verdict."""
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
    except BaseException as error:  # noqa: BLE001  (whatever the submission led the check to)
        verdict, reason = "fail", _reason(error)
    channel.request("end", check=check, verdict=verdict, reason=reason[:REASON_CHARACTERS])


def _reason(error: BaseException) -> str:
    """Why a check failed.

    Checks are proved on solutions that are right before they judge anything, so an exception that none
    of them expects is the submission's doing: were it no failure, a submission could choose it.
    """
    if isinstance(error, TimeUp):
        return "its time was up"
    if isinstance(error, FAILURES):
        return _text(error)
    return f"the check could not make sense of the submission: {_described(error)}"


def _stream(seed: str, check: str) -> random.Random:
    """The random stream of one check of one grading."""
    material = hashlib.sha256(json.dumps([seed, check]).encode()).digest()
    return random.Random(int.from_bytes(material, "big"))  # noqa: S311  (reproducible by design)


def _on_alarm(*_: object) -> None:
    raise TimeUp


def _described(error: BaseException) -> str:
    """Class, text and place of an exception; the end of its traceback goes to the log."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if os.path.basename(trace.tb_frame.f_code.co_filename) == "checks.py":
            line = trace.tb_lineno
        trace = trace.tb_next
    try:
        import traceback  # noqa: PLC0415  (costs, and is hardly ever needed)

        lines = traceback.format_exception(error, limit=-8)
        sys.stderr.write("".join(lines)[-REASON_CHARACTERS:])
        sys.stderr.flush()
    except Exception:  # noqa: BLE001, S110  (the log is a help and nothing more)
        pass
    where = "" if line is None else f" at line {line} of checks.py"
    return f"{type(error).__name__}{where}: {_text(error)}"


def _text(error: BaseException) -> str:
    try:
        return str(error)[:REASON_CHARACTERS]
    except Exception:  # noqa: BLE001  (it may hold a number too long to be written)
        return "(its text cannot be had)"
