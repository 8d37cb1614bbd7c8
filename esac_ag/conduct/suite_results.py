"""Reads the folder of a suite run and computes its reports from what the ledger vouches for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from esac_ag import __version__
from esac_ag.artifacts import StudyFolder, write_atomic
from esac_ag.attempt import AttemptRecord, Cell, Outcome, Usage
from esac_ag.attempt.events import AttemptState, StudyState
from esac_ag.attempt.metering import cost_of, total
from esac_ag.canonical import loads_strict, sha256_of
from esac_ag.conduct.audit_records import Row
from esac_ag.conduct.collect import ATTEMPT, RESULT, refuse_no_study, refuse_other_plan, vouched_records
from esac_ag.conduct.suite import suite_report_files
from esac_ag.errors import HarnessError, InputRefused
from esac_ag.ledger import read_headed_state
from esac_ag.manifest.plan import NEUTRAL, AgentKind
from esac_ag.report.suite_arms import SuiteArms, build_suite_arms, render_suite_arms_text
from esac_ag.report.suite_arms_html import render_suite_arms_html
from esac_ag.report.suite_arms_markdown import render_suite_arms_markdown
from esac_ag.report.suite_build import SuiteInputs, build_suite_view
from esac_ag.report.suite_view import SuiteCost, SuiteDecoding, SuiteView
from esac_ag.rooms.records import read_record
from esac_ag.suite.bank import bank
from esac_ag.suite.contract import Tokens
from esac_ag.suite.plan import SuitePlan
from esac_ag.suite.records import ItemGrading, JudgmentRecord
from esac_ag.suite.replication import ItemResult


@dataclass(frozen=True, slots=True)
class SuiteRecords:
    """What the folder of a suite run tells."""

    folder: StudyFolder
    manifest: SuitePlan
    manifest_sha256: str
    state: StudyState
    attempts: dict[str, AttemptRecord]
    """Ended launches by id."""
    gradings: dict[str, ItemGrading]
    ledger_sha256: str
    """Digest of the ledger's last line."""

    def graded(self, cell: Cell) -> ItemGrading | None:
        """The grading of a cell's attempt that counts; none where it or the record cannot be used."""
        attempt = self.state.counting(cell)
        if attempt is None or attempt.attempt_id not in self.attempts:
            return None
        return self.gradings.get(attempt.attempt_id)

    def spoiled(self, cell: Cell) -> int:
        """How many launches and gradings of a cell the infrastructure spoiled; none that a person stopped."""
        launches = [launch for launch in self.state.attempts.values() if launch.cell == cell]
        return sum((launch.outcome is Outcome.INFRA) + launch.spoiled_gradings for launch in launches)

    def stopped(self, cell: Cell) -> int:
        """How many launches of a cell a person stopped, or a crash cut off; each is played again."""
        launches = [launch for launch in self.state.attempts.values() if launch.cell == cell]
        return sum(launch.outcome is Outcome.CANCELLED for launch in launches)

    def grading_rows(self, attempt: AttemptState, where: str) -> Iterator[Row]:
        """What a grading has to agree on with the plan and the ledger."""
        grading = self.gradings[attempt.attempt_id]
        item = next((item for item in self.manifest.items if item.id == attempt.cell.task), None)
        program, image = grading.program, self.manifest.images.grader.digest
        yield where, "the grading is another run's", attempt.cell, grading.cell
        yield where, "another instance was graded", item and item.instance_sha256, grading.instance_sha256
        if program is not None:
            yield where, "another image judged", image, program.grader_image_digest
            yield where, "the hidden tests are another attempt's", attempt.attempt_id, program.attempt_id
            yield where, "the hidden tests carry another plan", self.manifest_sha256, program.manifest_sha256


