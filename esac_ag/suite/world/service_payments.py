"""Payments: invoices with a state machine, accounts, refunds and transfers; integer cents."""

from __future__ import annotations

from .refusal import Refused
from .snapshot import State
from .tables import Arguments, Operation, Row, allocate, listing, picked, row


def get_invoice(state: State, arguments: Arguments) -> Row:
    """All fields of an invoice."""
    return {"invoice_id": arguments["invoice_id"], **_invoice(state, arguments)}


def list_invoices(state: State, arguments: Arguments) -> Row:
    """Invoices by a part of the customer's name."""
    wanted, status = arguments["customer"].casefold(), arguments.get("status")
    found = [
        {
            "invoice_id": invoice_id,
            **picked(invoice, "customer", "amount_cents", "currency", "status", "issued_on"),
        }
        for invoice_id, invoice in sorted(state["invoices"].items())
        if wanted in invoice["customer"].casefold() and status in {None, invoice["status"]}
    ]
    return listing(arguments, "invoices", found)


def capture(state: State, arguments: Arguments) -> Row:
    """Settle an invoice."""
    invoice = _invoice(state, arguments)
    _refuse_status(arguments, invoice, "captured", "unsettled")
    account = _active_account(state, invoice["account"])
    account["balance_cents"] += invoice["amount_cents"]
    invoice["status"] = "settled"
    return {"invoice_id": arguments["invoice_id"], **picked(invoice, "status", "amount_cents", "account")}


def void(state: State, arguments: Arguments) -> Row:
    """Cancel an unsettled invoice."""
    invoice = _invoice(state, arguments)
    _refuse_status(arguments, invoice, "voided", "unsettled")
    invoice["status"] = "voided"
    return {"invoice_id": arguments["invoice_id"], "status": "voided"}


def refund(state: State, arguments: Arguments) -> Row:
    """Pay a settled invoice back, wholly or in part."""
    invoice, amount = _invoice(state, arguments), arguments["amount_cents"]
    _refuse_status(arguments, invoice, "refunded", "settled", "partially_refunded")
    remaining = invoice["amount_cents"] - invoice["refunded_cents"]
    if amount > remaining:
        raise Refused("exceeds-remaining", f"{remaining} cents are left to refund, {amount} asked for")
    _withdraw(state, invoice["account"], amount)
    invoice["refunded_cents"] += amount
    invoice["status"] = "refunded" if amount == remaining else "partially_refunded"
    refund_id = allocate(state, "refunds", "RF")
    state["refunds"][refund_id] = picked(arguments, "invoice_id", "amount_cents", "reason")
    return {
        "refund_id": refund_id,
        "invoice_id": arguments["invoice_id"],
        **picked(invoice, "status", "refunded_cents", "currency"),
    }


def get_account(state: State, arguments: Arguments) -> Row:
    """All fields of an account."""
    account_id = arguments["account_id"]
    return {"account_id": account_id, **row(state, "accounts", "account", account_id)}


def transfer(state: State, arguments: Arguments) -> Row:
    """Move money between accounts of one currency."""
    source, target, amount = (arguments[name] for name in ("from_account", "to_account", "amount_cents"))
    currencies = [_active_account(state, account)["currency"] for account in (source, target)]
    if source == target:
        raise Refused("same-place", f"{source} is both source and destination")
    if currencies[0] != currencies[1]:
        raise Refused("currency-mismatch", f"{source} is in {currencies[0]}, {target} in {currencies[1]}")
    left = _withdraw(state, source, amount)
    state["accounts"][target]["balance_cents"] += amount
    transfer_id = allocate(state, "transfers", "TX")
    state["transfers"][transfer_id] = picked(arguments, "from_account", "to_account", "amount_cents")
    return {"transfer_id": transfer_id, "from_account": source, "to_account": target, "balance_cents": left}


def _invoice(state: State, arguments: Arguments) -> Row:
    return row(state, "invoices", "invoice", arguments["invoice_id"])


def _refuse_status(arguments: Arguments, invoice: Row, verb: str, *allowed: str) -> None:
    if invoice["status"] not in allowed:
        raise Refused(
            "invalid-transition",
            f"{arguments['invoice_id']} is {invoice['status']}; only invoices that are "
            f"{' or '.join(allowed)} can be {verb}",
        )


def _active_account(state: State, account_id: str) -> Row:
    account = row(state, "accounts", "account", account_id)
    if account["status"] != "active":
        raise Refused("account-frozen", f"{account_id} is {account['status']}")
    return account


def _withdraw(state: State, account_id: str, amount: int) -> int:
    account = _active_account(state, account_id)
    if account["balance_cents"] < amount:
        raise Refused("insufficient-funds", f"{account_id} holds less than {amount} cents")
    left: int = account["balance_cents"] - amount
    account["balance_cents"] = left
    return left


OPERATIONS: dict[str, Operation] = {
    "payments_get_invoice": get_invoice,
    "payments_list_invoices": list_invoices,
    "payments_capture": capture,
    "payments_void": void,
    "payments_refund": refund,
    "payments_get_account": get_account,
    "payments_transfer": transfer,
}
