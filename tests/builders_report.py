"""Builders of whole studies for reports, and the golden files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from esac_ag.attempt import (
    AttemptRecord,
    Cell,
    CheckResult,
    CheckVerdict,
    Costs,
    Grading,
    GradingStatus,
    LimitKind,
    Outcome,
    Submission,
    Usage,
)
from esac_ag.attempt.loaded import LoadedFile, LoadedInstructions, Sighting
from esac_ag.manifest.package import CheckKind, CriticalFailure, Dimension, TaskPackage
from esac_ag.manifest.plan import (
    AgentKind,
    AgentPlan,
    Analysis,
    Arm,
    ArmKind,
    Comparison,
    Harness,
    Image,
    Images,
    Interval,
    IntervalMethod,
    Isolation,
    Limits,
    Manifest,
    Model,
    Network,
    Phase,
    Policies,
    Prices,
    Schedule,
    Status,
    Suite,
    SuiteName,
    TaskReference,
    TokenPrice,
)
from esac_ag.report.gradings import facts_of
from esac_ag.report.inputs import LedgerSummary, ReportInputs
from esac_ag.report.loaded_facts import LoadedFacts
from esac_ag.schedule import make_schedule, schedule_sha256

GOLDEN = Path(__file__).parent / "golden" / "report"

SEED = "2026"
MANIFEST_SHA256 = "ab" * 32
TREE_SHA256 = "cd" * 32

TASKS = {
    "invoice-rounding": ("ownership", "restraint"),
    "stock-reservations": ("data-lifecycle", "expansion"),
    "date-parsing": ("dependencies", "restraint"),
    "order-workflow": ("scope", "expansion"),
}
ARMS = ("neutral", "current-restraint", "markskill")

Score = float | None
"""Share of passed checks 0 to 100 in steps of ten; none is a run without an attempt that counts."""


def a_manifest(  # noqa: D417  (what is left out is as its name says)
    *,
    tasks: Sequence[str] = tuple(TASKS),
    arms: Sequence[str] = ARMS,
    repetitions: int = 2,
    agent: AgentKind = AgentKind.CHAT,
    phase: Phase = Phase.CALIBRATION,
    method: IntervalMethod = IntervalMethod.STUDENTISED,
    prices: bool = True,
    limits: Limits | None = None,
) -> Manifest:
    """A sealed manifest that is complete but for real digests.

    Args:
        tasks: ids; those that `TASKS` does not know are fine.
        limits: the defaults when left out.
    """
    return Manifest(
        format_version=2,
        study_id="judgment-calibration",
        suite=Suite(name=SuiteName.STUDY, version="1"),
        phase=phase,
        status=Status.FROZEN,
        model=Model(name="example-model", version="2026-01-15", provider="example", reasoning="high"),
        agent=AgentPlan(kind=agent, version="1"),
        harness=Harness(
            version="0.1.0",
            revision="0123456789abcdef",
            dirty=False,
            package_sha256="0" * 64,
            runner_sha256="1" * 64,
            grader_revision="2" * 64,
        ),
        images=Images(
            agent=Image(reference="esac-ag/agent", digest="sha256:" + "3" * 64),
            grader=Image(reference="esac-ag/grader", digest="sha256:" + "4" * 64),
        ),
        limits=limits or Limits(),
        network=Network.NONE,
        isolation=Isolation(
            fresh_process_per_run=True,
            isolated_config_per_arm=True,
            private_material_unreadable=True,
            isolation_probe_passed=True,
        ),
        repetitions=repetitions,
        schedule=Schedule(seed=SEED, sha256=schedule_sha256(SEED, tasks, arms, repetitions)),
        arms=tuple(_arm(name) for name in arms),
        tasks=tuple(_task_reference(name) for name in tasks),
        policies=Policies(),
        analysis=Analysis(
            interval=Interval(method=method, replicates=2000, seed=SEED),
            primary_comparison=Comparison(arm=arms[-1], control=arms[0]),
        ),
        prices=_prices() if prices else None,
    )


def a_study(
    score_of: Callable[[Cell], Score],
    *,
    manifest: Manifest | None = None,
    invalid: Callable[[Cell], bool] = lambda _: False,
    change: Callable[[AttemptRecord], AttemptRecord] = lambda attempt: attempt,
    spoiled: Sequence[AttemptRecord] = (),
    ledger: LedgerSummary | None = None,
    deviations: tuple[str, ...] = (),
    packages: Mapping[str, TaskPackage] | None = None,
    loaded: Callable[[LoadedInstructions], LoadedInstructions | None] = lambda record: record,
) -> ReportInputs:
    """A study whose every planned cell has the given score, or no counting attempt where it is none.

    Args:
        score_of: share of passed checks, a multiple of ten.
        manifest: the default manifest when left out.
        invalid: cells whose grading is invalid.
        change: edits an attempt before it enters the study.
        spoiled: further attempts, which do not count.
        ledger: nothing beyond the attempts when left out.
        deviations: sentences.
        packages: instead of the default task packages.
        loaded: edits what was loaded in an attempt that counts, or takes it away; an agent that is scripted
            leaves none.
    """
    manifest = manifest or a_manifest()
    tasks = [task.id for task in manifest.tasks]
    planned = make_schedule(SEED, tasks, [arm.id for arm in manifest.arms], manifest.repetitions)
    scores = {cell: score_of(cell) for cell in planned}
    attempts = {cell: change(an_attempt(cell, manifest)) for cell in planned if scores[cell] is not None}
    records = {
        attempt.attempt_id: LoadedFacts.of(record)
        for attempt in attempts.values()
        if attempt.agent_kind is not AgentKind.SCRIPTED and (record := loaded(a_loaded(attempt)))
    }
    facts, checks = facts_of(
        (attempt.attempt_id, a_grading(attempt, scores[cell], invalid=invalid(cell)))
        for cell, attempt in attempts.items()
    )
    return ReportInputs(
        loaded=records,
        manifest=manifest,
        manifest_sha256=MANIFEST_SHA256,
        planned=planned,
        attempts=(*attempts.values(), *spoiled),
        gradings=facts,
        checks=checks,
        counting={cell: attempt.attempt_id for cell, attempt in attempts.items()},
        tasks=packages or {task: a_package(task) for task in tasks},
        ledger=ledger or LedgerSummary(),
        deviations=deviations,
    )


def an_attempt(
    cell: Cell,
    manifest: Manifest,
    *,
    ordinal: int = 1,
    outcome: Outcome = Outcome.COMPLETED,
    reason: str = "the agent submitted",
) -> AttemptRecord:
    """An attempt whose costs and times follow from its cell."""
    number = _number(cell, ordinal)
    return AttemptRecord(
        attempt_id=f"{number:016x}",
        manifest_sha256=MANIFEST_SHA256,
        cell=cell,
        ordinal=ordinal,
        agent_kind=manifest.agent.kind,
        agent_label="example agent",
        arm_sha256=None if cell.arm == "neutral" else "5" * 64,
        started_at=f"2026-03-01T10:{number % 60:02d}:00.000Z",
        ended_at=f"2026-03-01T11:{number % 60:02d}:00.000Z",
        outcome=outcome,
        reason=reason,
        limit=LimitKind.WALL_CLOCK if outcome is Outcome.LIMIT else None,
        exit_code=0,
        costs=_costs(number, priced=manifest.prices is not None),
        submission=a_submission(),
    )


def a_loaded(attempt: AttemptRecord) -> LoadedInstructions:
    """A clean record: the arm's one file was there all the time, listed, and read; the control has none."""
    skill = LoadedFile(
        path="SKILL.md",
        sha256="c" * 64,
        placed_at=f"/agent/home/skills/{attempt.cell.arm}/SKILL.md",
        present_at_start=True,
        unchanged_at_end=True,
        listed_in=Sighting(request=1, request_sha256="d" * 64),
        in_full_in=Sighting(request=2, request_sha256="e" * 64),
    )
    return LoadedInstructions(
        arm=attempt.cell.arm,
        agent_kind=attempt.agent_kind,
        requests=3,
        complete=True,
        files=() if attempt.cell.arm == "neutral" else (skill,),
        tools=("bash", "read_file"),
        bundled_skills=(),
    )


