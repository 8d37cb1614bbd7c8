"""Oracle of the ledger, and the drawing of its inputs; its source becomes part of hidden tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def ledger_date(day: int, form: str) -> str:
    """Day `day` counted from 1 January 2026 in a written form."""
    month, left = 1, day
    for length in (31, 28, 31, 30):
        if left < length:
            break
        month, left = month + 1, left - length
    name = ["Jan", "Feb", "Mar", "Apr", "May"][month - 1]
    return {
        "dots": f"{left + 1:02d}.{month:02d}.2026",
        "short": f"{left + 1}.{month}.26",
        "slashes": f"{left + 1}/{month}/2026",
        "names": f"{left + 1}-{name}-2026",
        "names-first": f"{name}-{left + 1}-2026",
    }[form]


def ledger_day(date: str) -> tuple[int, int]:
    """Month and day of a written date."""
    for mark in "./":
        date = date.replace(mark, "-")
    day, month, _ = date.split("-")
    names = ["Jan", "Feb", "Mar", "Apr", "May"]
    if day in names:
        day, month = month, day
    return (names.index(month) + 1 if month in names else int(month)), int(day)


def ledger_money(cents: int, rules: dict[str, Any]) -> str:
    """An amount as the report writes it."""
    whole, rest = divmod(cents, 100)
    return {
        "comma": f"{whole},{rest:02d}",
        "point": f"{whole}.{rest:02d}",
        "marked": f"{whole:,}.{rest:02d}".replace(",", "'"),
        "cents": str(cents),
    }[rules["money"]]


def ledger_line(name: str, held: list[int], rest: int, rules: dict[str, Any]) -> str:
    """A customer's line of the report."""
    said = {
        "count": f"{len(held)} {rules['labels'][0]}",
        "total": ledger_money(sum(held), rules),
        "credit": f"{rules['labels'][1]} {ledger_money(rest, rules)}",
    }
    return f"{name}: {rules['joint'].join(said[part] for part in rules['parts'])}"


def solve_ledger(text: str, rules: dict[str, Any]) -> list[str]:
    """The statement's lines."""
    rows = [line.split(None, 4) for line in text.split("\n") if line.strip()]
    date, kind_at, name_at = (rules["fields"].index(field) for field in ("date", "kind", "name"))
    rows.sort(key=lambda row: ledger_day(row[date]))
    billing, paying, voiding = rules["kinds"]
    bills: dict[str, list[int]] = {}
    credit: dict[str, int] = {}
    for row in rows:
        kind, name = row[kind_at], row[name_at]
        held = bills.setdefault(name, [])
        whole, _, part = row[3].replace("'", "").partition(".")
        cents = int(whole) * 100 + int((part + "00")[:2])
        if kind == voiding:
            held.pop(-1 if rules["voids"] == "latest" else 0)
        elif kind == billing:
            used = min(cents, credit.get(name, 0))
            credit[name] = credit.get(name, 0) - used
            if cents > used:
                held.append(cents - used)
        elif kind == paying:
            while cents and held:
                place = {"oldest": 0, "newest": len(held) - 1, "largest": held.index(max(held))}[
                    rules["settles"]
                ]
                used = min(cents, held[place])
                cents -= used
                held[place] -= used
                if not held[place]:
                    del held[place]
            credit[name] = credit.get(name, 0) + cents
    ranks = {name: {"name": 0, "total": -sum(held), "count": -len(held)} for name, held in bills.items()}
    lines = []
    for name in sorted(bills, key=lambda name: (ranks[name][rules["ranked"]], name.lower(), name)):
        held, rest = bills[name], credit.get(name, 0)
        if held or rest or rules["settled"] == "shown":
            lines.append(ledger_line(name, held, rest, rules))
    total = sum(sum(held) for held in bills.values())
    return [*lines, f"{rules['labels'][2]}: {ledger_money(total, rules)}"]


def make_ledger(  # noqa: C901, PLR0912  (a branch per facet)
    below: Callable[[int], int], rules: dict[str, Any], facet: str
) -> str:
    """An input that brings a place of the script to bear."""
    every = facet == "all"
    people = rules["people"]
    billing, paying, voiding = rules["kinds"]
    rows: list[tuple[int, str, str, str]] = []
    day = 12 + below(8)

    def amount(*, large: bool = False) -> str:
        cents = [99, 29, 57, 15, 5][below(5)] if every or facet == "cents" else 25 * below(4)
        whole = f"{1 + below(8)}'{below(10)}{below(10)}{below(10)}" if large else str(10 + below(90))
        return f"{whole}.{cents:02d}" if cents or below(2) else whole

    def add(kind: str, name: str, text: str) -> None:
        nonlocal day
        day += 1 + below(4)
        note = (
            ["", "", " deposit", " see letter 12", " by card, late"][below(5)]
            if every or facet == "notes"
            else ""
        )
        rows.append((day, kind, name, text + note))

    for number in range(7):
        add(billing, people[number % 3], amount(large=(every or facet == "thousands") and number % 2 == 1))
    if facet not in ("order", "notes", "thousands"):
        add(paying, people[0], "5")
    if every or facet == "partial":
        for _ in range(3):
            add(paying, people[below(3)], f"{20 + below(60)}.50")
    if every or facet == "credit":
        add(paying, people[1], f"{90000 + below(99)}.25")
        add(paying, people[1], f"{300 + below(99)}.75")
    if every or facet == "reuse":
        add(paying, people[2], f"{91000 + below(99)}")
        add(billing, people[2], f"{200 + below(99)}.50")
        add(billing, people[2], f"{90900 + below(999)}.50")
    if every or facet == "only-payments":
        add(paying, people[3], f"{40 + below(50)}")
    if every or facet == "case":
        for name in (people[4].capitalize(), people[5]):
            add(billing, name, amount())
    if every or facet == "order":
        for _ in range(2):
            add(billing, people[0], str(2000 + below(999)))
            add(voiding, people[0], "0")
        rows.append((29 + below(2), billing, people[6], str(100 + below(99))))
        rows.append((31 + below(2), voiding, people[6], "0"))
        rows.append((38, billing, people[6], str(100 + below(99))))
    shown = []
    for at, kind, name, text in rows:
        fields = {"date": ledger_date(at, rules["dates"]), "kind": kind, "name": name}
        shown.append(" ".join([*(fields[field] for field in rules["fields"]), text]))
    if every or facet == "order":
        for _ in range(12):
            shown.append(shown.pop(below(len(shown))))
    return "\n".join(shown) + "\n"
