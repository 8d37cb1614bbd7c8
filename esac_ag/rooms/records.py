"""Reading JSON files as records, with a clear error for whatever is wrong in them."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from esac_ag.canonical import loads_strict
from esac_ag.manifest.findings import Finding, Severity, pointer, refused, shown, shown_text
from esac_ag.rooms.reading import MANIFEST_CAP_BYTES, CannotRead, read_bounded

Model = TypeVar("Model", bound=BaseModel)


def read_record(path: Path, kind: type[Model]) -> Model:
    """A record from a JSON file.

    Raises:
        InputRefused: the file is missing, not JSON, or not such a record; every fault is listed.
    """
    try:
        data = read_bounded(path, cap_bytes=MANIFEST_CAP_BYTES)
        loads_strict(data.decode("utf-8"))  # duplicate keys and NaN, which pydantic lets pass
        return kind.model_validate_json(data)
    except CannotRead as error:
        raise refused(
            "A file cannot be read.", [_finding(path, "unreadable", str(error))], where=str(path)
        ) from error
    except ValidationError as error:
        faults = [_fault(path, fault["loc"], fault["msg"], fault["input"]) for fault in error.errors()]
        raise refused(f"The file is no {kind.__name__}.", faults, where=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise refused(
            "The file is not JSON.", [_finding(path, "not-json", str(error))], where=str(path)
        ) from error


def _finding(path: Path, code: str, found: str) -> Finding:
    return Finding(
        severity=Severity.ERROR,
        file=shown_text(str(path)),
        pointer="",
        code=code,
        what="The file cannot be used.",
        expected="a readable JSON file in UTF-8",
        found=shown_text(found),
        remedy="Correct the file.",
    )


def _fault(path: Path, place: tuple[str | int, ...], message: str, value: JsonValue) -> Finding:
    return Finding(
        severity=Severity.ERROR,
        file=shown_text(str(path)),
        pointer=pointer(*place),
        code="schema",
        what=shown_text(message),
        found=shown(value),
        remedy="Correct the value.",
    )
