"""What must not be published, and where it was found. Pure.

A disclosure tells the kind of thing and its place, never the text itself.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from esac_ag.record import Record


class DisclosureKind(StrEnum):
    """Kinds of what must not be published."""

    SECRET = "secret"  # noqa: S105  (a kind)
    """A value that is known to be secret: a key in the environment, a held-out seed."""
    KEY_FORMAT = "key-format"
    """Text in the well-known form of a key, a token or a password."""
    PRIVATE_PROMPT = "private-prompt"
    """Text of an instruction bundle or of a request that is not published itself."""
    HELD_OUT = "held-out"
    """Text of hidden checks and their fixtures, of solutions, or of held-out instances."""
    LOCAL = "local"
    """A path, a user's or a machine's name, or the name of somebody who is shown by a pseudonym."""
    NOT_SCANNED = "not-scanned"
    """Something that could not be looked into to its end, and so is not known to be clean."""


class Writer(StrEnum):
    """Who wrote a file that is to be published."""

    HARNESS = "harness"
    """The harness, from records; nothing of a solution or of a machine belongs there."""
    AGENT = "agent"
    """An agent, in a place where its own work is expected."""
    PERSON = "person"
    """A reviewer, in a form."""


class Disclosure(Record):
    """Something that must not be published."""

    kind: DisclosureKind
    path: str
    """The file in the bundle, and a member of an archive after `!`; escaped."""
    line: Annotated[int, Field(ge=1)] | None
    """Line of the text as it was read; null where there is none."""
    read_as: str
    """How it was hidden: empty in plain text, else `unescaped`, `base64` and so on."""
    what: str
    """What it is; never the text."""

    def sentence(self) -> str:
        """One line for a reader."""
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{place}: {self.what}" + (f" ({self.read_as})" if self.read_as else "")
