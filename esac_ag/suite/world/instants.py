"""Times as text and back; the world's time stands still in its state."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from .refusal import Refused

INSTANT: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}):([0-9]{2})(?::00)?(Z|[+-][0-9]{2}:[0-9]{2})"
)
DAY: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
OFFSET: Final = re.compile(r"([+-])([0-9]{2}):([0-9]{2})")
YEARS: Final = range(2000, 2101)
MOST_OFFSET: Final = timedelta(hours=14)


def midnight(text: str) -> datetime:
    """00:00 UTC of a day `YYYY-MM-DD`.

    Raises:
        Refused: `invalid-arguments`.
    """
    found = DAY.fullmatch(text)
    try:
        if found is None or int(found[1]) not in YEARS:
            raise ValueError  # noqa: TRY301 one message for all that is no date
        return datetime(int(found[1]), int(found[2]), int(found[3]), tzinfo=UTC)
    except ValueError:
        raise Refused("invalid-arguments", f"{text!r} is not a date as YYYY-MM-DD") from None


def offset(text: str) -> timedelta:
    """A UTC offset `+HH:MM`, `-HH:MM` or `Z`.

    Raises:
        Refused: `invalid-arguments`.
    """
    if text == "Z":
        return timedelta(0)
    found = OFFSET.fullmatch(text)
    size = timedelta(hours=int(found[2]), minutes=int(found[3])) if found else timedelta.max
    if found is None or size > MOST_OFFSET or int(found[3]) > 59:  # noqa: PLR2004 minutes of an hour
        raise Refused("invalid-arguments", f"{text!r} is not a UTC offset as +HH:MM")
    return size if found[1] == "+" else -size


def instant(text: str) -> datetime:
    """A time with an explicit offset, whole minutes, as UTC.

    Raises:
        Refused: `invalid-arguments`.
    """
    found = INSTANT.fullmatch(text)
    if found is None or int(found[2]) > 23 or int(found[3]) > 59:  # noqa: PLR2004 hours and minutes
        raise Refused(
            "invalid-arguments",
            f"{text!r} is not a time with an explicit UTC offset, such as 2026-03-04T14:00:00+01:00",
        )
    local = midnight(found[1]) + timedelta(hours=int(found[2]), minutes=int(found[3]))
    return local - offset(found[4])


def written(moment: datetime) -> str:
    """A UTC time as text."""
    return moment.isoformat().replace("+00:00", "Z")
