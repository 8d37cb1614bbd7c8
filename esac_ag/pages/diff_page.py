"""A diff as HTML, its two sides beside each other: for whoever reviews a change or looks at one.

Every line that evidence may point at has its place as the element's id, so `#shop/orders.py:14` leads there.
The style is `static/diff.css`. Without a script all of it can be read; a narrow page shows one column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from markupsafe import Markup, escape

from esac_ag.clock import Deadline
from esac_ag.pages.diff_colours import DIFF_TIME_S, Colouring, Piece
from esac_ag.pages.diff_rows import Block, Row, blocks_of, first_rows
from esac_ag.pages.shown import anchor, environment, text
from esac_ag.study.diff import DiffFile, DiffLine, LineKind

MOST_FILE_ROWS: Final = 1_500
MOST_ROWS: Final = 6_000
"""Of all files of a page; what is left out is told, with a link."""
MOST_FILES: Final = 300
OPEN_ROWS: Final = 400
"""Longer files are folded at first."""
MOST_CHARACTERS: Final = 1_000
"""Of a line; the rest is folded."""

ElsewhereOf = Callable[[int], str]
"""Address of a page that shows the file of a number, from 0, from its beginning."""

_MARKS: Final = {LineKind.CONTEXT: " ", LineKind.REMOVED: "-", LineKind.ADDED: "+"}
_CLASSES: Final = {LineKind.CONTEXT: "", LineKind.REMOVED: " del", LineKind.ADDED: " add"}


class Cell(NamedTuple):
    """One side of a row."""

    number: int
    place: Markup
    """What evidence names it by, ready for an attribute; empty where the other side is named."""
    anchor: str
    """Empty where an earlier line of the page has the same place."""
    css: str
    mark: str
    text: Markup


class ShownBlock(NamedTuple):
    """Rows of one kind, ready for the template."""

    rows: tuple[tuple[Cell | None, Cell | None], ...]
    changed: bool
    folded: bool
    starts_hunk: bool


class ShownFile(NamedTuple):
    """One file, ready for the template."""

    number: int
    path: str
    notes: tuple[str, ...]
    added: int
    removed: int
    has_old: bool
    """Whether any line was there before; a new file needs no column for that."""
    has_new: bool
    open: bool
    tables: tuple[tuple[ShownBlock, ...], ...]
    """Blocks of each table; a folded block is a table alone."""
    left_out: int
    """Rows that this page does not show."""
    elsewhere: str


def diff_html(
    files: Sequence[DiffFile], *, elsewhere: ElsewhereOf | None = None, heading_level: int = 3
) -> Markup:
    """The files as foldable parts, each with a heading; empty when there is none.

    Args:
        files: of a patch.
        elsewhere: gives the page of a single file, for lines that are left out here.
        heading_level: of the files' names.
    """
    template = environment().get_template("diff.html")
    more = max(0, len(files) - MOST_FILES)
    rendered = template.render(
        files=list(_shown(files[:MOST_FILES], elsewhere)),
        level=heading_level,
        more_files=more,
        more_at=elsewhere(MOST_FILES) if elsewhere and more else "",
    )
    return Markup(rendered)  # noqa: S704  (our template escapes)


def file_html(file: DiffFile, *, start: int = 0, heading_level: int = 2) -> tuple[Markup, int]:
    """A part of one file alone, and the row at which the next part begins; 0 at the end.

    Args:
        file: of a patch.
        start: the first row that is shown, from 0.
        heading_level: of the file's name.
    """
    kept, left_out = first_rows(_from_row(tuple(blocks_of(file)), start), MOST_FILE_ROWS)
    shown = _shown_file(0, file, kept, _Page())._replace(open=True)
    template = environment().get_template("diff.html")
    rendered = template.render(files=[shown], level=heading_level, more_files=0, more_at="")
    return Markup(rendered), start + MOST_FILE_ROWS if left_out else 0  # noqa: S704  (our template escapes)


class _Page:
    """What the files of one page share."""

    def __init__(self) -> None:
        self.places: set[str] = set()
        """That have an anchor."""
        self.deadline = Deadline.after_s(DIFF_TIME_S)


def _shown(files: Sequence[DiffFile], elsewhere: ElsewhereOf | None) -> Iterator[ShownFile]:
    left = MOST_ROWS
    page = _Page()
    for number, file in enumerate(files):
        kept, left_out = first_rows(tuple(blocks_of(file)), min(left, MOST_FILE_ROWS))
        left -= sum(len(block.rows) for block in kept)
        shown = _shown_file(number, file, kept, page)
        address = elsewhere(number) if elsewhere and left_out else ""
        yield shown._replace(left_out=left_out, elsewhere=address)


def _shown_file(number: int, file: DiffFile, blocks: Sequence[Block], page: _Page) -> ShownFile:
    kinds = [line.kind for hunk in file.hunks for line in hunk.lines]
    sides = [side for block in blocks for row in block.rows for side in row if side is not None]
    colouring = Colouring(file.path, (line.text for line in sides), page.deadline)
    return ShownFile(
        number=number,
        path=file.path,
        notes=file.notes,
        added=kinds.count(LineKind.ADDED),
        removed=kinds.count(LineKind.REMOVED),
        has_old=kinds.count(LineKind.ADDED) < len(kinds),
        has_new=kinds.count(LineKind.REMOVED) < len(kinds),
        open=len(kinds) <= OPEN_ROWS,
        tables=tuple(_tables(_cells(file, hunk, colouring, page.places) for hunk in _hunks(blocks))),
        left_out=0,
        elsewhere="",
    )


def _hunks(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    hunk: list[Block] = []
    for block in blocks:
        if block.starts_hunk and hunk:
            yield hunk
            hunk = []
        hunk.append(block)
    if hunk:
        yield hunk


def _tables(hunks: Iterator[list[ShownBlock]]) -> Iterator[tuple[ShownBlock, ...]]:
    for hunk in hunks:
        table: list[ShownBlock] = []
        for block in hunk:
            if block.folded:
                yield tuple(table)
                yield (block,)
                table = []
            else:
                table.append(block)
        if table:
            yield tuple(table)


def _cells(file: DiffFile, hunk: list[Block], colouring: Colouring, known: set[str]) -> list[ShownBlock]:
    """A hunk's blocks with their texts; each side is coloured as one text, so that long strings hold."""
    rows = [row for block in hunk for row in block.rows]
    old = _texts(colouring, [row.old for row in rows])
    new = _texts(colouring, [row.new for row in rows])
    cells = iter([_row(file, *one, known) for one in zip(rows, old, new, strict=True)])
    return [
        ShownBlock(tuple(next(cells) for _ in block.rows), block.changed, block.folded, block.starts_hunk)
        for block in hunk
    ]


