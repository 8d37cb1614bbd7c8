"""Whether the arm's files lie in the container when the agent begins and when it has ended."""

from __future__ import annotations

from collections.abc import Mapping

from esac_ag.agents.contract import AGENT_HOME
from esac_ag.agents.loaded import path_shown
from esac_ag.canonical import sha256_of_bytes
from esac_ag.clock import Deadline
from esac_ag.sandbox.contract import Sandbox
from esac_ag.tree import FileTree, RegularFile

TIMEOUT_S = 60.0


def present_files(sandbox: Sandbox, files: FileTree, placed: Mapping[bytes, str]) -> dict[bytes, bool]:
    """For every path of the bundle, whether the agent's user reads the same bytes at its place.

    It is asked once, before the agent acts: nothing in the container was the agent's doing yet.

    Raises:
        SandboxLost: the container or the engine went away.
    """
    if not placed:
        return {}
    result = sandbox.execute(
        ["sha256sum", "-z", "--", *placed.values()],
        deadline=Deadline.after_s(TIMEOUT_S),
        output_bytes=1_000_000,
    )
    found: dict[bytes, str] = {}
    for line in result.output.split(b"\0"):
        digest, _, path = line.partition(b"  ")
        found[path] = digest.decode("ascii", "replace")
    return {
        path: found.get(place.encode("utf-8", "surrogateescape")) == sha256_of_bytes(files.files()[path].data)
        for path, place in placed.items()
    }


def unchanged_files(
    home: FileTree, files: FileTree, placed: Mapping[bytes, str], *, whole: bool = True
) -> dict[str, bool | None]:
    """Whether the arm's files are the same bytes when the agent has ended, for `LoadedInstructions.at_end`.

    Args:
        home: the agent's HOME as it was exported.
        files: the arm's bundle.
        placed: path inside the container, by path in the bundle.
        whole: whether nothing of HOME was left out of the export; else what is missing there is not known.

    Returns:
        By the path as the record has it; None for a file that does not lie in HOME.
    """
    after: dict[str, bool | None] = {}
    for path, place in placed.items():
        inside = place.removeprefix(f"{AGENT_HOME}/")
        if inside == place:
            after[path_shown(path)] = None
            continue
        node = home.get(inside.encode("utf-8", "surrogateescape"))
        if node is None:
            after[path_shown(path)] = False if whole else None
        else:
            after[path_shown(path)] = isinstance(node, RegularFile) and node.data == files.files()[path].data
    return after
