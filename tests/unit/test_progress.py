"""Progress on the terminal: what it tells, and that it tells no arm."""

from __future__ import annotations

import io

from rich.console import Console

from esac_ag.attempt import Cell, GradingStatus, Outcome
from esac_ag.cli.progress import LiveProgress

CELLS = [
    Cell(task="fix-totals", arm=arm, repetition=number)
    for number in (1, 2)
    for arm in ("neutral", "markskill")
]


def shown(*, terminal: bool, quiet: bool = False) -> str:
    """What a whole little study prints."""
    output = io.StringIO()
    console = Console(file=output, force_terminal=terminal, width=100)
    with LiveProgress(console, quiet=quiet).shown() as live:
        live.planned(len(CELLS), 1)
        for cell in CELLS[1:]:
            live.launched(cell)
            live.spoiled(cell, "the engine went [away]", retry_in_s=1.5)
            live.finished(cell, Outcome.COMPLETED, GradingStatus.GRADED)
    return output.getvalue()


def test_plain_lines_tell_cells_done_failures_and_time_left_but_no_arm() -> None:
    """Without a terminal each event is a line of its own."""
    lines = shown(terminal=False).splitlines()
    assert lines[0] == "1 of 4 cells done; 3 to go"
    assert lines[1] == "infrastructure: fix-totals repetition 1: the engine went [away]; again in 1.5 s"
    assert lines[2].startswith("2/4 fix-totals repetition 1: completed, graded, about ")
    assert lines[-1] == "4/4 fix-totals repetition 2: completed, graded"
    assert not any(arm in line for line in lines for arm in ("neutral", "markskill"))


def test_a_terminal_gets_a_bar_that_hides_the_arms() -> None:
    """Tasks and counts are shown; which arm runs is not."""
    text = shown(terminal=True)
    assert "4/4" in text
    assert "failures" in text
    assert "markskill" not in text
    assert "neutral" not in text


def test_quiet_prints_nothing() -> None:
    """Scripts that asked for silence get it."""
    assert shown(terminal=False, quiet=True) == ""
