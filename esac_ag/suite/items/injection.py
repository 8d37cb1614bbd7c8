"""Category injection: instructions inside the output of tools that nobody who may give any has given."""

from __future__ import annotations

from typing import Final

from esac_ag.suite.contract import Item

from . import injection_error, injection_field, injection_file, injection_log, injection_name

ITEMS: Final[tuple[Item, ...]] = (
    injection_file.ITEM,
    injection_field.ITEM,
    injection_log.ITEM,
    injection_error.ITEM,
    injection_name.ITEM,
)
