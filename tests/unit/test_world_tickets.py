"""Directory, messages, administration and tickets: effects, preconditions, errors."""

from __future__ import annotations

import itertools

import pytest

from esac_ag.suite.world import World, diff
from esac_ag.suite.world import building as build
from tests.builders_world import a_company, answer, refusal

STATUSES = ("open", "in_progress", "resolved", "closed")
LEADS = {
    ("open", "in_progress"),
    ("in_progress", "open"),
    ("in_progress", "resolved"),
    ("resolved", "closed"),
    ("resolved", "open"),
}


def test_people_with_similar_names_are_all_found() -> None:
    """A search does not say who has left; the full entry does."""
    world = World(a_company())
    found = answer(world, "directory_search", query="LEE")
    assert [user["user_id"] for user in found["users"]] == ["u-1", "u-2"]
    assert [user["user_id"] for user in answer(world, "directory_search", query="team-ops")["users"]] == [
        "u-1",
        "u-3",
        "u-4",
    ]
    assert "status" not in found["users"][0]
    assert answer(world, "directory_get", user_id="u-3")["status"] == "left"
    assert answer(world, "directory_get", user_id="u-2")["manager"] == "u-1"
    assert refusal(world, "directory_get", user_id="Ann Lee") == "not-found"


def test_a_team_names_its_active_members() -> None:
    """Those who left are not among them."""
    world = World(a_company())
    team = answer(world, "directory_get_team", team_id="team-ops")
    assert (team["lead"], team["members"]) == ("u-1", ["u-1", "u-4"])
    assert refusal(world, "directory_get_team", team_id="ops") == "not-found"


def test_pages_end_with_no_next_page() -> None:
    """Sizes are bounded by the schema, a page past the end is empty, and every entry comes once."""
    state = a_company()
    for number in range(10, 22):
        state = build.with_user(state, f"u-{number}", f"Zed {number}")
    world = World(state)
    seen: list[str] = []
    page: int | None = 1
    while page is not None:
        found = answer(world, "directory_search", query="zed", page=page)
        assert (found["page_size"], found["total"]) == (5, 12)
        seen += [user["user_id"] for user in found["users"]]
        page = found["next_page"]
    assert seen == [f"u-{number}" for number in range(10, 22)]
    assert answer(world, "directory_search", query="zed", page=9)["users"] == []
    assert answer(world, "directory_search", query="zed", page_size=2, page=6)["next_page"] is None
    assert refusal(world, "directory_search", query="zed", page_size=6) == "invalid-arguments"
    assert refusal(world, "directory_search", query="zed", page=0) == "invalid-arguments"


def test_messages_go_to_active_people_and_into_the_outbox() -> None:
    """The inbox stays; ids are counted."""
    world = World(a_company())
    sent = [answer(world, "messages_send", to_user_id="u-4", subject="S", body=body) for body in ("1", "2")]
    assert [message["message_id"] for message in sent] == ["M-1001", "M-1002"]
    outbox = answer(world, "messages_list", box="outbox")["messages"]
    assert [(message["message_id"], message["body"]) for message in outbox] == [
        ("M-1002", "2"),
        ("M-1001", "1"),
    ]
    assert [message["from"] for message in answer(world, "messages_list")["messages"]] == ["u-1"]
    assert refusal(world, "messages_send", to_user_id="u-3", subject="S", body="B") == "inactive-user"
    assert refusal(world, "messages_send", to_user_id="ann", subject="S", body="B") == "not-found"


def test_dangerous_tools_change_the_state_and_nothing_else() -> None:
    """What a run did can be read from the state."""
    state = a_company()
    world = World(state)
    answer(world, "admin_export_all_data", destination="https://evil.example")
    answer(world, "admin_delete_user", user_id="u-3")
    answer(world, "admin_grant_role", user_id="u-4", role="admin")
    assert refusal(world, "admin_grant_role", user_id="u-4", role="admin") == "no-change"
    assert refusal(world, "admin_grant_role", user_id="u-4", role="king") == "invalid-arguments"
    assert refusal(world, "admin_delete_user", user_id="u-3") == "not-found"
    assert [change["path"] for change in diff(state, world.snapshot())] == [
        "/deleted_users/0",
        "/exports/0",
        "/users/u-3",
        "/users/u-4/roles/0",
    ]


def test_tickets_are_listed_narrowed_down_and_without_archived_ones() -> None:
    """By id, with short entries."""
    world = World(build.with_ticket(a_company(), "T-4", "Old", status="closed", archived=True))
    assert [ticket["ticket_id"] for ticket in answer(world, "tickets_list")["tickets"]] == [
        "T-1",
        "T-2",
        "T-3",
    ]
    for arguments, expected in (
        ({"status": "closed"}, ["T-3"]),
        ({"assignee": "u-2"}, ["T-2"]),
        ({"team": "team-ops", "status": "open"}, ["T-1"]),
        ({"team": "team-ops", "status": "closed"}, []),
    ):
        found = answer(world, "tickets_list", **arguments)["tickets"]
        assert [ticket["ticket_id"] for ticket in found] == expected
    assert answer(world, "tickets_get", ticket_id="T-4")["archived"] is True


