"""A review's tables for people, in a narrow terminal."""

from __future__ import annotations

import io

from rich.console import Console

from esac_ag.cli.review_rendering import print_status
from esac_ag.conduct.review_status import PersonStatus, ReviewStatus
from esac_ag.study.forms import Author, AuthorKind, Progress
from esac_ag.study.packets import Role


def test_a_status_is_whole_at_80_columns() -> None:
    """Long names fold: no cell is cut, and every word and number is there."""
    name, label = "a-reviewer-with-a-name-of-some-length", "some-model-of-2026-01-15-by-somebody"
    person = PersonStatus(
        name=name,
        role=Role.ADJUDICATOR,
        author=Author(kind=AuthorKind.MODEL, label=label),
        provisional=True,
        progress=Progress(packets=288, begun=12, submitted=100, locked=True),
        guessed=False,
    )
    written = io.StringIO()
    status = ReviewStatus(people=(person,), disagreements=3, unblinded=False, next="review lock")
    print_status(status, Console(file=written, width=80))
    shown = written.getvalue()
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    first = "".join(line[:26].strip() for line in shown.splitlines()[3:])
    assert name in first
    assert label in first
    assert "PROVISIONAL" in first
    for words in ("100 of 288", "12", "yes", "no", "adjudicator", "submitted", "guessed"):
        assert words in shown
