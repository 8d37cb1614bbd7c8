"""Keeps what was selected from long tables, so that their pages are turned quickly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from esac_ag.conduct.view_look import Launch, StudyLook
from esac_ag.pages.attempt_table import AttemptQuery

MOST_TABLES: Final = 16


class TableCache:
    """The rows of the latest queries. What changed since makes another key."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, AttemptQuery], Sequence[Launch]] = {}

    def known(self, name: str, look: StudyLook, query: AttemptQuery) -> Sequence[Launch] | None:
        """The rows of a query, where they were selected before.

        Args:
            name: of the study's folder.
            look: at the study.
            query: whose page does not matter.
        """
        return self._known.get((name, look.version, query._replace(page=1)))

    def keep(self, name: str, look: StudyLook, query: AttemptQuery, rows: Sequence[Launch]) -> None:
        """Remember the rows of a query for which every score was known."""
        self._known[name, look.version, query._replace(page=1)] = rows
        for old in list(self._known)[:-MOST_TABLES]:
            self._known.pop(old, None)
