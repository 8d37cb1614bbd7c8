"""The only clock and the only source of randomness of the package.

Wall-clock times label records; durations and deadlines are monotonic. Random streams are named, so that
adding a draw in one place moves no other: `Seeds("2026").stream("order", 3)` is the same on every
platform and Python version (Mersenne Twister seeded with SHA-256 of the names).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime


def now() -> str:
    """The current time in UTC as ISO 8601 with milliseconds and `Z`."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def monotonic_s() -> float:
    """Seconds on a clock that never goes back; only differences mean something."""
    return time.monotonic()


def sleep_s(duration_s: float) -> None:
    """Wait; negative durations wait not at all."""
    if duration_s > 0:
        time.sleep(duration_s)


def opaque_id() -> str:
    """Sixteen random hexadecimal digits that tell nothing of what they name."""
    return secrets.token_hex(8)


def secret_text() -> str:
    """64 random hexadecimal digits, 256 bits that nobody can guess."""
    return secrets.token_hex(32)


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the monotonic clock."""

    at_s: float

    @classmethod
    def after_s(cls, duration_s: float) -> Deadline:
        """The deadline that lies `duration_s` seconds from now."""
        return cls(monotonic_s() + duration_s)

    def remaining_s(self) -> float:
        """Seconds left, never below zero."""
        return max(0.0, self.at_s - monotonic_s())

    def has_passed(self) -> bool:
        """Whether no time is left."""
        return self.remaining_s() <= 0.0

    def earlier(self, duration_s: float) -> Deadline:
        """This deadline or the one `duration_s` from now, whichever comes first."""
        return Deadline(min(self.at_s, monotonic_s() + duration_s))


@dataclass(frozen=True, slots=True)
class Seeds:
    """A root seed from which named, independent streams are drawn."""

    root: str

    def stream(self, *names: str | int) -> random.Random:
        """The random stream of that name."""
        return random.Random(self.number(*names))  # noqa: S311  (reproducible by design, guards no secret)

    def number(self, *names: str | int) -> int:
        """A 256-bit number of that name, for generators of other libraries."""
        return int.from_bytes(hashlib.sha256(self._material(*names)).digest(), "big")

    def numbers(self, *names: str | int) -> Iterator[int]:
        """`number(*names, 0)`, `number(*names, 1)` and so on without end, each at a fraction of the cost."""
        begun = hashlib.sha256(self._material(*names).removesuffix(b"]"))
        for place in itertools.count():
            whole = begun.copy()
            whole.update(b",%d]" % place)
            yield int.from_bytes(whole.digest(), "big")

    def _material(self, *names: str | int) -> bytes:
        material = json.dumps([self.root, *names], ensure_ascii=True, separators=(",", ":"))
        return b"esac-ag seed\0" + material.encode()
