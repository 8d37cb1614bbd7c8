"""Tickets: a state machine with assignees, teams and blockers."""

from __future__ import annotations

from typing import Final

from .refusal import Refused
from .snapshot import State
from .tables import Arguments, Operation, Row, active_user, allocate, listing, picked, row

LEADS_TO: Final[dict[str, tuple[str, ...]]] = {
    "open": ("in_progress",),
    "in_progress": ("open", "resolved"),
    "resolved": ("closed", "open"),
    "closed": (),
}


def list_tickets(state: State, arguments: Arguments) -> Row:
    """Tickets that are not archived, narrowed down."""
    filters = [name for name in ("status", "assignee", "team") if name in arguments]
    found = [
        {"ticket_id": ticket_id, **picked(ticket, "title", "status", "priority", "assignee", "team")}
        for ticket_id, ticket in sorted(state["tickets"].items())
        if not ticket["archived"] and all(ticket[name] == arguments[name] for name in filters)
    ]
    return listing(arguments, "tickets", found)


def get(state: State, arguments: Arguments) -> Row:
    """All fields of a ticket."""
    ticket_id = arguments["ticket_id"]
    return {"ticket_id": ticket_id, **row(state, "tickets", "ticket", ticket_id)}


def create(state: State, arguments: Arguments) -> Row:
    """A new open ticket of the agent."""
    team = arguments.get("team")
    if team is not None:
        row(state, "teams", "team", team)
    ticket_id = allocate(state, "tickets", "T")
    state["tickets"][ticket_id] = {
        **picked(arguments, "title", "body", "priority"),
        "status": "open",
        "assignee": None,
        "team": team,
        "reporter": state["me"],
        "tags": [],
        "blocked_by": [],
        "comments": [],
        "created_at": state["now"],
        "updated_at": state["now"],
        "archived": False,
    }
    return {"ticket_id": ticket_id, "status": "open"}


def assign(state: State, arguments: Arguments) -> Row:
    """Give a ticket to a person of its team."""
    ticket = _changeable(state, arguments)
    user_id = arguments["user_id"]
    user = active_user(state, user_id)
    if ticket["team"] is not None and user["team"] != ticket["team"]:
        raise Refused(
            "wrong-team",
            f"{user_id} is in {user['team'] or 'no team'}; the ticket belongs to {ticket['team']}",
        )
    if ticket["assignee"] == user_id:
        raise Refused("no-change", f"{arguments['ticket_id']} is assigned to {user_id} already")
    ticket["assignee"] = user_id
    return _changed(state, arguments, ticket, "assignee")


def transfer(state: State, arguments: Arguments) -> Row:
    """Hand a ticket over to another team."""
    ticket = _changeable(state, arguments)
    row(state, "teams", "team", arguments["team"])
    if ticket["team"] == arguments["team"]:
        raise Refused("no-change", f"{arguments['ticket_id']} belongs to {arguments['team']} already")
    ticket.update(team=arguments["team"], assignee=None, status="open")
    return _changed(state, arguments, ticket, "team", "assignee", "status")


def set_status(state: State, arguments: Arguments) -> Row:
    """Move a ticket along its state machine."""
    ticket = _unarchived(state, arguments)
    old, new, note = ticket["status"], arguments["status"], arguments.get("note")
    if old == new:
        raise Refused("no-change", f"{arguments['ticket_id']} is {new} already")
    if new not in LEADS_TO[old]:
        allowed = " or ".join(LEADS_TO[old]) or "nothing: it is final"
        raise Refused("invalid-transition", f"{old} does not lead to {new}, but to {allowed}")
    if new == "in_progress" and ticket["assignee"] is None:
        raise Refused("precondition-failed", "a ticket in progress needs an assignee")
    if note is None and (new == "resolved" or (old == "resolved" and new == "open")):
        raise Refused("precondition-failed", f"{old} to {new} needs a note")
    if new == "resolved":
        _refuse_blocked(state, ticket)
    ticket["status"] = new
    if note is not None:
        ticket["comments"].append(_comment(state, note))
    return _changed(state, arguments, ticket, "status")


def set_priority(state: State, arguments: Arguments) -> Row:
    """Change how urgent a ticket is."""
    ticket = _changeable(state, arguments)
    if ticket["priority"] == arguments["priority"]:
        raise Refused("no-change", f"{arguments['ticket_id']} has priority {ticket['priority']} already")
    ticket["priority"] = arguments["priority"]
    return _changed(state, arguments, ticket, "priority")


def comment(state: State, arguments: Arguments) -> Row:
    """Add a comment of the agent."""
    ticket = _unarchived(state, arguments)
    ticket["comments"].append(_comment(state, arguments["text"]))
    ticket["updated_at"] = state["now"]
    return {"ticket_id": arguments["ticket_id"], "comments": len(ticket["comments"])}


def archive(state: State, arguments: Arguments) -> Row:
    """Take a closed ticket out of all lists, for good."""
    ticket = _unarchived(state, arguments)
    if ticket["status"] != "closed":
        raise Refused(
            "invalid-transition", f"only closed tickets can be archived; this one is {ticket['status']}"
        )
    ticket["archived"] = True
    return _changed(state, arguments, ticket, "archived")


def _unarchived(state: State, arguments: Arguments) -> Row:
    ticket = row(state, "tickets", "ticket", arguments["ticket_id"])
    if ticket["archived"]:
        raise Refused("archived", f"{arguments['ticket_id']} is archived and cannot change")
    return ticket


def _changeable(state: State, arguments: Arguments) -> Row:
    ticket = _unarchived(state, arguments)
    if ticket["status"] == "closed":
        raise Refused("invalid-transition", f"{arguments['ticket_id']} is closed, which is final")
    return ticket


def _refuse_blocked(state: State, ticket: Row) -> None:
    tickets = state["tickets"]
    waiting = [
        other
        for other in ticket["blocked_by"]
        if other in tickets and tickets[other]["status"] not in {"resolved", "closed"}
    ]
    if waiting:
        raise Refused("precondition-failed", f"blocked by {', '.join(waiting)}, not resolved yet")


def _comment(state: State, text: str) -> Row:
    return {"author": state["me"], "at": state["now"], "text": text}


def _changed(state: State, arguments: Arguments, ticket: Row, *names: str) -> Row:
    ticket["updated_at"] = state["now"]
    return {"ticket_id": arguments["ticket_id"], **picked(ticket, *names)}


OPERATIONS: dict[str, Operation] = {
    "tickets_list": list_tickets,
    "tickets_get": get,
    "tickets_create": create,
    "tickets_assign": assign,
    "tickets_transfer": transfer,
    "tickets_set_status": set_status,
    "tickets_set_priority": set_priority,
    "tickets_comment": comment,
    "tickets_archive": archive,
}
