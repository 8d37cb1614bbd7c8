"""Category state: recall of earlier replies, one of which cannot be fetched again."""

from __future__ import annotations

from typing import Final

from esac_ag.suite.contract import Item

from .state_count import StockCount
from .state_goodwill import GoodwillRefunds

ITEMS: Final[tuple[Item, ...]] = (StockCount(), GoodwillRefunds())
