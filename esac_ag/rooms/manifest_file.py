"""Reading a manifest that anybody may have written: whatever is wrong with the file is a finding."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from esac_ag.canonical import JsonRefused, loads_strict
from esac_ag.manifest.collector import Collector
from esac_ag.manifest.sections import is_suite_plan
from esac_ag.rooms.reading import MANIFEST_CAP_BYTES, CannotRead, read_bounded

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
OTHER_MARKS = (b"\xff\xfe", b"\xfe\xff")


def _reason(error: ValueError) -> str:
    # Python names its own switch for integers with thousands of digits; that helps no reader of a manifest.
    return "a number with thousands of digits" if "int_max_str_digits" in str(error) else str(error)


@dataclass(frozen=True, slots=True)
class ReadJson:
    """A JSON value, or none with the findings that tell why."""

    value: JsonValue
    readable: bool


def read_json(path: Path, out: Collector) -> ReadJson:
    """Read a JSON file, whatever it may really be; never blocks and never raises."""
    try:
        data = read_bounded(path, cap_bytes=MANIFEST_CAP_BYTES)
    except CannotRead as error:
        what = f"The file cannot be read: {error}."
        expected = f"a readable JSON file of at most {MANIFEST_CAP_BYTES} bytes"
        out.error((), "unreadable", what, expected, str(error), error.remedy)
        return ReadJson(None, readable=False)
    return parse_json(data, out)


def parse_json(data: bytes, out: Collector) -> ReadJson:
    """The JSON value of a file's bytes, at most `MANIFEST_CAP_BYTES` of them; never raises."""
    if len(data) > MANIFEST_CAP_BYTES:
        what = "The file is too large to be read again."
        expected, found = f"at most {MANIFEST_CAP_BYTES} bytes", f"{len(data)} bytes"
        out.error((), "unreadable", what, expected, found, "Name fewer and smaller files.")
        return ReadJson(None, readable=False)
    if data.startswith(OTHER_MARKS):
        found = f"the mark of UTF-16, {data[:2].hex(' ')}"
        out.error((), "not-utf8", "The file is not UTF-8.", "UTF-8 text", found, "Save it as plain UTF-8.")
        return ReadJson(None, readable=False)
    if data.startswith(BYTE_ORDER_MARK):
        what = "The file begins with a byte-order mark."
        out.error(
            (), "byte-order-mark", what, "UTF-8 without mark", data[:3].hex(" "), "Save it as plain UTF-8."
        )
        data = data.removeprefix(BYTE_ORDER_MARK)
    try:
        return ReadJson(loads_strict(data.decode("utf-8")), readable=True)
    except UnicodeDecodeError as error:
        found = f"byte {data[error.start]:#04x} at offset {error.start}"
        out.error((), "not-utf8", "The file is not UTF-8.", "UTF-8 text", found, "Save it as plain UTF-8.")
    except JsonRefused as error:
        what = "The file is ambiguous JSON: readers differ on what it says."
        out.error(
            (), "ambiguous-json", what, "unique keys and finite numbers", str(error), "Correct the file."
        )
    except RecursionError:
        what = "The file is nested too deeply."
        out.error((), "depth", what, "a manifest's few levels", "hundreds of levels", "Correct the file.")
    except ValueError as error:
        found = _reason(error) if data.strip() else "nothing"
        out.error((), "not-json", "The file is not JSON.", "one JSON object", found, "Correct the file.")
    return ReadJson(None, readable=False)


def plans_a_suite_run(path: Path) -> bool:
    """Whether a manifest is one of the suite; whatever cannot be read is none."""
    read = read_json(path, Collector(str(path), strict=False)).value
    return isinstance(read, dict) and is_suite_plan(read)
