"""Documents as text, the way that they are mailed."""

from __future__ import annotations

from decimal import Decimal

from billing.invoices import Invoice

WIDTH = 46


def _row(label: str, amount: Decimal, currency: str) -> str:
    figure = f"{amount} {currency}"
    return f"{label[: WIDTH - len(figure) - 1]:<{WIDTH - len(figure)}}{figure}"


def percent(rate: Decimal) -> str:
    """A rate for people: 0.21 is `21 %`, 0.075 is `7.5 %`."""
    return f"{(rate * 100).normalize():f} %"


def render(invoice: Invoice) -> str:
    """The document as lines of text, ending with a newline."""
    title = "Credit note" if invoice.gross < 0 else "Invoice"
    rows = [f"{title} {invoice.number}", f"{invoice.customer} ({invoice.country})", invoice.issued_on]
    rows.append("-" * WIDTH)
    rows.extend(_row(line.description, line.net, invoice.currency) for line in invoice.lines)
    rows.append("-" * WIDTH)
    rows.append(_row("Net", invoice.net, invoice.currency))
    rows.extend(
        _row(f"VAT {percent(entry.rate)}", entry.tax, invoice.currency) for entry in invoice.taxes
    )
    rows.append(_row("Total", invoice.gross, invoice.currency))
    return "\n".join(rows) + "\n"
