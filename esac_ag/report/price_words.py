"""What stands beside the costs, in words that Markdown and the page share."""

from __future__ import annotations

from typing import Final

from esac_ag.report.numbers import UNAVAILABLE
from esac_ag.report.view import PriceNote

COSTS: Final = (
    "Mean over the graded runs. A figure that is not known for all of them says for how many it is; one "
    f"that is known for none is {UNAVAILABLE}, as is a price that is not known for all."
)


def price_words(prices: PriceNote | None) -> str:
    """Source, version, date and currency of the prices; foreign text in it is as the view holds it."""
    if prices is None:
        return "The manifest holds no price table, so costs in money are unavailable."
    return (
        f"Prices: {prices.source}, version {prices.version}, of {prices.date}, in {prices.currency}. An "
        "estimate from usage and list prices, not an invoice."
    )
