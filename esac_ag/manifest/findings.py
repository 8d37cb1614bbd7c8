"""Findings: what a validator says of a file, each with the place, the fault and the remedy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from esac_ag.errors import InputRefused
from esac_ag.record import Record

PathPart = str | int
MAX_SHOWN = 160


class Severity(StrEnum):
    """Whether a finding refuses the file."""

    ERROR = "error"
    WARNING = "warning"


class Finding(Record):
    """One fault of one file."""

    severity: Severity
    file: str
    """Path as it was given, or relative to the file that names it; unprintable characters escaped."""
    pointer: str
    """RFC 6901 JSON pointer into the file; empty for the whole file."""
    code: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    """Stable name of the rule."""
    what: str
    expected: str = ""
    found: str = ""
    remedy: str = ""

    def line(self) -> str:
        """The finding in one line, for logs and error texts."""
        place = f"{self.file}#{self.pointer}" if self.pointer else self.file
        details = "; ".join(
            f"{name} {value}" for name, value in (("expected", self.expected), ("found", self.found)) if value
        )
        return f"{place}: {self.what}" + (f" ({details})" if details else "")


class ValidationReport(Record):
    """Everything that was found in one pass over a manifest and the files that it names."""

    manifest: str
    format_version: int | None
    """Null when the file gives none that is known."""
    strict: bool
    valid: bool
    """Whether no finding is an error."""
    errors: Annotated[int, Field(ge=0)]
    warnings: Annotated[int, Field(ge=0)]
    findings: tuple[Finding, ...]


def report_of(
    findings: Iterable[Finding], *, manifest: str, format_version: int | None, strict: bool
) -> ValidationReport:
    """The report over findings, in their deterministic order."""
    ordered = in_order(findings)
    errors = sum(finding.severity is Severity.ERROR for finding in ordered)
    return ValidationReport(
        manifest=shown_text(manifest),
        format_version=format_version,
        strict=strict,
        valid=errors == 0,
        errors=errors,
        warnings=len(ordered) - errors,
        findings=ordered,
    )


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Errors first, then by file, pointer (numbers as numbers) and rule; duplicates once."""
    return tuple(sorted(dict.fromkeys(findings), key=_order))


def _order(finding: Finding) -> tuple[bool, str, list[tuple[int, int, str]], str, str, str]:
    parts = [(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in finding.pointer.split("/")[1:]]
    return (
        finding.severity is not Severity.ERROR,
        finding.file,
        parts,
        finding.code,
        finding.what,
        finding.found,
    )


def pointer(*parts: PathPart) -> str:
    """The RFC 6901 JSON pointer of a path; lone surrogates and control characters are escaped."""
    return "".join("/" + shown_text(str(part)).replace("~", "~0").replace("/", "~1") for part in parts)


def shown_text(text: str) -> str:
    """Text that is safe in a terminal, in UTF-8 and in a log: everything unprintable is escaped."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )


def shown(value: object) -> str:
    """A JSON value in a few words, for `found`."""
    match value:
        case None:
            text = "null"
        case bool():
            text = "true" if value else "false"
        case str():
            text = '"' + shown_text(value[: MAX_SHOWN + 1]) + '"'
        case int() if value.bit_length() > 256:  # noqa: PLR2004  (longer ones are not worth their digits)
            text = "a very large integer"
        case dict():
            text = f"an object with {len(value)} keys" if value else "an empty object"
        case list():
            text = f"a list of {len(value)}" if value else "an empty list"
        case _:
            text = shown_text(str(value))
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def shown_at(mapping: Mapping[str, object], key: str) -> str:
    """A value in a few words, or that there is none."""
    return shown(mapping[key]) if key in mapping else "nothing"


def refused(what: str, findings: Sequence[Finding], *, where: str, remedy: str = "") -> InputRefused:
    """The error to raise for a file with findings; its text lists them all."""
    lines = "\n    ".join(finding.line() for finding in in_order(findings))
    first = next((finding.remedy for finding in in_order(findings) if finding.remedy), "")
    return InputRefused(what, where=shown_text(where), found=lines, remedy=remedy or first)
