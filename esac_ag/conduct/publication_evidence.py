"""What a bundle's parts prove of each other, once its ledger holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from esac_ag import __version__
from esac_ag.attempt import Cell
from esac_ag.canonical import canonical_json, loads_strict, sha256_of, sha256_of_bytes
from esac_ag.conduct.audit_records import AuditFinding, Row, differing
from esac_ag.conduct.audit_reports import same_report
from esac_ag.conduct.opening import design_of
from esac_ag.conduct.publication_account import account_findings, stray_findings
from esac_ag.conduct.publication_opening import Bundle
from esac_ag.conduct.publication_parts import part_findings
from esac_ag.conduct.publishing_material import REPORT
from esac_ag.conduct.reporting import report_files
from esac_ag.conduct.suite_results import suite_reports_of
from esac_ag.conduct.view_reports import SUITE_REPORT
from esac_ag.manifest.plan import Manifest, Plan, SuiteName
from esac_ag.report.publication_ledger import PublicLedger
from esac_ag.report.publication_lineage import Told, corrections_of, lineage_of
from esac_ag.report.publication_readme import render_readme
from esac_ag.report.publication_rows import published_rows, rows_csv, rows_json
from esac_ag.report.publication_view import (
    ATTEMPTS_CSV,
    ATTEMPTS_JSON,
    CORRECTIONS,
    LEDGER,
    LINEAGE,
    MANIFEST,
    README,
    SCHEDULE,
    STUDY,
    TASKS,
    PublishedAttempt,
    PublishedStudy,
)
from esac_ag.report.suite_machine import read_suite_json
from esac_ag.report.view import ReportView
from esac_ag.schedule import schedule_bytes
from esac_ag.suite.plan import SuitePlan, schedule_document

_ROW_OF_LEDGER = ("task", "arm", "repetition", "counts", "outcome", "spoiled_gradings", "artifacts")


@dataclass(frozen=True)
class Checked:
    """A bundle whose ledger holds."""

    bundle: Bundle
    study: PublishedStudy
    ledger: PublicLedger
    told: Told

    @cached_property
    def plan(self) -> Plan:
        """The published plan."""
        kind = Manifest if self.study.kind is SuiteName.STUDY else SuitePlan
        return kind.model_validate_json(self.bundle.read(MANIFEST))

    @cached_property
    def published(self) -> list[PublishedAttempt]:
        """The rows as they stand in the bundle."""
        values = loads_strict(self.bundle.read(ATTEMPTS_JSON))
        rows = values if isinstance(values, list) else []
        return [PublishedAttempt.model_validate_json(canonical_json(value)) for value in rows]

    def seals(self) -> Iterator[AuditFinding]:
        """What was sealed, and the bundle's own account of it."""
        study, opened_with = self.study, self.told.state.opened
        if opened_with is None:
            yield AuditFinding(where=LEDGER, what="the study was never opened")
            return
        rows: list[Row] = [
            (STUDY, "head of the ledger", self.ledger.head, study.ledger),
            (STUDY, "study id", opened_with.study_id, study.study_id),
            (STUDY, "digest of the sealed plan", opened_with.manifest_sha256, study.manifest_sha256),
            (MANIFEST, "the manifest is not the sealed one", study.manifest_sha256, self._sealed_sha256()),
            (STUDY, "digest of the schedule", study.schedule_sha256, opened_with.schedule_sha256),
            (SCHEDULE, "bytes of the schedule", study.schedule_sha256, self._sha256(SCHEDULE)),
            (SCHEDULE, "the schedule is not the plan's", self._sha256(SCHEDULE), self._planned_sha256()),
            (TASKS, "records of the tasks", opened_with.tasks_sha256, self._sha256(TASKS)),
            (STUDY, "whether the study finished", self.told.state.finished, study.finished),
            (STUDY, "how many attempts there were", len(self.told.state.attempts), study.attempts),
            (
                README,
                "the page is not what study.json gives",
                self._sha256(README),
                sha256_of_bytes(render_readme(study)),
            ),
        ]
        yield from differing(rows)

    def account(self) -> Iterator[AuditFinding]:
        """The bundle's account of itself, and its files, against plan and ledger."""
        state = self.told.state
        yield from account_findings(self.study, self.plan, self.ledger, state, len(self._cells()))
        yield from stray_findings(self.bundle, self.study, self.plan, state)

    def derived(self) -> Iterator[AuditFinding]:
        """Files that follow from the ledger."""
        files = {
            LINEAGE: rows_json(lineage_of(self._cells(), self.told)),
            CORRECTIONS: canonical_json(corrections_of(self.told.state)) + b"\n",
            ATTEMPTS_CSV: rows_csv(self.published),
        }
        yield from self._unlike(files, "it is not what the bundle's other records give")

    def rows(self) -> Iterator[AuditFinding]:
        """Rows against the ledger: every attempt that ended, once, as the ledger tells it."""
        state = self.told.state
        ended = [one.attempt_id for one in state.attempts.values() if one.outcome is not None]
        found = [row.attempt_id for row in self.published]
        if sorted(ended) != sorted(found):
            yield AuditFinding(
                where=ATTEMPTS_JSON,
                what="the rows are not of the attempts that the ledger has",
                expected=f"{len(ended)} attempts",
                found=f"{len(found)} rows",
            )
            return
        for row in self.published:
            attempt = state.attempts[row.attempt_id]
            expected = (
                *(attempt.cell.task, attempt.cell.arm, attempt.cell.repetition, attempt.counts),
                *(attempt.outcome, attempt.spoiled_gradings, dict(sorted(attempt.artifacts.items()))),
            )
            names = zip(_ROW_OF_LEDGER, expected, strict=True)
            where = f"{ATTEMPTS_JSON} {row.attempt_id}"
            yield from differing(
                (where, f"{name} is not what the ledger tells", value, getattr(row, name))
                for name, value in names
            )

    def reports(self) -> Iterator[AuditFinding]:
        """Reports by the ledger's digests, and the newest by its own JSON."""
        named = {event.number: event for event in self.told.state.revisions}
        for report in self.study.reports:
            sealed = named[report.number].files if report.number in named else {}
            later = named[report.number + 1].earlier if report.number + 1 in named else {}
            for name, digest in report.files.items():
                yield from differing(
                    (name, "a report is not the one that was told", expected, found)
                    for expected, found in (
                        (digest, self._sha256(name)),
                        (sealed.get(name, digest), digest),
                        (later.get(name, digest), digest),
                    )
                )
        if len(self.study.reports) != len(named) + 1:
            yield AuditFinding(where=STUDY, what="reports are missing, or there are too many")
        elif isinstance(self.plan, SuitePlan):
            yield from self._of_suite(self.plan)
        else:
            yield from self._newest()

    def _newest(self) -> Iterator[AuditFinding]:
        names = self.study.reports[-1].files
        path = next((name for name in names if name.endswith("/report.json")), None)
        if path is None:
            yield AuditFinding(where=STUDY, what="the newest report has no report.json")
            return
        view = ReportView.model_validate_json(self.bundle.read(path))
        rows = rows_json(published_rows(view.attempts, self.told.state.attempts))
        yield from self._unlike({ATTEMPTS_JSON: rows}, "the rows are not the report's")
        rows_of_plan: list[Row] = [
            (path, "the report is of another plan", self.study.manifest_sha256, view.header.manifest_sha256)
        ]
        yield from differing(rows_of_plan)
        if self.same_version:
            below = path.rpartition("/")[0]
            rendered = {f"{below}/{name}": data for name, data in report_files(view).items()}
            yield from self._forms(rendered)

    def _of_suite(self, plan: SuitePlan) -> Iterator[AuditFinding]:
        """Every form of a suite run's reports, by the JSON of each arm."""
        several = len(plan.arm_ids) > 1
        views = {}
        for arm in plan.arm_ids:
            path = f"{REPORT}/{f'{arm}/' if several else ''}{SUITE_REPORT}"
            views[arm] = read_suite_json(self.bundle.read(path), path)
        if self.same_version:
            files = suite_reports_of(views, plan, self.bundle.folder / REPORT).files()
            yield from self._forms({f"{REPORT}/{name}": data for name, data in files.items()})

    def _forms(self, rendered: Mapping[str, bytes]) -> Iterator[AuditFinding]:
        yield from self._unlike(rendered, "a form of the report is not what its JSON gives")
        listed = self.study.reports[-1].files
        yield from differing([(STUDY, "the files of the newest report", sorted(rendered), sorted(listed))])

    def parts(self) -> Iterator[AuditFinding]:
        """What was published on request, by the digests of ledger and manifest."""
        return part_findings(self.bundle, self.study, self.plan, self.told.state)

    @property
    def same_version(self) -> bool:
        """Whether this version writes reports as the one did that made the bundle."""
        return self.study.written_by == __version__

    def notes(self) -> Iterator[str]:
        """What cannot be proved here."""
        yield "scores are the report's; gradings and submissions behind them are known by digest only"
        if self.ledger.head.withheld_lines:
            yield (
                f"{self.ledger.head.withheld_lines} lines of the ledger have something withheld: the next "
                "lines confirm their digests, nothing confirms their own links"
            )
        if not self.same_version:
            yield f"forms of the report were not made again: the bundle is of esac-ag {self.study.written_by}"
        if not self.study.finished:
            yield "the study was not finished when it was published"

    def _sha256(self, name: str) -> str:
        return self.bundle.digests.get(name, "no such file")

    def _sealed_sha256(self) -> str:
        return sha256_of(loads_strict(self.bundle.read(MANIFEST)))

    def _unlike(self, files: Mapping[str, bytes], what: str) -> Iterator[AuditFinding]:
        yield from differing(
            (name, what, sha256_of_bytes(data), self._sha256(name))
            for name, data in files.items()
            if not (name.endswith(".parquet") and self._same_table(name, data))
        )

    def _same_table(self, name: str, data: bytes) -> bool:
        return name in self.bundle.digests and same_report(name, self.bundle.read(name), data)

    def _planned_sha256(self) -> str:
        match self.plan:
            case Manifest() as manifest:
                return sha256_of_bytes(schedule_bytes(*design_of(manifest)))
            case SuitePlan() as plan:
                return sha256_of(schedule_document(plan.schedule.seed, plan.items, plan.arm_ids))
            case _:
                raise AssertionError("a plan of no kind")

    def _cells(self) -> tuple[Cell, ...]:
        document = loads_strict(self.bundle.read(SCHEDULE))
        cells = document.get("cells") if isinstance(document, dict) else None
        return tuple(Cell.model_validate(cell) for cell in cells) if isinstance(cells, list) else ()
