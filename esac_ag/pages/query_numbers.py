"""Numbers in addresses."""

from __future__ import annotations

from typing import Final

MOST_DIGITS: Final = 9


def whole_number(text: str) -> int | None:
    """The number of at most nine decimal digits of ASCII that a text is; none of any other text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS else None
