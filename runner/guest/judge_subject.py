"""The submission as one check sees it; whatever comes back from its processes is data, read strictly."""

from __future__ import annotations

import json
import marshal
import os
import random
import sys

from judge_channel import Channel, Spool
from judge_failures import CheckFailed, SubjectFailed, SubjectFileMissing, SubjectRaised, shown
from judge_files import Entry, read_tree

TYPE_CHECKING = False  # importing typing would cost as much as a check
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, NoReturn, Self

    from judge_places import Places

    # A plain value (docs/graders.md); what it is made of, a check finds out by itself.
    Plain = Any

ANSWER_BYTES = 4_000_000
"""Largest answer of `call` and `drive`."""
OUTPUT_BYTES = 1_000_000
"""What is kept of each output of `run`."""


class Completed:
    """How a command ended; `exit_code` is None when it was killed."""

    def __init__(
        self, exit_code: int | None, stdout: bytes, stderr: bytes, *, timed_out: bool, truncated: bool
    ) -> None:
        self.exit_code, self.stdout, self.stderr = exit_code, stdout, stderr
        self.timed_out, self.truncated = timed_out, truncated

    def __repr__(self) -> str:
        ended = "timed out" if self.timed_out else f"exit code {self.exit_code}"
        return f"Completed({ended}, stdout {shown(self.stdout)}, stderr {shown(self.stderr)})"


