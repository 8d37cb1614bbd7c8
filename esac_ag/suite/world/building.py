"""Initial states: every function returns a new state and leaves the given one as it was.

The state's shape is described in docs/suite-world.md. Ids are given by the item; ids that calls allocate
later are counted from 1001 up and never collide with given ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from . import filesystem

State = dict[str, Any]

FORMAT: Final = 1
NOW: Final = "2026-03-02T09:00:00Z"
"""A Monday."""
ME: Final = "u-agent"
HOME: Final = "/home/agent"
TABLES: Final = (
    *("users", "teams", "tickets", "warehouses", "items", "reservations", "rooms", "events"),
    *("invoices", "accounts", "refunds", "transfers", "reports", "messages"),
)


def empty_state(now: str = NOW, *, me: str = ME, cwd: str = HOME) -> State:
    """A world with the agent's own user, a home directory and /tmp, and nothing else."""
    state: State = {
        "format": FORMAT,
        "now": now,
        "me": me,
        "cwd": cwd,
        "counters": {},
        "faults": [],
        "adjustments": [],
        "cached_levels": {"taken_at": now, "levels": []},
        "exports": [],
        "deleted_users": [],
        "fs": {"/": {"kind": "directory", "mode": "0755"}},
        **{table: {} for table in TABLES},
    }
    for directory in ("/tmp", cwd):  # noqa: S108 a directory of the mock
        state = with_directory(state, directory)
    return with_user(state, me, "Agent", title="Assistant", email="agent@example.com")


def with_user(
    state: State,
    user_id: str,
    name: str,
    *,
    title: str = "",
    email: str | None = None,
    team: str | None = None,
    manager: str | None = None,
    utc_offset: str = "+00:00",
    status: str = "active",
    location: str = "",
    roles: Sequence[str] = (),
) -> State:
    """Add a person; `status` is `active` or `left`, `utc_offset` is `+HH:MM` or `-HH:MM`."""
    address = email or f"{name.lower().replace(' ', '.')}@example.com"
    entry = {
        "name": name,
        "title": title,
        "email": address,
        "team": team,
        "manager": manager,
        "utc_offset": utc_offset,
        "status": status,
        "location": location,
        "roles": sorted(roles),
    }
    return _with_row(state, "users", user_id, entry)


def with_team(state: State, team_id: str, name: str, *, lead: str | None = None) -> State:
    """Add a team; its members are the users that name it."""
    return _with_row(state, "teams", team_id, {"name": name, "lead": lead})


def with_ticket(
    state: State,
    ticket_id: str,
    title: str,
    *,
    body: str = "",
    status: str = "open",
    priority: str = "normal",
    assignee: str | None = None,
    team: str | None = None,
    reporter: str | None = None,
    tags: Sequence[str] = (),
    blocked_by: Sequence[str] = (),
    comments: Sequence[tuple[str, str]] = (),
    created_at: str | None = None,
    archived: bool = False,
) -> State:
    """Add a ticket; `comments` are pairs of author and text."""
    at = created_at or state["now"]
    ticket = {
        "title": title,
        "body": body,
        "status": status,
        "priority": priority,
        "assignee": assignee,
        "team": team,
        "reporter": reporter,
        "tags": list(tags),
        "blocked_by": list(blocked_by),
        "comments": [{"author": author, "at": at, "text": text} for author, text in comments],
        "created_at": at,
        "updated_at": at,
        "archived": archived,
    }
    return _with_row(state, "tickets", ticket_id, ticket)


def with_warehouse(
    state: State, warehouse_id: str, name: str, *, city: str = "", is_open: bool = True
) -> State:
    """Add a warehouse; a closed one refuses every movement."""
    return _with_row(state, "warehouses", warehouse_id, {"name": name, "city": city, "open": is_open})


def with_item(
    state: State,
    sku: str,
    name: str,
    levels: dict[str, int],
    *,
    home: str | None = None,
    unit: str = "piece",
    pieces_per_unit: int = 1,
    note: str = "",
) -> State:
    """Add an item; `levels` is on hand per warehouse, in `unit`; `home` defaults to the first of them."""
    item = {
        "name": name,
        "unit": unit,
        "pieces_per_unit": pieces_per_unit,
        "home": home or next(iter(levels)),
        "levels": dict(levels),
        "note": note,
    }
    return _with_row(state, "items", sku, item)


def with_reservation(
    state: State,
    reservation_id: str,
    sku: str,
    quantity: int,
    order_id: str,
    *,
    warehouse: str | None = None,
    status: str = "held",
) -> State:
    """Add a reservation; `status` is `held` or `released`."""
    reservation = {
        "sku": sku,
        "quantity": quantity,
        "order_id": order_id,
        "warehouse": warehouse or state["items"][sku]["home"],
        "status": status,
    }
    return _with_row(state, "reservations", reservation_id, reservation)


