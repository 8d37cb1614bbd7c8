"""A packet as plain text: for people who do not want the page, and for a model that judges."""

from __future__ import annotations

from collections.abc import Iterator

from esac_ag.manifest.findings import shown_text
from esac_ag.plural import plural
from esac_ag.study.diff import DiffFile, DiffLine, LineKind
from esac_ag.study.packets import CommandShown, Opinion, Packet, TaskContext
from esac_ag.study.scales import ANCHORS, SCALES

_MARKS = {LineKind.CONTEXT: " ", LineKind.ADDED: "+", LineKind.REMOVED: "-"}


def sections_of(packet: Packet) -> tuple[tuple[str, str], ...]:
    """Titles and texts of a packet; invisible characters are shown as escapes."""
    found = [
        ("task", _task(packet.task)),
        *((f"document {shown_text(one.path)}", _lines(one.text)) for one in packet.task.documents),
        ("diff, with the links of its lines", "\n".join(_diff(packet.diff)) or "(nothing was changed)"),
        ("commands that were executed", "\n".join(_commands(packet.commands)) or "(none)"),
        ("claims of the agent", "\n".join(f"{c.id}: {_lines(c.text)}" for c in packet.claims) or "(none)"),
    ]
    if packet.checks is not None:
        rows = [f"{one.id}: {one.verdict} ({one.kind}, {one.dimension})" for one in packet.checks]
        found.append(("hidden checks", "\n".join(rows) or "(none)"))
    found += [(f"opinion of reviewer {one.number}", _opinion(one)) for one in packet.opinions]
    return tuple(found)


def packet_text(packet: Packet) -> str:
    """The whole packet, with the scales that it is judged by."""
    parts = [f"Packet {packet.label}", f"Masked: {plural(packet.masked, 'piece')} of text.", scales_text()]
    parts += [f"== {title} ==\n\n{text}" for title, text in sections_of(packet)]
    return "\n\n".join(parts) + "\n"


def scales_text() -> str:
    """The five scales and what 0 to 4 mean."""
    rows = [f"{s.dimension.value} ({s.weight_percent} %): {s.title}. {s.question}" for s in SCALES]
    return "\n".join([*rows, *(f"  {score} = {anchor}" for score, anchor in enumerate(ANCHORS))])


def _task(task: TaskContext) -> str:
    return "\n".join(
        [
            f"{task.task_id}: {_lines(task.title)}",
            f"public tests: {_lines(task.public_command) or 'none'}",
            f"failed before: {_lines(task.expected_failure) or 'none'}",
            "",
            _lines(task.request),
        ]
    )


def _diff(files: tuple[DiffFile, ...]) -> Iterator[str]:
    for file in files:
        yield f"file {shown_text(file.path)}"
        yield from (f"  {shown_text(note)}" for note in file.notes)
        for hunk in file.hunks:
            yield "  ..."
            yield from (
                f"{_place(line):>7} {_MARKS[line.kind]}{shown_text(line.text)}" for line in hunk.lines
            )


def _place(line: DiffLine) -> str:
    """The part of a link after the path."""
    return f":{line.new}" if line.new is not None else f":-{line.old}"


def _commands(commands: tuple[CommandShown, ...]) -> Iterator[str]:
    for one in commands:
        code = "exit code unknown" if one.exit_code is None else f"exit code {one.exit_code}"
        yield f"{one.id}: {_lines(one.command)}"
        yield f"  {code}{', stopped by a time limit' if one.timed_out else ''}"
        if one.tests is not None:
            passed = "unknown" if one.tests.passed is None else one.tests.passed
            yield f"  tests: {passed} passed, {len(one.tests.failed)} failed"
            yield from (f"    failed: {_lines(name)}" for name in one.tests.failed)
        if one.output:
            yield "  output: " + _lines(one.output).replace("\n", "\n    ")


def _opinion(opinion: Opinion) -> str:
    scores = ", ".join(f"{dimension.value} {score}" for dimension, score in opinion.scores.items())
    rows = [f"scores: {scores}; total {opinion.total:g}", *opinion.deductions]
    rows += [f"critical failure {one}" for one in opinion.critical] or ["critical failures: none"]
    rows += [f"uncertainty: {opinion.uncertainty}", opinion.rationale]
    return "\n".join(map(_lines, rows))


def _lines(text: str) -> str:
    """Text of several lines whose invisible characters are escaped."""
    return "\n".join(map(shown_text, text.split("\n")))
