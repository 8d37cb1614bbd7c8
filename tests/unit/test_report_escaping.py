"""What an agent writes is shown, and does nothing."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esac_ag.report.escaping import csv_text, markdown, visible
from esac_ag.report.markdown_table import code, table

ANY_TEXT = st.text(max_size=80)


@given(ANY_TEXT)
def test_visible_text_is_one_line_without_hidden_characters(text: str) -> None:
    """No control, no direction mark, no line end, no surrogate survives."""
    shown = visible(text)
    assert not {unicodedata.category(char) for char in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert len(shown.splitlines()) <= 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb\tc", "a\\x0ab\\x09c"),
        ("safe\u202etxt.exe", "safe\\u202etxt.exe"),
        ("\U000e0041", "\\U000e0041"),
        ("zwölf Prüfungen, 很好", "zwölf Prüfungen, 很好"),
    ],
)
def test_hidden_characters_are_shown_as_escapes(text: str, shown: str) -> None:
    """Terminal escapes and text that reads backwards are harmless; letters of all scripts stay."""
    assert visible(text) == shown


@given(ANY_TEXT)
def test_escaped_markdown_holds_no_live_character(text: str) -> None:
    """Every character that could start markup, HTML, a cell or a link stands behind a backslash."""
    shown = markdown(text, limit=1000)
    assert re.search(r"(?<!\\)(?:\\\\)*[`*_\[\]{}|~!$]", shown) is None
    assert "<" not in shown
    assert ">" not in shown
    assert "://" not in shown
    assert "@" not in shown
    assert re.search(r"&(?!amp;|lt;|gt;|#\d+;)", shown) is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a | b", "a \\| b"),
        ("<script>", "&lt;script&gt;"),
        ("![x](http://e)", "\\!\\[x\\](http&#58;//e)"),
        ("`rm`", "\\`rm\\`"),
        ("AT&T", "AT&amp;T"),
        ("www.example.com", "www&#46;example.com"),
        ("@everyone", "&#64;everyone"),
        ("- item", "&#45; item"),
        ("1. item", "&#49;. item"),
        ("-3.5 or 0.1.0", "-3.5 or 0.1.0"),
    ],
)
def test_markdown_renders_as_the_text(text: str, shown: str) -> None:
    """Tables, HTML, images, code, entities, links, mentions and lists are only text."""
    assert markdown(text) == shown


def test_long_text_is_cut_with_a_mark() -> None:
    """A reason of a megabyte does not fill the report."""
    assert markdown("x" * 1000) == "x" * 299 + "…"


@given(ANY_TEXT)
def test_no_spreadsheet_takes_text_for_a_formula(text: str) -> None:
    """No cell of text starts like a formula, with or without space before it."""
    assert not csv_text(text).lstrip().startswith(("=", "+", "-", "@"))


@pytest.mark.parametrize("start", ["=", "+", "-", "@", " =", "\t="])
def test_a_formula_gets_an_apostrophe_or_shows_its_escape(start: str) -> None:
    """`=HYPERLINK(...)` stays readable and dead."""
    shown = csv_text(start + "1+1")
    assert shown.startswith(("'", "\\x09"))
    assert shown.endswith("1+1")


@given(ANY_TEXT)
def test_a_code_span_cannot_be_left(text: str) -> None:
    """Its only backticks are its own, and it ends no table cell."""
    shown = code(text)
    assert shown.count("`") == 2
    assert "|" not in shown
    assert "\n" not in shown


def test_a_row_of_another_length_than_its_head_is_refused() -> None:
    """A shifted column would put a number under the wrong name."""
    with pytest.raises(ValueError, match="as long as the head"):
        list(table(("a", "b"), [("1",)]))