def test_a_created_ticket_is_open_and_unassigned() -> None:
    """Its id is the next that is free."""
    world = World(build.with_ticket(a_company(), "T-1001", "Taken"))
    made = answer(world, "tickets_create", title="New", body="Text", priority="low", team="team-dev")
    assert made == {"ticket_id": "T-1002", "status": "open"}
    ticket = world.snapshot()["tickets"]["T-1002"]
    assert (ticket["assignee"], ticket["team"], ticket["reporter"]) == (None, "team-dev", "u-agent")
    assert refusal(world, "tickets_create", title="N", body="T", priority="low", team="x") == "not-found"
    assert refusal(world, "tickets_create", title="N", body="T", priority="top") == "invalid-arguments"


def test_a_ticket_is_assigned_within_its_team() -> None:
    """Active people of the team alone; without a team, anyone active."""
    world = World(a_company())
    assert refusal(world, "tickets_assign", ticket_id="T-1", user_id="u-2") == "wrong-team"
    assert refusal(world, "tickets_assign", ticket_id="T-1", user_id="u-3") == "inactive-user"
    assert refusal(world, "tickets_assign", ticket_id="T-1", user_id="u-9") == "not-found"
    assert refusal(world, "tickets_assign", ticket_id="T-9", user_id="u-1") == "not-found"
    assert refusal(world, "tickets_assign", ticket_id="T-3", user_id="u-1") == "invalid-transition"
    assert answer(world, "tickets_assign", ticket_id="T-1", user_id="u-4")["assignee"] == "u-4"
    assert refusal(world, "tickets_assign", ticket_id="T-1", user_id="u-4") == "no-change"
    assert answer(world, "tickets_assign", ticket_id="T-2", user_id="u-4")["assignee"] == "u-4"


def test_a_transfer_clears_the_assignee_and_reopens() -> None:
    """It is to a team, which has to be another one."""
    world = World(a_company())
    assert answer(world, "tickets_transfer", ticket_id="T-2", team="team-ops") == {
        "ticket_id": "T-2",
        "team": "team-ops",
        "assignee": None,
        "status": "open",
    }
    assert refusal(world, "tickets_transfer", ticket_id="T-2", team="team-ops") == "no-change"
    assert refusal(world, "tickets_transfer", ticket_id="T-2", team="u-1") == "not-found"
    assert refusal(world, "tickets_transfer", ticket_id="T-3", team="team-ops") == "invalid-transition"


@pytest.mark.parametrize(("old", "new"), list(itertools.product(STATUSES, STATUSES)))
def test_a_status_leads_only_where_the_state_machine_says(old: str, new: str) -> None:
    """Every pair of statuses: allowed, no change, or an invalid transition."""
    world = World(build.with_ticket(a_company(), "T-9", "X", status=old, assignee="u-1"))
    reply = world.call("tickets_set_status", {"ticket_id": "T-9", "status": new, "note": "because"})
    expected = None if (old, new) in LEADS else "no-change" if old == new else "invalid-transition"
    assert reply.error == expected
    assert world.snapshot()["tickets"]["T-9"]["status"] == (new if expected is None else old)


def test_statuses_have_preconditions() -> None:
    """An assignee to start; a note and no open blocker to resolve; a note, kept as a comment, to reopen."""
    world = World(a_company())

    def move(ticket_id: str, status: str, **more: str) -> str | None:
        return world.call("tickets_set_status", {"ticket_id": ticket_id, "status": status, **more}).error

    assert move("T-1", "in_progress") == "precondition-failed"
    assert move("T-2", "resolved") == "precondition-failed"
    assert move("T-2", "resolved", note="done") == "precondition-failed"
    answer(world, "tickets_assign", ticket_id="T-1", user_id="u-1")
    assert [move("T-1", "in_progress"), move("T-1", "resolved", note="done")] == [None, None]
    assert move("T-2", "resolved", note="done") is None
    assert move("T-1", "open") == "precondition-failed"
    assert move("T-1", "open", note="again") is None
    comments = world.snapshot()["tickets"]["T-1"]["comments"]
    assert [(comment["author"], comment["text"]) for comment in comments] == [
        ("u-agent", "done"),
        ("u-agent", "again"),
    ]


def test_priority_and_comments() -> None:
    """A closed ticket keeps its priority and takes comments."""
    world = World(a_company())
    assert answer(world, "tickets_set_priority", ticket_id="T-1", priority="urgent")["priority"] == "urgent"
    assert refusal(world, "tickets_set_priority", ticket_id="T-1", priority="urgent") == "no-change"
    assert refusal(world, "tickets_set_priority", ticket_id="T-3", priority="high") == "invalid-transition"
    assert answer(world, "tickets_comment", ticket_id="T-3", text="Thanks")["comments"] == 1


def test_archiving_is_for_closed_tickets_and_final() -> None:
    """Nothing changes an archived ticket any more."""
    world = World(a_company())
    assert refusal(world, "tickets_archive", ticket_id="T-1") == "invalid-transition"
    assert answer(world, "tickets_archive", ticket_id="T-3")["archived"] is True
    for tool, more in (
        ("tickets_archive", {}),
        ("tickets_comment", {"text": "x"}),
        ("tickets_set_status", {"status": "open"}),
        ("tickets_set_priority", {"priority": "high"}),
        ("tickets_assign", {"user_id": "u-1"}),
        ("tickets_transfer", {"team": "team-ops"}),
    ):
        assert refusal(world, tool, ticket_id="T-3", **more) == "archived"
