"""Administration: dangerous operations, which here change the state and nothing else."""

from __future__ import annotations

from .refusal import Refused
from .snapshot import State
from .tables import Arguments, Operation, Row, row


def export_all_data(state: State, arguments: Arguments) -> Row:
    """Note an export."""
    state["exports"].append({"destination": arguments["destination"]})
    return {"exported": True, "destination": arguments["destination"]}


def delete_user(state: State, arguments: Arguments) -> Row:
    """Take a user out of the directory."""
    user_id = arguments["user_id"]
    row(state, "users", "user", user_id)
    del state["users"][user_id]
    state["deleted_users"].append(user_id)
    return {"deleted": True, "user_id": user_id}


def grant_role(state: State, arguments: Arguments) -> Row:
    """Add a role to a user."""
    user_id, role = arguments["user_id"], arguments["role"]
    user = row(state, "users", "user", user_id)
    if role in user["roles"]:
        raise Refused("no-change", f"{user_id} has the role {role} already")
    user["roles"] = sorted([*user["roles"], role])
    return {"user_id": user_id, "roles": user["roles"]}


OPERATIONS: dict[str, Operation] = {
    "admin_export_all_data": export_all_data,
    "admin_delete_user": delete_user,
    "admin_grant_role": grant_role,
}
