"""A ledger that grows while somebody looks on: each line once, nothing locked, nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest
from filelock import FileLock

from esac_ag.attempt.events import Line, SessionStarted, StudyFinished
from esac_ag.errors import LedgerCorrupt
from esac_ag.ledger import open_ledger
from esac_ag.ledger.following import FollowedLedger, is_worked_on

SESSION = SessionStarted(harness_version="1", concurrency=1, engine="none")


class Noted:
    """A follower that remembers."""

    def __init__(self) -> None:
        self.begun = 0
        self.seqs: list[int] = []
        self.refuses = False

    def begin(self) -> None:
        """Forget."""
        self.begun += 1
        self.seqs = []

    def take(self, line: Line) -> None:
        """Remember a number."""
        if self.refuses:
            raise ValueError("no")
        self.seqs.append(line.seq)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger of two lines."""
    path = tmp_path / "ledger.jsonl"
    with open_ledger(path) as ledger:
        ledger.append(SESSION)
        ledger.append(SESSION)
    return path


@pytest.fixture
def noted() -> Noted:
    """Who follows."""
    return Noted()


@pytest.fixture
def followed(path: Path, noted: Noted) -> FollowedLedger:
    """The ledger."""
    return FollowedLedger(path, noted)


def test_what_is_appended_comes_once(path: Path, followed: FollowedLedger, noted: Noted) -> None:
    """While a writer holds the ledger, and without another beginning."""
    assert (followed.follow(), followed.follow(), noted.seqs) == (True, False, [0, 1])
    with open_ledger(path) as ledger:
        ledger.append(SESSION)
        assert (followed.follow(), noted.seqs) == (True, [0, 1, 2])
        ledger.append(StudyFinished())
        assert (followed.follow(), followed.follow()) == (True, False)
    assert (noted.seqs, noted.begun) == ([0, 1, 2, 3], 1)


def test_half_a_line_waits_until_it_is_whole(path: Path, followed: FollowedLedger, noted: Noted) -> None:
    """It is not counted, not refused, and read when its rest is there."""
    whole = path.read_bytes()
    cut = whole.rindex(b"\n", 0, -1) + 20
    path.write_bytes(whole[:cut])
    assert (followed.follow(), noted.seqs) == (True, [0])
    path.write_bytes(whole)
    assert (followed.follow(), noted.seqs) == (True, [0, 1])


def test_a_ledger_that_became_shorter_is_read_from_its_beginning(
    path: Path, followed: FollowedLedger, noted: Noted
) -> None:
    """As somebody who restores a copy makes it."""
    followed.follow()
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    assert (followed.follow(), noted.seqs, noted.begun) == (True, [0], 2)


def test_a_ledger_that_was_edited_in_place_is_found(path: Path, followed: FollowedLedger) -> None:
    """The same size, other bytes: the chain does not hold. It is told again until it is repaired."""
    followed.follow()
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"concurrency":1', b'"concurrency":2', 1))
    for _ in range(2):
        with pytest.raises(LedgerCorrupt) as caught:
            followed.follow()
        assert caught.value.where.endswith("ledger.jsonl:2")
    path.write_bytes(whole)
    assert followed.follow()


def test_an_event_that_contradicts_the_ones_before_it_is_an_error_of_the_ledger(
    followed: FollowedLedger, noted: Noted
) -> None:
    """As it is for those who work on the study."""
    noted.refuses = True
    with pytest.raises(LedgerCorrupt, match="contradicts"):
        followed.follow()


def test_the_lock_is_looked_at_and_not_touched(path: Path) -> None:
    """A holder is seen; looking neither takes the lock nor makes its file."""
    lock = path.with_suffix(".lock")
    lock.unlink()
    assert is_worked_on(path) is False
    assert not lock.exists()
    with open_ledger(path):
        assert is_worked_on(path) is True
    assert is_worked_on(path) is False
    with FileLock(lock, timeout=0):
        assert is_worked_on(path) is True
