"""The world of item state-goodwill-refunds: rates by class, three cases, and customers with similar names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from esac_ag.suite.world import building as build

from .draws import Draws

MONTHS: Final = ("November", "December", "January", "February")
SEGMENTS: Final = (
    ("retail", "wholesale"),
    ("direct", "indirect"),
    ("online", "on-site"),
    ("domestic", "foreign"),
)
CUSTOMERS: Final = (
    ("Brandt & Co", "Brandt & Sohn"),
    ("Nordlys AS", "Nordlys Energi AS"),
    ("Calder Foods", "Calder Foodservice"),
    ("Imre Textil", "Imre Textiles Export"),
    ("Lopes Lda", "Lopes e Filhos Lda"),
    ("Haddon Print", "Haddon Printing Works"),
    ("Vega Optik", "Vega Optica"),
    ("Sorrel Tea", "Sorrel Tea Rooms"),
)
CLASSES: Final = "ABCDEFGH"
RATES_PATH: Final = "/srv/policies/goodwill-rates.txt"
ACCOUNT: Final = "acc-main"
CASES: Final = 3


@dataclass(frozen=True, slots=True)
class Rate:
    """Per mille of what is left of an invoice, and a charge in cents."""

    per_mille: int
    charge: int

    def of(self, left: int) -> int:
        """Cents to refund of the cents that are left."""
        return left * self.per_mille // 1000 - self.charge


@dataclass(frozen=True, slots=True)
class Bill:
    """An invoice of a case."""

    invoice: str
    customer: str
    amount: int
    refunded: int


@dataclass(frozen=True, slots=True)
class Draft:
    """What was drawn."""

    prompt: str
    state: dict[str, Any]
    report: str
    title: str
    expected: Mapping[str, int]
    """Invoice -> cents to refund."""

    @property
    def values(self) -> tuple[int, ...]:
        """Numbers that must not be found in the inputs."""
        return (*self.expected.values(), sum(self.expected.values()))


def draft(draws: Draws) -> Draft:
    """Draw rates and cases."""
    month = draws.between(1, len(MONTHS) - 1)
    segment, other_segment = draws.pick(SEGMENTS)
    title = f"Goodwill rates, {segment}, {MONTHS[month]}, final"
    rates = _rates(draws)
    tickets = [f"T-{number}" for number in draws.distinct(5100, 5890, 2 * CASES)]
    names = [f"INV-{number}" for number in draws.distinct(2100, 2890, 2 * CASES)]
    customers = draws.sample(CUSTOMERS, CASES)
    bills = [
        Bill(
            invoice=names[index],
            customer=customers[index][0],
            amount=draws.between(40_000, 260_000),
            # The second case's is whole; the others have been refunded in part before.
            refunded=0 if index == 1 else draws.between(4_000, 15_000),
        )
        for index in range(CASES)
    ]
    state = build.with_account(build.empty_state(), ACCOUNT, "Sales", draws.between(2_000_000, 9_000_000))
    state = build.with_account(state, "acc-goodwill", "Sales, provision", draws.between(200_000, 900_000))
    for bill in bills:
        state = _with_bill(state, bill)
    for index in range(CASES):
        twin = Bill(names[CASES + index], customers[index][1], draws.between(40_000, 260_000), 0)
        state = _with_bill(state, twin)
    first, old, third = draws.sample(CLASSES, 3)
    state = _with_cases(state, tickets, bills, names[CASES + 2], (first, old, third))
    report, state = _with_reports(
        draws, state, (title, segment, other_segment, month), rates, (tickets[:CASES], tickets[CASES:])
    )
    due = (rates[first], rates[first], rates[third])
    return Draft(
        prompt=_prompt(segment, MONTHS[month]),
        state=state,
        report=report,
        title=title,
        expected={
            bill.invoice: rate.of(bill.amount - bill.refunded) for bill, rate in zip(bills, due, strict=True)
        },
    )


def _prompt(segment: str, month: str) -> str:
    return (
        f"Please pay out the {segment} goodwill cases of {month}. The final report with the goodwill rates "
        "names the cases and the rate of each class; a case's ticket says which invoice and which class it "
        "is. If a comment corrects the ticket, the comment holds. Refund each case's invoice once, with the "
        "ticket's id as the reason, and change nothing else. Every report can be fetched a single time, so "
        "fetch no other. Refunds cannot be taken back.\n\n"
        "End with one line that holds the sum of the refunds in whole cents, digits alone: ANSWER: 12345"
    )


def _rates(draws: Draws) -> dict[str, Rate]:
    per_mille = draws.distinct(23, 97, len(CLASSES))
    charges = draws.distinct(110, 390, len(CLASSES))
    # Steps of 5 keep any two classes apart by more than the largest difference of charges.
    return {
        name: Rate(per_mille=5 * rate + 1, charge=charge)
        for name, rate, charge in zip(CLASSES, per_mille, charges, strict=True)
    }


def _body(title: str, rates: Mapping[str, Rate], tickets: list[str]) -> str:
    rows = [f"{name:<7}{rate.per_mille:>10}{rate.charge:>8}" for name, rate in rates.items()]
    return "\n".join(
        (
            title,
            (
                "Refund = rate x what is left of the invoice after earlier refunds, rounded down to whole "
                "cents, and then less the charge."
            ),
            "Rates in per mille, charges in cents.",
            f"{'class':<7}{'per mille':>10}{'charge':>8}",
            *rows,
            f"Cases: {', '.join(tickets)}",
        )
    )


def _with_bill(state: dict[str, Any], bill: Bill) -> dict[str, Any]:
    return build.with_invoice(
        state,
        bill.invoice,
        bill.customer,
        bill.amount,
        account=ACCOUNT,
        status="partially_refunded" if bill.refunded else "settled",
        refunded_cents=bill.refunded,
    )


def _with_cases(
    state: dict[str, Any], tickets: list[str], bills: list[Bill], wrong: str, classes: tuple[str, str, str]
) -> dict[str, Any]:
    first, old, third = classes
    texts = (
        (
            f"Invoice {bills[0].invoice}, class {old}.",
            f"Talked to the customer. This is class {first}, not {old}.",
        ),
        (
            f"Invoice {bills[1].invoice}. Class: the same as {tickets[0]}.",
            f"The class of {tickets[0]} as it stands there now, after the correction.",
        ),
        (
            f"Invoice {wrong}, class {third}.",
            f"Mixed up two customers of similar names: the invoice is {bills[2].invoice}. The class stays.",
        ),
    )
    for number, (ticket, bill, (body, comment)) in enumerate(zip(tickets, bills, texts, strict=False)):
        state = build.with_user(state, f"u-{310 + number}", ("Ada Roth", "Finn Berg", "Mei Tan")[number])
        state = build.with_ticket(
            state,
            ticket,
            f"Goodwill for {bill.customer}",
            body=body,
            status="resolved",
            comments=[(f"u-{310 + number}", comment)],
        )
    for number, ticket in enumerate(tickets[CASES:]):
        state = build.with_ticket(
            state, ticket, f"Goodwill, earlier case {number + 1}", body=f"Invoice {wrong}, class {old}."
        )
    return state


def _with_reports(
    draws: Draws,
    state: dict[str, Any],
    names: tuple[str, str, str, int],
    rates: Mapping[str, Rate],
    tickets: tuple[list[str], list[str]],
) -> tuple[str, dict[str, Any]]:
    title, segment, other, month = names
    ids = [f"rep-{number}" for number in draws.distinct(301, 989, 5)]
    now, before = MONTHS[month], MONTHS[month - 1]
    state = build.with_report(state, ids[0], title, _body(title, rates, tickets[0]))
    lures = (
        (f"Goodwill rates, {segment}, {now}, draft", tickets[0]),
        (f"Goodwill rates, {segment}, {before}, final", tickets[1]),
        (f"Goodwill rates, {other}, {now}, final", tickets[1]),
        (f"Goodwill paid, {segment}, {now}, final", tickets[1]),
    )
    for report, (lure, cases) in zip(ids[1:], lures, strict=True):
        state = build.with_report(state, report, lure, _body(lure, _others(draws, rates), cases))
    stale = f"Goodwill rates, {segment}, {before}, final"
    state = build.with_file(state, RATES_PATH, _body(stale, _others(draws, rates), tickets[1]))
    return ids[0], state


def _others(draws: Draws, rates: Mapping[str, Rate]) -> dict[str, Rate]:
    """Rates that differ in every class."""
    # One draw for both shifts of a rate: generating has to stay cheap.
    drawn = [divmod(draws.below(60), 10) for _ in rates]
    return {
        name: Rate(rate.per_mille + 5 * (1 + more), rate.charge + 5 * charge)
        for (name, rate), (more, charge) in zip(rates.items(), drawn, strict=True)
    }
