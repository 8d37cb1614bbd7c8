"""Schemas of the inventory, of payments and of reports."""

from __future__ import annotations

from typing import Final

from .schema import Schema, choice, integer, pages, text, tool

SKU: Final = text("Stock keeping unit, such as BLT-M8.", most=200)
WAREHOUSE: Final = text("Warehouse id, such as wh-north.", most=200)
INVOICE: Final = text("Invoice id, such as INV-2001.", most=200)
ACCOUNT: Final = text("Account id, such as acc-main.", most=200)
MOST: Final = 1_000_000_000
QUANTITY: Final = integer(
    "How many, in the item's own unit as inventory_get names it (pieces, or boxes of several pieces).",
    least=1,
    most=MOST,
)
CENTS: Final = integer("Amount in cents.", least=1, most=MOST)
INVOICE_STATUSES: Final = ("unsettled", "settled", "partially_refunded", "refunded", "voided")

TOOLS: Final[dict[str, Schema]] = dict(
    [
        tool(
            "inventory_find",
            "Find items by a part of their SKU or name, in pages. Returns SKU and name alone.",
            {"query": text("Text to look for; upper and lower case are the same.", most=200)},
            pages(5),
        ),
        tool(
            "inventory_get",
            "Get an item: unit, pieces per unit, and per warehouse what is on hand, reserved and available, "
            "now.",
            {"sku": SKU},
        ),
        tool(
            "inventory_cached_levels",
            "Get the levels of all items from the last nightly snapshot, in pages.",
            {},
            pages(10),
        ),
        tool(
            "inventory_adjust",
            "Correct the quantity on hand by a difference, after a count or a loss. "
            "Does not move goods and does not reserve them.",
            {
                "sku": SKU,
                "delta": integer(
                    "Difference in the item's own unit; negative takes away.", least=-MOST, most=MOST
                ),
                "reason": text("Why.", most=500),
            },
            {"warehouse": text("Warehouse id; the item's home warehouse if absent.", most=200)},
        ),
        tool(
            "inventory_reserve",
            "Hold available stock for an order. One hold per item and order. Returns the reservation's id.",
            {"sku": SKU, "quantity": QUANTITY, "order_id": text("Order id, such as SO-77.", most=200)},
            {"warehouse": text("Warehouse id; the item's home warehouse if absent.", most=200)},
        ),
        tool(
            "inventory_release",
            "Give a held reservation up, so that its stock is available again.",
            {"reservation_id": text("Reservation id, such as RS-1001.", most=200)},
        ),
        tool(
            "inventory_transfer",
            "Move available stock of an item from one warehouse to another.",
            {"sku": SKU, "quantity": QUANTITY, "from": WAREHOUSE, "to": WAREHOUSE},
        ),
        tool("payments_get_invoice", "Get an invoice by id.", {"invoice_id": INVOICE}),
        tool(
            "payments_list_invoices",
            "List the invoices whose customer's name contains a text, by id, in pages.",
            {"customer": text("Part of the customer's name; case does not matter.", most=200)},
            {"status": choice("Only invoices in this status.", *INVOICE_STATUSES), **pages(5)},
        ),
        tool(
            "payments_capture",
            "Settle an unsettled invoice: its whole amount is credited to its account.",
            {"invoice_id": INVOICE},
        ),
        tool(
            "payments_void",
            "Cancel an unsettled invoice. No money moves. Settled invoices have to be refunded instead.",
            {"invoice_id": INVOICE},
        ),
        tool(
            "payments_refund",
            "Pay a settled invoice back, wholly or in part, from the account that it was credited to.",
            {"invoice_id": INVOICE, "amount_cents": CENTS, "reason": text("Why.", most=500)},
        ),
        tool(
            "payments_get_account",
            "Get an account: owner, currency, balance in cents and status.",
            {"account_id": ACCOUNT},
        ),
        tool(
            "payments_transfer",
            "Move money between two active accounts of the same currency. Cannot be undone.",
            {"from_account": ACCOUNT, "to_account": ACCOUNT, "amount_cents": CENTS},
        ),
        tool("reports_list", "List reports by id, in pages, with titles alone.", {}, pages(5)),
        tool(
            "reports_fetch_once",
            "Fetch a report. Each report is delivered once only; a second fetch is refused.",
            {"report_id": text("Report id, such as rep-q1.", most=200)},
        ),
    ]
)
