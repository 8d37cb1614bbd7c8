"""Category tool-call: the right tool with the right parameters on the first call."""

from __future__ import annotations

from typing import Final

from esac_ag.suite.contract import Item

from . import tool_call_meeting, tool_call_refund, tool_call_rotation, tool_call_stock, tool_call_ticket

ITEMS: Final[tuple[Item, ...]] = (
    tool_call_meeting.ITEM,
    tool_call_refund.ITEM,
    tool_call_stock.ITEM,
    tool_call_ticket.ITEM,
    tool_call_rotation.ITEM,
)
