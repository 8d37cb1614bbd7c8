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


class Redactor:
    """Replaces secrets in bytes, whole or piece by piece."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms: set[bytes] = set()
        for secret in secrets:
            if len(secret) >= SHORTEST:
                forms.update((secret.encode(), json.dumps(secret)[1:-1].encode()))
        # Longest first: a secret that contains another one must not leave its rest behind.
        self._forms = sorted(forms, key=lambda form: (-len(form), form))

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
        return Pieces(self, max(map(len, self._forms), default=1) - 1)


class Pieces:
    """Holds back as many bytes as a secret may need to be recognised."""

    def __init__(self, redactor: Redactor, hold_bytes: int) -> None:
        self._redactor = redactor
        self._hold = hold_bytes
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Take in a piece; what can safely be written now."""
        clean = self._redactor.whole(self._held + data)
        if not self._hold:
            return clean
        cut = max(0, len(clean) - self._hold)
        self._held = clean[cut:]
        return clean[:cut]

    def flush(self) -> bytes:
        """The rest."""
        held, self._held = self._held, b""
        return self._redactor.whole(held)
