"""Ends of the judge's container that a submission can bring about. Pure.

A submission shares the container's memory and processor with its judge. Could it turn a failure into a
grading that does not count by taking both away, it would. So such an end fails every check; what only the
machine or the judge itself can cause stays invalid.
"""

from __future__ import annotations

import signal
from typing import assert_never

from esac_ag.sandbox.contract import ExitState, Termination

_SIGNALLED = 128
"""Added to a signal's number in an exit code."""
_FORCED = frozenset(
    {
        signal.SIGKILL,
        signal.SIGSEGV,
        signal.SIGBUS,
        signal.SIGABRT,
        signal.SIGILL,
        signal.SIGFPE,
        signal.SIGSYS,
    }
)
"""What ends the first process of a container without coming from outside: the kernel sends these, for
memory or for what the process itself does. The engine tells a kill of its own apart (`SandboxLost`). Any
other signal reaches the judge from the host only."""


def submissions_doing(state: ExitState) -> str | None:
    """Why every check fails, when a submission can be the cause of this end; None when it cannot.

    Args:
        state: how the judge's first process ended.
    """
    match state.termination:
        case Termination.TIMED_OUT:
            # The judge fails what is open long before the host's deadline, unless it gets no processor.
            return "the grading's time was up, and the submission left the judge none to end it"
        case Termination.OUT_OF_MEMORY:
            return "the container's memory ran out while the submission ran"
        case Termination.EXITED | Termination.CONTAINER_ENDED:
            number = (state.exit_code or 0) - _SIGNALLED
            if number not in _FORCED:
                return None
            memory = "; the container's memory ran out" if state.out_of_memory else ""
            return f"the judge was killed by {signal.Signals(number).name}{memory}"
        case _:
            assert_never(state.termination)
