"""The directory of people and teams."""

from __future__ import annotations

from .snapshot import State
from .tables import Arguments, Operation, Row, listing, picked, row


def search(state: State, arguments: Arguments) -> Row:
    """People of whom a searched field contains the text."""
    wanted = arguments["query"].casefold()
    found = [
        {"user_id": user_id, **picked(user, "name", "title", "team")}
        for user_id, user in sorted(state["users"].items())
        if any(wanted in (user[name] or "").casefold() for name in ("name", "email", "title", "team"))
    ]
    return listing(arguments, "users", found)


def get(state: State, arguments: Arguments) -> Row:
    """All fields of a person."""
    user_id = arguments["user_id"]
    return {"user_id": user_id, **row(state, "users", "user", user_id)}


def get_team(state: State, arguments: Arguments) -> Row:
    """A team and its active members."""
    team_id = arguments["team_id"]
    team = row(state, "teams", "team", team_id)
    members = [
        user_id
        for user_id, user in sorted(state["users"].items())
        if user["team"] == team_id and user["status"] == "active"
    ]
    return {"team_id": team_id, **team, "members": members}


OPERATIONS: dict[str, Operation] = {
    "directory_search": search,
    "directory_get": get,
    "directory_get_team": get_team,
}
