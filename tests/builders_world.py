"""Builders for tests of the world: a small company, and a workshop of files."""

from __future__ import annotations

import json
from typing import Any

from esac_ag.suite.world import World
from esac_ag.suite.world import building as build

State = dict[str, Any]
HOME = build.HOME
FILES: dict[str, str | bytes] = {
    "fruit.txt": "pear 3\napple 10\nfig 2\napple 10\nPlum 7\n",
    "people.csv": "id,name,team\n3,Ann Lee,ops\n1,Bo Li,dev\n2,Ann Li,ops\n",
    "no newline": "first\nlast",
    "empty": "",
    ".hidden": "secret\n",
    "logs/a.log": "INFO start\nERROR disk full\nINFO stop\n",
    "logs/b.log": "WARN slow\nERROR net down\nERROR net down\n",
    "logs/old/c.log": "INFO old\n",
    "data/[odd] name.txt": "odd\n",
    "data/numbers": "10\n9\n-3\n2.5\n0\n+4\n2.50\nx\n",
    "data/spaced": "  b 2\n a  1\nc   3\n\n  b 2\n",
}


def a_company() -> State:
    """People in two teams, tickets, stock, rooms, money, a report and a message."""
    state = build.empty_state()
    state = build.with_team(state, "team-ops", "Operations", lead="u-1")
    state = build.with_team(state, "team-dev", "Development")
    state = build.with_user(state, "u-1", "Ann Lee", team="team-ops", utc_offset="+01:00", title="Lead")
    state = build.with_user(state, "u-2", "Anne Lee", team="team-dev", manager="u-1", utc_offset="-05:00")
    state = build.with_user(state, "u-3", "Bo Li", team="team-ops", status="left")
    state = build.with_user(state, "u-4", "Cy Ode", team="team-ops")
    state = build.with_ticket(state, "T-1", "Printer", team="team-ops")
    state = build.with_ticket(state, "T-2", "Paper", blocked_by=["T-1"], assignee="u-2", status="in_progress")
    state = build.with_ticket(state, "T-3", "Done", status="closed", priority="low")
    for warehouse, is_open in (("wh-a", True), ("wh-b", True), ("wh-c", False)):
        state = build.with_warehouse(state, warehouse, warehouse.upper(), is_open=is_open)
    state = build.with_item(state, "BLT", "Bolt", {"wh-a": 10, "wh-b": 1}, unit="box", pieces_per_unit=50)
    state = build.with_reservation(state, "RS-1", "BLT", 4, "SO-1")
    state = build.with_cached_levels(state, "2026-03-01T02:00:00Z", [("BLT", "wh-a", 99)])
    state = build.with_room(state, "room-1", "Small", 2)
    state = build.with_room(state, "room-2", "Large", 10)
    state = build.with_event(
        state,
        "EV-1",
        "Stand-up",
        "2026-03-03T14:00:00Z",
        "2026-03-03T15:00:00Z",
        organizer="u-1",
        attendees=["u-2"],
        room="room-2",
    )
    for account, currency, status in (
        ("acc-1", "EUR", "active"),
        ("acc-2", "EUR", "active"),
        ("acc-3", "USD", "active"),
        ("acc-4", "EUR", "frozen"),
    ):
        state = build.with_account(state, account, account, 10_000, currency=currency, status=status)
    state = build.with_invoice(state, "INV-1", "Acme Ltd", 5_000, account="acc-1")
    state = build.with_invoice(state, "INV-2", "Acme Tools", 8_000, account="acc-1", status="settled")
    state = build.with_invoice(state, "INV-3", "Brit", 90_000, account="acc-1", status="settled")
    state = build.with_report(state, "rep-1", "Quarter", "total: 7")
    return build.with_message(state, "M-1", "u-1", "Hello", "Please look.")


def a_workshop() -> State:
    """Files of several kinds below the agent's home."""
    state = build.empty_state()
    for path, content in FILES.items():
        state = build.with_file(state, f"{HOME}/{path}", content)
    return state


def refusal(world: World, tool: str, **arguments: object) -> str | None:
    """Call a tool and return the error's code; the state must not have changed."""
    before = world.digest()
    reply = world.call(tool, arguments)
    assert world.digest() == before
    return reply.error


def answer(world: World, tool: str, **arguments: object) -> Any:  # noqa: ANN401 a reply
    """Call a tool that has to succeed; its reply, read."""
    reply = world.call(tool, arguments)
    assert reply.ok, reply.text
    return json.loads(reply.text)


def shell(world: World, command: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command line."""
    reply = answer(world, "shell_run", command=command)
    return reply["exit_code"], reply["stdout"], reply["stderr"]
