"""Suite runs whose plan or gradings were edited, and what a report takes from records alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from esac_ag.artifacts import StudyFolder, file_digest
from esac_ag.attempt import Cell, Outcome
from esac_ag.attempt.events import AttemptEnded, AttemptStarted, Line
from esac_ag.canonical import canonical_json, loads_strict, sha256_of, sha256_of_bytes
from esac_ag.conduct.audit import AuditReport, audit
from esac_ag.conduct.audit_grading import drawn_again
from esac_ag.conduct.collect import RESULT
from esac_ag.conduct.reporting import write_report
from esac_ag.conduct.study import run_study
from esac_ag.conduct.suite_results import suite_views, write_suite_reports
from esac_ag.errors import SubstitutionRefused, UsageError
from esac_ag.ledger import open_ledger
from esac_ag.suite.constitution import PINNED_JUDGE, Pool
from esac_ag.suite.pools import DatasetSeed
from esac_ag.suite.verdict import Verdict
from tests.builders_conduct import Told, a_runnable_study, folder_of
from tests.builders_conduct import run as run_a_study
from tests.builders_suite_run import (
    HELD_OUT_SEED,
    JUDGED,
    PROGRAM,
    QUICK,
    SealedRun,
    a_chat_agent,
    a_judge,
    a_policy_agent,
    a_sealed_run,
    held_out,
)
from tests.model_server import Scripted, says
from tests.playing_server import PlayingServer

REFUND = QUICK[0]
Change = Callable[[dict[str, Any]], None]


def found(report: AuditReport) -> list[str]:
    """What the audit finds."""
    return [finding.what for finding in report.findings]


def forged(folder: StudyFolder, attempt_id: str, name: str, change: Change) -> None:
    """Edit a record and chain the whole ledger anew to fit."""
    path = folder.attempt(attempt_id).path / name
    before = file_digest(path)
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    rechained(folder, {before: file_digest(path)})


def rechained(folder: StudyFolder, digests: Mapping[str, str]) -> None:
    """The ledger with other digests in place of some, whole again."""
    text = folder.ledger.read_text()
    for before, after in digests.items():
        text = text.replace(before, after)
    previous, lines = "0" * 64, []
    for raw in text.splitlines():
        line = Line.model_validate_json(raw).model_copy(update={"previous": previous})
        lines.append(canonical_json(line))
        previous = sha256_of_bytes(lines[-1])
    folder.ledger.write_bytes(b"".join(line + b"\n" for line in lines))


def judged_run(folder: Path, server: PlayingServer, **judge: Any) -> SealedRun:  # noqa: ANN401
    """A finished run of a judged item."""
    plan = a_judge(server.base_url, **judge)
    run = a_sealed_run(folder, JUDGED, agent=a_chat_agent(server.base_url), judge=plan)
    run.run()
    return run


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["judge"].update(model="xiaomi/mimo-v2.6-pro-edited"),
        lambda data: data["model"].update(name="a/better-model"),
        lambda data: data.update(pool="held-out"),
        lambda data: data["agent"].update(kind="scripted"),
    ],
)
def test_an_edited_manifest_is_believed_by_no_report(tmp_path: Path, change: Change) -> None:
    """The ledger names the digest of the plan that was run; the audit tells it as findings."""
    with PlayingServer() as server:
        run = judged_run(tmp_path, server)
    write_suite_reports(run.folder.path)
    data = run.data
    change(data)
    run.save(data)
    with pytest.raises(SubstitutionRefused, match="the plan that was run"):
        write_suite_reports(run.folder.path)
    assert "digest of the sealed plan" in found(audit(run.folder.path))


def test_a_plan_that_was_edited_with_the_ledgers_first_line_still_differs_from_the_records(
    tmp_path: Path,
) -> None:
    """Attempts and gradings carry the plan's digest, too."""
    run = a_sealed_run(tmp_path, REFUND)
    run.run()
    before = run.records().manifest_sha256
    data = run.data
    data["model"]["name"] = "another"
    run.save(data)
    rechained(run.folder, {before: sha256_of(loads_strict(run.path.read_bytes()))})
    with pytest.raises(SubstitutionRefused, match="the plan that was run") as caught:
        write_suite_reports(run.folder.path)
    assert "attempt.json" in caught.value.expected


