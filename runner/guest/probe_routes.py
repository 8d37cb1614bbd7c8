"""The routes of the isolation probe, in the order in which they are tried."""

from __future__ import annotations

import json

from probe_files import layers, mounts, paths, places, volumes
from probe_gateway import gateway
from probe_kernel import kernel, shared_objects
from probe_network import begin_names, host, names, neighbour, network, sockets
from probe_processes import environment, processes
from probe_search import Search
from probe_users import begin_commands, other_users

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


def main(plan_file: str) -> int:
    """Try every route and tell.

    Args:
        plan_file: the controller's plan, as `probe.py` describes it.
    """
    with open(plan_file, encoding="utf-8") as file:
        plan = json.load(file)
    search = Search(plan)
    begin_commands(search)
    begin_names(search)
    routes = []
    for name, route in ROUTES:
        if name == "gateway" and plan["gateway"] is None:
            continue
        tried, reached = route(search)
        detail = "; ".join(item.encode("ascii", "backslashreplace").decode() for item in reached[:MOST_TOLD])
        routes.append({"name": name, "tried": tried, "reached": bool(reached), "detail": detail})
    print(json.dumps({"routes": routes, "control": search.control != b""}))
    return 0
