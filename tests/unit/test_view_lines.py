"""Long files of lines, a page at a time: every line once, in bounded memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from esac_ag.conduct.view_lines import MOST_LINE_BYTES, MOST_PAGE_BYTES, PIECE_BYTES, CutLine, LinePager


def lines_of(path: Path, data: bytes, page: int, *, per_page: int = 3) -> list[CutLine]:
    """The lines of a page."""
    path.write_bytes(data)
    with path.open("rb") as file:
        return list(LinePager(per_page).lines(file, page))


@pytest.mark.parametrize(
    ("data", "counted", "pages"),
    [
        (b"", 0, 1),
        (b"\n", 1, 1),
        (b"a\nb\nc\n", 3, 1),
        (b"a\nb\nc\nd", 4, 2),
        (b"\n" * 7, 7, 3),
        (b"x" * (PIECE_BYTES - 1) + b"\nb\n" + b"y" * PIECE_BYTES + b"\n", 3, 1),
        (b"x" * PIECE_BYTES + b"\nb\nc\n" + b"z" * 3 * PIECE_BYTES, 4, 2),
    ],
)
def test_pages_hold_every_line_once(data: bytes, counted: int, pages: int, tmp_path: Path) -> None:
    """Wherever a line ends, at the end of a piece that is read as well."""
    path = tmp_path / "lines"
    path.write_bytes(data)
    pager = LinePager(3)
    with path.open("rb") as file:
        found = pager.pages(file)
        lines = [line for page in range(1, found.pages + 1) for line in pager.lines(file, page)]
        assert list(pager.lines(file, found.pages + 1)) == []
    assert (found.lines, found.pages, found.size_bytes) == (counted, pages, len(data))
    assert [line.number for line in lines] == list(range(1, counted + 1))
    whole = data.removesuffix(b"\n").split(b"\n") if data else []
    assert [line.size_bytes for line in lines] == [len(line) for line in whole]
    assert [line.data for line in lines] == [line[:MOST_LINE_BYTES] for line in whole]


def test_a_page_holds_no_more_than_its_bound(tmp_path: Path) -> None:
    """Of long lines the beginning is kept, and of a page of long lines those that come first."""
    line = b"x" * 2 * MOST_LINE_BYTES
    found = lines_of(tmp_path / "lines", (line + b"\n") * 6, 1, per_page=6)
    assert [len(one.data) for one in found] == [MOST_LINE_BYTES] * 4 + [0] * 2
    assert sum(len(one.data) for one in found) == MOST_PAGE_BYTES
    assert not any(one.is_whole for one in found)


def test_a_file_that_grew_has_new_pages(tmp_path: Path) -> None:
    """As the transcript of an attempt at work."""
    path = tmp_path / "lines"
    path.write_bytes(b"a\n" * 3)
    pager = LinePager(3)
    with path.open("rb") as file:
        assert pager.pages(file).pages == 1
    path.write_bytes(b"a\n" * 4)
    with path.open("rb") as file:
        assert [line.number for line in pager.lines(file, 2)] == [4]