def test_an_edited_manifest_of_a_study_is_believed_by_no_report(tmp_path: Path) -> None:
    """As for suite runs."""
    study = a_runnable_study(tmp_path)
    run_a_study(study, limit=2)
    folder = folder_of(study)
    write_report(folder.path)
    data = json.loads(folder.manifest.read_text())
    data["model"]["name"] = "a/better-model"
    folder.manifest.write_text(json.dumps(data))
    with pytest.raises(SubstitutionRefused, match="the plan that was run"):
        write_report(folder.path)
    assert "digest of the sealed plan" in found(audit(folder.path))


def test_launches_that_were_stopped_or_cut_off_are_told(tmp_path: Path) -> None:
    """Whoever stops a launch may have seen that it goes badly: the report counts them, and as no retries."""
    run = a_sealed_run(tmp_path, *QUICK)
    run.run(limit=0)
    cell = Cell(task=REFUND, arm="neutral", repetition=1)
    with open_ledger(run.folder.ledger) as ledger:
        for number in (1, 2):
            started = AttemptStarted(attempt_id=f"cutoff-{number}", cell=cell, ordinal=number)
            ledger.append(started)
        ended = AttemptEnded(attempt_id="cutoff-1", outcome=Outcome.CANCELLED, reason="stopped by a person")
        ledger.append(ended)
    run.run()
    view = write_suite_reports(run.folder.path).views["neutral"]
    assert (view.stopped, view.retries) == (2, 0)
    assert {item.id: item.stopped for item in view.items if item.stopped} == {REFUND: 2}
    assert "2 launches were stopped by a person or cut off and played again." in view.notices
    assert audit(run.folder.path).clean


def test_the_report_tells_the_digest_of_the_ledgers_last_line(tmp_path: Path) -> None:
    """Whoever kept it finds it again in a ledger that goes on, and not in one whose tail was cut."""
    run = a_sealed_run(tmp_path, *QUICK)
    run.run(limit=2)
    head = write_suite_reports(run.folder.path).views["neutral"].times.ledger_sha256
    assert head == sha256_of_bytes(run.folder.ledger.read_bytes().splitlines()[-1])
    run.run()
    assert f'"previous":"{head}"' in run.folder.ledger.read_text()


def test_two_failed_runs_of_a_judged_item_name_no_judge(tmp_path: Path) -> None:
    """Nobody was asked; another judge that was allowed and never asked makes nothing invalid."""
    with PlayingServer(instead={JUDGED: [says(""), says("")]}) as server:
        run = judged_run(tmp_path, server, model="other/judge")
        assert server.judged == []
    view = suite_views(run.records())["neutral"]
    assert (view.header.judge, view.header.judge_base_url) == (None, None)
    assert view.decision.verdict is Verdict.INCOMPLETE


@pytest.mark.parametrize(
    ("answered", "judge"),
    [
        ("", PINNED_JUDGE),
        (PINNED_JUDGE, PINNED_JUDGE),
        ("MiMo-V2.6-Pro", PINNED_JUDGE),
        ("mirror/xiaomi/mimo-v2.6-pro-20261101", PINNED_JUDGE),
        ("xiaomi/mimo-v2.6", "xiaomi/mimo-v2.6"),
        ("another/judge", "another/judge"),
        ("xiaomi/mimo-v2.6-pro/other", "xiaomi/mimo-v2.6-pro/other"),
    ],
)
def test_the_judge_is_the_one_that_answered(tmp_path: Path, answered: str, judge: str) -> None:
    """Its last path part has to begin with the asked one's; anything else is another judge, and NOT VALID."""

    class Answers(PlayingServer):
        def _judgment(self, body: dict[str, Any]) -> Scripted:
            reply = super()._judgment(body)
            body["model"] = answered
            return reply

    with Answers() as server:
        run = judged_run(tmp_path, server)
    view = suite_views(run.records())["neutral"]
    assert view.header.judge == judge
    assert view.header.judge_base_url == server.base_url
    assert (view.decision.verdict is Verdict.NOT_VALID) == (judge != PINNED_JUDGE)


