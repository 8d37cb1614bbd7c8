"""The solution of the room bookings, for the rules of any seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from esac_ag.suite.contract import Json

_SOLUTION: Final = """\
import sys

{settings}


def clock(text):
    hours, minutes = text.split(":")
    return int(hours) * 60 + int(minutes)


def show(minutes):
    return "%02d:%02d" % divmod(minutes % 1440, 60)


class Request:
    def __init__(self, position, line):
        self.ident, start, end, self.person, rank = line.split()
        self.position, self.rank = position, int(rank)
        self.start, self.end = clock(start), clock(end)
        self.valid, self.room = True, None
        if self.end < self.start:
            if MIDNIGHT == "refuse":
                self.valid = False
            elif MIDNIGHT == "swap":
                self.start, self.end = self.end, self.start
            else:
                self.end += 1440

    def sort_key(self, rule):
        length = self.end - self.start
        if rule == "earliest-start":
            return self.start
        if rule == "earliest-end":
            return self.end
        if rule == "highest-rank":
            return -self.rank
        if rule == "shortest":
            return length
        if rule == "longest":
            return -length
        if rule == "latest-listed":
            return -self.position
        return self.ident if rule == "name" else self.position

    def move(self, minutes):
        self.start += minutes
        self.end += minutes


def free(room, request):
    return all(
        request.start - other.end >= GAP or other.start - request.end >= GAP for other in room
    )


def idle(room, request):
    ends = [other.end for other in room if other.end <= request.start]
    return request.start - (max(ends) if ends else 0)


def place(rooms, request):
    candidates = [number for number, room in enumerate(rooms) if free(room, request)]
    if not candidates:
        return False
    if CHOICE == "spread":
        request.room = min(candidates, key=lambda number: len(rooms[number]))
    elif CHOICE == "tight":
        request.room = min(candidates, key=lambda number: idle(rooms[number], request))
    else:
        request.room = candidates[0]
    rooms[request.room].append(request)
    return True


def main():
    first, *rest = [line for line in sys.stdin.read().splitlines() if line.strip()]
    rooms = [[] for _ in range(int(first.split()[1]))]
    requests = [Request(position, line) for position, line in enumerate(rest)]
    used = {{}}
    queue = [request for request in requests if request.valid]
    for rule in (LAST_TIE, TIE, ORDER):
        queue.sort(key=lambda request: request.sort_key(rule))
    for request in queue:
        amount = request.end - request.start if CAP == "minutes" else 1
        so_far = used.get(request.person, 0)
        if so_far + amount > CAP_AT:
            continue
        tries = 0
        while not place(rooms, request) and tries < RETRIES:
            request.move(SHIFT)
            tries += 1
        if request.room is not None:
            used[request.person] = so_far + amount
    report(rooms, requests)


def report(rooms, requests):
    refused = [request.ident for request in requests if request.room is None]
    if OUTPUT == "rooms":
        for number, room in enumerate(rooms, start=1):
            names = [request.ident for request in sorted(room, key=lambda request: request.start)]
            print(f"{{ROOM}} {{number}}: {{' '.join(names) or NONE}}")
        print(f"{{REFUSED}}: {{' '.join(refused) or NONE}}")
        return
    minutes = 0
    for request in requests:
        if request.room is None:
            print(request.ident, REFUSED)
            continue
        minutes += request.end - request.start
        times = show(request.start) + UNTIL + show(request.end)
        print(request.ident, ROOM, request.room + 1, times)
    print(f"booked {{len(requests) - len(refused)}} of {{len(requests)}}, {{minutes}} minutes")


main()
"""
_SETTINGS: Final = (  # noqa: SIM905
    "midnight order tie last_tie gap choice shift retries cap cap_at output room refused none until"
).split()


def program_of(rules: Mapping[str, Json]) -> str:
    """A program for these rules."""
    return _SOLUTION.format(settings="\n".join(f"{key.upper()} = {rules[key]!r}" for key in _SETTINGS))
