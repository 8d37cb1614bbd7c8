"""A table of attempts: which rows a request asks for, in which order, and which page of them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import urlencode

from esac_ag.conduct.view_look import Launch
from esac_ag.conduct.view_scores import Scored
from esac_ag.errors import UsageError
from esac_ag.pages.query_numbers import whole_number

ROWS_PER_PAGE: Final = 100
ANY: Final = "any"
"""Some critical failure, of whatever kind."""

ScoreOf = Callable[[Launch], Scored | None]
"""None where a score was not read yet."""
Key = Callable[[Launch, Scored], str | float | None]

SORTS: Final[Mapping[str, Key]] = {
    "launch": lambda launch, _: launch.number,
    "unit": lambda launch, _: launch.unit,
    "arm": lambda launch, _: launch.arm,
    "repetition": lambda launch, _: launch.repetition,
    "outcome": lambda launch, _: launch.outcome,
    "state": lambda launch, _: launch.state,
    "score": lambda _, scored: scored.score,
    "critical": lambda _, scored: ", ".join(scored.critical) or None,
}
"""What rows are put in order by; what has no value comes last, either way."""
BY_SCORE: Final = frozenset({"score", "critical"})
NOT_READ: Final = Scored(None)
_TEXTS: Final = ("unit", "arm", "outcome", "state", "critical", "attempt")


class AttemptQuery(NamedTuple):
    """What is asked for; an empty text is no condition."""

    unit: str = ""
    arm: str = ""
    outcome: str = ""
    state: str = ""
    critical: str = ""
    """A kind of critical failure, or `any`."""
    least: float | None = None
    most: float | None = None
    attempt: str = ""
    """Part of an attempt's id."""
    sort: str = "launch"
    descending: bool = False
    page: int = 1

    @classmethod
    def of(cls, given: Mapping[str, str]) -> AttemptQuery:
        """The query of an address.

        Raises:
            UsageError: a value is no number, or the order is none of `SORTS`.
        """
        texts = {name: given.get(name, "") for name in _TEXTS}
        sort = given.get("sort") or "launch"
        name = sort.removeprefix("-")
        if name not in SORTS:
            raise UsageError("There is no such order.", where="sort", expected=", ".join(SORTS), found=name)
        return cls(
            **{name: text.strip() for name, text in texts.items()},
            least=_number("least", given),
            most=_number("most", given),
            sort=name,
            descending=sort.startswith("-"),
            page=page_of(given),
        )

    @property
    def needs_scores(self) -> bool:
        """Whether it takes the scores of all attempts to answer."""
        return bool(self.critical or self.least is not None or self.most is not None or self.sort in BY_SCORE)

    @property
    def is_filtered(self) -> bool:
        """Whether it asks for less than all attempts."""
        return self._replace(sort="launch", descending=False, page=1) != AttemptQuery()

    def address(self, *, page: int | None = None, sort: str | None = None) -> str:
        """The query of an address, `?` included; changed where something is given."""
        changed = self._replace(page=page or 1)
        if sort is not None:
            # The same order once more is the other way round.
            turned = sort == self.sort and not self.descending
            changed = changed._replace(sort=sort, descending=turned)
        values = changed._asdict()
        pairs = {name: _shown(values[name]) for name in (*_TEXTS, "least", "most", "page")}
        pairs["sort"] = f"-{changed.sort}" if changed.descending else changed.sort
        if pairs["sort"] == "launch":
            del pairs["sort"]
        if changed.page == 1:
            del pairs["page"]
        return "?" + urlencode({name: text for name, text in pairs.items() if text})


class PageOf(NamedTuple):
    """One page of many rows."""

    page: int
    pages: int
    rows: int
    """In all."""
    first: int
    """Number of the first row of the page, from 0."""


def page_of(given: Mapping[str, str]) -> int:
    """The page that an address asks for, from 1.

    Raises:
        UsageError: it is no number.
    """
    text = given.get("page") or "1"
    number = whole_number(text)
    if not number:
        raise UsageError("There is no such page.", where="page", expected="a number from 1 on", found=text)
    return number


def paged(rows: int, page: int, rows_per_page: int = ROWS_PER_PAGE) -> PageOf:
    """Where a page lies among rows; beyond the last page the last one is meant."""
    pages = max(1, -(-rows // rows_per_page))
    page = min(page, pages)
    return PageOf(page, pages, rows, (page - 1) * rows_per_page)


def select(launches: Sequence[Launch], query: AttemptQuery, score_of: ScoreOf) -> Sequence[Launch]:
    """The rows that are asked for, in the order that is asked for; all pages of them."""
    if not query.is_filtered and query.sort == "launch":
        return launches[::-1] if query.descending else launches
    kept = [launch for launch in launches if _fits(launch, query, score_of)]
    key = SORTS[query.sort]

    def value(launch: Launch) -> str | float | None:
        return key(launch, score_of(launch) or NOT_READ)

    valued = [launch for launch in kept if value(launch) is not None]
    # Typed as comparable by `SORTS`: one order's keys are all texts or all numbers.
    valued.sort(key=value, reverse=query.descending)  # type: ignore[arg-type]
    return [*valued, *(launch for launch in kept if value(launch) is None)]


def _fits(launch: Launch, query: AttemptQuery, score_of: ScoreOf) -> bool:
    outcome = "" if launch.outcome is None else launch.outcome.value
    named = (
        (query.unit, launch.unit),
        (query.arm, launch.arm),
        (query.outcome, outcome),
        (query.state, launch.state.value),
    )
    if any(asked and asked != found for asked, found in named) or query.attempt not in launch.attempt_id:
        return False
    if not (query.critical or query.least is not None or query.most is not None):
        return True
    scored = score_of(launch) or NOT_READ
    if query.critical and not (
        query.critical in scored.critical or (query.critical == ANY and scored.critical)
    ):
        return False
    if query.least is None and query.most is None:
        return True
    low = float("-inf") if query.least is None else query.least
    high = float("inf") if query.most is None else query.most
    return scored.score is not None and low <= scored.score <= high


def _number(name: str, given: Mapping[str, str]) -> float | None:
    text = given.get(name, "").strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 <= value <= 100:  # noqa: PLR2004  (the scale of scores)
        raise UsageError("This is no score.", where=name, expected="a number from 0 to 100", found=text)
    return value


def _shown(value: str | float | None) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return "" if value is None else str(value)
