"""Records in less memory tell the same, and facts of a grading are those of its checks."""

from __future__ import annotations

import gc

import pytest

from esac_ag.attempt import AttemptRecord, Cell, CheckVerdict
from esac_ag.canonical import canonical_json
from esac_ag.manifest.package import CriticalFailure, Dimension
from esac_ag.report.build import build_view
from esac_ag.report.compact import compact, many_records
from esac_ag.report.gradings import GradingFacts
from esac_ag.report.machine import render_json
from esac_ag.report.view import AttemptRow
from tests.builders_report import a_grading, a_manifest, a_study, an_attempt, varied_score

CELL = Cell(task="invoice-rounding", arm="markskill", repetition=1)


def read_again(record: AttemptRecord) -> AttemptRecord:
    """As from a file."""
    return AttemptRecord.model_validate_json(record.model_dump_json(exclude_unset=True))


def test_a_compact_record_is_the_record() -> None:
    """Equal, the same JSON, and the same fields known to have been given."""
    plain, small = (read_again(an_attempt(CELL, a_manifest())) for _ in range(2))
    compact(small)
    assert small == plain
    assert small.model_dump_json(exclude_unset=True) == plain.model_dump_json(exclude_unset=True)
    assert small.model_fields_set == plain.model_fields_set
    assert small.costs.usage.model_fields_set == plain.costs.usage.model_fields_set


def test_compact_records_share_what_recurs() -> None:
    """The second one adds no set of names and no text that was there before."""
    first, second = (compact(read_again(an_attempt(CELL, a_manifest()))) for _ in range(2))
    assert first.__pydantic_fields_set__ is second.__pydantic_fields_set__
    assert first.manifest_sha256 is second.manifest_sha256


def test_copying_a_compact_record_changes_no_other() -> None:
    """A copy has a set of its own."""
    first, second = (compact(read_again(an_attempt(CELL, a_manifest()))) for _ in range(2))
    before = set(second.model_fields_set)
    first.model_copy(update={"output_truncated": True})
    assert second.model_fields_set == before


def test_facts_of_a_grading_are_those_of_its_checks() -> None:
    """At 40 of 100 the last six checks fail, the fifth of them all being critical."""
    grading = a_grading(an_attempt(CELL, a_manifest()), 40.0)
    facts = GradingFacts.of(grading)
    assert facts.score == grading.score == 40.0
    assert facts.critical_failures == (CriticalFailure.DATA_LOSS,)
    assert facts.failed_checks == tuple(
        check.id for check in grading.checks if check.verdict is CheckVerdict.FAIL
    )
    assert facts.dimension_scores[Dimension.BEHAVIOUR] == 50.0
    assert facts.dimension_scores[Dimension.VERIFICATION] == 0.0


def test_facts_of_an_invalid_grading_have_no_score() -> None:
    """No checks, no share, and the reason kept."""
    facts = GradingFacts.of(a_grading(an_attempt(CELL, a_manifest()), 40.0, invalid=True))
    assert (facts.score, facts.dimension_scores, facts.failed_checks) == (None, {}, ())
    assert facts.invalid_reason


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_left_as_it_was_found(enabled: bool) -> None:  # noqa: FBT001
    """Even when making records fails."""
    was = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        found = []

        def fail() -> None:
            with many_records():
                found.append(gc.isenabled())
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fail()
        assert found == [False]
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if was else gc.disable)()


def test_json_in_parts_is_the_whole_in_canonical_form() -> None:
    """Row by row or all at once: the same bytes."""
    view = build_view(a_study(varied_score))
    assert render_json(view) == canonical_json(view)


def test_rows_that_are_not_validated_again_would_be_valid() -> None:
    """Rows are taken from validated records as they are; validating them changes nothing."""
    for row in build_view(a_study(varied_score)).attempts:
        assert AttemptRow.model_validate_json(row.model_dump_json()) == row
        assert row.model_fields_set == set(AttemptRow.model_fields)
