"""The strict reading of what the judge wrote. Pure; anything unexpected makes the grading invalid."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationError

from esac_ag.attempt import CheckResult, CheckVerdict
from esac_ag.canonical import loads_strict
from esac_ag.manifest.package import CheckDeclaration, GraderPackage
from esac_ag.record import Record

MAX_RESULT_BYTES = 4_000_000


class ResultRefused(ValueError):
    """The judge gave no result that counts; the text says why."""


class _Line(Record):
    id: str
    verdict: Literal["pass", "fail"]
    reason: str
    duration_s: Annotated[float, Field(ge=0)]


class _Result(Record):
    format_version: Literal[1]
    status: Literal["graded", "invalid"]
    invalid_reason: str | None
    checks: tuple[_Line, ...]


def read_result(data: bytes | None, package: GraderPackage) -> tuple[CheckResult, ...]:
    """The verdict of every declared check, in the order of the package.

    Args:
        data: bytes of `result.json`; None when there is no such file.
        package: what was declared before anything ran.

    Raises:
        ResultRefused: there is no result, the judge calls it invalid, or it differs in any way from one
            record for each declared check: missing, surplus, repeated or reordered ids, other types, NaN,
            duplicate keys, unknown keys.
    """
    if data is None:
        raise ResultRefused("the judge left no result")
    if len(data) > MAX_RESULT_BYTES:
        raise ResultRefused(f"the judge's result has {len(data)} bytes, more than {MAX_RESULT_BYTES}")
    try:
        loads_strict(data)
        result = _Result.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = "/".join(map(str, first["loc"]))
        raise ResultRefused(f"the judge's result is wrong at {where}: {first['msg']}") from error
    except (ValueError, RecursionError) as error:
        raise ResultRefused(f"the judge's result is not strict JSON: {error}") from error
    if result.status == "invalid" or result.invalid_reason is not None:
        raise ResultRefused(result.invalid_reason or "the judge gave no reason")
    expected, found = [check.id for check in package.checks], [line.id for line in result.checks]
    if expected != found:
        raise ResultRefused(_difference(expected, found))
    return tuple(_of(check, line) for check, line in zip(package.checks, result.checks, strict=True))


def all_failed(package: GraderPackage, reason: str) -> tuple[CheckResult, ...]:
    """A failure of every declared check, for a judge that the submission kept from writing its result.

    Args:
        package: what was declared before anything ran.
        reason: of each failure.
    """
    return tuple(
        _of(check, _Line(id=check.id, verdict="fail", reason=reason, duration_s=0.0))
        for check in package.checks
    )


def _of(check: CheckDeclaration, line: _Line) -> CheckResult:
    return CheckResult(
        id=check.id,
        kind=check.kind,
        dimension=check.dimension,
        weight=check.weight,
        critical=check.critical,
        verdict=CheckVerdict(line.verdict),
        reason=line.reason,
        duration_s=line.duration_s,
    )


def _difference(expected: list[str], found: list[str]) -> str:
    missing = sorted(set(expected) - set(found))
    surplus = sorted(set(found) - set(expected))
    repeated = sorted({name for name in found if found.count(name) > 1})
    told = [
        f"{word} {', '.join(names)}"
        for word, names in (("without", missing), ("with undeclared", surplus), ("twice", repeated))
        if names
    ]
    return f"the judge's result is not one record per check: {'; '.join(told) or 'other order'}"
