"""The scripted agent: replays a play drawn by seed. No model acts, and every output says so."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import assert_never

from esac_ag import clock
from esac_ag.agents.contract import AgentEnd, ArmBundle, Assignment, Attendance, Commission, Equipment
from esac_ag.agents.instructions import equipment, placement
from esac_ag.agents.loaded import loaded_instructions
from esac_ag.agents.recorder import Recorder
from esac_ag.agents.script_book import (
    Action,
    ApplyPatch,
    Delete,
    Fail,
    NoOp,
    Run,
    Say,
    ScriptBook,
    Sleep,
    WriteFile,
)
from esac_ag.agents.shell import CHUNK_BYTES, Shell, ShellResult
from esac_ag.artifacts.redaction import Redactor
from esac_ag.attempt import Costs, LimitKind, Outcome
from esac_ag.clock import Seeds
from esac_ag.sandbox.contract import Sandbox, Termination
from esac_ag.transcript import EntryKind

LABEL = "scripted replay (no model)"
PATCH_PLACE = "/tmp/esac-ag-play.patch"  # noqa: S108  (inside the container)

# $1 is the patch's place, $2 its text as base64, or empty when the file was written before.
PATCHER = """\
if [ -n "$2" ]; then printf %s "$2" | base64 -d > "$1" || exit; fi
git apply -p1 --whitespace=nowarn "$1"
code=$?
rm -f -- "$1"
exit "$code"
"""


@dataclass(frozen=True, slots=True)
class _Stop:
    """Why a play ends before its last action."""

    outcome: Outcome
    reason: str
    limit: LimitKind | None = None
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class ScriptedAgent:
    """An `Agent` of kind `scripted`."""

    book: ScriptBook

    @property
    def label(self) -> str:
        """Says that no model acts."""
        return LABEL

    def secrets(self) -> Sequence[str]:
        """None."""
        return ()

    def equip(self, bundle: ArmBundle | None) -> Equipment:
        """The bundle's files in HOME, where nothing reads them: the bytes enter as for any agent."""
        return equipment(bundle)

    def attend(self, commission: Commission) -> AbstractContextManager[Attendance]:
        """Nothing is needed on the host."""
        return nullcontext(Attendance(self.equip(commission.bundle), self.act))

    def act(self, sandbox: Sandbox, assignment: Assignment) -> AgentEnd:
        """Replay the play that the cell draws.

        Raises:
            InputRefused: the book has no plays for the task.
            SandboxLost: the container or the engine went away.
        """
        started_s = clock.monotonic_s()
        cell = assignment.cell
        script = self.book.script_for(cell.task)
        name = drawn_play(
            assignment.seeds, script.weights_for(cell.arm), cell.task, cell.arm, cell.repetition
        )
        recorder = Recorder(assignment, Redactor())
        recorder.notice(f"{LABEL}: {name}")
        player = _Player(
            Shell(sandbox, recorder, assignment.deadline, assignment.limits.output_bytes),
            recorder,
            assignment,
        )
        stop = player.play(script.plays[name])
        return AgentEnd(
            outcome=stop.outcome if stop else Outcome.COMPLETED,
            reason=f"{LABEL}: {name}" + (f": {stop.reason}" if stop else ""),
            limit=stop.limit if stop else None,
            exit_code=stop.exit_code if stop else None,
            costs=Costs(latency_s=clock.monotonic_s() - started_s, tool_calls=player.tool_calls),
            output_truncated=player.output_truncated,
            loaded=loaded_instructions(
                cell.arm,
                assignment.bundle.files if assignment.bundle else None,
                placed=placement(assignment.bundle) if assignment.bundle else {},
                present={},
                others={},
                requests=None,
            ),
        )


def drawn_play(seeds: Seeds, weights: dict[str, float], task: str, arm: str, repetition: int) -> str:
    """The play of a cell; the order of the book's keys does not matter."""
    names = sorted(weights)
    rng = seeds.stream("play", task, arm, repetition)
    return rng.choices(names, [weights[name] for name in names])[0]


