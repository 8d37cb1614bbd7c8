"""The one place where errors become messages and exit codes."""

from __future__ import annotations

import os
import select
import sys
import traceback
from contextlib import suppress

from esac_ag.errors import HarnessError

USAGE = 64
INFRASTRUCTURE = 2
INTERRUPTED = 130
READER_LEFT = 141
"""What shells tell of a program that a closed pipe ended."""
_STDOUT = 1


def exit_code_of(error: BaseException) -> int:
    """Print what happened to stderr; the exit code that stands for it."""
    import typer

    if isinstance(error, (BrokenPipeError, SystemExit)) and _reader_left():
        # Quietly, as other tools; whatever is still to be flushed goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), _STDOUT)
        return READER_LEFT
    match error:
        case typer.Exit():
            return error.exit_code
        case HarnessError():
            _tell(f"esac-ag: {error}")
            return error.exit_code
        case typer.TyperException():
            show = getattr(error, "show", None)
            show() if show else _tell(f"esac-ag: {error}")
            return USAGE
        case typer.Abort() | KeyboardInterrupt():
            _tell("esac-ag: interrupted")
            return INTERRUPTED
        case SystemExit():
            return error.code if isinstance(error.code, int) else INFRASTRUCTURE
        case OSError():
            _tell(f"esac-ag: the operating system refused\n  found:    {error}")
            return INFRASTRUCTURE
        case _:
            return _unexpected(error)


def _unexpected(error: BaseException) -> int:
    """A fault of ours: short for a reader, whole on request."""
    if os.environ.get("ESAC_AG_DEBUG"):
        traceback.print_exception(error)
    _tell(
        f"esac-ag: a fault of the harness: {type(error).__name__}: {error}\n"
        "  remedy:   run again with ESAC_AG_DEBUG=1 and report what it prints"
    )
    return INFRASTRUCTURE


def _reader_left() -> bool:
    """Whether standard output is a pipe that nobody reads any more (`esac-ag report | head`)."""
    poll = select.poll()
    poll.register(_STDOUT, 0)
    return any(events & select.POLLERR for _, events in poll.poll(0))


def _tell(text: str) -> None:
    with suppress(BrokenPipeError):
        sys.stderr.write(_printable(text) + "\n")


def _printable(text: str) -> str:
    """Control characters escaped: file names and replies are not to steer a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
