"""One place through which an agent writes: transcript, commands and log, all redacted."""

from __future__ import annotations

import json
from typing import Any

from pydantic import JsonValue

from esac_ag.agents.contract import Assignment
from esac_ag.artifacts.redaction import Redactor
from esac_ag.report.escaping import visible
from esac_ag.transcript import Entry, EntryKind


class Recorder:
    """Writes an attempt's transcript, `commands.jsonl` and `agent.log`."""

    def __init__(self, assignment: Assignment, redactor: Redactor) -> None:
        self._assignment = assignment
        self._redactor = redactor

    def entry(self, kind: EntryKind, text: str = "", **fields: Any) -> None:  # noqa: ANN401  (an Entry's own)
        """Append a line to the transcript; `fields` are those of `Entry`."""
        if arguments := fields.get("arguments"):
            fields["arguments"] = self._redactor.json(arguments)
        self._assignment.record(
            Entry(kind=kind, at_s=self._assignment.elapsed_s(), text=self._redactor.text(text), **fields)
        )

    def keep(self, entry: Entry) -> None:
        """Append an entry that was read from an agent's log."""
        arguments = entry.arguments and self._redactor.json(entry.arguments)
        clean = {"text": self._redactor.text(entry.text), "reasoning": self._redactor.text(entry.reasoning)}
        self._assignment.record(entry.model_copy(update=clean | {"arguments": arguments}))

    def notice(self, text: str) -> None:
        """Tell in transcript and log what the harness did or saw."""
        self.entry(EntryKind.NOTICE, text)
        self.log({"notice": text})

    def command(self, facts: dict[str, JsonValue]) -> None:
        """Append a line to `commands.jsonl`."""
        line: dict[str, object] = {"at_s": round(self._assignment.elapsed_s(), 3)}
        self._assignment.command(line | {key: self._redactor.json(value) for key, value in facts.items()})

    def log(self, facts: dict[str, JsonValue]) -> None:
        """Append one JSON object, a line, to `agent.log`."""
        line = json.dumps(self._redactor.json(facts), ensure_ascii=False)
        self._assignment.log(line.encode("utf-8", "replace") + b"\n")

    def output(self, data: bytes) -> None:
        """Append a command's output to `agent.log`, as text that steers no terminal."""
        text = self._redactor.text(data.decode("utf-8", "replace"))
        if not text.replace("\n", "").isprintable():
            text = "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.split("\n"))
        self._assignment.log(text.encode() if text.endswith("\n") or not text else text.encode() + b"\n")
