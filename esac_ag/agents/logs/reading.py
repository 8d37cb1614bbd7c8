"""What all logs have in common: lines, caps, times, and entries of the normal transcript.

A log is written by a process that the model under test may disturb. Whatever stands in it, reading takes time
linear in its size and ends without an exception; what is not understood is told in a notice.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from esac_ag.agents.logs.ending import LogEnding, concluded
from esac_ag.agents.logs.values import MOST_TEXT_CHARS, Object
from esac_ag.attempt import Usage
from esac_ag.failures import Failure
from esac_ag.plural import plural
from esac_ag.report.escaping import visible
from esac_ag.sandbox.contract import Termination
from esac_ag.transcript import Entry, EntryKind

MOST_LOG_BYTES = 256 * 1024 * 1024
MOST_LINE_BYTES = 8 * 1024 * 1024
MOST_ODDITIES = 100
"""Notices of things that were not understood; more are counted."""
SHOWN_CHARS = 200
LONGEST_RUN_S = 1e7
"""A time further from the start than any run lasts is none."""


class LogReader(ABC):
    """Reads one log of one agent, once: first `entries`, then `ending`."""

    def __init__(self, *, started_at_s: float | None = None) -> None:
        """`started_at_s`: seconds since 1970 at the attempt's start; by default the log's first time."""
        self._started_at_s = started_at_s
        self._oddities = 0
        self.reported: Usage | None = None
        """The agent's own total; a cross-check of what the wire told, and null where it tells none."""
        self.claim: LogEnding | None = None
        """The end that the log tells."""
        self.pending: Failure | None = None
        """A failure of the endpoint that nothing of the model followed."""
        self.model_acted = False

    @abstractmethod
    def events(self, log: bytes) -> Iterator[Entry]:
        """The log's own entries, in order."""

    def entries(self, log: bytes) -> Iterator[Entry]:
        """The log as entries of the normal transcript; nothing is redacted here."""
        if len(log) > MOST_LOG_BYTES:
            yield self.entry(
                EntryKind.NOTICE,
                f"the log holds {len(log)} bytes; what is beyond {MOST_LOG_BYTES} is not read",
            )
            log = log[:MOST_LOG_BYTES]
        yield from self.events(log)
        if self._oddities > MOST_ODDITIES:
            more = self._oddities - MOST_ODDITIES
            yield self.entry(EntryKind.NOTICE, f"not understood: {plural(more, 'more event')} of the log")

    def ending(self, termination: Termination, exit_code: int | None) -> LogEnding:
        """How the agent ended, once all entries were read."""
        return concluded(
            self.claim,
            pending=self.pending,
            model_acted=self.model_acted,
            termination=termination,
            exit_code=exit_code,
        )

    def entry(
        self,
        kind: EntryKind,
        text: str = "",
        *,
        moment_s: float | None = None,
        truncated: bool = False,
        reasoning: str = "",
        **fields: Any,  # noqa: ANN401  (an Entry's own)
    ) -> Entry:
        """An entry with its text capped; `moment_s` is seconds since 1970."""
        return Entry(
            kind=kind,
            at_s=self._since_start_s(moment_s),
            text=text[:MOST_TEXT_CHARS],
            reasoning=reasoning[:MOST_TEXT_CHARS],
            truncated=truncated or len(text) > MOST_TEXT_CHARS or len(reasoning) > MOST_TEXT_CHARS,
            **fields,
        )

    def of_model(self, text: str, reasoning: str, **fields: Any) -> Entry:  # noqa: ANN401  (an Entry's own)
        """An entry of the model, which shows that the endpoint answers."""
        self.heard()
        return self.entry(EntryKind.MODEL, text, reasoning=reasoning, **fields)

    def heard(self) -> None:
        """The model was heard: what failed before was overcome."""
        self.model_acted = True
        self.pending = None

    def odd(self, what: str, shown: str = "") -> Iterator[Entry]:
        """A notice of something that was not understood, while there are few."""
        self._oddities += 1
        if self._oddities <= MOST_ODDITIES:
            tail = f": {visible(shown[:SHOWN_CHARS])}" if shown else ""
            yield self.entry(EntryKind.NOTICE, f"{what}{tail}")

    def _since_start_s(self, moment_s: float | None) -> float | None:
        if moment_s is None:
            return None
        if self._started_at_s is None:
            self._started_at_s = moment_s
        since_s = moment_s - self._started_at_s
        return round(max(0.0, since_s), 3) if since_s < LONGEST_RUN_S else None


class JsonLinesReader(LogReader):
    """A log with one JSON object a line."""

    @abstractmethod
    def event(self, event: Object) -> Iterator[Entry]:
        """The entries that one event adds."""

    def at_end(self) -> Iterator[Entry]:
        """What was held back until the end."""
        yield from ()

    def events(self, log: bytes) -> Iterator[Entry]:
        """The entries of every line."""
        begin = 0
        while begin < len(log):
            end = log.find(b"\n", begin)
            torn = end < 0
            end = len(log) if torn else end
            yield from self._line(log, begin, end, torn=torn)
            begin = end + 1
        yield from self.at_end()

    def _line(self, log: bytes, begin: int, end: int, *, torn: bool) -> Iterator[Entry]:
        if end - begin > MOST_LINE_BYTES:
            yield from self.odd(f"a line of {end - begin} bytes was not read")
            return
        line = log[begin:end].strip()
        if not line:
            return
        event = parsed(line) if line.startswith(b"{") else None  # a parser's refusal is slow
        if isinstance(event, dict):
            yield from self.event(event)
            return
        what = "the log ends in the middle of a line" if torn else "a line is no event"
        yield from self.odd(what, line[: 4 * SHOWN_CHARS].decode("utf-8", "replace"))


def parsed(data: bytes) -> object:
    """The JSON value that bytes hold; null if they hold none."""
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value
