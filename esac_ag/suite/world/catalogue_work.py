"""Schemas of tickets and of the calendar."""

from __future__ import annotations

from typing import Final

from .schema import Schema, choice, integer, pages, text, texts, tool

TICKET: Final = text("Ticket id, such as T-1001.", most=200)
USER: Final = text("User id, such as u-102.", most=200)
TEAM: Final = text("Team id, such as team-billing.", most=200)
EVENT: Final = text("Event id, such as EV-1001.", most=200)
ROOM: Final = text("Room id, such as room-3.", most=200)
STATUSES: Final = ("open", "in_progress", "resolved", "closed")
PRIORITIES: Final = ("low", "normal", "high", "urgent")
START: Final = text(
    "Start with an explicit UTC offset, such as 2026-03-04T14:00:00+01:00 or 2026-03-04T13:00:00Z.", most=40
)
MINUTES: Final = integer("Length in minutes, a multiple of 5.", least=5, most=480)
DATE: Final = "Day as YYYY-MM-DD, "

TOOLS: Final[dict[str, Schema]] = dict(
    [
        tool(
            "tickets_list",
            "List tickets that are not archived, by id, in pages; optionally only some.",
            {},
            {
                "status": choice("Only tickets in this status.", *STATUSES),
                "assignee": text("Only tickets assigned to this user id.", most=200),
                "team": text("Only tickets of this team id.", most=200),
                **pages(10),
            },
        ),
        tool("tickets_get", "Get a ticket with its text, comments and blockers.", {"ticket_id": TICKET}),
        tool(
            "tickets_create",
            "Create an open ticket without an assignee. Returns its id.",
            {
                "title": text("One line.", most=200),
                "body": text("Description."),
                "priority": choice("Priority.", *PRIORITIES),
            },
            {"team": TEAM},
        ),
        tool(
            "tickets_assign",
            "Assign a ticket to a person. The person has to be active and, if the ticket belongs to a team, "
            "a member of that team.",
            {"ticket_id": TICKET, "user_id": USER},
        ),
        tool(
            "tickets_transfer",
            "Hand a ticket over to another team. Clears the assignee and sets the status to open.",
            {"ticket_id": TICKET, "team": TEAM},
        ),
        tool(
            "tickets_set_status",
            "Move a ticket to another status: open, in_progress, resolved, closed, in this order. "
            "in_progress needs an assignee; resolved needs a note and no open blocker. An in_progress ticket "
            "can be put back to open; a resolved one can be reopened (to open) with a note; "
            "closed is final.",
            {"ticket_id": TICKET, "status": choice("New status.", *STATUSES)},
            {"note": text("What was done, or why it is reopened.")},
        ),
        tool(
            "tickets_set_priority",
            "Change the priority of a ticket that is not closed.",
            {"ticket_id": TICKET, "priority": choice("New priority.", *PRIORITIES)},
        ),
        tool(
            "tickets_comment",
            "Add a comment to a ticket. Changes nothing else.",
            {"ticket_id": TICKET, "text": text("Text of the comment.")},
        ),
        tool(
            "tickets_archive",
            "Archive a closed ticket: it leaves all lists for good. Cannot be undone.",
            {"ticket_id": TICKET},
        ),
        tool(
            "calendar_list",
            "List a person's events of a day in pages, by start; times are in UTC.",
            {"user_id": USER, "date": text(DATE + "in that person's own time zone.", most=10)},
            pages(5),
        ),
        tool(
            "calendar_list_rooms",
            "List meeting rooms with their capacity in pages.",
            {},
            {"min_capacity": integer("Only rooms for at least so many people.", least=1, most=1000)}
            | pages(5),
        ),
        tool(
            "calendar_find_slot",
            "Find the earliest times, at most three, on a UTC day when all are free and within their own "
            "working hours (Monday to Friday, 09:00 to 17:00 local). Starts on the full or half hour. "
            "Rooms are not looked at. Times are in UTC.",
            {
                "user_ids": texts("User ids of all who have to attend.", most=10),
                "duration_minutes": MINUTES,
                "date": text(DATE + "in UTC.", most=10),
            },
        ),
        tool(
            "calendar_create_event",
            "Create an event. Nobody who attends, and no room, may be taken at that time.",
            {
                "title": text("Title.", most=200),
                "organizer_id": USER,
                "attendee_ids": texts("User ids of those who attend beside the organizer.", most=20, least=0),
                "start": START,
                "duration_minutes": MINUTES,
            },
            {"room_id": ROOM},
        ),
        tool(
            "calendar_move_event",
            "Move an event to another start, and optionally another length; people and room stay.",
            {"event_id": EVENT, "start": START},
            {"duration_minutes": MINUTES},
        ),
        tool(
            "calendar_cancel_event",
            "Cancel an event that has not started. Cannot be undone.",
            {"event_id": EVENT},
        ),
    ]
)
