"""Foreign text in a page: escaped, with its invisible characters made visible and marked as such."""

from __future__ import annotations

from functools import cache
from itertools import groupby
from typing import Final
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from esac_ag.report.escaping import visible

_KEPT: Final = frozenset("\t\n")
_PLAIN_IN_ANCHOR: Final = "/:-._~@+,="


def text(value: str) -> Markup:
    """Text of any number of lines; invisible characters but line feeds and tabs are shown as escapes."""
    value = value.replace("\r\n", "\n")
    if value.isprintable():
        return escape(value)
    parts = (
        f'<span class="invisible">{"".join(map(visible, run))}</span>'
        if hidden
        else str(escape("".join(run)))
        for hidden, run in groupby(value, key=_is_hidden)
    )
    # Escapes of characters are letters, digits and a backslash; all else was escaped.
    return Markup("".join(parts))  # noqa: S704


def anchor(place: str) -> str:
    """The element's id of a place that evidence may name, and the fragment of its address.

    Ids hold no white space, and a fragment is compared with them before anything in it is decoded.
    """
    return quote(place.encode("utf-8", "surrogatepass"), safe=_PLAIN_IN_ANCHOR)


@cache
def environment() -> Environment:
    """What renders the templates of this package: everything escaped, nothing undefined.

    One for all pages: it keeps what it compiled.
    """
    made = Environment(
        loader=PackageLoader("esac_ag.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["text"] = text
    # For values of attributes and fields, which are read back: escaped, and otherwise as they are.
    made.filters["raw"] = escape
    made.filters["anchor"] = anchor
    return made


def _is_hidden(char: str) -> bool:
    return not char.isprintable() and char not in _KEPT and visible(char) != char


def _harmless(value: object) -> object:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
