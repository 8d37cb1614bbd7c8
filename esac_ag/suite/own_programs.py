"""Runs the programs of the suite's own policies, and the hidden tests on them, in this very process.

For self-tests in memory: a program takes a fraction of a millisecond instead of a container. Only programs
that the items themselves hold are run so; a model's program never is, for nothing here confines it. It is as
faithful as that needs: the same text runs as `__main__` on the same input, and the hidden tests' own bodies
judge what it prints, on the inputs that the grader's container draws from the same seed. What is not
imitated: a traceback is its last line only, and there is no time limit.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any, Final, TextIO

from esac_ag.clock import Seeds
from esac_ag.suite.contract import CodeResult, Instance
from esac_ag.suite.items.code_desk import Ran, RunProgram
from esac_ag.suite.play import Programs

GRADING_SEED: Final = "selftest"
"""Of the inputs that hidden tests draw in a self-test, in memory and in containers."""

NO_SUCH_FILE: Final = 2
"""Exit code of Python when the file to run is missing."""


_STREAMS = threading.Lock()
"""Standard input and output are the process's: one program at a time has them."""


class _TestFailed(Exception):
    """A requirement of a hidden test does not hold."""


@dataclass(frozen=True, slots=True)
class _Done:
    """What a hidden test sees of a run; the same names as in the grader's container."""

    exit_code: int | None
    stdout: bytes
    stderr: bytes
    timed_out: bool = False
    truncated: bool = False


class OwnSubject:
    """What a hidden test drives: the files that were handed in, and a random stream.

    Args:
        files: the files.
        seed: of the grading.
        test_id: names the stream.
        run: runs a program.
    """

    def __init__(self, files: Mapping[str, str], seed: str, test_id: str, run: RunProgram) -> None:
        self._files = files
        self._run = run
        self.random = Seeds(seed).stream()
        # The stream of the grader's container for the same grading and check (runner/guest/judge_grader.py).
        self.random.seed(int.from_bytes(hashlib.sha256(json.dumps([seed, test_id]).encode()).digest()))

    def run(
        self,
        argv: Sequence[str],
        stdin: bytes = b"",
        timeout_s: float = 10.0,  # noqa: ARG002  (as in the grader's container)
    ) -> _Done:
        """Run `python3 FILE`."""
        ran = self._run(self._files, argv[1], stdin.decode())
        return _Done(ran.exit_code, ran.stdout.encode(), ran.stderr.encode())


def run_own(files: Mapping[str, str], path: str, stdin: str) -> Ran:
    """Run a file of one of our own policies as `__main__`, in this process."""
    if path not in files:
        return Ran(NO_SUCH_FILE, "", f"can't open file '{path}': No such file or directory\n")
    out, code, error = io.StringIO(), 0, ""
    with _STREAMS, _standard_streams(io.StringIO(stdin), out):
        try:
            exec(_compiled(files[path], path), {"__name__": "__main__"})  # noqa: S102  (our own text)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        except Exception as raised:  # noqa: BLE001  (whatever the program raises is how it ends)
            code, error = 1, f"{type(raised).__name__}: {raised}\n"
    return Ran(code, out.getvalue(), error)


@contextlib.contextmanager
def _standard_streams(stdin: TextIO, stdout: TextIO) -> Iterator[None]:
    before, sys.stdin = sys.stdin, stdin
    try:
        with contextlib.redirect_stdout(stdout):
            yield
    finally:
        sys.stdin = before


def grade_own(
    instance: Instance, files: Mapping[str, str], seed: str = GRADING_SEED, run: RunProgram = run_own
) -> tuple[CodeResult, ...]:
    """Run all hidden tests on files of one of our own policies; the tests themselves in this process."""
    results = []
    for test in instance.hidden_tests:
        subject = OwnSubject(files, seed, test.id, run)
        names = {"require": _require, "require_equal": _require_equal, "subject": subject}
        try:
            exec(_compiled(test.source, test.id), names)  # noqa: S102  (our own text)
            results.append(CodeResult(test_id=test.id, passed=True))
        except _TestFailed as failed:
            results.append(CodeResult(test_id=test.id, passed=False, detail=str(failed)))
    return tuple(results)


OWN_PROGRAMS: Final = Programs(run=run_own, grade=grade_own)
"""For the suite's own policies."""


@lru_cache(maxsize=1024)
def _compiled(source: str, name: str) -> CodeType:
    return compile(source, name, "exec")


def _require(condition: object, message: str) -> None:
    if not condition:
        raise _TestFailed(message)


def _require_equal(actual: Any, expected: Any, what: str) -> None:  # noqa: ANN401  (plain values)
    """As the grader's, for the lines of text that hidden tests compare."""
    if type(actual) is not type(expected) or actual != expected:
        raise _TestFailed(f"{what}: {actual!r}, expected {expected!r}")
