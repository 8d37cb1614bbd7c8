"""SIGKILL at random moments of a study on the in-memory engine, again and again, until it is finished."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path

import pytest

from esac_ag.attempt import GRADED_OUTCOMES, Cell
from esac_ag.attempt.events import TailRecovered
from esac_ag.clock import Seeds, sleep_s
from esac_ag.conduct.audit import audit
from esac_ag.ledger import read_lines, read_state
from tests.builders_conduct import a_runnable_study, folder_of
from tests.crashing_study import FINISHED, READY, go_on

KILLS = 60
CELLS = 24
LONGEST_S = 0.30


@dataclass(frozen=True, slots=True)
class AtWork:
    """A process that goes on with a study."""

    process: ForkServerProcess
    told: Connection

    def has_finished(self) -> bool:
        """Wait for its end, and whether it had said before that every cell is done."""
        self.process.join()
        try:
            return bool(self.told.recv() == FINISHED)
        except EOFError:
            return False


@pytest.fixture(scope="module")
def forks() -> ForkServerContext:
    """Processes that have imported all they need when they begin: each is a fork of one that never works."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["pytest", "tests.crashing_study"])
    return context


@contextmanager
def started(forks: ForkServerContext, folder: Path) -> Iterator[AtWork]:
    """A process that goes on with the study; open and at work when the block begins."""
    ours, theirs = forks.Pipe(duplex=False)
    process = forks.Process(target=go_on, args=(folder, theirs))
    with ours:
        with theirs:
            process.start()
        assert ours.recv() == READY
        yield AtWork(process, ours)
        process.close()


@pytest.mark.slow
def test_a_study_that_is_killed_again_and_again_loses_nothing_and_counts_nothing_twice(
    tmp_path: Path, forks: ForkServerContext
) -> None:
    """At 60 random moments: every cell once, the ledger verifies, and finished work is never redone."""
    moments = Seeds("kills").stream("moments")
    kills = 0
    number = 0
    while kills < KILLS:
        number += 1
        folder = tmp_path / f"study-{number}"
        study = a_runnable_study(folder, repetitions=3)
        ledger = folder_of(study).ledger
        while kills < KILLS:
            done_before = _counted(ledger)
            with started(forks, folder) as at_work:
                sleep_s(moments.uniform(0, LONGEST_S))
                at_work.process.kill()
                had_finished = at_work.has_finished()
            kills += 1
            assert _counted(ledger).items() >= done_before.items()
            if had_finished:
                break
        with started(forks, folder) as at_work:
            assert at_work.has_finished()
        counted = Counter(_counted(ledger).keys())
        assert len(counted) == CELLS
        assert set(counted.values()) == {1}
        found = audit(folder_of(study).path)
        known = {f"attempts/{name}" for name in read_state(ledger).attempts}
        assert [item for item in found.findings if item.where not in known] == []
        assert found.cells_done == CELLS
        lines, torn = read_lines(ledger)
        assert torn == b""
        for line in lines:
            if isinstance(line.body, TailRecovered):
                assert (ledger.parent / line.body.file).stat().st_size == line.body.size_bytes


def _counted(ledger: Path) -> dict[Cell, str]:
    """The attempt that counts for each cell, by the whole lines of the ledger."""
    if not ledger.exists():
        return {}
    attempts = read_state(ledger).attempts.values()
    return {attempt.cell: attempt.attempt_id for attempt in attempts if attempt.outcome in GRADED_OUTCOMES}
