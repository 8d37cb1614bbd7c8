"""The log of a command-line agent: entries of the normal transcript, and the end that it tells of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import assert_never

from esac_ag.agents.logs import LogFormat, log_reader
from esac_ag.agents.logs.ending import LogEnding, completed, crashed, limited, unknown
from esac_ag.agents.presets.command_log import read_log
from esac_ag.agents.presets.contract import ExitClass, Preset
from esac_ag.attempt import LimitKind
from esac_ag.manifest.agent_file import AgentFile, LogEvent
from esac_ag.sandbox.contract import CommandResult, Termination
from esac_ag.transcript import Entry, EntryKind

MOST_ENTRIES = 50_000
"""Of one log."""


@dataclass(frozen=True, slots=True)
class ReadLog:
    """What a log told."""

    entries: tuple[Entry, ...]
    ending: LogEnding
    tool_calls: int | None
    """None where the log is empty or was cut off, or is of a form that tells no calls."""


def read(
    file: AgentFile,
    preset: Preset,
    log: bytes,
    ended: CommandResult,
    *,
    started_at: str,
    is_cut: bool = False,
) -> ReadLog:
    """Read a log, whatever stands in it.

    Args:
        file: whose log it is.
        preset: how the agent was launched.
        log: as it was captured, which may end anywhere.
        ended: how the agent's process ended.
        started_at: ISO time at which the attempt started.
        is_cut: whether the program wrote more than this.
    """
    if file.launch is None:
        start_s = datetime.fromisoformat(started_at).timestamp()
        reader = log_reader(
            LogFormat(file.name if file.preset is None else file.preset), started_at_s=start_s
        )
        events = reader.entries(log)
        entries = _first(events)
        for _ in events:  # how the agent ended stands at the end of its log
            pass
        ending = reader.ending(ended.termination, ended.exit_code)
        return ReadLog(entries, ending, _tool_calls(entries, is_cut=is_cut))
    entries = _first(read_log(file.launch.log, log))
    tells_calls = any(rule.event is LogEvent.TOOL_CALL for rule in file.launch.log.rules)
    return ReadLog(
        entries, _ending_by_exit(preset, ended), _tool_calls(entries, is_cut=is_cut) if tells_calls else None
    )


def _first(entries: Iterator[Entry]) -> tuple[Entry, ...]:
    """As many entries as are kept: ten megabytes of empty words would become gigabytes of them."""
    kept = tuple(islice(entries, MOST_ENTRIES))
    if next(entries, None) is None:
        return kept
    return (*kept, Entry(kind=EntryKind.NOTICE, text=f"the log goes on; {MOST_ENTRIES} entries are kept"))


def _tool_calls(entries: tuple[Entry, ...], *, is_cut: bool) -> int | None:
    if not entries or is_cut or len(entries) > MOST_ENTRIES:
        return None
    return sum(entry.kind is EntryKind.TOOL_CALL for entry in entries)


def _ending_by_exit(preset: Preset, ended: CommandResult) -> LogEnding:
    """A program without a preset says how it ended by its exit code alone."""
    match ended.termination:
        case Termination.TIMED_OUT:
            return limited(LimitKind.WALL_CLOCK, "The time was used up")
        case Termination.CONTAINER_ENDED:
            return crashed("The agent's container ended")
        case Termination.OUT_OF_MEMORY if ended.exit_code != 0:
            return limited(LimitKind.MEMORY, "The memory was used up")
        case Termination.OUT_OF_MEMORY | Termination.EXITED:
            return _ending_by_class(preset, ended.exit_code)
        case _:
            assert_never(ended.termination)


def _ending_by_class(preset: Preset, code: int | None) -> LogEnding:
    if code is None:
        return unknown("The agent's exit code is not known")
    class_ = preset.exit_class(code)
    match class_:
        case ExitClass.ENDED:
            return completed()
        case ExitClass.FAILED:
            return crashed(f"The agent says that it did not finish, exit code {code}")
        case ExitClass.KILLED:
            return crashed(f"The agent was killed, exit code {code}")
        case ExitClass.MISUSED | ExitClass.NOT_STARTED | ExitClass.UNKNOWN:
            return unknown(f"The agent ended with exit code {code} ({class_.value})")
        case _:
            assert_never(class_)
