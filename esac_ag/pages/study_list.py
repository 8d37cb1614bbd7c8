"""The list of studies: which of them a request asks for, and in which order. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import urlencode

from esac_ag.conduct.view_results import Described, Listed
from esac_ag.errors import UsageError
from esac_ag.pages.attempt_table import page_of

SORTS: Final[Mapping[str, Callable[[Described], str | float]]] = {
    "study": lambda one: one.look.plan.study_id,
    "kind": lambda one: f"{one.look.plan.kind.value} {one.look.plan.part}",
    "state": lambda one: one.look.standing.value,
    "model": lambda one: one.look.plan.model,
    "graded": lambda one: sum(arm.graded for arm in one.look.arms),
    "last": lambda one: one.look.last_at,
}
"""What studies are put in order by; what cannot be read comes last, either way."""


class ListQuery(NamedTuple):
    """What is asked for."""

    words: str = ""
    """All of them have to stand somewhere in the study's facts."""
    sort: str = "last"
    descending: bool = True
    page: int = 1

    @classmethod
    def of(cls, given: Mapping[str, str]) -> ListQuery:
        """The query of an address.

        Raises:
            UsageError: the order is none of `SORTS`, or the page is no number.
        """
        sort = given.get("sort") or "-last"
        name = sort.removeprefix("-")
        if name not in SORTS:
            raise UsageError("There is no such order.", where="sort", expected=", ".join(SORTS), found=name)
        return cls(given.get("words", "").strip(), name, sort.startswith("-"), page_of(given))

    def address(self, *, page: int | None = None, sort: str | None = None) -> str:
        """The query of an address, `?` included; changed where something is given."""
        changed = self._replace(page=page or 1)
        if sort is not None:
            changed = changed._replace(sort=sort, descending=sort == self.sort and not self.descending)
        pairs = {"words": changed.words, "page": "" if changed.page == 1 else str(changed.page)}
        order = f"-{changed.sort}" if changed.descending else changed.sort
        pairs["sort"] = "" if order == "-last" else order
        return "?" + urlencode({name: text for name, text in pairs.items() if text})


def chosen(listed: Sequence[Listed], query: ListQuery) -> list[Listed]:
    """The folders that are asked for, in the order that is asked for."""
    words = query.words.casefold().split()
    kept = [one for one in listed if all(word in _text(one) for word in words)]
    readable = [(SORTS[query.sort](one.described), one) for one in kept if one.described is not None]
    # Typed as comparable by `SORTS`: one order's keys are all texts or all numbers.
    readable.sort(key=lambda pair: pair[0], reverse=query.descending)
    return [*(one for _, one in readable), *(one for one in kept if one.described is None)]


def _text(one: Listed) -> str:
    if one.described is None:
        return f"{one.name} {one.problem}".casefold()
    look, plan = one.described.look, one.described.look.plan
    facts = (one.name, plan.study_id, plan.kind.value, plan.part, plan.model, plan.agent, look.standing.value)
    return " ".join((*facts, *plan.arms, *one.described.answer)).casefold()
