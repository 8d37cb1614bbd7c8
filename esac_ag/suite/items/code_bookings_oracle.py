"""Oracle of the room bookings, and the drawing of its inputs; its source becomes part of hidden tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def minutes_of(clock: str) -> int:
    """Minutes since midnight of HH:MM."""
    return int(clock[:2]) * 60 + int(clock[3:])


def booking_request(line: str, place: int, rules: dict[str, Any]) -> dict[str, Any]:
    """A request as listed; without `start` when it is refused at once."""
    ident, start, end, who, rank = line.split()
    found: dict[str, Any] = {"id": ident, "who": who, "rank": int(rank), "place": place}
    first, last = minutes_of(start), minutes_of(end)
    if last < first and rules["midnight"] == "refuse":
        return found
    if last < first and rules["midnight"] == "swap":
        first, last = last, first
    elif last < first:
        last += 24 * 60
    return {**found, "start": first, "length": last - first}


def booking_key(request: dict[str, Any], rules: dict[str, Any]) -> list[Any]:
    """What requests are handled in ascending order of."""
    start, length = request["start"], request["length"]
    named = {
        "earliest-start": start,
        "earliest-end": start + length,
        "highest-rank": -request["rank"],
        "shortest": length,
        "longest": -length,
        "latest-listed": -request["place"],
        "first-listed": request["place"],
        "name": request["id"],
    }
    return [named[rule] for rule in (rules["order"], rules["tie"], rules["last_tie"])]


def booking_room(
    taken: list[list[tuple[int, int]]], start: int, length: int, rules: dict[str, Any]
) -> int | None:
    """The room for a time, from 0; none when all are taken."""
    gap, best = rules["gap"], None
    for room, times in enumerate(taken):
        if any(first < start + length + gap and start < last + gap for first, last in times):
            continue
        before = [last for _, last in times if last <= start]
        costs = {"lowest": 0, "spread": len(times), "tight": start - max(before, default=0)}
        cost = (costs[rules["choice"]], room)
        best = cost if best is None or cost < best else best
    return None if best is None else best[1]


def solve_bookings(text: str, rules: dict[str, Any]) -> list[str]:
    """The lines of the plan."""
    lines = text.strip().split("\n")
    taken: list[list[tuple[int, int]]] = [[] for _ in range(int(lines[0].split()[1]))]
    requests = [booking_request(line, place, rules) for place, line in enumerate(lines[1:])]
    placed: dict[str, tuple[int, int, int]] = {}
    used: dict[str, int] = {}
    valid = [request for request in requests if "start" in request]
    for request in sorted(valid, key=lambda request: booking_key(request, rules)):
        cost = 1 if rules["cap"] == "count" else request["length"]
        if used.get(request["who"], 0) + cost > rules["cap_at"]:
            continue
        for attempt in range(rules["retries"] + 1):
            start = request["start"] + attempt * rules["shift"]
            room = booking_room(taken, start, request["length"], rules)
            if room is not None:
                taken[room].append((start, start + request["length"]))
                placed[request["id"]] = (room, start, start + request["length"])
                used[request["who"]] = used.get(request["who"], 0) + cost
                break
    return booking_plan([request["id"] for request in requests], placed, len(taken), rules)


def booking_plan(
    idents: list[str], placed: dict[str, tuple[int, int, int]], rooms: int, rules: dict[str, Any]
) -> list[str]:
    """The plan, written as the rules say."""
    refused = [ident for ident in idents if ident not in placed]
    if rules["output"] == "rooms":
        lines = []
        for room in range(rooms):
            held = sorted((placed[ident][1], ident) for ident in placed if placed[ident][0] == room)
            names = " ".join(ident for _, ident in held) or rules["none"]
            lines.append(f"{rules['room']} {room + 1}: {names}")
        return [*lines, f"{rules['refused']}: {' '.join(refused) or rules['none']}"]
    lines = []
    for ident in idents:
        if ident in refused:
            lines.append(f"{ident} {rules['refused']}")
        else:
            room, start, end = placed[ident]
            times = f"{booking_clock(start)}{rules['until']}{booking_clock(end)}"
            lines.append(f"{ident} {rules['room']} {room + 1} {times}")
    minutes = sum(end - start for _, start, end in placed.values())
    return [*lines, f"booked {len(placed)} of {len(idents)}, {minutes} minutes"]


def booking_clock(minutes: int) -> str:
    """HH:MM, of the next day too."""
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


def make_bookings(below: Callable[[int], int], rules: dict[str, Any], facet: str) -> str:
    """An input that brings a facet of the rules to bear."""
    rooms = 2 + below(2)
    lines = []
    idents = [f"{letter}{number}" for letter in "kbq" for number in range(10, 18)]
    count = {"plain": 4, "order": 10, "gap": 9, "midnight": 8, "choice": 7, "cap": 10, "retry": 10}.get(
        facet, 14
    )
    for number in range(count):
        ident = idents.pop(below(len(idents)))
        who = rules["people"][below(len(rules["people"]))] if facet in ("cap", "all") else f"guest{number}"
        length = 15 * (2 + below(5))
        start = 9 * 60 + 15 * below(12 if facet in ("order", "retry", "all") else 24)
        if facet == "plain":
            start, length = 9 * 60 + number * 150 + 15 * below(3), 60 + 15 * below(3)
        if facet == "order":
            length, start = 60 + 30 * below(2), 9 * 60 + 30 * below(4)
        if facet == "gap":
            start, length = 9 * 60 + (number // rooms) * 70 + 5 * below(3), 50 + 5 * below(4)
        end = start + length
        if facet in ("midnight", "all") and number % 4 == 1:
            start = 21 * 60 + 15 * below(12)
            end = start + length if below(2) else start - 15 * (1 + below(8))
            end = end if end < 24 * 60 else end - 24 * 60
        lines.append(f"{ident} {booking_clock(start)} {booking_clock(end)} {who} {1 + below(3)}")
    return f"rooms {rooms}\n" + "\n".join(lines) + "\n"
