"""Whether a message asks its reader something."""

from __future__ import annotations

import re

# No alternative runs past what opens another one of its kind, so that no text takes more than linear time.
_NOT_THE_WRITERS_OWN = re.compile(
    r"(?P<fence>`{3,}|~{3,}).*?(?:(?P=fence)|\Z)"  # a block of code, to the end if it is not closed
    r"|`[^`\n]*`"
    r"|(?m:^[ \t]*>[^\n]*$)"  # a quoted line
    r'|"[^"\n]*"'
    r"|“[^“”\n]*”|„[^„“”\n]*[“”]|«[^«»\n]*»|»[^«»\n]*«"
    r"|(?<!\w)'[^'\n]*'(?!\w)|(?<!\w)‘[^‘’\n]*’(?!\w)",  # noqa: RUF001  (an apostrophe inside a word opens nothing)
    re.DOTALL,
)
_QUESTION = re.compile(r"[?？؟]+(?![A-Za-z0-9_])")  # noqa: RUF001  (a query in an address is no question)
_OFFER_CHARACTERS = 200
"""How far before its question mark a closing offer is looked for, so that no mark costs more than that."""

_SENTENCE_START = re.compile(r"[.!?？؟\n]\s")  # noqa: RUF001  (full-width and Arabic question marks)
_CLOSING_OFFER = re.compile(
    r"\b(?:(?:any|some)thing else|further (?:help|assistance|questions?))\b(?:\W+\w+){0,7}\W*\Z",
    re.IGNORECASE,
)


def asks(text: str) -> bool:
    """Whether the text asks its reader something: a question mark outside of quotes, code and addresses.

    An offer that closes a message ("Is there anything else?") wants no answer and is no question.
    """
    own = _NOT_THE_WRITERS_OWN.sub(" ", text)
    starts = [0, *(match.end() for match in _SENTENCE_START.finditer(own))]
    position = 0
    for mark in _QUESTION.finditer(own):
        while position + 1 < len(starts) and starts[position + 1] <= mark.start():
            position += 1
        begin = max(starts[position], mark.start() - _OFFER_CHARACTERS)
        if not _CLOSING_OFFER.search(own[begin : mark.start()]):
            return True
    return False
