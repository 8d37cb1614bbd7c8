"""Moments as people write them, without a locale: local times of offices, weekdays, weeks."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Final

WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def utc(day: date, minutes: int) -> datetime:
    """A moment so many minutes after midnight UTC of a day."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(minutes=minutes)


def stamp(moment: datetime) -> str:
    """A moment in UTC as the world writes it: `2026-03-04T13:00:00Z`."""
    return f"{day_stamp(moment)}T{moment.hour:02}:{moment.minute:02}:00Z"


def day_stamp(day: date) -> str:
    """A day as `2026-03-04`."""
    return f"{day.year:04}-{day.month:02}-{day.day:02}"


def local(moment: datetime, offset_minutes: int) -> datetime:
    """What a clock in that zone shows; the result is read as a wall clock alone."""
    return moment + timedelta(minutes=offset_minutes)


def spoken_day(day: date) -> str:
    """A day as `Wednesday 4 March 2026`."""
    return f"{WEEKDAYS[day.weekday()]} {day.day} {MONTHS[day.month - 1]} {day.year}"


def clock_time(moment: datetime) -> str:
    """A time of day as `09:05`."""
    return f"{moment.hour:02}:{moment.minute:02}"


def offset(minutes: int) -> str:
    """An offset as `+05:45`."""
    sign = "-" if minutes < 0 else "+"
    return f"{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