def _texts(colouring: Colouring, side: Sequence[DiffLine | None]) -> list[Markup]:
    coloured = iter(colouring.of([line.text for line in side if line is not None]))
    return [Markup() if line is None else _line(next(coloured)) for line in side]


def _row(
    file: DiffFile, row: Row, old: Markup, new: Markup, known: set[str]
) -> tuple[Cell | None, Cell | None]:
    return _cell(file, row.old, old, known, is_old=True), _cell(file, row.new, new, known, is_old=False)


def _cell(
    file: DiffFile, line: DiffLine | None, shown: Markup, known: set[str], *, is_old: bool
) -> Cell | None:
    if line is None:
        return None
    number = line.old if is_old else line.new
    names = not is_old or line.new is None
    place = f"{file.path}:{'-' if is_old else ''}{number}" if names else ""
    is_first = place not in known
    known.add(place)
    return Cell(
        number=number or 0,
        place=escape(place),
        anchor=anchor(place) if is_first and place else "",
        css=_CLASSES[line.kind],
        mark=_MARKS[line.kind],
        text=shown,
    )


def _line(pieces: Sequence[Piece]) -> Markup:
    """A line in its colours; of a very long one the rest is folded."""
    if sum(len(piece.text) for piece in pieces) > MOST_CHARACTERS:
        whole = "".join(piece.text for piece in pieces)
        rest = whole[MOST_CHARACTERS:]
        return Markup("{}<details><summary>{} more characters</summary>{}</details>").format(
            text(whole[:MOST_CHARACTERS]), f"{len(rest):,}", text(rest)
        )
    return Markup().join(
        Markup('<span class="{}">{}</span>').format(piece.css, text(piece.text))
        if piece.css
        else text(piece.text)
        for piece in pieces
    )


def _from_row(blocks: Sequence[Block], start: int) -> tuple[Block, ...]:
    found: list[Block] = []
    for block in blocks:
        skipped = min(start, len(block.rows))
        start -= skipped
        if skipped < len(block.rows):
            starts = block.starts_hunk and not skipped
            found.append(Block(block.rows[skipped:], block.changed, block.folded, starts))
    return tuple(found)
