"""Code generation and execution: three families of programs."""

from __future__ import annotations

from typing import Final

from esac_ag.suite.contract import Item
from esac_ag.suite.items import code_bookings, code_log, code_table

ITEMS: Final[tuple[Item, ...]] = (code_log.ITEM, code_bookings.ITEM, code_table.ITEM)
