"""Known secret values are taken out of everything that is written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

SHORTEST_SECRET = 8
"""Shorter values are place-holders of local servers (`none`, `EMPTY`); replacing them would maim the text."""
MARK = "[redacted]"


@dataclass(frozen=True, slots=True)
class Redactor:
    """Replaces secret values, raw and as JSON would write them."""

    secrets: Sequence[str] = ()

    def text(self, value: str) -> str:
        """The text without any secret."""
        for secret in self.secrets:
            if len(secret) < SHORTEST_SECRET:
                continue
            for form in dict.fromkeys((secret, json.dumps(secret)[1:-1])):
                value = value.replace(form, MARK)
        return value

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