def a_submission(findings: tuple[str, ...] = ()) -> Submission:
    """A submission of two files."""
    return Submission(
        tree_sha256=TREE_SHA256,
        archive_sha256="6" * 64,
        patch_sha256="7" * 64,
        files=2,
        size_bytes=200,
        findings=findings,
    )


def a_grading(attempt: AttemptRecord, score: Score, *, invalid: bool = False) -> Grading:
    """Ten checks of equal weight, of which the first `score / 10` pass; the last one is critical."""
    passing = 0 if score is None else round(score / 10)
    return Grading(
        attempt_id=attempt.attempt_id,
        task_id=attempt.cell.task,
        manifest_sha256=MANIFEST_SHA256,
        private_grader_id=f"{attempt.cell.task}@{'8' * 64}",
        submission_tree_sha256=TREE_SHA256,
        grader_image_digest="sha256:" + "4" * 64,
        status=GradingStatus.INVALID if invalid else GradingStatus.GRADED,
        invalid_reason="the grader ended without a verdict" if invalid else None,
        seed="1",
        checks=() if invalid else tuple(_check(number, passed=number < passing) for number in range(10)),
        duration_s=0.5,
    )


def a_package(task: str, *, title: str = "", family: str = "", contrast: str = "") -> TaskPackage:
    """The public package of a task."""
    known_family, known_contrast = TASKS.get(task, ("other", "restraint"))
    return TaskPackage(
        task_id=task,
        title=title or task.replace("-", " ").capitalize(),
        family=family or known_family,
        contrast=contrast or known_contrast,
        public_root="public",
        public_tree_sha256="9" * 64,
        public_command="python -m pytest",
        baseline_expected_failure="tests/test_it.py::test_it",
        private_grader_id=f"{task}@{'8' * 64}",
    )


