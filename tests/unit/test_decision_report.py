"""The evidence of a decision is built from the runs, on check scores or on a review's, and shown."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from pydantic import ValidationError

from esac_ag.attempt import AttemptRecord, Cell
from esac_ag.errors import InputRefused
from esac_ag.manifest.package import CriticalFailure, Dimension, TaskPackage
from esac_ag.manifest.plan import AgentKind, Manifest, Phase
from esac_ag.report.build import build_view
from esac_ag.report.decision_csv import COLUMNS
from esac_ag.report.decision_view import ArmDecision
from esac_ag.report.inputs import LedgerSummary, ReportInputs
from esac_ag.report.machine import render_csv
from esac_ag.report.markdown import render_markdown
from esac_ag.report.standing import StoppedArm
from esac_ag.statistics.estimates import Estimate, NotEstimable, estimate
from esac_ag.study.decision_records import ClauseName, ClauseState, DecisionOutcome
from esac_ag.study.evidence import BurdenKind, Measure
from esac_ag.study.quality import QualityScore
from tests.builders_report import ARMS, a_manifest, a_package, a_study, varied_score

FAMILIES = ("ownership", "architecture", "dependencies", "front-end", "data-lifecycle", "scope")
TASKS = tuple(f"{family}-{contrast}" for family in FAMILIES for contrast in ("restraint", "expansion"))
ARM = "markskill"


def a_pilot(*, agent: AgentKind = AgentKind.CHAT, prices: bool = True) -> Manifest:
    """Twelve tasks, three arms, three repetitions."""
    return a_manifest(tasks=TASKS, repetitions=3, phase=Phase.PRIMARY, agent=agent, prices=prices)


def packages() -> dict[str, TaskPackage]:
    """A family and a contrast for each task."""
    found = {}
    for task in TASKS:
        family, _, contrast = task.rpartition("-")
        found[task] = a_package(task, family=family, contrast=contrast)
    return found


def a_pilot_study(
    score_of: Callable[[Cell], float | None] = varied_score,
    change: Callable[[AttemptRecord], AttemptRecord] = lambda attempt: attempt,
) -> ReportInputs:
    """A finished pilot on check scores."""
    return a_study(score_of, manifest=a_pilot(), packages=packages(), change=change)


def scored(value: float, *, scope: float | None = None) -> QualityScore:
    """The same anchor in every dimension, perhaps another one in scope."""
    dimensions = dict.fromkeys(Dimension, value)
    if scope is not None:
        dimensions[Dimension.SCOPE] = scope
    return QualityScore(dimensions=dimensions)


def reviewed(study: ReportInputs, score_of: Callable[[Cell], QualityScore | None]) -> ReportInputs:
    """The study after its review was unblinded."""
    quality: Mapping[str, QualityScore] = {
        attempt_id: score for cell, attempt_id in study.counting.items() if (score := score_of(cell))
    }
    return replace(study, quality=quality)


def primary(study: ReportInputs) -> ArmDecision:
    """The decision on the primary comparison, which comes first."""
    first = build_view(study).decisions[0]
    assert first.primary
    assert first.arm == ARM
    return first


def gain(cell: Cell) -> QualityScore:
    """The candidate gains half an anchor, more on some tasks than on others."""
    step = 0.1 * (TASKS.index(cell.task) % 3)
    return scored(3.0 + step if cell.arm == ARM else 2.5)


def test_a_study_without_review_decides_preliminarily_on_check_scores() -> None:
    """Every arm with a bundle gets a decision, and each says what it rests on."""
    view = build_view(a_pilot_study())
    assert [item.arm for item in view.decisions] == [ARM, "current-restraint"]
    for item in view.decisions:
        assert item.decision.measure is Measure.CHECKS
        assert item.decision.preliminary
        assert item.conclusion.startswith("Preliminary, from hidden checks")


def test_a_review_takes_the_place_of_the_check_scores() -> None:
    """The protocol decides on quality: the same runs, other numbers, and no mixing of the two."""
    made = primary(reviewed(a_pilot_study(lambda _: 90.0), gain))
    assert made.evidence.measure is Measure.QUALITY
    assert made.evidence.mean == estimate(15.0)
    assert made.decision.outcome is DecisionOutcome.BENEFIT
    assert not made.decision.preliminary
    assert "raised the quality score over “neutral” by 15.0 points" in made.conclusion
    view = build_view(reviewed(a_pilot_study(lambda _: 90.0), gain))
    assert view.comparisons[0].overall.mean == estimate(0.0), "the tables of check scores stay what they are"


def test_a_run_without_a_quality_score_is_never_given_its_check_score() -> None:
    """It is missing, and a review that is not complete decides nothing."""
    one = Cell(task=TASKS[0], arm=ARM, repetition=1)
    made = primary(reviewed(a_pilot_study(), lambda cell: None if cell == one else gain(cell)))
    assert (made.evidence.arm_missing, made.evidence.unreviewed_runs) == (1, 1)
    assert made.decision.outcome is DecisionOutcome.INCONCLUSIVE
    assert made.decision.reasons == ("no quality score for 1 submission",)


def test_a_model_alone_as_reviewer_is_preliminary() -> None:
    """Model-only judging is provisional, even when graders agree."""
    made = primary(
        reviewed(a_pilot_study(), lambda cell: gain(cell).model_copy(update={"provisional": True}))
    )
    assert made.decision.preliminary
    assert "Preliminary, from a review in which a model filled in forms" in made.conclusion


def test_quality_scores_of_unknown_attempts_are_refused() -> None:
    """A mixed-up review would be believed."""
    study = a_pilot_study()
    with pytest.raises(InputRefused, match="do not belong together"):
        build_view(replace(study, quality={"nobody": scored(3.0)}))


def test_a_quality_score_is_the_weighted_mean_of_five_anchored_dimensions() -> None:
    """35, 25, 20, 10 and 10 percent of the best anchor, 4."""
    given = dict(zip(Dimension, (4.0, 2.0, 3.0, 1.0, 0.0), strict=True))
    assert QualityScore(dimensions=given).points == pytest.approx(35 + 12.5 + 15 + 2.5)
    with pytest.raises(ValidationError, match="no score in verification"):
        QualityScore(dimensions={key: value for key, value in given.items() if key != "verification"})


def test_worse_scope_on_the_tasks_that_call_for_expansion_is_found() -> None:
    """The rule looks at the scope dimension of tasks by what is right for them."""

    def narrow(cell: Cell) -> QualityScore:
        small = cell.arm == ARM and cell.task.endswith("expansion")
        return scored(3.0, scope=1.0 if small else 3.0)

    made = primary(reviewed(a_pilot_study(), narrow))
    assert made.decision.clause(ClauseName.UNDER_SCOPING).state is ClauseState.HELD
    assert made.decision.clause(ClauseName.RESTRUCTURING).state is ClauseState.NOT_HELD
    assert made.decision.outcome is DecisionOutcome.REJECT
    assert "systematic under-scoping" in made.conclusion


def test_a_critical_failure_of_the_checks_and_one_of_the_review_both_count() -> None:
    """Neither takes back the other's; the control's failures make one not new."""
    cell = Cell(task=TASKS[0], arm=ARM, repetition=1)
    other = cell.model_copy(update={"repetition": 2})
    study = a_pilot_study(lambda one: 40.0 if one == cell else 100.0)

    def judged(one: Cell) -> QualityScore:
        found = (CriticalFailure.DATA_LOSS,) if one == other else ()
        return gain(one).model_copy(update={"critical_failures": found})

    made = primary(reviewed(study, judged))
    assert made.decision.outcome is DecisionOutcome.REJECT
    clause = made.decision.clause(ClauseName.REPRODUCED_CRITICAL)
    assert set(clause.attempts) == {study.counting[cell], study.counting[other]}
    assert made.evidence.critical[0].control_graded == 3


def test_a_study_that_is_not_finished_says_so_and_decides_nothing() -> None:
    """Favourable averages before the end decide nothing."""
    one = Cell(task=TASKS[0], arm="neutral", repetition=2)
    made = primary(a_pilot_study(lambda cell: None if cell == one else varied_score(cell)))
    assert made.evidence.waiting_runs == 1
    assert made.decision.outcome is DecisionOutcome.INCONCLUSIVE
    assert "the study is not finished" in made.decision.reasons[0]


def test_cells_of_a_stopped_arm_are_missing_and_not_waited_for() -> None:
    """They never come; the study is finished without them."""
    study = a_pilot_study(lambda cell: None if cell.arm == ARM and cell.repetition == 3 else 80.0)
    stop = StoppedArm(arm=ARM, task=TASKS[0], kind=CriticalFailure.DATA_LOSS, attempts=("a", "b"))
    made = primary(replace(study, ledger=LedgerSummary(stopped=(stop,))))
    assert (made.evidence.waiting_runs, made.evidence.arm_missing) == (0, 12)


@pytest.mark.parametrize(
    ("phase", "tasks", "reason"),
    [
        (Phase.CALIBRATION, TASKS, "calibration runs are excluded from results"),
        (Phase.SHADOW, TASKS[:4], "4 tasks, fewer than the 12 of a scored pilot"),
    ],
)
def test_calibration_and_a_handful_of_tasks_find_no_benefit(
    phase: Phase, tasks: tuple[str, ...], reason: str
) -> None:
    """The first is excluded from results, the second supports no general claim."""
    manifest = a_manifest(tasks=tasks, repetitions=3, phase=phase)
    study = a_study(lambda _: 90.0, manifest=manifest, packages=packages())
    made = primary(reviewed(study, gain))
    assert made.decision.outcome is DecisionOutcome.INCONCLUSIVE
    assert reason in made.decision.reasons


def test_a_failed_manipulation_check_decides_nothing() -> None:
    """Then the difference is not the bundle's."""
    study = a_study(
        lambda _: 90.0,
        manifest=a_pilot(),
        packages=packages(),
        loaded=lambda record: record.model_copy(
            update={"files": tuple(f.model_copy(update={"present_at_start": False}) for f in record.files)}
        ),
    )
    made = primary(reviewed(study, gain))
    assert made.decision.outcome is DecisionOutcome.INCONCLUSIVE
    assert "the manipulation check failed" in made.decision.reasons[0]


