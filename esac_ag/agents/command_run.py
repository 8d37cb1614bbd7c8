"""One attempt of a command-line agent: relay, program, gateway's record, log."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from esac_ag import clock
from esac_ag.agents.command_ending import weighed
from esac_ag.agents.command_log import ReadLog, read
from esac_ag.agents.contract import AGENT_HOME, AGENT_WORKSPACE, AgentEnd, Assignment
from esac_ag.agents.endings import Ending
from esac_ag.agents.loaded import LoadedInstructions, known_texts, loaded_instructions
from esac_ag.agents.presence import present_files
from esac_ag.agents.presets.contract import Preparation, Preset
from esac_ag.agents.recorder import Recorder
from esac_ag.agents.wire_requests import seen_requests
from esac_ag.artifacts.redaction import Redactor
from esac_ag.attempt import Costs, Outcome
from esac_ag.gateway.bodies import pack_bodies
from esac_ag.gateway.calls import LaneSummary
from esac_ag.gateway.server import Lane
from esac_ag.manifest.agent_file import AgentFile
from esac_ag.sandbox.contract import CommandResult, Sandbox, TreeLimits
from esac_ag.sandbox.model_way import ModelWay
from esac_ag.transcript import Entry, EntryKind

MIB = 1024 * 1024


@dataclass(slots=True)
class CommandRun:
    """A prepared program with its way to the model, for one container."""

    label: str
    file: AgentFile
    preset: Preset
    prepared: Preparation
    way: ModelWay
    lane: Lane
    records: Path
    """Where the gateway writes down the calls."""
    _packed: bool = field(default=False, init=False)

    def act(self, sandbox: Sandbox, assignment: Assignment) -> AgentEnd:
        """Run the program on the request until it ends, by itself or by the deadline.

        Raises:
            InfrastructureFailure: the gateway cannot be reached from the container.
            SandboxLost: the container or the engine went away.
        """
        started_s = clock.monotonic_s()
        started_at = clock.now()
        recorder = Recorder(assignment, Redactor((self.lane.token,)))
        recorder.notice(self.label)
        bundle = assignment.bundle
        present = present_files(sandbox, bundle.files, self.prepared.placed) if bundle else {}
        if not all(present.values()):
            ending = Ending(Outcome.INFRA, "The arm's files did not arrive in the container")
            return self._end(ending, self.lane.close(), assignment, started_s, present)
        ended = self._run(sandbox, assignment, recorder)
        # Before the container goes: what is under way is broken off by us, not by the agent.
        summary = self.lane.close()
        log, is_cut = self._log(sandbox, assignment, ended)
        told = read(self.file, self.preset, log, ended, started_at=started_at, is_cut=is_cut)
        _write_transcript(recorder, assignment, told)
        ending = weighed(told.ending, summary, log_is_cut=is_cut)
        recorder.notice(ending.reason)
        made = self._end(ending, summary, assignment, started_s, present)
        costs = made.costs.model_copy(update={"tool_calls": told.tool_calls})
        return made.model_copy(
            update={"costs": costs, "exit_code": ended.exit_code, "output_truncated": ended.truncated}
        )

    def close(self) -> None:
        """Take no more calls, and put their bodies into one file. Idempotent."""
        self.lane.close()
        if not self._packed:
            self._packed = True
            pack_bodies(self.records)

    def _run(self, sandbox: Sandbox, assignment: Assignment, recorder: Recorder) -> CommandResult:
        environment = tuple(self.prepared.environment.items())
        with self.way.relayed(sandbox, assignment.deadline):
            ended = sandbox.execute(
                self.prepared.argv,
                deadline=assignment.deadline,
                output_bytes=assignment.limits.output_bytes,
                working_dir=AGENT_WORKSPACE,
                environment=environment,
                sink=assignment.log,
                error_sink=assignment.log,
            )
        recorder.command(
            {
                "tool": self.file.name,
                "argv": list(self.prepared.argv),
                "exit_code": ended.exit_code,
                "duration_s": round(ended.duration_s, 3),
                "termination": ended.termination.value,
                "truncated": ended.truncated,
            }
        )
        return ended

    def _log(self, sandbox: Sandbox, assignment: Assignment, ended: CommandResult) -> tuple[bytes, bool]:
        """Standard output, or the file that the program writes, and whether there was more of it."""
        if self.prepared.log is None:
            return ended.output, ended.truncated
        limits = assignment.limits
        caps = TreeLimits(max_members=limits.files + 64, max_bytes=limits.workspace_mib * MIB)
        name = self.prepared.log.removeprefix(f"{AGENT_HOME}/").encode()
        home = sandbox.get(AGENT_HOME, caps)
        file = home.tree.files().get(name)
        if file is None:
            # None was written, or what fills HOME kept it from being read.
            return b"", home.capped
        assignment.log(file.data[: limits.output_bytes])
        return file.data, False

    def _end(
        self,
        ending: Ending,
        summary: LaneSummary,
        assignment: Assignment,
        started_s: float,
        present: dict[bytes, bool],
    ) -> AgentEnd:
        usage = summary.usage
        return AgentEnd(
            outcome=ending.outcome,
            reason=ending.reason,
            limit=ending.limit,
            is_lasting=ending.is_lasting,
            costs=Costs(
                latency_s=clock.monotonic_s() - started_s,
                turns=usage.model_calls,
                usage=usage,
                cost=summary.cost,
            ),
            loaded=self._loaded(assignment, summary, present),
        )

    def _loaded(
        self, assignment: Assignment, summary: LaneSummary, present: dict[bytes, bool]
    ) -> LoadedInstructions:
        arm = assignment.cell.arm
        return loaded_instructions(
            arm,
            assignment.bundle.files if assignment.bundle else None,
            placed=self.prepared.placed,
            present=present,
            others={other.arm_id: other.files for other in assignment.bundles if other.arm_id != arm},
            requests=seen_requests(self.records, summary.calls),
            known=known_texts(assignment.request, assignment.snapshot),
            agent=self.file.preset or self.file.name,
        )


def _write_transcript(recorder: Recorder, assignment: Assignment, told: ReadLog) -> None:
    """Write the log's entries, the request first where the log leaves it out."""
    if not any(entry.kind is EntryKind.USER for entry in told.entries):
        recorder.keep(Entry(kind=EntryKind.USER, text=assignment.request))
    for entry in told.entries:
        recorder.keep(entry)
