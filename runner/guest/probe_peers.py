"""What the isolation probe expects of a network of two containers: the relay, and nobody and nothing else.

Who is there is told by the kernel's table of neighbours: whoever has an address on the network answers the
question for it, whatever he lets through beyond that. Addresses are given out from the lowest, so the lowest
ones are asked for; and the gateway's, which is the host's where the host is on the network.
"""

from __future__ import annotations

import ipaddress
import socket
import time

from probe_knocking import answers_to
from probe_search import Found, is_up, table

SLOT_PORT = 9
"""The port for what is to be thrown away."""
MOST_ASKED = 32
PATIENCE_S = 5.0
LOOK_S = 0.02
ANSWERED = 0x2
"""ATF_COM: the hardware's address is known."""
WELL_KNOWN = range(1, 1025)
ANYWHERE = ipaddress.IPv4Address(0)


def only_a_relay(relay: tuple[str, int]) -> Found:
    """One interface beside loopback, IPv4 alone, and on it one port of one neighbour.

    Args:
        relay: its address and port.
    """
    names = [name for _, name in socket.if_nameindex() if name != "lo"]
    up = [name for name in names if is_up(name)]
    reached = [] if len(up) == 1 else [f"{len(up)} interfaces beside loopback are up: {', '.join(up)}"]
    six = [line for line in table("/proc/net/if_inet6", header=0) if line[5] != "lo"]
    reached += [f"{line[5]} has an address of IPv6" for line in six]
    routes = table("/proc/net/route")
    subnets, gateways = [], []
    for line in routes:
        target, gateway, mask = (_address(line[at]) for at in (1, 2, 7))
        if gateway != ANYWHERE:
            # One that leads to nobody leads nowhere, and engines set it. Who is there is asked below.
            gateways.append(gateway)
            if (target, mask) != (ANYWHERE, ANYWHERE):
                reached.append(f"a route to {target} by {gateway}")
        else:
            subnets.append(ipaddress.IPv4Network((int(target), str(mask))))
    if len(subnets) != 1:
        reached.append(f"{len(subnets)} networks are in reach")
    asked = {str(address) for subnet in subnets for address in _lowest(subnet)} | set(map(str, gateways))
    reached += _others(asked - {relay[0]}, relay[0])
    targets = [(relay[0], port, socket.SOCK_STREAM) for port in WELL_KNOWN if port != relay[1]]
    reached += [f"the relay's port {port} is open" for _, port, _ in answers_to(b"", targets)]
    return len(names) + len(six) + len(routes) + len(asked) + len(targets), reached


def _address(digits: str) -> ipaddress.IPv4Address:
    """The kernel prints the number that lies in memory."""
    return ipaddress.IPv4Address(int.from_bytes(bytes.fromhex(digits), "little"))


def _lowest(subnet: ipaddress.IPv4Network) -> list[ipaddress.IPv4Address]:
    last = min(MOST_ASKED, subnet.num_addresses - 2)
    return [subnet.network_address + number for number in range(1, last + 1)]


def _others(asked: set[str], relay: str) -> list[str]:
    """Who answers on the network, but for the relay; it is asked last, and shows that answers are seen."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for address in (*sorted(asked), relay):
            try:
                sock.sendto(b"?", (address, SLOT_PORT))
            except OSError:
                continue
    until = time.monotonic() + PATIENCE_S
    while relay not in (there := _answering()):
        if time.monotonic() > until:
            return ["not even the relay answers on the network, which proves nothing"]
        time.sleep(LOOK_S)
    return [f"somebody answers at {address}" for address in sorted(there - {relay})]


def _answering() -> set[str]:
    return {line[0] for line in table("/proc/net/arp") if int(line[2], 16) & ANSWERED}