@dataclass(frozen=True, slots=True)
class SuiteReports:
    """The reports of one suite run: one for each arm, and the arms' comparison where there are several."""

    views: dict[str, SuiteView]
    """By arm, the control first."""
    arms: SuiteArms | None
    folder: Path

    @property
    def exit_code(self) -> int:
        """The control's verdict decides: arms beside it are compared, not certified."""
        return self.views[NEUTRAL].decision.exit_code

    def files(self) -> dict[str, bytes]:
        """Every file of `report/` by its path there: one set for each arm, and the arms side by side."""
        if self.arms is None:
            return suite_report_files(self.views[NEUTRAL])
        files = {
            f"{arm}/{name}": data
            for arm, view in self.views.items()
            for name, data in suite_report_files(view).items()
        }
        files["arms.json"] = (self.arms.model_dump_json(indent=2) + "\n").encode()
        files["arms.md"] = render_suite_arms_markdown(self.arms).encode()
        files["arms.html"] = render_suite_arms_html(self.arms).encode()
        files["arms.txt"] = render_suite_arms_text(self.arms).encode()
        return files


def read_suite(path: Path, *, unreadable: list[HarnessError] | None = None) -> SuiteRecords:
    """Everything that the ledger of a suite run's folder vouches for.

    Args:
        path: the folder.
        unreadable: takes the refusals of attempts' records, for readers that want to know the others all the
            same; without it the first one is raised, and so is a manifest that is not the plan that was run.

    Raises:
        InputRefused: the folder holds no suite run.
        SubstitutionRefused: the manifest or a record is not the one that the ledger names, or is missing.
        LedgerCorrupt: the ledger does not verify.
    """
    folder = StudyFolder(path)
    refuse_no_study(folder)
    plan = read_record(folder.manifest, SuitePlan)
    state, ledger_sha256 = read_headed_state(folder.ledger)
    attempts = vouched_records(folder, state, ATTEMPT, AttemptRecord, unreadable)
    gradings = vouched_records(folder, state, RESULT, ItemGrading, unreadable)
    manifest_sha256 = sha256_of(loads_strict(folder.manifest.read_bytes()))
    records = SuiteRecords(folder, plan, manifest_sha256, state, attempts, gradings, ledger_sha256)
    if unreadable is None:
        refuse_other_plan(records)
    return records


def write_suite_reports(path: Path) -> SuiteReports:
    """Write `report/` of a suite run as JSON, Markdown, text and one HTML page, one set an arm.

    Raises:
        InputRefused: the folder holds no suite run, an arm has no graded item yet, or a file is damaged.
        LedgerCorrupt: the ledger does not verify.
    """
    reports = suite_reports(read_suite(path))
    for name, data in reports.files().items():
        write_atomic(reports.folder / name, data)
    return reports


def suite_reports(records: SuiteRecords) -> SuiteReports:
    """The reports that follow from a run's records.

    Raises:
        InputRefused: an arm has no graded item yet.
    """
    return suite_reports_of(suite_views(records), records.manifest, records.folder.report)


def suite_reports_of(views: dict[str, SuiteView], plan: SuitePlan, folder: Path) -> SuiteReports:
    """The reports of views of all arms.

    Args:
        views: by arm, the control first.
        plan: of the run.
        folder: that the reports are for.
    """
    arms = build_suite_arms(views, plan.item_ids, plan.schedule.seed) if len(views) > 1 else None
    return SuiteReports(views, arms, folder)


def suite_views(records: SuiteRecords) -> dict[str, SuiteView]:
    """The view of every arm, the control first.

    Raises:
        InputRefused: nothing was graded yet.
    """
    graded = {cell.arm for cell in records.manifest.cells() if records.graded(cell) is not None}
    if graded != set(records.manifest.arm_ids):
        raise InputRefused(
            "the run has no graded item of every arm yet, so there is nothing to report",
            where=str(records.folder.path),
            remedy=f"go on with it: esac-ag suite run --resume {records.folder.path}",
        )
    return {arm: _view(records, arm) for arm in records.manifest.arm_ids}


