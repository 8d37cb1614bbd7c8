"""Which skills an agent listed for its model, by the form in which each agent lists them."""

from __future__ import annotations

import re
from collections.abc import Iterable

_ENTRY = re.compile(r"^- ([^\s:(]+)(?: \(([^)\n]*)\))?:", re.MULTILINE)
_CLAUDE_CODE = re.compile(
    r"The following skills are available for use with the Skill tool:\n\n(.*?)(?:\n\n|\Z)", re.DOTALL
)
_CODEX = re.compile(r"<skills_instructions>.*?### Available skills\n(.*?)</skills_instructions>", re.DOTALL)
_OPENCODE = re.compile(r"<available_skills>(.*?)</available_skills>", re.DOTALL)
_OPENCODE_ENTRY = re.compile(r"<name>([^<\n]*)</name>")

FORMS = (
    ("Skill tool:", _CLAUDE_CODE, _ENTRY),
    ("<skills_instructions>", _CODEX, _ENTRY),
    ("<available_skills>", _OPENCODE, _OPENCODE_ENTRY),
)
"""Something that stands in a listing, the listing, and an entry of it."""
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
        for sign, listing, entry in FORMS:
            if sign in piece:
                for block in listing.finditer(piece):
                    self._found = {} if self._found is None else self._found
                    for name in entry.finditer(block[1]):
                        names = tuple(part for part in name.groups() if part)
                        self._found[names[0]] = names

    def without(self, own: Iterable[str]) -> tuple[str, ...] | None:
        """The skills that were listed beside the arm's own, in order of their names; null when not known."""
        if self._found is None:
            return () if self._agent in KNOWN_AGENTS else None
        mine = set(own)
        return tuple(sorted(name for name, names in self._found.items() if mine.isdisjoint(names)))
