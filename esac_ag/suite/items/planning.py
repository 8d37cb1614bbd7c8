"""Category planning: a goal state under a budget of calls that rations exploring."""

from __future__ import annotations

from typing import Final

from esac_ag.suite.contract import Item

from . import planning_day, planning_release, planning_stock

ITEMS: Final[tuple[Item, ...]] = (planning_release.ITEM, planning_stock.ITEM, planning_day.ITEM)
