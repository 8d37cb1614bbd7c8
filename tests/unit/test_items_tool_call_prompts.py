"""Prompts of category tool-call say what the expected calls say: each is worked out again from its text."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from pydantic import JsonValue

from esac_ag.suite.contract import Item
from esac_ag.suite.items.tool_call import ITEMS
from esac_ag.suite.items.tool_call_first import Call, secret_call
from tests.builders_items import instances

BY_ID = {item.id: item for item in ITEMS}
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def groups(pattern: str, text: str) -> tuple[str, ...]:
    """What the groups of a pattern hold that has to be in a text."""
    found = re.search(pattern, text)
    assert found, pattern
    return found.groups()


def moment(day: str, clock: str, offset: str) -> datetime:
    """A moment in UTC from `Wednesday 4 March 2026`, `09:05` and `+05:45`; the weekday has to be right."""
    name, number, month, year = day.split()
    date = f"{year}-{MONTHS.index(month) + 1:02}-{int(number):02}"
    local = datetime.fromisoformat(f"{date}T{clock}:00{offset}")
    assert local.strftime("%A") == name
    return local.astimezone(UTC)


def meeting(prompt: str) -> Call:
    """Read the people, the rooms and both ends."""
    people = re.findall(r"^- (u-\d+): (.+?), (.+?), (.+?), reports to (.+)$", prompt, re.MULTILINE)
    ids = {name: user for user, name, *_ in people}
    first, role = groups(r"The (\w+) who is ([\w ]+) organises", prompt)
    organizer = next(person for person in people if person[1].startswith(f"{first} ") and person[2] == role)
    reporter, third, city = groups(
        r"whoever ([\w ]+) reports to, and (\w+) from ([^,]+?)\. \d+ guests", prompt
    )
    assert reporter == organizer[1]
    matching = [user for user, name, _, place, _ in people if name.startswith(f"{third} ") and place == city]
    assert len(matching) == 1
    begins = groups(r"starts on ([\w ]+?) at (\d\d:\d\d) in [^(]+ \(UTC([^)]+)\)", prompt)
    offset, clock, day = groups(r"in [^(]+ \(UTC([^)]+)\) shows (\d\d:\d\d) on ([\w ]+?)\.", prompt)
    start, end = moment(*begins), moment(day, clock, offset)
    seats = 3 + int(groups(r"(\d+) guests sit", prompt)[0])
    rooms = [(int(size), room) for room, size in re.findall(r"(room-\d+) \w+ \((\d+) seats\)", prompt)]
    return Call(
        "calendar_create_event",
        {
            "title": groups(r'title "(.+?)"', prompt)[0],
            "organizer_id": organizer[0],
            "attendee_ids": [ids[organizer[4]], matching[0]],
            "start": start.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "duration_minutes": (end - start) // timedelta(minutes=1),
            "room_id": min(room for room in rooms if room[0] >= seats)[1],
        },
    )


def refund(prompt: str) -> Call:
    """Read the story and the one line of the ledger that it is about."""
    customer, goods = groups(r"book this: ([\w ]+?) have (?:sent|refused|kept) .*?their (\w+)", prompt)
    paid = "have sent" in prompt
    lines = re.findall(
        r"^- ([\w ]+), customer (\d+): (\d+) (\w+) at €(\d+)\.(\d\d) net, (\d+) % VAT, "
        r"issued \d+ (\w+) (\d+) as no\. (\d+) of that month, (paid|not paid)$",
        prompt,
        re.MULTILINE,
    )
    status = "paid" if paid else "not paid"
    fitting = [line for line in lines if (line[0], line[3], line[10]) == (customer, goods, status)]
    assert len(fitting) == 1
    _, number, _, _, euros, cents, vat, month, year, place, _ = fitting[0]
    invoice = f"INV-{number}-{MONTHS.index(month) + 1:02}{int(year) % 100:02}-{int(place):03}"
    if "have refused" in prompt:
        return Call("payments_void", {"invoice_id": invoice})
    if "have kept" in prompt:
        return Call("payments_capture", {"invoice_id": invoice})
    units, case = groups(r"have sent (\d+) of their \w+ back \((RMA-\d+)\)", prompt)
    fee, whole, part = groups(r"fee of (\d+) % of that gross sum, and less €(\d+)\.(\d\d) carriage", prompt)
    gross = int(units) * int(euros + cents) * (100 + int(vat))
    kept = gross * int(fee)
    assert gross % 100 == 0
    assert kept % 10_000 == 0
    amount = gross // 100 - kept // 10_000 - int(whole + part)
    return Call("payments_refund", {"invoice_id": invoice, "amount_cents": amount, "reason": case})


def stock(prompt: str) -> Call:
    """Read the operation, spell the SKU, turn dozens into boxes."""
    (family_list,) = groups(r"Families: (.+?\.) Threads", prompt)
    (finish_list,) = groups(r"Finishes: (.+?\.) Warehouses", prompt)
    families = dict(re.findall(r"([a-z ]+) ([A-Z]{3})(?=[,.])", family_list))
    codes = {name.strip(): code for name, code in families.items()}
    finishes = dict(re.findall(r"([\w -]+?) (Z|A2|A4|B)(?=[,.])", finish_list))
    ends = {name.strip(): code for name, code in finishes.items()}
    finish, family, thread, length = groups(
        rf"({'|'.join(ends)}) ({'|'.join(codes)})s M(\d+)(?: in|, ([\d.]+) cm)", prompt
    )
    sku = f"{codes[family]}-M{int(thread):02}-{round(float(length) * 10):03}-{ends[finish]}"
    pieces = 12 * int(groups(r"(\d+) dozen", prompt)[0])
    box = int(groups(r"boxes of (\d+)", prompt)[0])
    assert pieces % box == 0
    boxes = pieces // box
    warehouses = dict(re.findall(r"(\w+) (wh-\d+)", prompt))
    if "keep them for that order in" in prompt:
        order, city = groups(r"Order (SO-\d+) needs.*for that order in (\w+);", prompt)
        arguments: dict[str, JsonValue] = {
            "quantity": boxes,
            "order_id": order,
            "warehouse": warehouses[city],
        }
        return Call("inventory_reserve", {"sku": sku, **arguments})
    if "is running out" in prompt:
        target, source = groups(r"^(\w+) is running out.*there from (\w+) \(", prompt)
        return Call(
            "inventory_transfer",
            {"sku": sku, "quantity": boxes, "from": warehouses[source], "to": warehouses[target]},
        )
    city, booked, reason = groups(r" in (\w+): .* says (\d+) boxes\..*reason \"(.+?)\"", prompt)
    return Call(
        "inventory_adjust",
        {"sku": sku, "delta": boxes - int(booked), "reason": reason, "warehouse": warehouses[city]},
    )


def ticket(prompt: str) -> Call:
    """Read the alert, apply the rules, look the rota up in UTC."""
    number, queue, component, *at = groups(
        r"alert (\d+) in the (\w+) queue: ([\w ]+), raised on ([\w ]+?) at (\d\d:\d\d) in \w+ \(UTC([^)]+)\)",
        prompt,
    )
    raised = moment(*at)
    percent, accounts = groups(r"hits (\d+\.\d) % of the (\d+) accounts", prompt)
    hit = round(float(percent) * 10) * int(accounts) / 1000
    queues = {
        name: (team, int(base), components.split(", "), rota)
        for name, team, base, components, rota in re.findall(
            r"^(\w+): (team-\d+), base (\d+), components (.+?)\. On call[^:]+:00 UTC for 24 hours: (.+)\.$",
            prompt,
            re.MULTILINE,
        )
    }
    _, base, _, rota = queues[queue]
    ticket_id = f"T-{base + int(number)}"
    if hit < 40:
        team = next(team for team, _, components, _ in queues.values() if component in components)
        return Call("tickets_transfer", {"ticket_id": ticket_id, "team": team})
    if hit <= 200:
        urgent = raised.hour < 6 or raised.hour >= 18
        return Call(
            "tickets_set_priority", {"ticket_id": ticket_id, "priority": "urgent" if urgent else "high"}
        )
    shifts = re.findall(r"(\w+ \d+ \w+ \d+): [\w ]+ \((u-\d+)\)", rota)
    on_call = [user for day, user in shifts if moment(day, "07:00", "+00:00") <= raised]
    assert raised - moment(shifts[len(on_call) - 1][0], "07:00", "+00:00") < timedelta(days=1)
    return Call("tickets_assign", {"ticket_id": ticket_id, "user_id": on_call[-1]})


def rotation(prompt: str) -> Call:
    """Read the log, its size and its last line; the calendar's own week is the house's week."""
    service, host, which, size = groups(r"one log of (\w+) on ([\w-]+) away: the (.+?), (\d+) bytes", prompt)
    last = moment(*groups(r"written on ([\w ]+?) at (\d\d:\d\d) in \w+ \(UTC([^)]+)\)", prompt))
    limit = int(groups(r"up to (\d+) KiB", prompt)[0]) * 1024
    suffix = {"newest": ".1", "second": ".2", "third": ".3"}[which.split()[0]]
    year, week, _ = last.isocalendar()
    name = f"{service}-{last.strftime('%Y%m%d-%H')}.log"
    return Call(
        "fs_move" if int(size) > limit else "fs_copy",
        {
            "source": f"/var/log/{host}/{service}.log{suffix}",
            "destination": f"/archive/{host}/{year}-w{week:02}/{name}",
        },
    )


READERS = {
    "tool-call-meeting": meeting,
    "tool-call-refund": refund,
    "tool-call-stock": stock,
    "tool-call-ticket": ticket,
    "tool-call-rotation": rotation,
}


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_the_expected_call_follows_from_the_prompt_alone(item: Item) -> None:
    """A second, independent reading of the text comes to the same call, tool and all arguments."""
    for instance in instances(item, 200):
        assert READERS[item.id](instance.prompt) == secret_call(instance)


def test_a_moment_is_read_with_its_offset() -> None:
    """The reading that the others rest on, against a known moment."""
    assert moment("Wednesday 4 March 2026", "01:15", "+05:45") == datetime(
        2026, 3, 4, 1, 15, tzinfo=timezone(timedelta(hours=5, minutes=45))
    )
