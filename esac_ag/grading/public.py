"""Runs a task's public tests, and reads from their output which ones failed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from esac_ag.clock import Deadline
from esac_ag.grading.container import PUBLIC_FOLDER, SUBJECT_UID, public_spec
from esac_ag.manifest.plan import GraderLimits
from esac_ag.record import Record
from esac_ag.sandbox.contract import Engine, Termination
from esac_ag.tree import FileTree

_PYTEST = re.compile(r"^(?:FAILED|ERROR) (\S[^\[\n]*?(?:\[.*?\])?)(?: - .*)?$", re.MULTILINE)
_PYTEST_SUMMARY = re.compile(r"^=* ?short test summary info ?=*$", re.MULTILINE)
_PYTEST_PASSED = re.compile(r"^(?:=+ )?(?:\d+ [a-z]+, )*?(\d+) passed\b", re.MULTILINE)
_PYTEST_END = re.compile(r"^(?:=+ )?\d+ (?:passed|failed|error).* in [0-9.]+s", re.MULTILINE)
_UNITTEST = re.compile(r"^(?:FAIL|ERROR): (\S+) \(([^)\s]+)\)", re.MULTILINE)
_UNITTEST_RAN = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)


class PublicRun(Record):
    """How the public command ended."""

    exit_code: int | None
    """None when its time was up."""
    failed: tuple[str, ...]
    """Failed tests as pytest names them (`path::test`), or dotted ids of unittest; sorted."""
    passed: int | None
    """How many passed; None when the output does not tell."""
    output: bytes

    def failed_only(self, test: str) -> bool:
        """Whether the command failed, and the named test is the one that did."""
        return self.exit_code not in (0, None) and self.failed == (test,)

    @property
    def succeeded(self) -> bool:
        """Whether the command ended well, and named no failed test."""
        return self.exit_code == 0 and not self.failed


def run_public_command(
    engine: Engine,
    *,
    image: str,
    limits: GraderLimits,
    tree: FileTree,
    command: str,
    study: str = "public",
    attempt: str = "public",
) -> PublicRun:
    """Run the public command on a tree, as the subject in a grader container.

    Raises:
        SandboxLost, EngineUnavailable, ImageMissing: the machine's fault.
    """
    spec = public_spec(image=image, limits=limits, study=study, attempt=attempt, command=command)
    kept: list[bytes] = []
    with engine.create(spec) as sandbox:
        sandbox.put(tree, PUBLIC_FOLDER, uid=SUBJECT_UID, gid=SUBJECT_UID, mode=0o755)
        sandbox.start()
        state = sandbox.wait(Deadline.after_s(limits.wall_clock_s), sink=kept.append)
    output = b"".join(kept)
    failed, passed = read_tests(output.decode("utf-8", "replace"))
    in_time = state.termination is not Termination.TIMED_OUT
    return PublicRun(
        exit_code=state.exit_code if in_time else None, failed=failed, passed=passed, output=output
    )


def read_tests(output: str) -> tuple[tuple[str, ...], int | None]:
    """Names of failed tests, and the number of passed ones, from pytest's or unittest's output."""
    output = output.replace("\r\n", "\n")
    ran = _UNITTEST_RAN.findall(output)
    if ran and not _PYTEST_END.search(output):
        failed = _unique(_dotted(name, place) for name, place in _UNITTEST.findall(output))
        return failed, int(ran[-1]) - len(failed)
    # Only below the summary's heading is a line that begins with FAILED pytest's own.
    headings = list(_PYTEST_SUMMARY.finditer(output))
    failed = _unique(_PYTEST.findall(output, headings[-1].end())) if headings else ()
    passed = _PYTEST_PASSED.findall(output)
    if passed:
        return failed, int(passed[-1])
    return failed, 0 if _PYTEST_END.search(output) else None


def _dotted(name: str, place: str) -> str:
    """The id of a unittest test; since Python 3.11 the place in brackets ends with the name."""
    return place if place.endswith("." + name) else f"{place}.{name}"


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))
