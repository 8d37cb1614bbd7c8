"""Packets: what a reviewer sees of one submission, and the book of all packets of one reviewer.

Nothing in a packet tells the arm, the model, costs, times, the order of runs, or how a message looked. A
packet's label is random and another one for each reviewer.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field

from esac_ag.attempt import CheckVerdict
from esac_ag.manifest.package import CheckKind, Dimension
from esac_ag.record import Identifier, Record
from esac_ag.study.diff import DiffFile

MASK: Final = "[masked]"
WHOLE_DIFF: Final = "diff"
"""Link to the diff as a whole: for what is missing from it."""

Label = Identifier
Count = Annotated[int, Field(ge=0)]


class Role(StrEnum):
    """What somebody does in a review."""

    REVIEWER = "reviewer"
    ADJUDICATOR = "adjudicator"


class Document(Record):
    """A file of the repository that tells its contracts: README.md, AGENTS.md and the like."""

    path: str
    text: str
    cut: bool = False
    """Whether its end is left out."""


class TaskContext(Record):
    """What the agent was asked for, in public words; the same for every submission of a task."""

    task_id: Identifier
    title: str
    request: str
    public_command: str
    """Runs the repository's own tests; empty where there are none."""
    expected_failure: str
    """The public test that failed before anybody changed anything."""
    documents: tuple[Document, ...] = ()


class Tally(Record):
    """What a test run printed of its result, as a tally."""

    failed: tuple[str, ...]
    """Names of the tests that failed."""
    passed: Count | None
    """How many passed; null when the output does not tell."""


class CommandShown(Record):
    """One command that the agent executed."""

    id: Identifier
    """`command-1` and so on, in the order in which they were executed."""
    command: str
    exit_code: int | None
    """Null when it is not known."""
    timed_out: bool = False
    tests: Tally | None = None
    """Of a command that ran tests and whose output tells."""
    output: str = ""
    """End of the output of a command that ran tests; empty for all others."""


class Claim(Record):
    """A sentence of the agent's last message: that something was run, tested, verified, or works."""

    id: Identifier
    """`claim-1` and so on."""
    text: str
    """Without markup, emphasis and exclamation."""


class CheckShown(Record):
    """What a hidden check said, where the manifest says that reviewers see it."""

    id: Identifier
    """`check-` and the check's own id."""
    kind: CheckKind
    dimension: Dimension
    verdict: CheckVerdict


class Opinion(Record):
    """What one reviewer found, as an adjudicator sees it: without name, in random order."""

    number: Annotated[int, Field(ge=1)]
    """Which reviewer it is in this packet; another one may be first in the next."""
    scores: dict[Dimension, int]
    total: float
    deductions: tuple[str, ...]
    """`dimension: text (link)`, a line for each."""
    critical: tuple[str, ...]
    """`type: text (link)`, a line for each."""
    uncertainty: str
    rationale: str


class Packet(Record):
    """One submission as a reviewer sees it."""

    label: Label
    task: TaskContext
    diff: tuple[DiffFile, ...]
    commands: tuple[CommandShown, ...]
    claims: tuple[Claim, ...]
    checks: tuple[CheckShown, ...] | None = None
    """Null where the manifest withholds them; empty where nothing could be graded."""
    masked: Count = 0
    """How many pieces of its text were replaced by `[masked]`."""
    opinions: tuple[Opinion, ...] = ()
    """Of an adjudicator's packets only."""

    def links(self) -> frozenset[str]:
        """Everything that evidence may point at: lines of the diff, commands, claims, checks, the diff."""
        places = {place for file in self.diff for place in file.places()}
        ids = {command.id for command in self.commands} | {claim.id for claim in self.claims}
        ids |= {check.id for check in self.checks or ()}
        return frozenset({WHOLE_DIFF, *places, *ids})


class PacketBook(Record):
    """All packets of one reviewer, in the reviewer's own order (`packets.json`)."""

    format_version: Literal[1]
    reviewer: Identifier
    role: Role
    critical_failures: tuple[str, ...]
    """Types that the manifest names."""
    packets: tuple[Packet, ...]
