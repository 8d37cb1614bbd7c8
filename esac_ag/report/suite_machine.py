"""A suite report for programs: canonical JSON, and the strict reading of it."""

from __future__ import annotations

from typing import Final

from pydantic import ValidationError

from esac_ag.canonical import canonical_json, loads_strict
from esac_ag.errors import InputRefused
from esac_ag.report.suite_view import SuiteView

SCHEMA_NAME: Final = "suite-report-v1"


def render_suite_json(view: SuiteView) -> bytes:
    """The view in RFC 8785 form: UTF-8, sorted keys, no white space."""
    return canonical_json(view)


def without_times(view: SuiteView) -> bytes:
    """The part of the report that is the same for two identical runs, in RFC 8785 form."""
    return canonical_json(view.model_dump(mode="json", exclude={"times"}))


def read_suite_json(data: bytes, where: str) -> SuiteView:
    """Read a report that `render_suite_json` wrote.

    Args:
        data: the file's bytes.
        where: the file's name, for messages.

    Raises:
        InputRefused: it is no report of format version 1.
    """
    try:
        loads_strict(data)
        return SuiteView.model_validate_json(data)
    except (ValueError, RecursionError) as error:
        raise InputRefused(
            "This is no report of a suite run.",
            where=where,
            expected=f"JSON that follows manifests/schema/{SCHEMA_NAME}.schema.json",
            found=_first(error),
            remedy="Give the JSON report that `esac-ag suite run` wrote.",
        ) from error


def _first(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return "not one unambiguous JSON value"
    fault = error.errors(include_url=False, include_input=False)[0]
    return f"/{'/'.join(str(part) for part in fault['loc'])}: {fault['msg']}"
