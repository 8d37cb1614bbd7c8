"""Text as plain words, so that the same text is found however a tool or a listing shows it."""

from __future__ import annotations

import html
import re

from esac_ag.front_matter import FENCE

_WORD = re.compile(r"[^\W_]+")
LINE_NUMBER = re.compile(r"[ \t]*\d+(?:[ ]?[→│|]|\t|:)")
"""What tools that read files put before a line: `1<tab>`, `1: `, `1→`, `1 | `."""
_LINE_NUMBERS = re.compile(rf"^{LINE_NUMBER.pattern}", re.MULTILINE)


def words_of(text: str) -> list[str]:
    """The words in order, in one case, without punctuation, escapes of XML and numbers of lines."""
    if "&" in text:
        text = html.unescape(text)
    return _WORD.findall(_LINE_NUMBERS.sub("", text).casefold())


def as_phrase(words: list[str]) -> str:
    """Words joined so that one phrase is found in another at whole words only."""
    return f" {' '.join(words)} "


def readable_text(data: bytes) -> str:
    """The file's text as a request may hold it: LF, without white space around; empty when it is no text."""
    try:
        return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n").strip()
    except UnicodeDecodeError:
        return ""


def without_front_matter(text: str) -> str:
    """What follows a skill's head, which agents leave out when they give its text; all where it has none."""
    lines = text.split("\n")
    if lines[0].strip() != FENCE:
        return text
    for number, line in enumerate(lines[1:], start=1):
        if line.strip() == FENCE:
            return "\n".join(lines[number + 1 :]).strip() or text
    return text
