"""VAT on what we sell, and tax withheld from what we pay out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from billing.money import round_amount


@dataclass(frozen=True)
class TaxLine:
    """The VAT of one rate: on which net amount, and how much."""

    rate: Decimal
    net: Decimal
    tax: Decimal


def _check_rate(rate: Decimal) -> None:
    if not 0 <= rate < 1:
        raise ValueError(f"a tax rate is a share from 0 up to 1, not {rate}")


def tax_on(net: Decimal, rate: Decimal, currency: str) -> Decimal:
    """VAT on a net amount, in the currency's minor unit; negative for a negative amount."""
    _check_rate(rate)
    return round_amount(net * rate, currency)


def tax_summary(amounts: Iterable[tuple[Decimal, Decimal]], currency: str) -> tuple[TaxLine, ...]:
    """VAT of (net, rate) pairs: one line per rate, lowest rate first."""
    net_by_rate: dict[Decimal, Decimal] = {}
    for net, rate in amounts:
        net_by_rate[rate] = net_by_rate.get(rate, Decimal(0)) + net
    return tuple(
        TaxLine(rate, net_by_rate[rate], tax_on(net_by_rate[rate], rate, currency))
        for rate in sorted(net_by_rate)
    )


def withholding_on(amount: Decimal, rate: Decimal, currency: str) -> Decimal:
    """The part of a partner's payout that we keep back and hand to the tax office."""
    _check_rate(rate)
    return round_amount(amount * rate, currency)