def test_a_family_s_noise_is_what_runs_vary_by() -> None:
    """Runs of 40, 50 and 60 everywhere: variance 100, three runs of two tasks on each side."""
    study = a_pilot_study(lambda cell: 40.0 + 10 * (cell.repetition - 1))
    noise = primary(study).evidence.families[0].noise
    assert isinstance(noise, Estimate)
    assert noise.value == pytest.approx(((100 / 3) * 4) ** 0.5 / 2)


def test_burdens_are_ratios_of_means_over_tasks_and_unknown_money_is_no_burden() -> None:
    """Twice the changed lines is a ratio of two; without prices money is not known."""

    def twice(attempt: AttemptRecord) -> AttemptRecord:
        lines = 40 if attempt.cell.arm == ARM else 20
        return attempt.model_copy(
            update={"costs": attempt.costs.model_copy(update={"changed_lines": lines, "cost": None})}
        )

    found = {item.kind: item for item in primary(a_pilot_study(change=twice)).evidence.burdens}
    assert found[BurdenKind.CHANGED_LINES].ratio == estimate(2.0)
    assert isinstance(found[BurdenKind.COST].ratio, NotEstimable)


def test_money_that_is_known_for_some_runs_only_is_not_compared() -> None:
    """A mean of the runs that happen to be priced is no cost."""

    def unpriced(attempt: AttemptRecord) -> AttemptRecord:
        cost = None if attempt.cell.repetition == 1 else attempt.costs.cost
        return attempt.model_copy(update={"costs": attempt.costs.model_copy(update={"cost": cost})})

    found = {item.kind: item for item in primary(a_pilot_study(change=unpriced)).evidence.burdens}
    assert isinstance(found[BurdenKind.COST].ratio, NotEstimable)
    assert isinstance(found[BurdenKind.LATENCY].ratio, Estimate)


def test_every_clause_of_every_arm_is_in_markdown_and_csv() -> None:
    """A reader of either sees states, numbers and thresholds."""
    view = build_view(a_pilot_study())
    text = render_markdown(view)
    rows = list(csv.DictReader(io.StringIO(render_csv(view)["decision.csv"])))
    assert tuple(rows[0]) == COLUMNS
    for item in view.decisions:
        assert item.conclusion.split("“")[0] in text
        mine = [row for row in rows if row["arm"] == item.arm]
        assert {row["clause"] for row in mine} == set(ClauseName)
        for clause in item.decision.clauses:
            shown = [row for row in mine if row["clause"] == clause.name]
            assert len(shown) == max(1, len(clause.figures))
            assert {row["state"] for row in shown} == {clause.state}
    assert not any(row["value"] in ("", "nan") for row in rows if row["figure"])


def test_the_control_gets_no_decision_and_neither_does_an_arm_without_a_bundle() -> None:
    """There is nothing to adopt or to reject."""
    decided = {item.arm for item in build_view(a_pilot_study()).decisions}
    assert decided == set(ARMS) - {"neutral"}
