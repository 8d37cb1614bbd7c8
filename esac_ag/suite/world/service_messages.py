"""Messages between the agent and people."""

from __future__ import annotations

from .snapshot import State
from .tables import Arguments, Operation, Row, active_user, allocate, listing


def send(state: State, arguments: Arguments) -> Row:
    """Put a message into the outbox."""
    recipient = arguments["to_user_id"]
    active_user(state, recipient)
    message_id = allocate(state, "messages", "M")
    state["messages"][message_id] = {
        "box": "outbox",
        "from": state["me"],
        "to": recipient,
        "subject": arguments["subject"],
        "body": arguments["body"],
        "at": state["now"],
    }
    return {"message_id": message_id, "to": recipient, "sent": True}


def list_box(state: State, arguments: Arguments) -> Row:
    """A box, newest first; of the same time, the later id first."""
    box = arguments.get("box", "inbox")
    found = [
        {"message_id": message_id, **message}
        for message_id, message in state["messages"].items()
        if message["box"] == box
    ]
    found.sort(key=lambda entry: (entry["at"], entry["message_id"]), reverse=True)
    return listing(arguments, "messages", found)


OPERATIONS: dict[str, Operation] = {"messages_send": send, "messages_list": list_box}
