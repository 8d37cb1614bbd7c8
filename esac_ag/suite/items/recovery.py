"""Error recovery: two families of scripts that fail, with the trace that they left."""

from __future__ import annotations

from typing import Final

from esac_ag.suite.contract import Item
from esac_ag.suite.items import recovery_ledger, recovery_store

ITEMS: Final[tuple[Item, ...]] = (recovery_ledger.ITEM, recovery_store.ITEM)
