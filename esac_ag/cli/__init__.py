"""The command line: parse, call one function, print. One place maps errors to exit codes."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code.

    0 done, 1 findings, 2 infrastructure, 3 not valid, 64 usage, 130 interrupted.
    """
    from esac_ag.cli.app import app
    from esac_ag.cli.errors import exit_code_of

    # A closed pipe (`esac-ag report | head`) ends us quietly, as it ends other tools.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        result = app(args=None if argv is None else list(argv), prog_name="esac-ag", standalone_mode=False)
    except BaseException as error:  # noqa: BLE001  (the one place; everything becomes an exit code)
        return exit_code_of(error)
    return result if isinstance(result, int) else 0


def entry() -> None:
    """The console script."""
    sys.exit(main())
