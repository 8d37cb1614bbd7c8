"""What a run of an item leaves on disk: what was handed in, and what grading made of it."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from esac_ag.attempt import Cell, Grading, Usage
from esac_ag.manifest.plan import AgentKind
from esac_ag.record import Identifier, Record, Sha256
from esac_ag.suite.contract import Trace
from esac_ag.suite.judging import Judgment
from esac_ag.suite.replication import RunResult

RUN_FILE: Final = "run.json"
"""Path of an `RunRecord` in a submission's archive; files of a program lie beside it, below `files/`."""


def judgment_file(number: int) -> str:
    """Name of a run's judgment, from 1, in the attempt's folder."""
    return f"grading/judgment-{number}.json"


class RunRecord(Record):
    """One finished run of an item, as it was handed in: all that grading reads."""

    format_version: Literal[1] = 1
    item_id: Identifier
    trace: Trace
    """Without results of hidden tests, which grading adds."""
    submitted: bool
    """Whether a program was handed in; false where there is none to hand in."""
    retries: Annotated[int, Field(ge=0)]
    """Requests repeated after failures of the infrastructure; no part of any score."""
    tokens_estimated: bool
    """Whether no model told its tokens and they were estimated (runs of our own policies)."""


class JudgmentRecord(Record):
    """One judgment of a run (`grading/judgment-<number>.json`)."""

    asked: str
    """The judge that was asked for."""
    answered: str
    """The model that the endpoint says answered; empty when it says nothing."""
    judgment: Judgment
    usage: Usage
    retries: Annotated[int, Field(ge=0)]

    @property
    def judge(self) -> str:
        """Who judged: the judge that was asked, unless another name answered.

        Endpoints add versions and dates to names, and leave publishers out: an answered name is the asked one
        when its last path part begins with the asked one's, whatever the case of its letters.
        """
        asked, answered = (name.rpartition("/")[2].lower() for name in (self.asked, self.answered))
        return self.asked if not self.answered or answered.startswith(asked) else self.answered


class ItemGrading(Record):
    """Result of grading one run (`grading/result.json` of a suite run)."""

    format_version: Literal[1] = 1
    attempt_id: Identifier
    cell: Cell
    agent_kind: AgentKind
    manifest_sha256: Sha256
    instance_sha256: Sha256
    """The sealed instance that it was graded by."""
    submission_tree_sha256: Sha256
    result: RunResult
    judgments: tuple[JudgmentRecord, ...]
    """Empty for items that no judge grades and for runs that failed."""
    program: Grading | None
    """The grader container's verdicts on hidden tests; null where no program was handed in."""
    retries: Annotated[int, Field(ge=0)]
    """Of the run and its judgments together."""
    tokens_estimated: bool