def _view(records: SuiteRecords, arm: str) -> SuiteView:
    plan = records.manifest
    results = tuple(_results(records, arm))
    gradings = [
        grading for cell in plan.cells() if cell.arm == arm and (grading := records.graded(cell)) is not None
    ]
    judgments = [judgment for grading in gradings for judgment in grading.judgments]
    judging = _usage(judgments)
    reported = {result.item_id for result in results}
    judges = sorted(
        {
            judgment.judge
            for grading in gradings
            if grading.cell.task in reported
            for judgment in grading.judgments
        }
    )
    attempts = [records.attempts[grading.attempt_id] for grading in gradings]
    return build_suite_view(
        SuiteInputs(
            items=bank(),
            results=results,
            pool=plan.pool,
            seed_fingerprint=plan.seed_fingerprint,
            seed_weak=plan.seed_weak,
            model=plan.model.name,
            agent="; ".join(sorted({record.agent_label for record in attempts})),
            judge=", ".join(judges) or None,
            judge_base_url=plan.judge.base_url if judges and plan.judge is not None else None,
            decoding=SuiteDecoding(
                temperature=plan.model.decoding.temperature,
                top_p=plan.model.decoding.top_p,
                output_cap_tokens=plan.model.decoding.max_output_tokens,
                seed=plan.model.decoding.seed,
            ),
            reasoning=plan.model.reasoning,
            wall_clock_s=plan.limits.wall_clock_s,
            harness_version=plan.harness.version,
            started_at=min(record.started_at for record in attempts),
            ended_at=max(record.ended_at for record in attempts),
            judge_tokens=_tokens(judging),
            cost=_cost(plan, attempts, judging),
            arm=None if arm == NEUTRAL else arm,
            manifest_sha256=records.manifest_sha256,
            ledger_sha256=records.ledger_sha256,
            stopped=_stopped(records, arm),
            run_notices=tuple(_notices(records, attempts, judgments)),
        )
    )


def _results(records: SuiteRecords, arm: str) -> Iterator[ItemResult]:
    """Results of the items whose runs are all graded; an item with a run missing has none yet."""
    for item in records.manifest.items:
        cells = [Cell(task=item.id, arm=arm, repetition=run) for run in range(1, item.runs + 1)]
        gradings = [grading for cell in cells if (grading := records.graded(cell)) is not None]
        if len(gradings) == len(cells):
            yield ItemResult(
                item_id=item.id,
                runs=tuple(grading.result for grading in gradings),
                retries=sum(grading.retries for grading in gradings)
                + sum(records.spoiled(cell) for cell in cells),
            )


def _stopped(records: SuiteRecords, arm: str) -> dict[str, int]:
    """Launches that were stopped or cut off, by item."""
    found: Counter[str] = Counter()
    for cell in records.manifest.cells():
        if cell.arm == arm:
            found[cell.task] += records.stopped(cell)
    return dict(found)


def _notices(
    records: SuiteRecords, attempts: Sequence[AttemptRecord], judgments: Sequence[JudgmentRecord]
) -> Iterator[str]:
    plan = records.manifest
    if any(attempt.agent_kind is AgentKind.SCRIPTED for attempt in attempts):
        yield "Scripted: policies of the suite's own acted, no model; this is evidence about no model."
    labels = sorted({record.agent_label for record in records.attempts.values()})
    if len(labels) > 1:
        yield f"The attempts were made by different agents or endpoints: {'; '.join(labels)}."
    answered = sorted(
        {judgment.answered for judgment in judgments if judgment.answered not in ("", judgment.asked)}
    )
    if answered:
        yield f"The judge's endpoint says that another name answered: {', '.join(answered)}."
    if plan.harness.version != __version__:
        yield f"The run was made by esac-ag {plan.harness.version}, this report by {__version__}."


def _usage(judgments: Sequence[JudgmentRecord]) -> Usage | None:
    """Of all judgments together; none when there is none."""
    return reduce(total, (judgment.usage for judgment in judgments)) if judgments else None


def _tokens(usage: Usage | None) -> Tokens:
    return Tokens() if usage is None else Tokens(input=usage.input_tokens, output=usage.output_tokens)


def _cost(plan: SuitePlan, attempts: Sequence[AttemptRecord], judging: Usage | None) -> SuiteCost | None:
    """Cost of the attempts that count, by the sealed price table; none without a table."""
    prices = plan.prices
    if prices is None:
        return None
    costs = [record.costs.cost for record in attempts]
    known = [cost for cost in costs if cost is not None]
    price = None if plan.judge is None else prices.per_million.get(plan.judge.model)
    return SuiteCost(
        model=math.fsum(known) if costs and len(known) == len(costs) else None,
        judge=None if judging is None else cost_of(judging, price),
        currency=prices.currency,
        source=prices.source,
        date=prices.date,
    )
