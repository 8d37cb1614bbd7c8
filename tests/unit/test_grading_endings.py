"""Which ends of the judge's container a submission can bring about, and what they make of a grading."""

from __future__ import annotations

import pytest

from esac_ag.attempt import CheckVerdict
from esac_ag.grading.endings import submissions_doing
from esac_ag.grading.results import all_failed
from esac_ag.sandbox.contract import ExitState, Termination
from tests.builders_grading import a_package_of


def an_end(termination: Termination, exit_code: int | None, *, memory: bool = False) -> ExitState:
    """How a judge's first process ended."""
    return ExitState(termination=termination, exit_code=exit_code, out_of_memory=memory)


BROUGHT_ABOUT = {
    "killed-for-memory": (an_end(Termination.OUT_OF_MEMORY, 137, memory=True), "memory ran out"),
    "killed-and-nobody-saw-why": (an_end(Termination.EXITED, 137), "killed by SIGKILL"),
    "broken-by-its-own-stack": (an_end(Termination.EXITED, 139), "killed by SIGSEGV"),
    "no-page-for-it": (
        an_end(Termination.EXITED, 135, memory=True),
        "SIGBUS; the container's memory ran out",
    ),
    "starved": (an_end(Termination.TIMED_OUT, None), "time was up"),
}


@pytest.mark.parametrize("case", BROUGHT_ABOUT)
def test_an_end_that_a_submission_can_bring_about_is_its_doing(case: str) -> None:
    """Taking the judge's memory or processor away is no way out of a grading."""
    state, told = BROUGHT_ABOUT[case]
    assert told in (submissions_doing(state) or "")


@pytest.mark.parametrize("exit_code", [0, 1, 2, 75, 125, 127, 128, 130, 143, 255, None])
def test_an_end_that_comes_from_the_judge_or_the_host_is_not(exit_code: int | None) -> None:
    """A result to be read, an error of the judge's own, a signal that only the host can send."""
    assert submissions_doing(an_end(Termination.EXITED, exit_code, memory=True)) is None


def test_a_judge_without_a_result_fails_every_declared_check() -> None:
    """None is missing and none passes; the reason is the same for all."""
    results = all_failed(a_package_of("one", "two", weight=3), "no memory")
    assert [(r.id, r.verdict, r.reason, r.weight) for r in results] == [
        ("one", CheckVerdict.FAIL, "no memory", 3),
        ("two", CheckVerdict.FAIL, "no memory", 3),
    ]
