"""Collecting findings of one file while a validator walks through it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from esac_ag.manifest.findings import Finding, PathPart, Severity, pointer, shown_text

MAX_FINDINGS = 5_000
PLACEHOLDERS = ("replace-", "record-", "fixed-before-")
"""Fragments that mark a string which still has to be filled in (manifest version 1)."""


@dataclass(slots=True)
class Collector:
    """Findings so far; `strict` decides what is not yet ready for a scored run."""

    file: str
    strict: bool
    findings: list[Finding] = field(default_factory=list)

    def about(self, file: str) -> Collector:
        """A collector for another file that adds to the same findings."""
        return Collector(file, self.strict, self.findings)

    def error(
        self, at: Sequence[PathPart], code: str, what: str, expected: str, found: str, remedy: str
    ) -> None:
        """The file is wrong."""
        self._add(Severity.ERROR, at, code, what, expected, found, remedy)

    def warn(
        self, at: Sequence[PathPart], code: str, what: str, expected: str, found: str, remedy: str
    ) -> None:
        """The file is usable, but a reader should know."""
        self._add(Severity.WARNING, at, code, what, expected, found, remedy)

    def unready(
        self, at: Sequence[PathPart], code: str, what: str, expected: str, found: str, remedy: str
    ) -> None:
        """Not ready for a scored run: an error under `--strict`, a warning without it."""
        self._add(
            Severity.ERROR if self.strict else Severity.WARNING, at, code, what, expected, found, remedy
        )

    def _add(
        self,
        severity: Severity,
        at: Sequence[PathPart],
        code: str,
        what: str,
        expected: str,
        found: str,
        remedy: str,
    ) -> None:
        if len(self.findings) >= MAX_FINDINGS:
            self._count_dropped(severity)
            return
        self.findings.append(
            Finding(
                severity=severity,
                file=shown_text(self.file),
                pointer=pointer(*at),
                code=code,
                what=shown_text(what),
                expected=shown_text(expected),
                found=shown_text(found),
                remedy=shown_text(remedy),
            )
        )

    def _count_dropped(self, severity: Severity) -> None:
        note = Finding(
            severity=severity,
            file=shown_text(self.file),
            pointer="",
            code="too-many-findings",
            what=f"There are more findings of this kind than the {MAX_FINDINGS} that are shown.",
            remedy="Correct these first.",
        )
        if note not in self.findings[MAX_FINDINGS:]:
            self.findings.append(note)


def strings_in(value: JsonValue) -> Iterator[tuple[tuple[PathPart, ...], str]]:
    """Every string value with its path, keys left out; without recursion, whatever the depth."""
    waiting: list[tuple[tuple[PathPart, ...], JsonValue]] = [((), value)]
    while waiting:
        path, here = waiting.pop()
        match here:
            case str():
                yield path, here
            case dict():
                waiting.extend(((*path, key), child) for key, child in here.items() if _may_hold_text(child))
            case list():
                waiting.extend(((*path, n), child) for n, child in enumerate(here) if _may_hold_text(child))
            case _:
                pass


def _may_hold_text(value: JsonValue) -> bool:
    return isinstance(value, str | dict | list)


def report_placeholders(value: JsonValue, out: Collector) -> None:
    """Report every string that still holds a placeholder."""
    for path, text in strings_in(value):
        fragment = next((fragment for fragment in PLACEHOLDERS if fragment in text), None)
        if fragment is not None:
            out.unready(
                path,
                "placeholder",
                "A placeholder is left.",
                f"a value without {fragment!r}",
                f'"{text[:120]}"',
                "Write the real value.",
            )