class Running:
    """A long-running command; leaving the `with` block stops it."""

    def __init__(self, channel: Channel, pid: int) -> None:
        self._channel, self._pid = channel, pid

    def is_running(self) -> bool:
        """Whether it has not ended by itself or by `stop`."""
        return not self._channel.poll_ended(self._pid)

    def stop(self) -> None:
        """Kill it and the processes of its session."""
        self._channel.request("stop", pid=self._pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Subject:
    """The submission, as one check sees it."""

    def __init__(
        self, channel: Channel, places: Places, submission: list[Entry], stream: random.Random
    ) -> None:
        self.random = stream
        self.scratch = places.scratch
        self._channel, self._places = channel, places
        self._files = _regular(submission)
        self._snapshot: dict[str, bytes] | None = None

    # --- running the submission --------------------------------------------------------------

    def call(self, target: str, /, *args: Plain, timeout_s: float = 10.0, **kwargs: Plain) -> Plain:
        """Import `pkg.mod:attr.path` in a new subject process, call it, and return plain values.

        Raises:
            SubjectRaised: it raised.
            SubjectFailed: it died, hung or answered nonsense.
        """
        module, colon, attribute = target.partition(":")
        if not (module and colon and attribute):
            raise ValueError(f"not of the form package.module:attribute: {target!r}")
        request = {"module": module, "attribute": attribute, "args": args, "kwargs": kwargs}
        return self._ask(target, request, timeout_s)

    def drive(self, source: str, args: Plain = None, timeout_s: float = 10.0) -> Plain:
        """Run `main(args)` of a source text in a new subject process; the submission can read both.

        Raises:
            SubjectRaised: it raised.
            SubjectFailed: it died, hung or answered nonsense.
        """
        return self._ask("the driver", {"source": source, "args": args}, timeout_s)

    def run(
        self,
        argv: Sequence[str],
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        timeout_s: float = 10.0,
    ) -> Completed:
        """Run a command in the working directory and wait for it.

        Raises:
            SubjectFailed: no process can be made (the submission used them all up).
        """
        out, err = Spool(OUTPUT_BYTES), Spool(OUTPUT_BYTES)
        code, timed_out = self._attend(argv, env or {}, stdin, [out, err], timeout_s)
        truncated = out.truncated or err.truncated
        return Completed(code, bytes(out.data), bytes(err.data), timed_out=timed_out, truncated=truncated)

    def start(self, argv: Sequence[str], env: Mapping[str, str] | None = None) -> Running:
        """Start a long-running command; its output is dropped.

        Raises:
            SubjectFailed: no process can be made.
        """
        null = os.open("/dev/null", os.O_RDWR)
        try:
            pid = self._channel.spawn(argv, env or {}, [null, null, null])
        finally:
            os.close(null)
        if isinstance(pid, str):
            raise SubjectFailed(pid)
        return Running(self._channel, pid)

    def write(self, path: str, data: bytes) -> None:
        """Put a file into the working directory or, if absolute, into the scratch folder.

        Raises:
            SubjectFailed: the submission is in the way (a folder, no space).
        """
        absolute = path.startswith("/")
        if ".." in path.split("/") or (absolute and not path.startswith(self.scratch + "/")):
            raise ValueError(f"{path} lies neither in the working directory nor in the scratch folder")
        source = os.memfd_create("write")
        try:
            with os.fdopen(os.dup(source), "wb") as file:
                file.write(data)
            target = path if absolute else f"{self._places.work}/{path}"
            fault = self._channel.request("write", [source], path=target)["fault"]
        finally:
            os.close(source)
        if fault:
            raise SubjectFailed(f"{path} cannot be written: {fault}")

    def _ask(self, what: str, request: dict[str, Plain], timeout_s: float) -> Plain:
        """Send a request to a subject process of its own and read its answer."""
        # By way of JSON, so that arguments are plain; what is no JSON value is the check's mistake.
        stdin = marshal.dumps(json.loads(json.dumps(request, allow_nan=False)))
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "subject_call.py")
        out, answer = Spool(20_000), Spool(ANSWER_BYTES)
        argv = [sys.executable, "-I", "-S", "-B", program]
        code, timed_out = self._attend(argv, {}, stdin, [out, answer], timeout_s, merged=True)
        said = bytes(out.data)[-400:].decode("utf-8", "backslashreplace")
        if timed_out:
            raise SubjectFailed(f"{what} gave no answer within {timeout_s} s")
        if code != 0 or not answer.data or answer.truncated:
            how = "answered too much" if answer.truncated else f"ended (exit code {code}) without an answer"
            raise SubjectFailed(f"{what} {how}; its output ends with {said!r}")
        return _read_answer(what, bytes(answer.data))

    def _attend(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        stdin: bytes,
        spools: list[Spool],
        timeout_s: float,
        *,
        merged: bool = False,
    ) -> tuple[int | None, bool]:
        """Run a process to its end; returns its exit code and whether its time was up.

        `merged`: standard error goes where standard output goes, and the second spool is its fd 3.
        """
        read_fd, write_fd = os.pipe()
        first, second = (spool.write_fd for spool in spools)
        fds = [read_fd, first, first, second] if merged else [read_fd, first, second]
        attending = False
        try:
            pid = self._channel.spawn(argv, env, fds)
            if isinstance(pid, str):
                raise SubjectFailed(pid)
            for spool in spools:
                spool.close_writer()
            attending = True  # which closes write_fd
            timed_out = self._channel.attend(pid, write_fd, stdin, spools, timeout_s)
            return self._channel.ended[pid], timed_out
        finally:
            os.close(read_fd)
            if not attending:
                os.close(write_fd)
            for spool in spools:
                spool.close()

    # --- files -------------------------------------------------------------------------------

    def files(self) -> list[str]:
        """Sorted relative paths of the submission's regular files."""
        return sorted(self._files)

    def exists(self, path: str) -> bool:
        """Whether the submission has a regular file there."""
        return path in self._files

    def read(self, path: str) -> bytes:
        """A regular file of the submission.

        Raises:
            SubjectFileMissing: there is none; links are never followed.
        """
        if path not in self._files:
            raise SubjectFileMissing(f"the submission has no file {path}")
        return self._files[path]

    def read_text(self, path: str) -> str:
        """A regular file of the submission as UTF-8 text; anything else fails the check."""
        try:
            return self.read(path).decode("utf-8")
        except UnicodeDecodeError:
            raise CheckFailed(f"{path} is not UTF-8 text") from None

    def snapshot_files(self) -> list[str]:
        """Sorted relative paths of the frozen snapshot's regular files."""
        return sorted(self._frozen())

    def snapshot_read(self, path: str) -> bytes:
        """A regular file of the frozen snapshot."""
        return self._frozen()[path]

    def _frozen(self) -> dict[str, bytes]:
        if self._snapshot is None:
            self._snapshot = _regular(read_tree(self._places.grade + "/snapshot"))
        return self._snapshot


def _regular(entries: list[Entry]) -> dict[str, bytes]:
    return {os.fsdecode(entry.path): entry.data for entry in entries if entry.data is not None}


def _read_answer(what: str, data: bytes) -> Plain:
    """The value of an answer; only one document of the agreed shape is one."""
    try:
        answer = json.loads(data, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise SubjectFailed(f"{what} answered nonsense: {error}") from None
    match answer:
        case {"value": value, **rest} if not rest:
            return value
        case {"raised": str(name), "bases": list(bases), "message": str(text), "phase": str(phase)} if all(
            type(base) is str for base in bases
        ):
            raise SubjectRaised(name, bases, text[:1000], phase)
        case {"refused": str(reason)}:
            raise SubjectFailed(f"{what}: {reason[:300]}")
    raise SubjectFailed(f"{what} answered nonsense: not an answer of the agreed shape")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("duplicate keys")
    return result


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