def test_the_folder_of_a_held_out_run_is_its_owners_wherever_it_is_made(tmp_path: Path) -> None:
    """A plan that lies elsewhere makes the folder, or takes one that others could read."""
    run = a_sealed_run(tmp_path, REFUND, dataset=held_out())
    assert run.folder.path.stat().st_mode & 0o777 == 0o700
    elsewhere = tmp_path / "plan.json"
    elsewhere.write_bytes(run.path.read_bytes())
    (tmp_path / "manifest.probe.json").write_bytes((run.folder.path / "manifest.probe.json").read_bytes())
    for name in ("new", "open"):
        results = tmp_path / name
        if name == "open":
            results.mkdir(mode=0o755)
        other = replace(run, path=elsewhere)
        opened = other.opened(folder=StudyFolder(results))
        assert results.stat().st_mode & 0o777 == 0o700
        run_study(opened, concurrency=1, watcher=Told())


def test_a_plan_that_calls_its_weak_seed_strong_is_refused(tmp_path: Path) -> None:
    """Reports would not tell that the seed may be guessed."""
    run = a_sealed_run(tmp_path, dataset=held_out("short seed 1"))
    assert run.data["seed_weak"]
    run.save(run.data | {"seed_weak": False})
    with pytest.raises(SubstitutionRefused) as caught:
        run.opened()
    assert caught.value.where.endswith("#/seed_weak")


def best(data: dict[str, Any]) -> None:
    """All checks pass."""
    for check in data["result"]["checks"]:
        check["fraction"] = 1.0


def answer(data: dict[str, Any]) -> None:
    """Another last message."""
    data["result"]["trace"]["final_text"] = "the right answer"


def thrifty(data: dict[str, Any]) -> None:
    """Fewer actions that cost."""
    data["result"]["facts"]["calls"] = 0


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (best, "the checks come out otherwise"),
        (answer, "the trace is not the archived one"),
        (thrifty, "the facts of efficiency come out otherwise"),
        (lambda data: data.update(retries=3), "the retries are not those of the run and its judgments"),
        (lambda data: data.update(tokens_estimated=False), "the run's word on estimated tokens is another"),
    ],
)
@pytest.mark.parametrize("pool", ["public", "held-out"])
def test_a_forged_grading_is_found_behind_a_forged_ledger(
    tmp_path: Path, pool: str, change: Change, what: str
) -> None:
    """The audit grades the archived run again, wherever it can draw the instances."""
    dataset = held_out() if pool == "held-out" else None
    run = a_sealed_run(tmp_path, REFUND, dataset=dataset, agent=a_policy_agent("whole-amount"))
    run.run()
    assert audit(run.folder.path, lambda _: run.dataset).clean
    forged(run.folder, run.attempt_of(REFUND).attempt_id, RESULT, change)
    assert found(audit(run.folder.path, lambda _: run.dataset)) == [what]


def no_seed(_: Pool) -> DatasetSeed:
    """Where nobody has the seed."""
    raise UsageError("There is no held-out seed.")


@pytest.mark.parametrize("dataset_of_pool", [no_seed, lambda _: held_out("another seed, which is as long 1")])
def test_checks_of_a_held_out_run_without_its_seed_are_noted_as_unchecked(
    tmp_path: Path, dataset_of_pool: Callable[[Pool], DatasetSeed]
) -> None:
    """What needs no instance is found all the same."""
    run = a_sealed_run(tmp_path, REFUND, dataset=held_out(), agent=a_policy_agent("whole-amount"))
    run.run()
    report = audit(run.folder.path, dataset_of_pool)
    assert report.clean
    (note,) = report.notes
    assert note.what.startswith("checks were not computed again")
    assert HELD_OUT_SEED not in note.what
    forged(run.folder, run.attempt_of(REFUND).attempt_id, RESULT, best)
    assert audit(run.folder.path, dataset_of_pool).clean
    forged(run.folder, run.attempt_of(REFUND).attempt_id, RESULT, answer)
    assert found(audit(run.folder.path, dataset_of_pool)) == ["the trace is not the archived one"]


