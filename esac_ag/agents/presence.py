"""Whether the arm's files lie in the container when the agent begins and when it has ended."""

from __future__ import annotations

from collections.abc import Mapping

from esac_ag.canonical import sha256_of_bytes
from esac_ag.clock import Deadline
from esac_ag.sandbox.contract import Sandbox
from esac_ag.tree import FileTree

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
