"""Auditing the gradings of a suite run: each is computed again from the archived run.

Digests show that nothing was changed after it was written down. That it is what grading gives, only grading
shows: checks are pure functions of the instance and the archived trace. What no function gives, judgments and
verdicts on hidden tests, is compared with the records that the grading was put together from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from esac_ag import __version__
from esac_ag.attempt.events import AttemptState
from esac_ag.conduct.audit_records import AuditFinding
from esac_ag.conduct.suite_cell import run_of
from esac_ag.conduct.suite_programs import code_results
from esac_ag.conduct.suite_results import SuiteRecords
from esac_ag.errors import HarnessError, UsageError
from esac_ag.rooms.records import read_record
from esac_ag.suite.bank import bank, item_named
from esac_ag.suite.constitution import Pool
from esac_ag.suite.contract import Instance, Item, Trace
from esac_ag.suite.judging import judgment_checks
from esac_ag.suite.plan import sealed_instance
from esac_ag.suite.play import measured
from esac_ag.suite.pools import DatasetSeed, instance_of, seed_fingerprint
from esac_ag.suite.records import ItemGrading, JudgmentRecord, RunRecord, judgment_file
from esac_ag.suite.replication import JUDGMENTS, model_failed

AS_COMPUTED = "what the archived run gives"


@dataclass(frozen=True, slots=True)
class Drawn:
    """The instances of a run, drawn again for its audit."""

    instances: Mapping[str, Instance]
    """By item; empty when they could not be drawn."""
    findings: tuple[AuditFinding, ...] = ()
    notes: tuple[AuditFinding, ...] = ()


def drawn_again(suite: SuiteRecords, dataset_of_pool: Callable[[Pool], DatasetSeed]) -> Drawn:
    """The instances that the plan sealed, where seed and bank at hand give them; a note says why not."""
    plan = suite.manifest
    if plan.harness.version != __version__:
        return _not_drawn(f"the run was made by esac-ag {plan.harness.version}, this is {__version__}")
    try:
        dataset = dataset_of_pool(plan.pool)
    except UsageError:
        return _not_drawn("the held-out seed is not at hand")
    if seed_fingerprint(dataset.seed) != plan.seed_fingerprint:
        return _not_drawn("the held-out seed at hand is another one")
    instances, findings = {}, []
    known = {item.id for item in bank()}
    for reference in plan.items:
        if reference.id not in known:
            what = f"the plan names {reference.id}, which the bank has not"
            findings.append(AuditFinding(where="manifest.json", what=what))
            continue
        instance = instance_of(item_named(reference.id), dataset.seed)
        found = sealed_instance(dataset.seed, instance)
        if found == reference.instance_sha256:
            instances[reference.id] = instance
        else:
            what = f"the sealed instance of {reference.id} is not the one that seed and bank give"
            sealed = reference.instance_sha256
            findings.append(AuditFinding(where="manifest.json", what=what, expected=found, found=sealed))
    return Drawn(instances, tuple(findings))


def grading_findings(suite: SuiteRecords, drawn: Drawn) -> Iterator[AuditFinding]:
    """Gradings that are not what grading the archived runs gives."""
    for attempt in suite.state.attempts.values():
        grading = suite.gradings.get(attempt.attempt_id)
        if grading is None:
            continue
        where = f"attempts/{attempt.attempt_id}/grading/result.json"
        try:
            for what in _differences(suite, attempt, grading, drawn.instances):
                yield AuditFinding(where=where, what=what, expected=AS_COMPUTED)
        except HarnessError as error:
            what = f"the grading cannot be computed again: {error.what}"
            yield AuditFinding(where=where, what=what, expected=error.expected, found=error.found)


def _differences(
    suite: SuiteRecords, attempt: AttemptState, grading: ItemGrading, instances: Mapping[str, Instance]
) -> Iterator[str]:
    folder = suite.folder.attempt(attempt.attempt_id)
    run = run_of(folder.read_submission(), str(folder.path))
    item = item_named(attempt.cell.task)
    trace = grading.result.trace
    yield from _of_the_run(item, run, grading)
    yield from _of_the_hidden_tests(run, grading)
    yield from _of_the_judgments(suite, attempt, item, grading)
    if (instance := instances.get(item.id)) is not None:
        yield from _of_the_checks(item, instance, trace, grading)


def _of_the_run(item: Item, run: RunRecord, grading: ItemGrading) -> Iterator[str]:
    trace = grading.result.trace.model_copy(update={"code": ()})
    retries = run.retries + sum(judgment.retries for judgment in grading.judgments)
    pairs = (
        ("the archived run is another item's", item.id, run.item_id),
        ("the trace is not the archived one", run.trace, trace),
        ("the retries are not those of the run and its judgments", retries, grading.retries),
        ("the run's word on estimated tokens is another", run.tokens_estimated, grading.tokens_estimated),
    )
    yield from (what for what, expected, found in pairs if expected != found)


def _of_the_hidden_tests(run: RunRecord, grading: ItemGrading) -> Iterator[str]:
    program, code = grading.program, grading.result.trace.code
    if run.submitted != (program is not None):
        yield "a program that was handed in was not judged, or one was judged that was not handed in"
    if code != (() if program is None else code_results(program)):
        yield "the results of hidden tests are not the grader's verdicts"


def _of_the_judgments(
    suite: SuiteRecords, attempt: AttemptState, item: Item, grading: ItemGrading
) -> Iterator[str]:
    wanted = JUDGMENTS if item.rubric and not model_failed(grading.result.trace.end) else 0
    if len(grading.judgments) != wanted:
        yield f"judgments: {len(grading.judgments)} where there have to be {wanted}"
    made = tuple(judgment_checks(item.rubric, one.judgment) for one in grading.judgments)
    if made != grading.result.judgments:
        yield "the scores of the judgments are not those that were given"
    folder = suite.folder.attempt(attempt.attempt_id).path
    for number, judgment in enumerate(grading.judgments, start=1):
        # Ledgers of earlier versions name no judgments.
        name = judgment_file(number)
        if name in attempt.artifacts and read_record(folder / name, JudgmentRecord) != judgment:
            yield f"judgment {number} is not the one that was kept"


def _of_the_checks(item: Item, instance: Instance, trace: Trace, grading: ItemGrading) -> Iterator[str]:
    if item.check(instance, trace) != grading.result.checks:
        yield "the checks come out otherwise"
    if measured(item, instance, trace) != grading.result.facts:
        yield "the facts of efficiency come out otherwise"


def _not_drawn(why: str) -> Drawn:
    what = f"checks were not computed again: {why}"
    return Drawn({}, notes=(AuditFinding(where="manifest.json", what=what),))
