"""The same bytes as the texts that somebody could read them as: unescaped, out of base64 and hex. Pure.

Escapes are undone several times over, because records quote JSON in JSON. Each step is linear in the size.
What is encrypted, reversed, or split otherwise stays hidden.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from esac_ag.study.plain import without_colours

MOST_LEVELS: Final = 4
"""How often escapes are undone; a transcript has two levels, its quotations three."""
_SHORTEST_BASE64: Final = 20
_FEWEST_PRINTABLE: Final = 0.9

_JSON_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\"'\\/bfnrt]))")
_SIMPLE: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_PERCENT: Final = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_SOFT_BREAKS: Final = dict.fromkeys(
    map(ord, "\u00ad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff")
)
"""Characters that are not seen and split a word for a program."""
_BASE64: Final = re.compile(rf"[A-Za-z0-9+/_-]{{{_SHORTEST_BASE64},}}")
_HEX: Final = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_FULL_LINE: Final = 40
"""Of what programs wrap: `base64` and `xxd -p` write 76 and 60 characters a line."""
# Possessive, and begun only where a run begins: linear whatever the text.
_WRAPPED: Final = re.compile(
    rf"(?<![\w+/-])[A-Za-z0-9+/_-]{{{_FULL_LINE},}}+(?:\r?\n[ \t]*+[A-Za-z0-9+/_-]{{{_FULL_LINE},}}+)*+"
    r"(?:\r?\n[ \t]*+[A-Za-z0-9+/_-]++)?+",
)
_MARKS: Final = ("+", "-")
"""What a patch puts before a line."""
_OTHER_ALPHABET: Final = str.maketrans("-_", "+/")

Reading = tuple[str, str]
"""How the bytes were read, empty for plainly, and the text."""


def decodings(data: bytes) -> Iterator[Reading]:
    """The texts that the bytes can be read as, the plain one first; each differs from the one before it."""
    plain = data.decode("utf-8", "replace")
    yield "", plain
    if b"\0" in data:
        # UTF-16 and UTF-32 of what is ASCII.
        plain = data.replace(b"\0", b"").decode("utf-8", "replace")
        yield "without NUL bytes", plain
    last = plain
    for _ in range(MOST_LEVELS):
        text = _unescaped(last)
        if text == last:
            break
        yield "unescaped", text
        last = text
    if inner := _out_of_base64(last):
        yield "base64", inner
        if twice := _out_of_base64(inner):
            yield "base64 twice", twice
    if inner := _out_of_hex(last):
        yield "hex", inner


def _unescaped(text: str) -> str:
    """One level of escapes undone: JSON's, XML's, URLs'; and what splits words unseen is gone."""
    if "\\" in text:
        text = _JSON_ESCAPE.sub(_character, text)
    if "&" in text:
        text = html.unescape(text)
    if "%" in text:
        text = _PERCENT.sub(lambda found: unquote(found[0], errors="replace"), text)
    if "\x1b" in text:
        text = without_colours(text)
    if not text.isascii():
        text = text.translate(_SOFT_BREAKS)
    return text


def _character(found: re.Match[str]) -> str:
    number = found[1] or found[2]
    if number:
        return chr(int(number, 16))
    return _SIMPLE.get(found[3], found[3])


def _out_of_base64(text: str) -> str:
    """What stands in base64 and is text, one piece a line."""
    pieces = (_decoded(word) for word in _words(text) if not _HEX.fullmatch(word))
    return "\n".join(piece for piece in pieces if piece)


def _out_of_hex(text: str) -> str:
    """What stands in hexadecimal digits and is text, one piece a line; digests are none."""
    pieces = (
        _readable(bytes.fromhex(word)) for word in _words(text) if len(word) % 2 == 0 and _HEX.fullmatch(word)
    )
    return "\n".join(piece for piece in pieces if piece)


def _words(text: str) -> Iterator[str]:
    """Runs of an encoding's characters: without a patch's mark, too, and put together over lines."""
    for found in _BASE64.finditer(text):
        yield found[0]
        if found[0][0] in _MARKS:
            yield found[0][1:]
    for found in _WRAPPED.finditer(text):
        lines = found[0].split()
        if len(lines) > 1:
            yield from _joined(lines)
            if all(line.startswith(_MARKS) for line in lines):
                yield from _joined([line[1:] for line in lines])


def _joined(lines: list[str]) -> Iterator[str]:
    """Lines together, and all but the last, which may be something else that follows."""
    yield "".join(lines)
    yield "".join(lines[:-1])


def _decoded(word: str) -> str:
    """The text in one word of base64; empty where it is none."""
    whole = word.translate(_OTHER_ALPHABET)
    whole = whole[: len(whole) - (len(whole) % 4 == 1)]
    try:
        data = base64.b64decode(whole + "=" * (-len(whole) % 4))
    except (binascii.Error, ValueError):
        return ""
    return _readable(data)


def _readable(data: bytes) -> str:
    """Bytes as text; empty where they are none."""
    text = data.decode("utf-8", "replace")
    readable = sum(character.isprintable() or character in "\n\r\t" for character in text)
    return text if readable >= _FEWEST_PRINTABLE * len(text) and "\ufffd" not in text else ""
