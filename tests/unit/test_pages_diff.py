"""A diff as HTML: what stands beside what, its links, and text that wants to be more than text."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from esac_ag.pages.diff_colours import MOST_FILE_CHARACTERS, MOST_LINE_CHARACTERS
from esac_ag.pages.diff_page import MOST_CHARACTERS, MOST_FILE_ROWS, MOST_FILES, diff_html, file_html
from esac_ag.pages.shown import anchor
from esac_ag.study.diff import DiffFile, read_diff
from tests.builders_review import PATCH


class Read(HTMLParser):
    """What a browser would make of it: rows of cells, ids, places, and every tag."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.ids: list[str] = []
        self.places: list[str] = []
        self.classes: set[str] = set()
        self.tags: set[str] = set()
        self.text = ""
        self.in_cell = False
        self.feed(str(html))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag; a row and a cell begin."""
        self.tags.add(tag)
        found = dict(attrs)
        assert not any(name.startswith("on") or name == "style" for name in found)
        self.classes |= set((found.get("class") or "").split())
        if place := found.get("data-place"):
            self.places.append(place)
        if name := found.get("id"):
            self.ids.append(name)
        if tag == "tr":
            self.rows.append([])
        elif tag == "td":
            self.rows[-1].append("")
            self.in_cell = True

    def handle_endtag(self, tag: str) -> None:
        """A cell ends."""
        self.in_cell = self.in_cell and tag != "td"

    def handle_data(self, data: str) -> None:
        """Add text to the cell that is open."""
        self.text += data
        if self.in_cell:
            self.rows[-1][-1] += data


def added(path: str, *lines: str) -> str:
    """A patch that adds a file."""
    head = f"diff --git a/{path} b/{path}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n"
    return head + "".join(f"+{line}\n" for line in lines)


def test_removed_lines_stand_beside_the_added_ones() -> None:
    """With numbers of both sides and a mark that needs no colour."""
    read = Read(diff_html(read_diff(PATCH)))
    assert [row for row in read.rows if row] == [
        ["1", " def total(order):", "1", " def total(order):"],
        ["2", "-    return order.sum", "2", "+    if not order:"],
        ["", "", "3", "+        return 0"],
        ["3", "     pass", "4", "     pass"],
    ]


def test_every_place_that_evidence_may_name_is_a_line_with_that_anchor() -> None:
    """As the packet names them, once each."""
    files = read_diff(PATCH + added("b c/\tü.py", "x"))
    read = Read(diff_html(files))
    places = [place for file in files for place in file.places()]
    assert sorted(read.places) == sorted(places)
    assert set(map(anchor, places)) <= set(read.ids)
    assert len(read.ids) == len(set(read.ids))


def test_two_files_of_one_masked_name_have_one_anchor() -> None:
    """The first; an id is never there twice."""
    read = Read(diff_html(read_diff(added("[masked].txt", "a") + added("[masked].txt", "b"))))
    assert read.places == ["[masked].txt:1"] * 2
    assert read.ids.count(anchor("[masked].txt:1")) == 1


@pytest.mark.parametrize(
    "path", ["a.py", "q\"uo'te.py", "<b>.py", "sp ace.html", "x&amp;y.js", "a\u202eyp.txt"]
)
@pytest.mark.parametrize(
    "line",
    [
        "<script>alert(1)</script>",
        "</code></td></table><img src=x onerror=alert(1)>",
        '"><a href="javascript:alert(1)">',
        "&lt;b&gt; {{ 7 * 7 }}",
        "a\x00b\x1b[31m\u202ec\r",
    ],
)
def test_text_is_never_html(path: str, line: str) -> None:
    """Whatever the language, colours or not: it reads as it is, invisible characters as escapes."""
    read = Read(diff_html([DiffFile(path=path, hunks=read_diff(added("x", line))[0].hunks)]))
    assert read.tags.isdisjoint({"script", "img", "b"})
    shown = line.replace("\x00", "\\x00").replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")
    assert read.rows[-1][-1] == "+" + shown.replace("\r", "\\x0d")
    assert read.places == [f"{path}:1"]


@pytest.mark.parametrize(
    ("path", "line"), [("a.py", "def f(): pass"), ("b.ts", "const a = 1"), ("c.css", "b {}")]
)
def test_languages_have_colours_by_classes(path: str, line: str) -> None:
    """Of the style sheet; the text stays as it is."""
    read = Read(diff_html(read_diff(added(path, line))))
    assert read.classes & {"hk", "hn", "hf"}
    assert read.rows[-1][-1] == f"+{line}"


def test_a_string_over_several_lines_is_one_string() -> None:
    """A side is coloured as a whole."""
    html = diff_html(read_diff(added("a.py", 'a = """', "if while", '"""')))
    assert '<code><span class="hs">if while</span></code>' in html


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        ("a.unknown", ["def f(): pass"]),
        ("a.py", ["x = '" + "y" * MOST_LINE_CHARACTERS + "'"]),
        ("a.py", ["if x: pass  # " + "y" * 300] * (MOST_FILE_CHARACTERS // 300 + 1)),
    ],
)
def test_what_would_take_long_stays_plain(path: str, lines: list[str]) -> None:
    """Unknown languages, very long lines, very long files."""
    read = Read(diff_html(read_diff(added(path, *lines))))
    assert read.classes.isdisjoint({"hk", "hs", "hn"})


@pytest.mark.parametrize("path", ["a.js", "a.py", "a.md", "a.html", "a.sh", "a.php", "a.rb"])
def test_colours_change_no_character_of_hostile_text(path: str) -> None:
    """Beginnings without an end, in languages whose lexers look far for one."""
    line = '/*\'"""`{<![CDATA[$((<<A%q{f"{ \r\x0c\x85\u2028'
    read = Read(diff_html(read_diff(added(path, *[line] * 20))))
    assert {row[-1] for row in read.rows if row} == {
        "+"
        + line.replace("\r", "\\x0d")
        .replace("\x0c", "\\x0c")
        .replace("\x85", "\\x85")
        .replace("\u2028", "\\u2028")
    }


def test_a_very_long_line_is_folded_and_whole() -> None:
    """Nothing of it is lost."""
    line = "x" * (MOST_CHARACTERS + 500)
    html = diff_html(read_diff(added("a.min.js", line)))
    assert "<summary>500 more characters</summary>" in html
    assert html.count("x" * 500) >= 1
    assert Read(html).text.count("x") == len(line)


def test_a_long_unchanged_run_is_folded_but_for_its_ends() -> None:
    """And may be opened without a script."""
    lines = "".join(f" line {n}\n" for n in range(30))
    patch = f"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,31 +1,31 @@\n{lines}-x\n+y\n"
    html = diff_html(read_diff(patch))
    assert "<summary>20 unchanged lines</summary>" in html
    assert [row[0] for row in Read(html).rows if row] == [str(n) for n in range(1, 32)]


def test_notes_of_a_file_are_shown() -> None:
    """What became of its mode and of bytes that are no text."""
    patch = "diff --git a/a.png b/a.png\nnew file mode 100644\nBinary files /dev/null and b/a.png differ\n"
    assert "Binary files /dev/null and b/a.png differ" in diff_html(read_diff(patch))


def test_lines_that_a_page_leaves_out_are_told_and_elsewhere() -> None:
    """And the parts of a file are all of it."""
    (file,) = read_diff(added("a.txt", *map(str, range(MOST_FILE_ROWS + 10))))
    html = diff_html([file], elsewhere=lambda number: f"files/{number}")
    assert "10 more lines" in html
    assert 'href="files/0"' in html
    first, after = file_html(file)
    second, end = file_html(file, start=after)
    assert end == 0
    assert Read(first).places + Read(second).places == list(file.places())


def test_files_that_a_page_leaves_out_are_told_and_elsewhere() -> None:
    """However many there are."""
    files = read_diff("".join(added(f"f{n}", "x") for n in range(MOST_FILES + 2)))
    html = diff_html(files, elsewhere=lambda number: f"files/{number}")
    assert "2 more files" in html
    assert f'href="files/{MOST_FILES}"' in html


def test_no_change_is_no_html() -> None:
    """The page around it says so."""
    assert diff_html(()).strip() == ""
