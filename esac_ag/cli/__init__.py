"""The command line: parse, call one function, print. One place maps errors to exit codes."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code.

    0 done, 1 findings, 2 infrastructure, 3 not valid, 64 usage, 130 interrupted, 141 nobody reads the output.

    SIGPIPE stays ignored, as Python has it: else an agent that hangs up on the gateway would end the harness.
    """
    from esac_ag.cli.app import app
    from esac_ag.cli.errors import exit_code_of

    try:
        result = app(args=None if argv is None else list(argv), prog_name="esac-ag", standalone_mode=False)
        if sys.stdout is not None:
            # Here, because at the interpreter's end nobody could tell that its reader has left.
            sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001  (the one place; everything becomes an exit code)
        return exit_code_of(error)
    return result if isinstance(result, int) else 0


def entry() -> None:
    """The console script.

    SIGTERM ends every command as Ctrl-C does, so that containers and files that it began are removed.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
