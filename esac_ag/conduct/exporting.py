"""Writes the attempts of a study, or of a suite run, in formats that other tools read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from esac_ag.artifacts import StudyFolder, write_atomic
from esac_ag.conduct.collect import read_study, refuse_no_study, vouched_file
from esac_ag.conduct.suite_results import read_suite
from esac_ag.errors import InputRefused, UsageError
from esac_ag.record import Record
from esac_ag.report.atif_export import trajectory_of
from esac_ag.rooms.manifest_file import plans_a_suite_run
from esac_ag.transcript import Entry

TRANSCRIPT = "transcript.jsonl"


class AtifExport(Record):
    """What an export wrote."""

    folder: str
    written: tuple[str, ...]
    """Attempts, one file each, `<attempt id>.json`."""
    left_out: dict[str, str]
    """Attempts without a file, and why."""


def export_atif(study: Path, output: Path | None = None) -> AtifExport:
    """Write each attempt that ended as an ATIF 1.8 trajectory.

    Args:
        study: the folder of a study or of a suite run.
        output: where to write; by default `atif/` in that folder.

    Raises:
        UsageError: the output would lie among the attempts' own files, or is no folder.
        InputRefused: the folder holds no study, or a transcript cannot be read.
        SubstitutionRefused: a record or a transcript is not the one that the ledger names.
        LedgerCorrupt: the ledger does not verify.
    """
    folder = StudyFolder(study)
    refuse_no_study(folder)
    target = _target(folder, output)
    records = read_suite(study) if plans_a_suite_run(folder.manifest) else read_study(study)
    written: list[str] = []
    left_out: dict[str, str] = {}
    for attempt in records.state.attempts.values():
        record = records.attempts.get(attempt.attempt_id)
        digest = attempt.artifacts.get(TRANSCRIPT)
        if record is None or digest is None:
            left_out[attempt.attempt_id] = "it has no transcript: it was cut off, or is at work"
            continue
        lines = TranscriptLines(vouched_file(folder.attempt(attempt.attempt_id).path / TRANSCRIPT, digest))
        trajectory = trajectory_of(lines, record, records.manifest, torn=lines.torn)
        if trajectory is None:
            left_out[attempt.attempt_id] = "its transcript is empty"
            continue
        data = json.dumps(trajectory.model_dump(mode="json", exclude_none=True), indent=2, ensure_ascii=False)
        write_atomic(target / f"{attempt.attempt_id}.json", data.encode() + b"\n")
        written.append(attempt.attempt_id)
    return AtifExport(folder=str(target), written=tuple(written), left_out=left_out)


def _target(folder: StudyFolder, output: Path | None) -> Path:
    """The folder to write to: never one whose files the ledger vouches for."""
    target = folder.path / "atif" if output is None else output
    attempts = (folder.path / "attempts").resolve()
    if target.exists() and not target.is_dir():
        raise UsageError("the output is no folder", where=str(target), remedy="name another one with -o")
    if target.resolve() == folder.path.resolve() or target.resolve().is_relative_to(attempts):
        raise UsageError(
            "the output lies among the study's own files",
            where=str(target),
            remedy="leave -o out to write to atif/ in the study's folder, or name a folder of its own",
        )
    return target


class TranscriptLines:
    """The entries of a transcript, read line by line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - 1))
            self.torn = size > 0 and file.read(1) != b"\n"
            """Whether the size limit cut the last line off."""

    def __iter__(self) -> Iterator[Entry]:
        with self._path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    return
                yield self._entry(number, line)

    def _entry(self, number: int, line: bytes) -> Entry:
        try:
            return Entry.model_validate_json(line)
        except ValidationError as error:
            raise InputRefused(
                "a line of a transcript cannot be read",
                where=f"{self._path}:{number}",
                expected="one entry of this format",
                found=str(error.errors()[0]["msg"]),
                remedy="read it with the version that wrote it",
            ) from error
