"""What the sections of the page are made of: paragraphs, lists, tables, plots.

Texts are plain; the page escapes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from markupsafe import Markup

_ONE_LINE = 22
"""Characters of a number, or a range of numbers, that is not to be broken."""
_LONG = 40
"""Characters from which on words need some width, or a narrow window sets one word in each line."""


@dataclass(frozen=True, slots=True)
class Link:
    """Words that lead somewhere."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell, or an item of a list: words, perhaps leading somewhere, then links after them."""

    text: str = ""
    href: str = ""
    links: tuple[Link, ...] = ()
    number: bool = False
    """Set right-aligned."""
    tone: str = ""
    """A class of the style sheet; it never tells what the words do not."""
    lines: tuple[str, ...] = ()
    """Many short pieces, one below the other."""
    code: bool = False
    """An id or a digest, in a font where its characters differ."""

    @property
    def kinds(self) -> str:
        """Classes of the style sheet."""
        short = self.number and len(self.text) <= _ONE_LINE
        size = "short" if short else "long" if len(self.text) > _LONG else ""
        return " ".join(filter(None, ("num" if self.number else "", size, self.tone)))


@dataclass(frozen=True, slots=True)
class Row:
    """A row; its first cell is its head."""

    cells: tuple[Cell, ...]
    id: str = ""


class BlockKind(StrEnum):
    """Which form a block has."""

    PARAGRAPH = "paragraph"
    NOTICE = "notice"
    HEADING = "heading"
    LIST = "list"
    TABLE = "table"
    PLOT = "plot"


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of a section."""

    kind: BlockKind
    text: str = ""
    """Of a paragraph, a notice or a heading; the caption of a table or a plot."""
    items: tuple[Cell, ...] = ()
    """Of a list; the heads of a table's columns."""
    groups: tuple[tuple[str, tuple[Row, ...]], ...] = ()
    """Of a table: rows by group, each with the id of the group or nothing."""
    plot: Markup = field(default_factory=Markup)
    id: str = ""
    wide: bool = False
    """A table that is printed on a page turned sideways."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section with its place in the table of contents."""

    id: str
    title: str
    blocks: tuple[Block, ...]


def paragraph(text: str) -> Block:
    """A paragraph."""
    return Block(BlockKind.PARAGRAPH, text)


def notice(text: str) -> Block:
    """What a reader must not overlook."""
    return Block(BlockKind.NOTICE, text)


def heading(text: str, place: str = "") -> Block:
    """A heading within a section."""
    return Block(BlockKind.HEADING, text, id=place)


def bullets(items: Sequence[Cell | str]) -> Block:
    """A list."""
    return Block(BlockKind.LIST, items=tuple(Cell(item) if isinstance(item, str) else item for item in items))


def table(caption: str, head: Sequence[str], rows: Sequence[Row | Sequence[Cell | str | int]]) -> Block:
    """A table of one group; its rows are as long as its head."""
    return grouped_table(caption, head, [("", rows)])


def grouped_table(
    caption: str,
    head: Sequence[str],
    groups: Sequence[tuple[str, Sequence[Row | Sequence[Cell | str | int]]]],
    *,
    wide: bool = False,
) -> Block:
    """A table whose rows stand in groups, each with an id.

    Raises:
        ValueError: a row is not as long as the head.
    """
    made = tuple((place, tuple(_row(row) for row in rows)) for place, rows in groups)
    if any(len(row.cells) != len(head) for _, rows in made for row in rows):
        raise ValueError("a row is not as long as the head of its table")
    heads = tuple(Cell(words) for words in head)
    return Block(BlockKind.TABLE, caption, items=heads, groups=made, wide=wide)


def plot(caption: str, drawn: str) -> Block:
    """A plot of this package, which escaped all words in it."""
    return Block(BlockKind.PLOT, caption, plot=Markup(drawn))  # noqa: S704


def num(text: str | float, href: str = "", links: tuple[Link, ...] = ()) -> Cell:
    """A cell of a number."""
    return Cell(str(text), href, links, number=True)


def _row(row: Row | Sequence[Cell | str | int]) -> Row:
    if isinstance(row, Row):
        return row
    return Row(
        tuple(
            cell if isinstance(cell, Cell) else Cell(str(cell), number=isinstance(cell, int)) for cell in row
        )
    )
