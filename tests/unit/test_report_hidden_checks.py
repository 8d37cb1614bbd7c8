"""Failed hidden checks, untouched snapshots, empty submissions, own intervals, next steps in the view."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from esac_ag.artifacts import StudyFolder, write_atomic
from esac_ag.canonical import canonical_json, sha256_of
from esac_ag.conduct.audit_records import AuditFinding
from esac_ag.conduct.kept_proofs import keep_proofs, proof_findings, untouched_failures
from esac_ag.grading.proof_record import ProofRecord, Trial, Variant, VariantKind
from esac_ag.manifest.package import CriticalFailure, Dimension
from esac_ag.manifest.plan import Manifest, Phase
from esac_ag.report.build import build_view
from esac_ag.report.gradings import facts_of
from esac_ag.report.hidden_checks import render_labels
from esac_ag.report.html_page import render_html
from esac_ag.report.machine import render_csv, render_json
from esac_ag.report.markdown import render_markdown
from esac_ag.report.view import CheckTally
from esac_ag.rooms.proofs import proof_path
from esac_ag.statistics.bootstrap import mean_interval
from esac_ag.statistics.estimates import Estimate, IntervalEstimate, NotEstimable
from tests.builders_report import a_grading, a_manifest, a_study, an_attempt, varied_score
from tests.builders_report_page import a_pilot_with_gaps, a_reviewed_pilot

TASK = "invoice-rounding"


def a_proof(task: str, *outcomes: tuple[str, ...]) -> ProofRecord:
    """A proof whose untouched snapshot failed these checks, trial by trial."""
    trials = tuple(
        Trial(seed="1", valid=True, invalid_reason=None, failed=failed, reasons={}, duration_s=1.0)
        for failed in outcomes
    )
    return ProofRecord(
        format_version=1,
        task_id=task,
        public_tree_sha256="a" * 64,
        grader_tree_sha256="b" * 64,
        grader_image_digest="sha256:" + "c" * 64,
        repeats=1,
        seeds=("1",),
        variants=(Variant(kind=VariantKind.BASELINE, id="baseline", trials=trials, public=()),),
        holds=True,
        faults=(),
    )


def sealed(*proofs: ProofRecord) -> Manifest:
    """A manifest that seals these proofs."""
    manifest = a_manifest(tasks=[proof.task_id for proof in proofs])
    tasks = tuple(
        task.model_copy(update={"proof_sha256": sha256_of(proof)})
        for task, proof in zip(manifest.tasks, proofs, strict=True)
    )
    return manifest.model_copy(update={"tasks": tasks})


def test_each_failed_check_is_counted_by_arm_with_its_dimension() -> None:
    """Of the graded runs; a check that nobody failed is left out."""
    study = a_study(
        lambda cell: 90.0 if cell.arm == "neutral" else 40.0, manifest=a_manifest(tasks=[TASK], repetitions=3)
    )
    found = build_view(study).failed_checks
    assert [item.check for item in found] == ["verification-1", *(f"{name}-2" for name in Dimension)]
    critical = found[0]
    assert (critical.task, critical.dimension, critical.critical) == (
        TASK,
        Dimension.VERIFICATION,
        CriticalFailure.DATA_LOSS,
    )
    assert [(tally.arm, tally.failed, tally.graded) for tally in critical.arms] == [
        ("neutral", 0, 3),
        ("current-restraint", 3, 3),
        ("markskill", 3, 3),
    ]


def test_no_report_tells_an_id_of_a_hidden_check() -> None:
    """Labels stand in their place in every form; a private list names them."""
    study = a_pilot_with_gaps()
    view = build_view(study)
    row = next(row for row in view.attempts if row.score == 70.0)
    assert row.failed_checks == ("robustness-2", "maintainability-2", "verification-2")
    forms = [render_markdown(view), render_html(view), render_json(view).decode(), *render_csv(view).values()]
    assert not any("check-7" in form for form in forms)
    labels = render_labels(study.checks).splitlines()
    assert labels[0] == "task,check,id,dimension,weight,critical"
    assert "scope-restraint,robustness-2,check-7,robustness,1," in labels


def test_an_arm_without_a_graded_run_has_no_tally_of_zero_failures() -> None:
    """Nothing could have been seen there, and Markdown says so."""
    view = build_view(a_pilot_with_gaps())
    lost = [
        tally
        for item in view.failed_checks
        for tally in item.arms
        if (item.task, tally.arm) == ("scope-expansion", "markskill")
    ]
    assert lost
    assert set(lost) == {CheckTally(arm="markskill", failed=0, graded=0)}
    lines = [line for line in render_markdown(view).splitlines() if "`scope-expansion` |" in line]
    assert any("| unavailable |" in line for line in lines)


def test_checks_are_taken_from_the_first_grading_that_has_some() -> None:
    """An invalid grading has none, and hides those of the others in no way."""
    manifest = a_manifest(tasks=[TASK])
    cells = a_study(varied_score, manifest=manifest).planned[:2]
    attempts = [an_attempt(cell, manifest) for cell in cells]
    gradings = [
        (attempts[0].attempt_id, a_grading(attempts[0], 50.0, invalid=True)),
        (attempts[1].attempt_id, a_grading(attempts[1], 50.0)),
    ]
    facts, checks = facts_of(gradings)
    assert set(facts) == {attempt.attempt_id for attempt in attempts}
    assert [check.id for check in checks[TASK]] == [f"check-{number}" for number in range(10)]


def test_the_untouched_snapshot_scores_as_a_run_that_fails_the_same_checks() -> None:
    """By the checks' weights; without a proof it is not known, and no zero."""
    view = build_view(a_pilot_with_gaps())
    assert view.baseline is not None
    assert view.baseline.tasks_known == 11
    assert view.baseline.mean == Estimate(value=70.0)
    first = view.baseline.tasks[0]
    assert first.score == NotEstimable(reason="the task's proof is not at hand")
    assert build_view(a_study(varied_score)).baseline is None
    ungraded = replace(a_study(lambda _: None), untouched={TASK: ()})
    baseline = build_view(ungraded).baseline
    assert baseline is not None
    assert isinstance(baseline.mean, NotEstimable)