class _Player:
    """Carries out the actions of one play."""

    def __init__(self, shell: Shell, recorder: Recorder, assignment: Assignment) -> None:
        self._shell = shell
        self._recorder = recorder
        self._assignment = assignment
        self.tool_calls = 0
        self.output_truncated = False

    def play(self, actions: Sequence[Action]) -> _Stop | None:
        """Carry out all actions; tells why it stopped before the last, if it did."""
        for action in actions:
            if stop := self._before(action) or self._carry_out(action):
                self._recorder.notice(stop.reason)
                return stop
        return None

    def _before(self, action: Action) -> _Stop | None:
        if self._assignment.cancelled():
            return _Stop(Outcome.CANCELLED, "the study was stopped")
        if self._assignment.deadline.has_passed():
            return _out_of_time()
        if isinstance(action, Say | Fail | NoOp):
            return None
        limit = self._assignment.limits.tool_calls
        if limit is not None and self.tool_calls >= limit:
            return _Stop(Outcome.LIMIT, "the tool calls were used up", LimitKind.TOOL_CALLS)
        return None

    def _carry_out(self, action: Action) -> _Stop | None:
        match action:
            case NoOp():
                return None
            case Say(text=text):
                self._recorder.entry(EntryKind.MODEL, text)
                self._recorder.log({"say": text})
                return None
            case Fail(exit_code=exit_code):
                return _Stop(Outcome.AGENT_ERROR, f"failed with exit code {exit_code}", exit_code=exit_code)
            case Run() | Sleep() | Delete() | WriteFile() | ApplyPatch():
                return self._tool(action)
            case _:
                assert_never(action)

    def _tool(self, action: Run | Sleep | Delete | WriteFile | ApplyPatch) -> _Stop | None:
        self.tool_calls += 1
        call_id = f"action-{self.tool_calls}"
        self._recorder.entry(
            EntryKind.TOOL_CALL, call_id=call_id, tool=action.do, arguments=action.model_dump(mode="json")
        )
        result = self._in_shell(action)
        self.output_truncated = self.output_truncated or result.truncated
        self._recorder.entry(
            EntryKind.TOOL_RESULT,
            result.output.decode("utf-8", "replace"),
            call_id=call_id,
            tool=action.do,
            exit_code=result.exit_code,
            truncated=result.truncated,
        )
        return self._after(action, result)

    def _in_shell(self, action: Run | Sleep | Delete | WriteFile | ApplyPatch) -> ShellResult:
        match action:
            case Run(argv=argv):
                return self._shell.run(argv, tool=action.do)
            case Sleep(duration_s=duration_s):
                return self._shell.run(["sleep", f"{duration_s:.3f}"], tool=action.do)
            case Delete(path=path):
                return self._shell.run(["rm", "-r", "--", path], tool=action.do)
            case WriteFile(path=path, text=text):
                return self._shell.write_file(path, text.encode(), tool=action.do)
            case ApplyPatch(patch=patch):
                return self._apply((patch or "").encode(), action.do)
            case _:
                assert_never(action)

    def _apply(self, patch: bytes, tool: str) -> ShellResult:
        """One command for patches that fit its arguments: a command costs a twentieth of a second."""
        encoded = base64.b64encode(patch).decode("ascii")
        if len(patch) > CHUNK_BYTES:
            written = self._shell.write_file(PATCH_PLACE, patch, tool=tool)
            if written.exit_code != 0:
                return written
            encoded = ""
        return self._shell.run(["bash", "-c", PATCHER, "esac-ag", PATCH_PLACE, encoded], tool=tool)

    def _after(self, action: Action, result: ShellResult) -> _Stop | None:
        if stop := _stop_of_command(result):
            return stop
        if self._shell.output_used_up:
            return _Stop(Outcome.LIMIT, "the output used up its budget", LimitKind.OUTPUT)
        if result.exit_code != 0 and not isinstance(action, Run):
            return _Stop(
                Outcome.AGENT_ERROR,
                f"{action.do} did not work (exit code {result.exit_code})",
                exit_code=result.exit_code,
            )
        return None


def _stop_of_command(result: ShellResult) -> _Stop | None:
    """A script cannot react, so whatever ended its command from outside ends the play."""
    match result.termination:
        case Termination.EXITED:
            return None
        case Termination.TIMED_OUT:
            return _out_of_time()
        case Termination.OUT_OF_MEMORY:
            return _Stop(Outcome.LIMIT, "the memory was used up", LimitKind.MEMORY, result.exit_code)
        case Termination.CONTAINER_ENDED:
            return _Stop(Outcome.AGENT_ERROR, "a command ended the container")
        case _:
            assert_never(result.termination)


def _out_of_time() -> _Stop:
    return _Stop(Outcome.LIMIT, "the time was used up", LimitKind.WALL_CLOCK)
