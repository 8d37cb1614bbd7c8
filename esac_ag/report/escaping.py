"""Text that an agent or a task's author wrote, made harmless for where it is shown."""

from __future__ import annotations

import re
import unicodedata

SHOWN_LENGTH = 300
"""Longest piece of foreign text that Markdown shows; JSON and CSV hold it whole."""

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Control, format (among them the marks that turn the reading direction), surrogates, line separators."""

_INLINE = re.compile(r"([\\`*_\[\]{}<>|~#!$])")
_LIST_START = re.compile(r"^(\s*)([-+]|\d+(?=[.)]))(?=[.)]?(\s|$))")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def visible(text: str) -> str:
    r"""One line without invisible characters: each is shown as its escape, `\x1b` or `\u202e`."""
    if text.isprintable():
        return text
    return "".join(_escape(char) if unicodedata.category(char) in _HIDDEN else char for char in text)


def markdown(text: str, limit: int = SHOWN_LENGTH) -> str:
    """Inline Markdown that renders as the text: no markup, no HTML, no table cell end, no link."""
    shown = visible(text)
    if len(shown) > limit:
        shown = shown[: limit - 1] + "…"
    shown = shown.replace("&", "&amp;")
    shown = _INLINE.sub(r"\\\1", shown).replace("\\<", "&lt;").replace("\\>", "&gt;")
    # Addresses become links in GitHub's Markdown without any markup.
    shown = shown.replace("://", "&#58;//").replace("@", "&#64;")
    shown = re.sub(r"(?i)\bwww\.", lambda match: match.group()[:-1] + "&#46;", shown)
    return _LIST_START.sub(_entity_at_start, shown)


def csv_text(text: str) -> str:
    """A cell that no spreadsheet takes for a formula: such a start gets an apostrophe before it."""
    shown = visible(text)
    return "'" + shown if shown.lstrip().startswith(_FORMULA) else shown


def _entity_at_start(match: re.Match[str]) -> str:
    space, start = match.group(1), match.group(2)
    return space + "".join(f"&#{ord(char)};" for char in start)


def _escape(char: str) -> str:
    code = ord(char)
    if code <= 0xFF:  # noqa: PLR2004  (two hexadecimal digits)
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004  (four digits)