def test_proofs_are_kept_in_the_studys_folder_and_believed_only_as_sealed(tmp_path: Path) -> None:
    """Copied beside the manifest; an edited one tells nothing, and the audit tells of it."""
    proofs = (a_proof("one", ("check-1",), ("check-1",)), a_proof("two", ("check-1",), ()))
    manifest = sealed(*proofs)
    source, folder = tmp_path / "manifests" / "m.json", StudyFolder(tmp_path / "results" / "s")
    for proof in proofs:
        write_atomic(proof_path(source, proof.task_id), canonical_json(proof))
    assert untouched_failures(folder, manifest) == {}
    assert list(proof_findings(folder, manifest)) == []
    keep_proofs(source, manifest, folder)
    assert untouched_failures(folder, manifest) == {"one": ("check-1",)}
    assert list(proof_findings(folder, manifest)) == []
    kept = proof_path(folder.manifest, "one")
    data = json.loads(kept.read_text())
    data["variants"][0]["trials"][0]["failed"] = []
    kept.write_text(json.dumps(data))
    proof_path(folder.manifest, "two").write_text("{")
    assert untouched_failures(folder, manifest) == {}
    found = list(proof_findings(folder, manifest))
    assert [item.where for item in found] == ["manifest.proofs/one.json", "manifest.proofs/two.json"]
    assert all(isinstance(item, AuditFinding) for item in found)
    keep_proofs(source, manifest, folder)
    assert json.loads(kept.read_text()) == data


def test_a_run_that_changed_nothing_is_counted_and_told() -> None:
    """Its submission is the untouched snapshot; a run whose changes are not known is not counted."""
    view = build_view(a_pilot_with_gaps())
    assert {item.arm: item.unchanged for item in view.counts} == {
        "neutral": 1,
        "current-restraint": 0,
        "markskill": 0,
    }
    assert "1 run changed nothing (1 of neutral): its submission is the untouched snapshot." in view.notices
    unknown = a_study(
        varied_score,
        change=lambda attempt: attempt.model_copy(
            update={"costs": attempt.costs.model_copy(update={"changed_lines": None, "touched_files": 0})}
        ),
    )
    assert not any(item.unchanged for item in build_view(unknown).counts)


def test_an_arms_own_mean_has_an_interval_within_the_scale() -> None:
    """Over tasks, by the sealed method; with too few tasks it is not estimable, and says so of scores."""
    plan = a_manifest().analysis.interval
    found = mean_interval([60.0, 70.0, 80.0, 95.0, 100.0], plan, ("x",), (0.0, 100.0))
    assert isinstance(found, IntervalEstimate)
    assert 0 <= found.low < 81.0 < found.high <= 100
    few = mean_interval([60.0], plan, ("x",), (0.0, 100.0))
    assert few == NotEstimable(reason="n = 1 scored task: an interval over tasks needs at least 3")
    assert mean_interval([], plan, ("x",), (0.0, 100.0)) == NotEstimable(reason="no task has a score")


def test_quality_and_check_scores_are_never_mixed() -> None:
    """A run that could not be graded has a quality score, and one that was not reviewed has none."""
    study = a_reviewed_pilot()
    review = build_view(study).review
    assert review is not None
    assert review.submissions == 104
    checks = build_view(study).task_arms
    pairs = list(zip(checks, review.task_arms, strict=True))
    assert any(own.summary.n < other.summary.n for own, other in pairs)
    assert study.quality is not None
    fewer = dict(study.quality)
    fewer.pop(next(iter(fewer)))
    left = build_view(replace(study, quality=fewer)).review
    assert left is not None
    assert sum(item.summary.n for item in left.task_arms) == 103


def test_what_next_depends_on_what_the_report_shows() -> None:
    """Missing runs first, then the review, then what is always to be had."""

    def commands(study_of: object) -> list[str]:
        assert callable(study_of)
        return [step.command for step in build_view(study_of()).next_steps]

    always = ["esac-ag view results", "esac-ag audit results/judgment-calibration"]
    always.append("esac-ag report revise results/judgment-calibration --reason TEXT")
    prepare = "esac-ag review prepare results/judgment-calibration"
    assert commands(a_pilot_with_gaps) == ["esac-ag run MANIFEST", prepare, *always]
    assert commands(a_reviewed_pilot) == ["esac-ag run MANIFEST", *always]
    whole = a_study(varied_score, manifest=a_manifest(phase=Phase.PRIMARY))
    assert commands(lambda: whole) == [prepare, *always]
    assert commands(lambda: replace(whole, gradings={}))[0] == "esac-ag grade results/judgment-calibration"
