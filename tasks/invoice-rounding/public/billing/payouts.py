"""Payouts: the share of what we invoiced that goes to a sales partner."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from billing.invoices import Invoice
from billing.money import round_amount
from billing.tax import withholding_on


@dataclass(frozen=True)
class Agreement:
    """What a partner gets: a share of the net amounts, less the tax that we withhold."""

    partner: str
    currency: str
    share: Decimal
    withholding_rate: Decimal = Decimal(0)


@dataclass(frozen=True)
class Payout:
    """One month's payout to a partner."""

    partner: str
    currency: str
    earned: Decimal
    withheld: Decimal

    @property
    def paid(self) -> Decimal:
        """What is transferred."""
        return self.earned - self.withheld


def payout(agreement: Agreement, invoices: Iterable[Invoice]) -> Payout:
    """The partner's share of the invoices and credit notes of a month."""
    base = Decimal(0)
    for invoice in invoices:
        if invoice.currency != agreement.currency:
            raise ValueError(f"invoice {invoice.number} is not in {agreement.currency}")
        base += invoice.net
    earned = round_amount(base * agreement.share, agreement.currency)
    withheld = withholding_on(earned, agreement.withholding_rate, agreement.currency)
    return Payout(agreement.partner, agreement.currency, earned, withheld)
