"""Known secret values are replaced before anything is written.

The JSON-escaped form of a secret is replaced as well, because most of what we write is JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from pydantic import JsonValue

MARK = b"[redacted]"
SHORTEST = 8
"""Shorter values are place-holders of local servers (`none`, `EMPTY`); replacing them would maim the text."""


def forms_of(secret: str) -> set[bytes]:
    """How a secret may stand in what is written; nothing of one that is too short to be looked for."""
    if len(secret) < SHORTEST:
        return set()
    escaped = (json.dumps(secret, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False))
    return {form.encode() for form in (secret, *escaped)}


class Redactor:
    """Replaces secrets in bytes, whole or piece by piece."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._forms = _longest_first({form for secret in secrets for form in forms_of(secret)})

    def joined(self, secrets: Iterable[str]) -> Redactor:
        """A redactor of these secrets too."""
        both = Redactor(secrets)
        both._forms = _longest_first({*self._forms, *both._forms})
        return both

    def whole(self, data: bytes) -> bytes:
        """The data without secrets."""
        for form in self._forms:
            data = data.replace(form, MARK)
        return data

    def text(self, value: str) -> str:
        """The text without secrets."""
        return self.whole(value.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def json(self, value: JsonValue) -> JsonValue:
        """The value with every string in it redacted, keys too."""
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.json(item) for item in value]
            case dict():
                return {self.text(key): self.json(item) for key, item in value.items()}
            case _:
                return value

    def incremental(self) -> Pieces:
        """A redactor for a stream: finds secrets that lie across pieces."""
        return Pieces(self)

    def unfinished_bytes(self, data: bytes) -> int:
        """How many of the last bytes may be the beginning of a secret."""
        return max((_overlap(data, form) for form in self._forms), default=0)


def _longest_first(forms: set[bytes]) -> list[bytes]:
    """In this order, a secret that contains another one does not leave its rest behind."""
    return sorted(forms, key=lambda form: (-len(form), form))


def _overlap(data: bytes, form: bytes) -> int:
    """Length of the longest end of `data` that the form begins with, without being the whole form."""
    start = data.find(form[:1], max(0, len(data) - len(form) + 1))
    while start >= 0:
        if form.startswith(data[start:]):
            return len(data) - start
        start = data.find(form[:1], start + 1)
    return 0


class Pieces:
    """Holds back an end that may be the beginning of a secret, and nothing else: text is never late."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Take in a piece; what can safely be written now."""
        clean = self._redactor.whole(self._held + data)
        cut = len(clean) - self._redactor.unfinished_bytes(clean)
        self._held = clean[cut:]
        return clean[:cut]

    def flush(self) -> bytes:
        """The rest."""
        held, self._held = self._held, b""
        return self._redactor.whole(held)
