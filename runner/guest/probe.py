"""Looks for canaries from inside an agent's container, by every route that a curious agent has.

usage: probe.py PLAN_FILE

A canary reads `esac-ag-canary-` and 32 hexadecimal digits. The program is told only hashes: of the
controller's canaries, which must be out of reach, and of a control that lies in the workspace and must be
found, because a search that finds nothing proves nothing unless it can find something. PLAN_FILE is JSON:

    canaries     SHA-256 of each canary
    control      SHA-256 of the control
    private      SHA-256 of private files (hidden checks, oracles); no readable file may have one
    volumes      where the container's own volumes and memory file systems lie
    model_mount  where the folder with the model gateway's socket lies, the only mount of the host; or null
    host_files   paths of the controller's files on the host
    host         {"addresses", "port"} of the controller's listener, TCP and UDP
    neighbour    {"addresses", "port", "abstract"} of the listener of another run
    gateway      null, or {"socket", "relay_port", "tokens", "paths", "other", "model", "url", "address",
                 "files"}: lanes by protocol, and what no gateway may turn to

Writes one JSON object to standard output:
{"routes": [{"name", "tried", "reached", "detail"}], "control": bool}.
Standard library only; runs as the agent's user.
"""

from __future__ import annotations

import json
import os
import sys

# With -I the script's own folder is not importable.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

from probe_files import layers, mounts, paths, places, volumes
from probe_gateway import gateway
from probe_kernel import kernel, shared_objects
from probe_network import host, names, neighbour, network, sockets
from probe_processes import environment, processes
from probe_search import Search
from probe_users import other_users

MOST_TOLD = 20
ROUTES = (
    # The first finds the control, which others send out.
    ("paths", paths),
    ("private-places", places),
    ("layers", layers),
    ("volumes", volumes),
    ("mounts", mounts),
    ("processes", processes),
    ("environment", environment),
    ("sockets", sockets),
    ("network", network),
    ("host", host),
    ("neighbour", neighbour),
    ("names", names),
    ("shared-objects", shared_objects),
    ("kernel", kernel),
    ("gateway", gateway),
    # Whoever becomes somebody else sees other things from then on.
    ("other-users", other_users),
)


def main() -> int:
    """Try every route and tell."""
    with open(sys.argv[1], encoding="utf-8") as file:
        plan = json.load(file)
    search = Search(plan)
    routes = []
    for name, route in ROUTES:
        if name == "gateway" and plan["gateway"] is None:
            continue
        tried, reached = route(search)
        detail = "; ".join(item.encode("ascii", "backslashreplace").decode() for item in reached[:MOST_TOLD])
        routes.append({"name": name, "tried": tried, "reached": bool(reached), "detail": detail})
    print(json.dumps({"routes": routes, "control": search.control != b""}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
