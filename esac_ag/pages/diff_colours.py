"""Syntax colours of a diff's lines, as CSS classes. Bounded: hostile text costs no more than some time.

Colours are decoration. A line whose colours cannot be had in time, or would change a single character of
it, is shown plain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final, NamedTuple

from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_for_filename
from pygments.token import Token, _TokenType, is_token_subtype

from esac_ag.clock import Deadline

MOST_LINE_CHARACTERS: Final = 500
MOST_FILE_CHARACTERS: Final = 150_000
DIFF_TIME_S: Final = 2.0
"""For all files of a diff; what is not coloured by then stays plain."""

_KNOWN: Final = (
    "awk bash c cpp csharp css dart docker elixir go groovy haskell html ini java javascript json jsx kotlin "
    "lua make markdown nginx objective-c perl php powershell protobuf python ruby rust scala scss sql swift "
    "terraform toml tsx typescript xml yaml"
)
"""Languages by the lexer's first name; of the hundreds that there are, those that are well kept."""
_CLASSES: Final = (
    (Token.Comment, "hc"),
    (Token.Keyword, "hk"),
    (Token.Operator.Word, "hk"),
    (Token.Literal.String, "hs"),
    (Token.Literal.Number, "hn"),
    (Token.Name.Function, "hf"),
    (Token.Name.Class, "hf"),
    (Token.Name.Decorator, "hf"),
    (Token.Name.Tag, "hk"),
    (Token.Name.Attribute, "hf"),
    (Token.Generic.Heading, "hf"),
)


class Piece(NamedTuple):
    """A stretch of a line in one colour; no class is plain."""

    css: str
    text: str


Colours = tuple[tuple[Piece, ...], ...]
"""Pieces of each line, in the lines' order."""


class Colouring:
    """Colours the lines of one file.

    Args:
        path: whose name tells the language.
        texts: all of the file's lines that are shown.
        deadline: after which nothing more is coloured.
    """

    def __init__(self, path: str, texts: Iterable[str], deadline: Deadline) -> None:
        lines = list(texts)
        fits = (
            max(map(len, lines), default=0) <= MOST_LINE_CHARACTERS
            and sum(map(len, lines)) <= MOST_FILE_CHARACTERS
        )
        self._lexer = _lexer(path) if fits else None
        self._deadline = deadline

    def of(self, lines: Sequence[str]) -> Colours:
        """The pieces of neighbouring lines of one side; they join to the lines' own text."""
        if self._lexer is None or not lines:
            return _plain(lines)
        found = tuple(map(tuple, self._coloured(self._lexer, "\n".join(lines))))
        same = [_joined(pieces) for pieces in found] == list(lines)
        return found if same else _plain(lines)

    def _coloured(self, lexer: Lexer, text: str) -> list[list[Piece]]:
        rows: list[list[Piece]] = [[]]
        done = 0
        # Not `get_tokens`, which changes line ends; and it yields as it goes, so that it can be stopped.
        for _, kind, value in lexer.get_tokens_unprocessed(text):
            _add(rows, _class(kind), value)
            done += len(value)
            if self._deadline.has_passed():
                self._lexer = None
                _add(rows, "", text[done:])
                break
        return rows


def _add(rows: list[list[Piece]], css: str, value: str) -> None:
    """Put a token to the end of the rows; neighbours of one colour become one piece."""
    for number, part in enumerate(value.split("\n")):
        if number:
            rows.append([])
        if part and rows[-1] and rows[-1][-1].css == css:
            rows[-1][-1] = Piece(css, rows[-1][-1].text + part)
        elif part:
            rows[-1].append(Piece(css, part))


def _plain(lines: Sequence[str]) -> Colours:
    return tuple((Piece("", line),) for line in lines)


def _lexer(path: str) -> Lexer | None:
    name = path.rpartition("/")[2]
    kind = find_lexer_class_for_filename(name)
    if kind is None or kind.aliases[0] not in _KNOWN.split():
        return None
    return kind()


@cache
def _class(kind: _TokenType) -> str:
    return next((css for parent, css in _CLASSES if is_token_subtype(kind, parent)), "")


def _joined(pieces: Iterable[Piece]) -> str:
    return "".join(piece.text for piece in pieces)
