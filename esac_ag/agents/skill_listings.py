"""Which skills an agent listed for its model, by the form in which each agent lists them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_ENTRY = re.compile(r"^- ([^\s:(]+)(?: \(([^)\n]*)\))?:", re.MULTILINE)
_OPENCODE_ENTRY = re.compile(r"<name>([^<\n]*)</name>")


class _Form(NamedTuple):
    """How a listing is recognised; by searching for texts, because a pattern of them would take forever."""

    begins: tuple[str, ...]
    """Texts before a listing, one somewhere after the other."""
    ends: str
    may_end_with_piece: bool
    entry: re.Pattern[str]


FORMS = (
    _Form(
        ("The following skills are available for use with the Skill tool:\n\n",),
        "\n\n",
        may_end_with_piece=True,
        entry=_ENTRY,
    ),
    _Form(
        ("<skills_instructions>", "### Available skills\n"),
        "</skills_instructions>",
        may_end_with_piece=False,
        entry=_ENTRY,
    ),
    _Form(("<available_skills>",), "</available_skills>", may_end_with_piece=False, entry=_OPENCODE_ENTRY),
)
KNOWN_AGENTS = frozenset({"chat", "claude-code", "codex", "mini-swe-agent", "opencode"})
"""Agents that list skills in one of these forms or not at all: without a listing they listed none."""


class SkillListings:
    """Takes pieces of text one after another.

    Args:
        agent: the agent's name; of others than the known ones the absence of a listing says nothing.
    """

    def __init__(self, agent: str | None) -> None:
        self._agent = agent
        self._found: dict[str, tuple[str, ...]] | None = None

    def look_at(self, piece: str) -> None:
        """Take what the piece lists."""
        for form in FORMS:
            for block in _blocks(piece, form):
                self._found = {} if self._found is None else self._found
                for name in form.entry.finditer(block):
                    names = tuple(part for part in name.groups() if part)
                    self._found[names[0]] = names

    def without(self, own: Iterable[str]) -> tuple[str, ...] | None:
        """The skills that were listed beside the arm's own, in order of their names; null when not known."""
        if self._found is None:
            return () if self._agent in KNOWN_AGENTS else None
        mine = set(own)
        return tuple(sorted(name for name, names in self._found.items() if mine.isdisjoint(names)))


def _blocks(piece: str, form: _Form) -> Iterator[str]:
    """The listings in a piece. Each search goes on where the last one ended, so the time is linear."""
    place = 0
    while True:
        for text in form.begins:
            found = piece.find(text, place)
            if found < 0:
                return
            place = found + len(text)
        end = piece.find(form.ends, place)
        if end < 0 and not form.may_end_with_piece:
            return
        end = len(piece) if end < 0 else end
        yield piece[place:end]
        place = min(end + len(form.ends), len(piece))