def with_cached_levels(state: State, taken_at: str, levels: Sequence[tuple[str, str, int]]) -> State:
    """Set the nightly snapshot: triples of SKU, warehouse and a quantity that may be stale."""
    rows = [{"sku": sku, "warehouse": warehouse, "quantity": n} for sku, warehouse, n in levels]
    return {**state, "cached_levels": {"taken_at": taken_at, "levels": rows}}


def with_room(state: State, room_id: str, name: str, capacity: int, *, location: str = "") -> State:
    """Add a meeting room."""
    return _with_row(state, "rooms", room_id, {"name": name, "capacity": capacity, "location": location})


def with_event(
    state: State,
    event_id: str,
    title: str,
    start: str,
    end: str,
    *,
    organizer: str,
    attendees: Sequence[str] = (),
    room: str | None = None,
    status: str = "confirmed",
    notes: str = "",
) -> State:
    """Add an event; `start` and `end` are UTC, as `2026-03-04T13:00:00Z`."""
    event = {
        "title": title,
        "start": start,
        "end": end,
        "organizer": organizer,
        "attendees": list(attendees),
        "room": room,
        "status": status,
        "notes": notes,
    }
    return _with_row(state, "events", event_id, event)


def with_account(
    state: State,
    account_id: str,
    owner: str,
    balance_cents: int,
    *,
    currency: str = "EUR",
    status: str = "active",
) -> State:
    """Add an account; `status` is `active` or `frozen`."""
    account = {"owner": owner, "balance_cents": balance_cents, "currency": currency, "status": status}
    return _with_row(state, "accounts", account_id, account)


def with_invoice(
    state: State,
    invoice_id: str,
    customer: str,
    amount_cents: int,
    *,
    account: str,
    status: str = "unsettled",
    refunded_cents: int = 0,
    issued_on: str = "2026-02-16",
    memo: str = "",
) -> State:
    """Add an invoice in the currency of its account."""
    invoice = {
        "customer": customer,
        "amount_cents": amount_cents,
        "refunded_cents": refunded_cents,
        "currency": state["accounts"][account]["currency"],
        "account": account,
        "status": status,
        "issued_on": issued_on,
        "memo": memo,
    }
    return _with_row(state, "invoices", invoice_id, invoice)


def with_report(state: State, report_id: str, title: str, body: str) -> State:
    """Add a report that is delivered once."""
    return _with_row(state, "reports", report_id, {"title": title, "body": body, "fetches": 0})


def with_message(
    state: State, message_id: str, sender: str, subject: str, body: str, *, at: str | None = None
) -> State:
    """Add a message to the agent's inbox."""
    message = {
        "box": "inbox",
        "from": sender,
        "to": state["me"],
        "subject": subject,
        "body": body,
        "at": at or state["now"],
    }
    return _with_row(state, "messages", message_id, message)


def with_file(state: State, path: str, content: str | bytes, mode: int = 0o644) -> State:
    """Add or replace a file; missing parent directories are made."""
    data = content.encode() if isinstance(content, str) else content
    state = with_directory(state, filesystem.parent_of(path))
    return {**state, "fs": {**state["fs"], path: filesystem.file_node(data, f"{mode:04o}")}}


def with_directory(state: State, path: str, mode: int = 0o755) -> State:
    """Add a directory and its missing parents; an existing one is left as it is."""
    nodes = dict(state["fs"])
    for folder in filesystem.lineage(path):
        nodes.setdefault(folder, {"kind": "directory", "mode": "0755" if folder != path else f"{mode:04o}"})
    return {**state, "fs": nodes}


def with_fault(
    state: State,
    tool: str,
    code: str,
    message: str,
    *,
    arguments: dict[str, Any] | None = None,
    times: int | None = None,
) -> State:
    """Make well-formed calls of a tool fail with an error reply, before the tool does anything.

    `arguments`: only calls whose arguments contain all of these. `times`: only so often (each time counts
    in the state); None is always. The first fault that matches is the one that strikes.
    """
    fault = {
        "tool": tool,
        "arguments": dict(arguments or {}),
        "code": code,
        "message": message,
        "remaining": times,
    }
    return {**state, "faults": [*state["faults"], fault]}


def _with_row(state: State, table: str, key: str, row: dict[str, Any]) -> State:
    if key in state[table]:
        raise ValueError(f"{table} has {key} already")
    return {**state, table: {**state[table], key: row}}
