"""The only mount of the host that a container may have: a folder with the model gateway's socket.

A connection to the socket is all that it gives. The folder is read-only and the container's user cannot list
it; the socket can be connected to but not read, so that no container can watch by it what another one does.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from esac_ag.errors import UsageError
from esac_ag.plural import plural

MOUNT_POINT: Final = "/run/model"
"""Where the folder lies in a container."""
SOCKET_NAME: Final = "model.sock"
SOCKET_PATH: Final = f"{MOUNT_POINT}/{SOCKET_NAME}"
RELAY_PROGRAM: Final = ("python3", "-I", "-S", "-B", "/opt/esac/relay.py")
"""`runner/guest/agent/relay.py` in the agent image, without its arguments."""

FOLDER_MODE: Final = 0o711
"""For its owner, and for others to pass through. It lies in a folder that nobody but its owner may enter."""
SOCKET_MODE: Final = 0o222
"""Connecting needs the right to write; the right to read would allow to watch who connects."""


def require_only_a_socket(folder: str) -> None:
    """Make sure that what is to be mounted is a folder of ours with the socket alone in it.

    Raises:
        UsageError: it is something else, holds something else, or gives more rights than to connect.
    """
    path = Path(folder)
    try:
        found = _fault(path)
    except OSError as error:
        found = error.strerror or str(error)
    if found:
        raise UsageError(
            "A container may be given a folder with the model's socket, and nothing else of this machine.",
            where=folder,
            expected=f"a private folder of this user's that holds one socket, {SOCKET_NAME}",
            found=found,
        )


def _fault(folder: Path) -> str:
    itself, above = folder.lstat(), folder.parent.stat()
    if not stat.S_ISDIR(itself.st_mode) or folder.resolve() != folder:
        return "no folder, or a link on the way to it"
    if {itself.st_uid, above.st_uid} != {os.geteuid()}:
        return "a folder of somebody else's"
    if stat.S_IMODE(above.st_mode) & 0o077:
        return f"{folder.parent} is open to others (mode {stat.S_IMODE(above.st_mode):o})"
    if stat.S_IMODE(itself.st_mode) != FOLDER_MODE:
        return f"a folder of mode {stat.S_IMODE(itself.st_mode):o}"
    names = sorted(path.name for path in folder.iterdir())
    if names != [SOCKET_NAME]:
        return f"{plural(len(names), 'file')}: {', '.join(names[:5])}" if names else "an empty folder"
    socket = (folder / SOCKET_NAME).lstat()
    if not stat.S_ISSOCK(socket.st_mode):
        return f"{SOCKET_NAME} is no socket"
    if stat.S_IMODE(socket.st_mode) != SOCKET_MODE:
        return f"a socket of mode {stat.S_IMODE(socket.st_mode):o}"
    return ""
