"""Runs a study on the in-memory engine in a process of its own, to be killed.

Usage: `python -m tests.crashing_study FOLDER`.

Prints `ready` once the study is open, and `finished` when every cell is done.
"""

from __future__ import annotations

import sys
from pathlib import Path

from esac_ag.sandbox.memory_process import FakeProcess
from tests.builders_conduct import bash, judge, opened_at, run_opened, touch

PAUSE_S = 0.004
"""Long enough that a study lasts some tenths of a second and kills fall everywhere in it."""


def slow_touch(process: FakeProcess) -> int:
    """As `touch`, taking some time."""
    process.sleep(PAUSE_S)
    return touch(process)


def slow_judge(process: FakeProcess) -> int:
    """As `judge`, taking some time."""
    process.sleep(PAUSE_S)
    return judge(process)


def main() -> None:
    """Go on with the study in the folder."""
    programs = {"bash -c": bash, "touch": slow_touch, "python3 -I -S -B /esac/judge.py": slow_judge}
    study = opened_at(Path(sys.argv[1]), programs)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    run_opened(study)
    sys.stdout.write("finished\n")


if __name__ == "__main__":
    main()