def test_a_run_of_another_version_is_not_graded_again(tmp_path: Path) -> None:
    """Its bank may have been another; a note says so."""
    run = a_sealed_run(tmp_path, REFUND)
    run.run()
    suite = run.records()
    harness = suite.manifest.harness.model_copy(update={"version": "0.0.1"})
    old = replace(suite, manifest=suite.manifest.model_copy(update={"harness": harness}))
    drawn = drawn_again(old, lambda _: run.dataset)
    assert (drawn.instances, drawn.findings) == ({}, ())
    assert "0.0.1" in drawn.notes[0].what


def test_sealed_instances_that_the_seed_does_not_give_are_found(tmp_path: Path) -> None:
    """Otherwise an edited digest would keep the audit from grading again."""
    run = a_sealed_run(tmp_path, REFUND)
    run.run()
    suite = run.records()
    items = [suite.manifest.items[0].model_copy(update=update) for update in CHANGED_ITEMS]
    other = replace(suite, manifest=suite.manifest.model_copy(update={"items": tuple(items)}))
    drawn = drawn_again(other, lambda _: run.dataset)
    assert [finding.what for finding in drawn.findings] == [
        f"the sealed instance of {REFUND} is not the one that seed and bank give",
        "the plan names no-such-item, which the bank has not",
    ]


CHANGED_ITEMS = ({"instance_sha256": "ab" * 32}, {"id": "no-such-item"})


def fails(data: dict[str, Any]) -> None:
    """A hidden test's result is turned."""
    result = data["result"]["trace"]["code"][0]
    result["passed"] = not result["passed"]


def turned(data: dict[str, Any]) -> None:
    """The grader's verdict is turned, and the trace is not."""
    data["program"]["checks"][0]["verdict"] = "fail"


def unjudged(data: dict[str, Any]) -> None:
    """As if nothing had been handed in."""
    data["program"] = None


@pytest.mark.parametrize("change", [fails, turned, unjudged])
def test_results_of_hidden_tests_are_the_graders(tmp_path: Path, change: Change) -> None:
    """The trace of a program holds what the grader's container found, and nothing else."""
    run = a_sealed_run(tmp_path, PROGRAM)
    run.run()
    assert audit(run.folder.path).clean
    forged(run.folder, run.attempt_of(PROGRAM).attempt_id, RESULT, change)
    assert "the results of hidden tests are not the grader's verdicts" in found(audit(run.folder.path))


def better(data: dict[str, Any]) -> None:
    """Other scores than the judge's."""
    for check in data["result"]["judgments"][0]:
        check["fraction"] = 1.0


def kinder(data: dict[str, Any]) -> None:
    """Another judgment than the one that was kept."""
    data["judgments"][0]["judgment"]["reason"] = "else"


def fewer(data: dict[str, Any]) -> None:
    """One judgment only."""
    del data["judgments"][0], data["result"]["judgments"][0]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (better, "the scores of the judgments are not those that were given"),
        (kinder, "judgment 1 is not the one that was kept"),
        (fewer, "judgments: 1 where there have to be 2"),
    ],
)
def test_judgments_are_those_that_were_made(tmp_path: Path, change: Change, what: str) -> None:
    """Each is compared with the file that was kept when it arrived."""
    with PlayingServer(score=lambda _: 2) as server:
        run = judged_run(tmp_path, server)
    assert audit(run.folder.path).clean
    forged(run.folder, run.attempt_of(JUDGED).attempt_id, RESULT, change)
    assert what in found(audit(run.folder.path))
