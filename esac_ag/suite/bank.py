"""The bank: all 23 items, checked against the constitution before anybody gets them."""

from __future__ import annotations

from functools import cache
from typing import Final

from esac_ag.errors import UsageError
from esac_ag.suite.constitution import Category
from esac_ag.suite.contract import Item
from esac_ag.suite.items import ambiguity, code, injection, planning, recovery, state, tool_call
from esac_ag.suite.scoring import check_bank

_ITEMS: Final[dict[Category, tuple[Item, ...]]] = {
    Category.TOOL_CALL: tool_call.ITEMS,
    Category.PLANNING: planning.ITEMS,
    Category.CODE: code.ITEMS,
    Category.RECOVERY: recovery.ITEMS,
    Category.STATE: state.ITEMS,
    Category.AMBIGUITY: ambiguity.ITEMS,
    Category.INJECTION: injection.ITEMS,
}


@cache
def bank() -> tuple[Item, ...]:
    """All items, categories in the constitution's order.

    Raises:
        HarnessError: the bank has drifted from the constitution.
    """
    items = tuple(item for category in Category for item in _ITEMS[category])
    check_bank(items)
    return items


def item_named(item_id: str) -> Item:
    """The item of that id.

    Raises:
        UsageError: there is none.
    """
    for item in bank():
        if item.id == item_id:
            return item
    raise UsageError(
        "There is no such item in the suite.",
        expected=f"one of {', '.join(item.id for item in bank())}",
        found=item_id,
        remedy="List the items with: esac-ag suite list",
    )
