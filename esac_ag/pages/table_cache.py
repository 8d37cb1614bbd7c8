"""Keeps what was selected from long tables, so that their pages are turned quickly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from esac_ag.conduct.view_scores import ScoreBook, Scored
from esac_ag.conduct.view_study import Launch, StudyLook
from esac_ag.pages.attempt_table import AttemptQuery, select

MOST_TABLES: Final = 16


class TableCache:
    """The rows of the latest queries. What changed since makes another key."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, AttemptQuery], Sequence[Launch]] = {}

    def selected(
        self, name: str, look: StudyLook, query: AttemptQuery, book: ScoreBook, *, unread: int
    ) -> Sequence[Launch]:
        """The rows that a query asks for.

        Args:
            name: of the study's folder.
            look: at the study.
            query: whose page does not matter.
            book: of the study's scores.
            unread: scores that are not known yet; then nothing is kept.
        """

        def score_of(launch: Launch) -> Scored | None:
            return book.known(look.attempts[launch.attempt_id])

        key = (name, look.version, query._replace(page=1))
        found = self._known.get(key)
        if found is None:
            found = select(look.launches, query, score_of)
            if not unread:
                self._known[key] = found
                for old in list(self._known)[:-MOST_TABLES]:
                    self._known.pop(old, None)
        return found
