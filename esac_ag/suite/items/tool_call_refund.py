"""One movement of money: which of three near twins, for which of two near-twin customers, and how much."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Literal

from esac_ag.suite.contract import Json
from esac_ag.suite.world import building

from .draws import Draws
from .moments import MONTHS, day_stamp
from .tool_call_first import Call, Draft, FirstCallItem

CUSTOMERS: Final = (
    ("Halden Tools", "Haldane Tools"), ("Norvik Marine", "Norwick Marine"), ("Brandt Glass", "Brand Glass"),
    ("Ostrava Foods", "Ostrawa Foods"), ("Kestrel Lighting", "Kestral Lighting"),
    ("Aldous Print", "Aldus Print"), ("Merrow Textiles", "Morrow Textiles"), ("Tarn Ceramics", ("Tarne "
     "Ceramics")),
)  # fmt: skip
GOODS: Final = ("pumps", "valves", "lanterns", "gauges", "winches", "kettles", "dimmers", "couplings")
ACCOUNT: Final = "acc-main"
Kind = Literal["refund", "void", "capture"]
KINDS: Final[tuple[Kind, ...]] = ("refund", "refund", "void", "capture")


@dataclass(frozen=True, slots=True)
class _Invoice:
    customer: str
    number: int
    """Customer number."""
    issued: date
    place: int
    """Which one of its month."""
    paid: bool
    goods: str
    units: int
    net_cents: int
    """Of a unit."""
    vat_percent: int

    @property
    def id(self) -> str:
        month = f"{self.issued.month:02}{self.issued.year % 100:02}"
        return f"INV-{self.number}-{month}-{self.place:03}"

    @property
    def gross_cents(self) -> int:
        return gross_cents(self.units, self.net_cents, self.vat_percent)

    @property
    def line(self) -> str:
        return (
            f"- {self.customer}, customer {self.number}: {self.units} {self.goods} at "
            f"{euros(self.net_cents)} net, {self.vat_percent} % VAT, issued {self.issued.day} "
            f"{MONTHS[self.issued.month - 1]} {self.issued.year} as no. {self.place} of that month, "
            f"{'paid' if self.paid else 'not paid'}"
        )


def euros(cents: int) -> str:
    """An amount as `€12.50`."""
    return f"€{cents // 100}.{cents % 100:02}"


def gross_cents(units: int, net_cents: int, vat_percent: int) -> int:
    """Price with VAT; unit prices are drawn so that it comes to whole cents."""
    return units * net_cents * (100 + vat_percent) // 100


def _invoices(draws: Draws, kind: Kind) -> tuple[_Invoice, tuple[_Invoice, ...]]:
    ours, twin = draws.shuffled(draws.pick(CUSTOMERS))
    number, twin_number = draws.distinct(201, 989, 2)
    vat = draws.pick((20, 25, 10))
    goods = draws.pick(GOODS)
    days, places = draws.distinct(1, 56, 4), draws.distinct(3, 97, 4)
    paid = kind == "refund"
    rows = (
        (ours, number, paid, goods),
        (twin, twin_number, paid, goods),
        (ours, number, not paid, draws.pick([other for other in GOODS if other != goods])),
        (twin, twin_number, not paid, draws.pick(GOODS)),
    )
    invoices = tuple(
        _Invoice(
            customer=customer,
            number=customer_number,
            issued=date(2026, 1 + (day > 28), 1 + (day - 1) % 28),  # noqa: PLR2004  (28 days of each month)
            place=place,
            paid=is_paid,
            goods=what,
            units=draws.between(12, 40),
            # With whole multiples of 4 euros the VAT, and any twentieth of the gross sum, are whole cents.
            net_cents=400 * draws.between(5, 65),
            vat_percent=vat,
        )
        for (customer, customer_number, is_paid, what), day, place in zip(rows, days, places, strict=True)
    )
    return invoices[0], draws.shuffled(invoices)


def _state(invoices: tuple[_Invoice, ...]) -> dict[str, Any]:
    state = building.with_account(building.empty_state(), ACCOUNT, "Receivables", 95_000_000)
    for invoice in sorted(invoices, key=lambda invoice: invoice.id):
        state = building.with_invoice(
            state,
            invoice.id,
            invoice.customer,
            invoice.gross_cents,
            account=ACCOUNT,
            status="settled" if invoice.paid else "unsettled",
            issued_on=day_stamp(invoice.issued),
            memo=f"{invoice.units} {invoice.goods}",
        )
    return state


def build(draws: Draws) -> Draft:
    """Draw an instance."""
    kind = draws.pick(KINDS)
    invoice, invoices = _invoices(draws, kind)
    case = f"RMA-{draws.between(4100, 9800)}"
    returned = draws.between(3, invoice.units - 4)
    back = gross_cents(returned, invoice.net_cents, invoice.vat_percent)
    fee_percent = draws.pick((5, 10, 15))
    carriage = 5 * draws.between(90, 390)
    amount = back - back * fee_percent // 100 - carriage
    story = {
        "refund": (
            f"{invoice.customer} have sent {returned} of their {invoice.goods} back ({case}) and get their "
            f"money for those, with VAT, less a restocking fee of {fee_percent} % of that gross sum, and "
            f"less {euros(carriage)} carriage, which carries no VAT."
        ),
        "void": (
            f"{invoice.customer} have refused all of their {invoice.goods} at the door ({case}); the "
            "invoice for them must not be collected any more."
        ),
        "capture": (
            f"{invoice.customer} have kept all of their {invoice.goods} after all ({case} is withdrawn), and "
            "their money for these came in today. Book the invoice as paid."
        ),
    }[kind]
    prompt = "\n".join(
        [
            f"Please book this: {story} If the booking takes a reason, it is the RMA number alone.",
            "",
            (
                "Invoice ids are INV-, the customer number, -, month and year of issue with two digits "
                "each, -, the number within that month with three digits. Open and recent invoices, in euros:"
            ),
            *(line.line for line in invoices),
        ]
    )
    reason: dict[str, Json] = {"reason": case}
    calls = {
        "refund": Call("payments_refund", {"invoice_id": invoice.id, "amount_cents": amount, **reason}),
        "void": Call("payments_void", {"invoice_id": invoice.id}),
        "capture": Call("payments_capture", {"invoice_id": invoice.id}),
    }
    twin = next(
        other
        for other in invoices
        if other.customer != invoice.customer and other.paid == invoice.paid
    )  # fmt: skip
    full: dict[str, Json] = {"invoice_id": invoice.id, "amount_cents": invoice.gross_cents, **reason}
    return Draft(
        prompt=prompt,
        state=_state(invoices),
        call=calls[kind],
        derived=(invoice.id,),
        computed=(str(amount),) if kind == "refund" else (),
        lures={
            "twin-tool": calls["void"] if kind != "void" else Call("payments_refund", full),
            "twin-customer": Call(calls[kind].tool, {**calls[kind].arguments, "invoice_id": twin.id}),
            "whole-amount": Call("payments_refund", full),
        },
    )


ITEM: Final = FirstCallItem(
    id="tool-call-refund",
    title="One booking among near-twin customers",
    measures="Whether the fitting payment tool is chosen, the invoice id derived and the amount computed.",
    offered=(
        "payments_get_invoice",
        "payments_list_invoices",
        "payments_transfer",
        "payments_capture",
        "payments_refund",
        "payments_void",
        "payments_get_account",
    ),
    build=build,
    lures=("twin-tool", "twin-customer", "whole-amount"),
    tokens=(7_000, 10_000, 14_000, 19_000, 28_000),
)
