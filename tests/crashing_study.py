"""Goes on with a study on the in-memory engine in a process of its own, to be killed."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path

from esac_ag.sandbox.memory_process import FakeProcess
from tests.builders_conduct import bash, judge, opened_at, run_opened, touch

READY = "ready"
FINISHED = "finished"
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


def go_on(folder: Path, told: Connection) -> None:
    """Go on with the study in a folder; tells when it is open, and when every cell is done."""
    programs = {"bash -c": bash, "touch": slow_touch, "python3 -I -S -B /esac/judge.py": slow_judge}
    study = opened_at(folder, programs)
    told.send(READY)
    run_opened(study)
    told.send(FINISHED)
