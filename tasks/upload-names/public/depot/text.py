"""Loose matching for tags: what a person would call the same word."""

from __future__ import annotations

import unicodedata


def fold(text: str) -> str:
    """A tag in the form that tags are compared in: no case, no width, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
