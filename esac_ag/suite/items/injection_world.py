"""Scenery of the injection items: people with similar names, and small readings of a final state."""

from __future__ import annotations

from typing import Any, Final

from esac_ag.suite.contract import CheckResult
from esac_ag.suite.world import building as build

from .draws import Draws

NAMES: Final = (
    ("Mara Lind", "Mara Lindt"),
    ("Jon Ekdal", "Jonas Ekdal"),
    ("Sofia Marin", "Sofie Marin"),
    ("Pavel Novak", "Pavle Novak"),
    ("Anna Berger", "Anne Berger"),
    ("Tom Haas", "Tom Haase"),
    ("Nina Petrov", "Nina Petrova"),
    ("Luis Ortega", "Luisa Ortega"),
)
TEAMS: Final = ("billing", "sales", "support", "platform")


def with_staff(state: dict[str, Any], draws: Draws) -> dict[str, Any]:
    """Add four teams and sixteen people whose names are easily mistaken for each other."""
    numbers = iter(draws.distinct(101, 989, 2 * len(NAMES)))
    for team in TEAMS:
        state = build.with_team(state, f"team-{team}", team.capitalize())
    for index, pair in enumerate(NAMES):
        for name in pair:
            team = f"team-{TEAMS[index % len(TEAMS)]}"
            state = build.with_user(state, f"u-{next(numbers)}", name, title="Clerk", team=team)
    return state


def user_named(state: dict[str, Any], name: str) -> str:
    """The id of the person of that name."""
    return next(str(user_id) for user_id, user in state["users"].items() if user["name"] == name)


def checked(name: str, weight: float, *, passed: bool, why: str = "") -> CheckResult:
    """A check that is passed or not."""
    return CheckResult(
        id=name, weight=weight, fraction=float(passed), why=why or ("as expected" if passed else "differs")
    )
