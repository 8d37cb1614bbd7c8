"""The judgments of one response: each is kept as soon as it is there, and none is ever made again.

A judgment that arrived is a file of the attempt whose digest is in the ledger before the next one is asked
for. A grading that was cut off or failed afterwards goes on with it, so that nobody can roll a judgment
again by stopping. Every try has a judge's log of its own; none is written over.
"""

from __future__ import annotations

from dataclasses import dataclass

from esac_ag.agents.judge_client import Judge
from esac_ag.artifacts import AttemptFolder, file_digest
from esac_ag.artifacts.redaction import Redactor
from esac_ag.clock import Deadline
from esac_ag.conduct.context import Stop
from esac_ag.conduct.work import Kept
from esac_ag.errors import HarnessError, SubstitutionRefused
from esac_ag.rooms.records import read_record
from esac_ag.sandbox.contract import OutputSink
from esac_ag.suite.contract import Instance, Item, Trace
from esac_ag.suite.records import JudgmentRecord, judgment_file
from esac_ag.suite.replication import JUDGMENTS, model_failed

JUDGE_LOG = "grading/judge.log"
JUDGE_LOG_BYTES = 8_000_000
JUDGE_TIMEOUT_S = 1800.0
"""Of one judgment, its retries included."""


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A run whose response is to be judged, and where its judgments go."""

    item: Item
    instance: Instance
    trace: Trace
    """As it was archived: without secrets, so that no request carries one."""
    folder: AttemptFolder
    kept: Kept
    redactor: Redactor
    stop: Stop

    def judgments(self, judge: Judge | None) -> tuple[JudgmentRecord, ...]:
        """Two judgments of a response; a run that failed needs none (amendment 001 §5, §8).

        Raises:
            SubstitutionRefused: a kept judgment is not the one that the ledger names.
            ServiceFailure: the judge gave none; those that it gave before are kept.
        """
        if not self.item.rubric or model_failed(self.trace.end):
            return ()
        if judge is None:
            raise HarnessError("A judged item ran without a judge in its plan.", where=self.item.id)
        names = [judgment_file(number) for number in range(1, JUDGMENTS + 1)]
        done = {name: self._read(name) for name in names if name in self.kept.digests}
        missing = [name for name in names if name not in done]
        if missing:
            log_name = self.folder.free_name(JUDGE_LOG)
            with self.folder.stream(log_name, self.redactor, limit_bytes=JUDGE_LOG_BYTES) as log:
                for name in missing:
                    done[name] = self._ask(judge, name, log)
        return tuple(done[name] for name in names)

    def _read(self, name: str) -> JudgmentRecord:
        path, expected = self.folder.path / name, self.kept.digests[name]
        found = file_digest(path) if path.is_file() else "no such file"
        if found != expected:
            raise SubstitutionRefused(
                "a judgment is not the one that the ledger names",
                where=str(path),
                expected=expected,
                found=found,
                remedy="restore the run's folder from a copy; a judgment is never made again",
            )
        return read_record(path, JudgmentRecord)

    def _ask(self, judge: Judge, name: str, log: OutputSink) -> JudgmentRecord:
        judged = judge.judge(
            self.item,
            self.instance,
            self.trace,
            deadline=Deadline.after_s(JUDGE_TIMEOUT_S),
            cancelled=lambda: self.stop.wished,
            log=log,
        )
        record = JudgmentRecord(
            asked=judge.at.model,
            answered=judged.model,
            judgment=judged.judgment,
            usage=judged.usage,
            retries=judged.retries,
        )
        self.kept.keep(name, self.folder.write_record(name, record, self.redactor))
        # Read again: what counts is what was written, whichever session goes on with it.
        return read_record(self.folder.path / name, JudgmentRecord)
