"""Tables of attempts: what an address asks for, which rows fit, in which order."""

from __future__ import annotations

import pytest

from esac_ag.attempt import Outcome
from esac_ag.conduct.view_look import Launch, LaunchState
from esac_ag.conduct.view_scores import Scored
from esac_ag.errors import UsageError
from esac_ag.pages.attempt_table import AttemptQuery, paged, select

SCORES = {
    "a1": Scored(50.0),
    "a2": Scored(None),
    "a3": Scored(100.0),
    "a4": Scored(0.0, ("data-loss",)),
    "a5": Scored(50.0, ("data-loss", "security-regression")),
}


def a_launch(number: int, unit: str, arm: str, state: LaunchState = LaunchState.GRADED) -> Launch:
    """A row."""
    outcome = {LaunchState.SPOILED: Outcome.INFRA, LaunchState.UNFINISHED: None}.get(state, Outcome.COMPLETED)
    return Launch(number, f"a{number}", unit, arm, 1, 1, outcome, state, "", "2026-01-01T00:00:00.000Z", None)


ROWS = (
    a_launch(1, "totals", "neutral"),
    a_launch(2, "totals", "careful", LaunchState.SPOILED),
    a_launch(3, "totals", "careful"),
    a_launch(4, "names", "neutral"),
    a_launch(5, "names", "careful"),
)


def found(**given: str) -> list[int]:
    """Numbers of the rows that an address asks for."""
    chosen = select(ROWS, AttemptQuery.of(given), lambda launch: SCORES[launch.attempt_id])
    return [launch.number for launch in chosen]


@pytest.mark.parametrize(
    ("given", "numbers"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"sort": "-launch"}, [5, 4, 3, 2, 1]),
        ({"unit": "totals", "arm": "careful"}, [2, 3]),
        ({"unit": "nothing"}, []),
        ({"state": "spoiled"}, [2]),
        ({"outcome": "infra"}, [2]),
        ({"attempt": "a4"}, [4]),
        ({"critical": "any"}, [4, 5]),
        ({"critical": "security-regression"}, [5]),
        ({"least": "50"}, [1, 3, 5]),
        ({"most": "50"}, [1, 4, 5]),
        ({"least": "0", "most": "0"}, [4]),
        ({"sort": "score"}, [4, 1, 5, 3, 2]),
        ({"sort": "-score"}, [3, 1, 5, 4, 2]),
        ({"sort": "unit"}, [4, 5, 1, 2, 3]),
        ({"sort": "-critical"}, [5, 4, 1, 2, 3]),
    ],
)
def test_rows_that_fit_come_in_the_order_that_is_asked_for(given: dict[str, str], numbers: list[int]) -> None:
    """What has no score is no zero: it fits no range, and comes last either way."""
    assert found(**given) == numbers


def test_a_score_that_was_not_read_yet_fits_no_range() -> None:
    """It is told apart from the page."""
    assert select(ROWS, AttemptQuery.of({"least": "0"}), lambda _: None) == []


@pytest.mark.parametrize(
    "given",
    [
        *({"least": "high"}, {"most": "101"}, {"least": "nan"}, {"sort": "colour"}, {"page": "0"}),
        *({"page": "-1"}, {"page": "٣"}, {"page": "9" * 30}),
    ],
)
def test_an_address_that_means_nothing_is_refused(given: dict[str, str]) -> None:
    """With what was expected, and no rows that nobody asked for."""
    with pytest.raises(UsageError) as caught:
        AttemptQuery.of(given)
    assert caught.value.expected


def test_an_address_leads_back_to_its_query() -> None:
    """Links of a page keep what is asked for, but for the page."""
    query = AttemptQuery.of({"arm": "a&b", "least": "12.5", "sort": "-score", "page": "3"})
    assert query.address(page=2) == "?arm=a%26b&least=12.5&page=2&sort=-score"
    assert query.address(sort="score") == "?arm=a%26b&least=12.5&sort=score"
    assert query._replace(descending=False).address(sort="score") == "?arm=a%26b&least=12.5&sort=-score"


@pytest.mark.parametrize(
    ("rows", "page", "at"), [(0, 1, (1, 1, 0)), (100, 2, (1, 1, 0)), (101, 9, (2, 2, 100))]
)
def test_a_page_beyond_the_last_one_is_the_last_one(rows: int, page: int, at: tuple[int, int, int]) -> None:
    """A table that became shorter is shown to its end."""
    found = paged(rows, page)
    assert (found.page, found.pages, found.first) == at
