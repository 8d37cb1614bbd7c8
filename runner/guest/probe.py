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
    names        names beside the usual ones that must not be known: of the host, of the other run
    peer         [ADDRESS, PORT] of the relay, the only one on this container's network; null without one
    gateway      null, or {"socket", "relay", "tokens", "paths", "other", "model", "url", "address", "files"}:
                 lanes by protocol, and what no gateway may turn to; with a network, "socket" is null

Writes one JSON object to standard output:
{"routes": [{"name", "tried", "reached", "detail"}], "control": bool}.
Standard library only; runs as the agent's user.
"""

import os
import sys

# With -I the script's own folder is not importable; and the probe leaves nothing in it.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

if __name__ == "__main__":
    from probe_routes import main

    sys.exit(main(sys.argv[1]))
