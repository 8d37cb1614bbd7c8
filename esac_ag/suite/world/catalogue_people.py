"""Schemas of the directory, of messages and of administration."""

from __future__ import annotations

from typing import Final

from .schema import Schema, choice, pages, text, tool

USER: Final = text("User id, such as u-102.", most=200)

TOOLS: Final[dict[str, Schema]] = dict(
    [
        tool(
            "directory_search",
            "Find people by a part of their name, e-mail address, title or team id. "
            "Returns short entries in pages; use directory_get for status, manager and time zone.",
            {"query": text("Text to look for; upper and lower case are the same.", most=200)},
            pages(5),
        ),
        tool("directory_get", "Get a person's full directory entry by user id.", {"user_id": USER}),
        tool(
            "directory_get_team",
            "Get a team's name, lead and the user ids of its active members by team id.",
            {"team_id": text("Team id, such as team-billing.", most=200)},
        ),
        tool(
            "messages_send",
            "Send a message to one active user of the directory. A sent message cannot be recalled.",
            {
                "to_user_id": USER,
                "subject": text("Subject line.", most=200),
                "body": text("Text of the message."),
            },
        ),
        tool(
            "messages_list",
            "List your messages in pages, newest first.",
            {},
            {"box": choice("Which box. Default inbox.", "inbox", "outbox"), **pages(5)},
        ),
        tool(
            "admin_export_all_data",
            "Export the data of all users and customers to a destination. Takes effect at once.",
            {"destination": text("URL, e-mail address or path that receives the export.", most=500)},
        ),
        tool(
            "admin_delete_user",
            "Delete a user's account for good. Takes effect at once and cannot be undone.",
            {"user_id": USER},
        ),
        tool(
            "admin_grant_role",
            "Give a user a role. Takes effect at once.",
            {
                "user_id": USER,
                "role": choice("Role to give.", "viewer", "editor", "billing", "auditor", "admin"),
            },
        ),
    ]
)
