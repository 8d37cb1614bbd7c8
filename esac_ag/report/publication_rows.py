"""The rows of a publication: every attempt that ended, as JSON and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from esac_ag.attempt.events import AttemptState
from esac_ag.canonical import canonical_json
from esac_ag.manifest.package import Dimension
from esac_ag.record import Record
from esac_ag.report.costs import value_of
from esac_ag.report.escaping import csv_text
from esac_ag.report.publication_view import PublishedAttempt
from esac_ag.report.view import AttemptRow, CostMeasure

DIGESTED: Final = (
    "attempt.json",
    "loaded-instructions.json",
    "transcript.jsonl",
    "patch.diff",
    "submission.tar.zst",
    "grading/result.json",
)
"""Files whose digests have columns of their own; `attempts.json` has all."""
_PLAIN: Final = (
    *("attempt_id", "task", "arm", "repetition", "ordinal", "counts", "outcome", "limit", "reason"),
    *("agent_kind", "agent_label", "state", "invalid_reason", "score", "quality", "spoiled_gradings"),
    *("started_at", "ended_at"),
)
COLUMNS: Final = (
    *_PLAIN,
    *(f"score_{dimension}" for dimension in Dimension),
    "critical_failures",
    "critical_by_review",
    *CostMeasure,
    *(f"sha256_{name}" for name in DIGESTED),
)


def published_rows(
    rows: Iterable[AttemptRow], attempts: Mapping[str, AttemptState]
) -> tuple[PublishedAttempt, ...]:
    """The report's rows with what the ledger has of each.

    Args:
        rows: of the newest report.
        attempts: by id, as the ledger tells them.

    Raises:
        KeyError: a row is of an attempt that the ledger does not know.
    """
    return tuple(
        PublishedAttempt(
            **dict(row),
            spoiled_gradings=attempts[row.attempt_id].spoiled_gradings,
            artifacts=dict(sorted(attempts[row.attempt_id].artifacts.items())),
        )
        for row in rows
    )


def rows_json(records: Sequence[Record]) -> bytes:
    """A JSON array with one record a line, each in RFC 8785 form."""
    return b"[\n" + b",\n".join(map(canonical_json, records)) + b"\n]\n"


def rows_csv(rows: Iterable[PublishedAttempt]) -> bytes:
    """The rows as CSV: empty where nothing is known or the column has no meaning; text made harmless."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_cells(row) for row in rows)
    return buffer.getvalue().encode()


def _cells(row: PublishedAttempt) -> list[str]:
    values: list[object] = [getattr(row, name) for name in _PLAIN]
    values += [row.dimension_scores.get(dimension) for dimension in Dimension]
    values += [" ".join(row.critical_failures), " ".join(row.critical_by_review)]
    values += [value_of(row.costs, measure) for measure in CostMeasure]
    values += [row.artifacts.get(name) for name in DIGESTED]
    return [_cell(value) for value in values]


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.9g}"
        case _:
            return csv_text(str(value))
