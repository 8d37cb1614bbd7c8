"""Reading a price table that a person wrote."""

from __future__ import annotations

from pathlib import Path

from esac_ag.errors import InputRefused
from esac_ag.manifest.plan import Prices
from esac_ag.rooms.records import read_record


def read_prices(path: Path) -> Prices:
    """A price table.

    Raises:
        InputRefused: it cannot be used.
    """
    try:
        return read_record(path, Prices)
    except InputRefused as error:
        raise InputRefused(
            "The price table cannot be used.",
            where=error.where,
            found=error.found,
            remedy="docs/manifest.md shows a price table",
        ) from error
