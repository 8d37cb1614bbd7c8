"""Files that are no manifest: a clear finding, never a traceback, and never a hang."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from esac_ag.manifest.findings import Severity
from esac_ag.rooms.reading import MANIFEST_CAP_BYTES
from esac_ag.rooms.validation import validate_manifest
from tests.builders_manifest import a_version1_study


def content(data: bytes) -> Callable[[Path], object]:
    """A file of these bytes."""
    return lambda path: path.write_bytes(data)


def sparse(path: Path) -> None:
    """A hundred megabytes that take no room."""
    with path.open("wb") as file:
        file.truncate(100_000_000)


FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a missing file": (lambda _: None, "unreadable"),
    "a folder": (lambda path: path.mkdir(), "unreadable"),
    "a named pipe": (os.mkfifo, "unreadable"),
    "a link to itself": (lambda path: path.symlink_to(path.name), "unreadable"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "unreadable"),
    "100 MB": (sparse, "unreadable"),
    "an empty file": (content(b""), "not-json"),
    "white space": (content(b" \n\t"), "not-json"),
    "prose": (content(b"format_version: 1\n"), "not-json"),
    "half a file": (content(b'{"format_version": 1, "arms": ['), "not-json"),
    "two values": (content(b"{} {}"), "not-json"),
    "a number of 5,000 digits": (content(b'{"format_version": ' + b"9" * 5000 + b"}"), "not-json"),
    "duplicate keys": (content(b'{"format_version": 1, "format_version": 1}'), "ambiguous-json"),
    "duplicate keys far inside": (content(b'{"a": [{"b": 1, "c": 2, "b": 1}]}'), "ambiguous-json"),
    "NaN": (content(b'{"format_version": NaN}'), "ambiguous-json"),
    "Infinity": (content(b'{"format_version": -Infinity}'), "ambiguous-json"),
    "a byte-order mark": (content(b"\xef\xbb\xbf{}"), "byte-order-mark"),
    "UTF-16": (content('{"format_version": 1}'.encode("utf-16")), "not-utf8"),
    "invalid UTF-8": (content(b'{"study_id": "\xff"}'), "not-utf8"),
    "noise": (content(bytes(range(256)) * 400), "not-utf8"),
    "deep nesting": (content(b"[" * 100_000), "depth"),
    "a deep object": (content(b'{"a":' * 50_000 + b"1" + b"}" * 50_000), "depth"),
    "deep nesting in version 2": (
        content(b'{"format_version": 2, "a":' + b"[" * 300 + b"]" * 300 + b"}"),
        "depth",
    ),
    "a text": (content(b'"format_version"'), "not-an-object"),
    "a list": (content(b'[{"format_version": 2}]'), "not-an-object"),
    "null": (content(b"null"), "not-an-object"),
    "an unknown version": (content(b'{"format_version": 3}'), "format-version"),
    "a version of another type": (content(b'{"format_version": [2]}'), "format-version"),
    "an infinite number in version 2": (content(b'{"format_version": 2, "a": 1e999}'), "number"),
    "an integer beyond exactness in version 2": (
        content(b'{"format_version": 2, "a": 9007199254740993}'),
        "number",
    ),
    "half a surrogate pair in version 2": (content(b'{"format_version": 2, "a": "\\ud800"}'), "surrogate"),
}


@pytest.mark.parametrize("name", FILES)
def test_whatever_the_file_is_the_answer_is_a_finding(tmp_path: Path, name: str) -> None:
    """The finding names the file, what is wrong, what was expected and found, and a remedy."""
    make, code = FILES[name]
    path = tmp_path / "manifest.json"
    make(path)
    report = validate_manifest(path, strict=False)
    finding = next(f for f in report.findings if f.code == code)
    assert not report.valid
    assert finding.file == str(path)
    assert all((finding.what, finding.expected, finding.found, finding.remedy))
    assert report.model_dump_json().isascii()


def test_a_file_just_over_the_cap_is_not_read(tmp_path: Path) -> None:
    """The cap is a number of bytes, whatever they are."""
    path = tmp_path / "manifest.json"
    path.write_bytes(b" " * (MANIFEST_CAP_BYTES + 1))
    assert [f.code for f in validate_manifest(path, strict=False).findings] == ["unreadable"]


def test_control_characters_are_shown_escaped_everywhere(tmp_path: Path) -> None:
    """Neither names nor values of a manifest can steer a terminal."""
    path = tmp_path / "evil\x1b[2J.json"
    path.write_text(json.dumps({"format_version": 1, "\x1b[31m": "replace-\x1b]0;x\x07\ud800"}))
    report = validate_manifest(path, strict=True)
    texts = [
        text for f in report.findings for text in (f.file, f.pointer, f.what, f.expected, f.found, f.remedy)
    ]
    assert all(text.isprintable() for text in texts)
    assert any(r"\x1b[31m" in f.pointer for f in report.findings)


def test_a_flood_of_findings_is_cut_and_stays_an_error(tmp_path: Path) -> None:
    """A report is for reading; the rest is one finding for each severity."""
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({"format_version": 1, "arms": [], "tasks": [0] * 20_000}))
    report = validate_manifest(path, strict=False)
    assert report.errors < 6_000
    notes = [f.severity for f in report.findings if f.code == "too-many-findings"]
    assert notes == [Severity.ERROR, Severity.WARNING]


def test_a_manifest_reached_through_a_link_is_judged_where_it_lies(tmp_path: Path) -> None:
    """Version 1 resolves the manifest's path before it looks around."""
    study = a_version1_study(tmp_path / "real")
    link = tmp_path / "link.json"
    link.symlink_to(study.path)
    assert validate_manifest(link, strict=True).findings == ()
