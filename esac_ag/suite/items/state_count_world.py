"""The world of item state-stock-count: a warehouse that was counted, and three lines in dispute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from esac_ag.suite.world import building as build

from .draws import Draws

SITES: Final = (
    ("Northgate", "Northgate East"),
    ("Harbour", "Harbour Road"),
    ("Lindholm", "Lindholmen"),
    ("Kessel", "Kessel West"),
    ("Marston", "Marston Mill"),
    ("Oakfield", "Oakfields"),
    ("Riverside", "Riverside Annex"),
    ("Talbot", "Talbot Street"),
)
GOODS: Final = (
    ("KTL", "Kettle lid"),
    ("GLV", "Work gloves"),
    ("HNG", "Door hinge"),
    ("CLP", "Hose clip"),
    ("FLT", "Filter insert"),
    ("BRK", "Shelf bracket"),
    ("WSH", "Washer set"),
    ("LMP", "Lamp socket"),
    ("TPE", "Cloth tape"),
    ("VLV", "Ball valve"),
    ("SPR", "Spring clamp"),
    ("CST", "Castor wheel"),
)
LINES: Final = 9
QUANTITY_SHIFT: Final = 60
PRICE_SHIFT: Final = 40
PEOPLE: Final = ("Ines Vogt", "Ravi Menon", "Tuula Aho", "Piet de Wit", "Lena Kask", "Omar Haddad")
PIECES: Final = (6, 8, 10, 12, 15, 16, 18, 24)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the count: pieces, and cents per piece."""

    place: str
    sku: str
    name: str
    counted: int
    price: int
    ticket: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """What was drawn."""

    prompt: str
    state: dict[str, Any]
    report: str
    site: str
    week: int
    expected: Mapping[str, int]
    """Bin -> value in cents, of the disputed lines."""
    mistaken: tuple[int, ...]
    """Values in cents that a short cut comes to."""

    @property
    def values(self) -> tuple[int, ...]:
        """Numbers that must not be found in the inputs."""
        return (*self.expected.values(), sum(self.expected.values()))


@dataclass(frozen=True, slots=True)
class Dispute:
    """What settles a disputed line: comments of its ticket, and pieces and price that follow."""

    comments: tuple[str, ...]
    pieces: int
    price: int
    mistaken: int
    """The value in cents that follows from the first comment."""


def draft(draws: Draws) -> Draft:
    """Draw a count."""
    site, twin = draws.pick(SITES)
    week = draws.between(5, 8)
    lines = _lines(draws)
    disputed = [line for line in lines if line.ticket]
    calm = draws.shuffled([line for line in lines if not line.ticket])
    packs = {line.sku: draws.pick(PIECES) for line in lines}
    disputes = dict(zip(disputed, _disputes(draws, disputed, calm, packs), strict=True))
    state = _people(build.empty_state())
    for line, dispute in disputes.items():
        state = _with_dispute(draws, state, site, week, line, dispute)
    state = _with_goods(draws, state, site, lines, packs)
    report, state = _with_reports(draws, state, (site, twin), week, lines)
    return Draft(
        prompt=_prompt(site, week),
        state=state,
        report=report,
        site=site,
        week=week,
        expected={line.place: dispute.pieces * dispute.price for line, dispute in disputes.items()},
        mistaken=(
            *(line.counted * line.price for line in disputed),
            *(dispute.mistaken for dispute in disputes.values()),
        ),
    )


def body(site: str, week: int, stage: str, lines: Sequence[Line]) -> str:
    """The text of a count."""
    rows = [
        f"{line.place:<6}{line.sku:<9}{line.counted:>7}{line.price:>7}  {line.ticket or '-'}"
        for line in lines
    ]
    return "\n".join(
        (
            f"Stock count {site}, week {week}, {stage}",
            "Counted in pieces, price in cents per piece. A line with a ticket is disputed.",
            f"{'bin':<6}{'sku':<9}{'counted':>7}{'price':>7}  ticket",
            *rows,
        )
    )


def export_path(site: str, week: int) -> str:
    """Where the export of an earlier state of the count lies."""
    return f"/srv/exports/stock-count-{site.lower()}-week-{week}.txt"


def _prompt(site: str, week: int) -> str:
    return (
        f"The count of our {site} warehouse in week {week} is final, but a few of its lines are disputed. "
        "What is each disputed line worth, in cents, once its ticket is taken into account? The count is in "
        "the reports; mind that each report can be fetched a single time, so leave those alone that "
        "you do not need. If a comment corrects an earlier one, the later one holds.\n\n"
        "End with one line: ANSWER: and a JSON object with one key per disputed bin and the key total, "
        'whole cents each, for example ANSWER: {"Z-01": 1, "Z-02": 2, "total": 3}'
    )


def _lines(draws: Draws) -> list[Line]:
    bins = sorted(draws.distinct(11, 89, LINES))
    aisles = draws.pick(("A", "B", "C", "D"))
    goods = draws.sample(GOODS, LINES)
    sizes = draws.distinct(20, 95, LINES)
    counts = draws.distinct(110, 480, LINES)
    prices = draws.distinct(105, 890, LINES)
    tickets = draws.distinct(4100, 4890, 3)
    disputed = dict(zip(draws.sample(range(LINES), 3), tickets, strict=True))
    return [
        Line(
            place=f"{aisles}-{bins[index]}",
            sku=f"{goods[index][0]}-{sizes[index]}",
            name=f"{goods[index][1]} {sizes[index]}",
            counted=counts[index],
            price=prices[index],
            ticket=f"T-{disputed[index]}" if index in disputed else None,
        )
        for index in range(LINES)
    ]


