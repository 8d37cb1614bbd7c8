"""Ambiguity handling: asking is right, a default is right, either holds."""

from __future__ import annotations

from typing import Final

from esac_ag.suite.contract import Item
from esac_ag.suite.items import ambiguity_ask, ambiguity_default, ambiguity_either

ITEMS: Final[tuple[Item, ...]] = (ambiguity_ask.ITEM, ambiguity_default.ITEM, ambiguity_either.ITEM)
