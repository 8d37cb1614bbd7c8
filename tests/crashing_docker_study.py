"""Runs a study on the real engine in a process of its own, to be killed.

Usage: `python -m tests.crashing_docker_study FOLDER`. Prints `ready` once the study is open, and
`finished` when every cell is done. Stops in order on SIGINT, as the command line does.
"""

from __future__ import annotations

import sys
from pathlib import Path

from esac_ag.cli.running import stopping_on_signals
from esac_ag.conduct.context import Stop
from esac_ag.errors import HarnessError
from tests.builders_conduct import run_opened
from tests.builders_docker import an_engine_for, opened_in_docker


def main() -> int:
    """Go on with the study in the folder."""
    root = Path(sys.argv[1])
    stop = Stop()
    study = opened_in_docker(root, an_engine_for(root), stop=stop)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    try:
        with stopping_on_signals(stop):
            run_opened(study)
    except HarnessError as error:
        sys.stdout.write(f"{error.what}\n")
        return error.exit_code
    sys.stdout.write("finished\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