def _disputes(
    draws: Draws, disputed: Sequence[Line], calm: Sequence[Line], packs: Mapping[str, int]
) -> tuple[Dispute, ...]:
    first, second, third = disputed
    boxes, wrong = draws.distinct(9, 31, 2)
    loose = draws.between(1, packs[first.sku] - 1)
    behind = draws.between(2, 5)
    quantity, price, other = calm[:3]
    return (
        Dispute(
            comments=(
                f"Recounted: {wrong} full boxes and {loose} loose pieces.",
                "Price as in the count.",
                f"Sorry, wrong shelf. It is {boxes} full boxes; the {loose} loose pieces are right.",
            ),
            pieces=boxes * packs[first.sku] + loose,
            price=first.price,
            mistaken=(wrong * packs[first.sku] + loose) * first.price,
        ),
        Dispute(
            comments=(
                f"Somebody swapped two labels: the quantity of bin {other.place} belongs here.",
                (
                    f"Checked again, not that one. The quantity of bin {quantity.place} in the count belongs "
                    f"here, and on top of it {behind} full boxes that stood behind the shelf."
                ),
            ),
            pieces=quantity.counted + behind * packs[second.sku],
            price=second.price,
            mistaken=other.counted * second.price,
        ),
        Dispute(
            comments=(
                f"The quantity is right. The price is not: it should be that of bin {other.place}.",
                f"I misread the list. Same price as in bin {price.place}, quantity unchanged.",
            ),
            pieces=third.counted,
            price=price.price,
            mistaken=third.counted * other.price,
        ),
    )


def _people(state: dict[str, Any]) -> dict[str, Any]:
    for number, name in enumerate(PEOPLE):
        state = build.with_user(state, f"u-{201 + number}", name, title="Warehouse clerk")
    return state


def _with_dispute(
    draws: Draws, state: dict[str, Any], site: str, week: int, line: Line, dispute: Dispute
) -> dict[str, Any]:
    author = f"u-{201 + draws.below(len(PEOPLE))}"
    return build.with_ticket(
        state,
        line.ticket or "",
        f"Count {site}, week {week}: {line.sku}",
        body=f"Bin {line.place}: what was counted looks wrong, please check.",
        status="closed",
        reporter=f"u-{201 + draws.below(len(PEOPLE))}",
        comments=[(author, text) for text in dispute.comments],
    )


def _with_goods(
    draws: Draws, state: dict[str, Any], site: str, lines: Sequence[Line], packs: Mapping[str, int]
) -> dict[str, Any]:
    home = f"wh-{site.lower()}"
    state = build.with_warehouse(state, home, site)
    cached = []
    for line in lines:
        pack = packs[line.sku]
        old = draws.pick([size for size in PIECES if size != pack])
        state = build.with_item(
            state,
            line.sku,
            line.name,
            {home: draws.between(8, 40)},
            unit="box",
            pieces_per_unit=pack,
            note=f"Until last year in boxes of {old}.",
        )
        # The near twin: same goods for export, packed otherwise.
        state = build.with_item(
            state, f"{line.sku}X", f"{line.name} (export)", {home: 0}, unit="box", pieces_per_unit=old
        )
        cached.append((line.sku, home, draws.between(8, 40)))
    return build.with_cached_levels(state, "2026-03-02T02:00:00Z", cached)


def _with_reports(
    draws: Draws, state: dict[str, Any], sites: tuple[str, str], week: int, lines: Sequence[Line]
) -> tuple[str, dict[str, Any]]:
    site, twin = sites
    names = [f"rep-{number}" for number in draws.distinct(301, 989, 5)]
    earlier = _other(draws, lines)
    titles = (
        (site, week, "final", lines),
        (site, week, "preliminary", earlier),
        (site, week - 1, "final", _other(draws, lines)),
        (twin, week, "final", _other(draws, lines)),
        (site, week, "spoilage", _other(draws, lines)),
    )
    for name, (where, when, stage, shown) in zip(names, titles, strict=True):
        title = f"Stock count {where}, week {when}, {stage}"
        state = build.with_report(state, name, title, body(where, when, stage, shown))
    state = build.with_file(state, export_path(site, week), body(site, week, "preliminary", earlier))
    state = build.with_file(
        state, export_path(site, week - 1), body(site, week - 1, "final", _other(draws, lines))
    )
    return names[0], state


def _other(draws: Draws, lines: Sequence[Line]) -> list[Line]:
    """The same lines with other quantities and prices, disputed or not."""
    # One draw for both shifts of a line: generating has to stay cheap.
    drawn = [divmod(draws.below(4 * QUANTITY_SHIFT * PRICE_SHIFT), 2 * PRICE_SHIFT) for _ in lines]
    return [
        Line(
            place=line.place,
            sku=line.sku,
            name=line.name,
            counted=line.counted + _shift(quantity, QUANTITY_SHIFT),
            price=line.price + _shift(price, PRICE_SHIFT),
            ticket=line.ticket,
        )
        for line, (quantity, price) in zip(lines, drawn, strict=True)
    ]


def _shift(drawn: int, most: int) -> int:
    """From `-most` to `most`, never 0, of a number below twice as much."""
    return drawn - most if drawn < most else drawn - most + 1