def golden(name: str, found: str) -> str:
    """The committed text of that name; written anew when `ESAC_AG_REFRESH_GOLDEN=1` asks for it."""
    path = GOLDEN / name
    if os.environ.get("ESAC_AG_REFRESH_GOLDEN") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(found.encode())
    return path.read_bytes().decode()


def varied_score(cell: Cell) -> Score:
    """A score between 30 and 100 that follows from the cell; bundles gain a little."""
    bonus = {"neutral": 0, "current-restraint": 0, "markskill": 10}.get(cell.arm, 0)
    return min(100.0, 10.0 * (3 + _number(cell, 1) % 7) + bonus)


def _number(cell: Cell, ordinal: int) -> int:
    """A number that follows from cell and launch, the same everywhere."""
    text = f"{cell.task} {cell.arm} {cell.repetition} {ordinal}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _arm(name: str) -> Arm:
    neutral = name == "neutral"
    return Arm(
        id=name,
        kind=ArmKind.NONE if neutral else ArmKind.SKILL,
        bundle=None if neutral else f"arms/{name}",
        files=(),
    )


def _task_reference(name: str) -> TaskReference:
    return TaskReference(
        id=name,
        manifest=f"tasks/{name}/task.json",
        public_tree_sha256="9" * 64,
        request_sha256="a" * 64,
        private_grader_id=f"{name}@{'8' * 64}",
        proof_sha256="b" * 64,
    )


def _prices() -> Prices:
    return Prices(
        source="example price list",
        currency="USD",
        date="2026-01-31",
        version="1",
        per_million={"example-model": TokenPrice(input=1.0, output=4.0)},
    )


def _costs(number: int, *, priced: bool) -> Costs:
    return Costs(
        latency_s=10.0 + number % 50,
        turns=5 + number % 5,
        tool_calls=4 + number % 9,
        usage=Usage(
            model_calls=5 + number % 5, input_tokens=10_000 + number % 900, output_tokens=500 + number % 90
        ),
        cost=0.01 + (number % 100) / 10_000 if priced else None,
        changed_lines=10 + number % 20,
        touched_files=1 + number % 3,
        dependencies_added=0,
    )


def _check(number: int, *, passed: bool) -> CheckResult:
    dimensions = list(Dimension)
    return CheckResult(
        id=f"check-{number}",
        kind=CheckKind.MUST_NOW_WORK,
        dimension=dimensions[number % len(dimensions)],
        weight=1.0,
        critical=CriticalFailure.DATA_LOSS if number == 4 else None,
        verdict=CheckVerdict.PASS if passed else CheckVerdict.FAIL,
        reason="" if passed else "expected 1, found 2",
        duration_s=0.01,
    )
