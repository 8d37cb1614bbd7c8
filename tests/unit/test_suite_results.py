"""Reports of a suite run, and its audit: everything comes from what the ledger vouches for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from esac_ag.attempt import Cell, Outcome
from esac_ag.attempt.events import AttemptStarted
from esac_ag.conduct.audit import audit
from esac_ag.conduct.collect import RESULT
from esac_ag.conduct.suite_results import read_suite, suite_views, write_suite_reports
from esac_ag.errors import InputRefused, SandboxLost, StudyPaused, SubstitutionRefused
from esac_ag.ledger import open_ledger, read_state
from esac_ag.manifest.plan import Prices, TokenPrice
from esac_ag.report.suite_machine import read_suite_json
from esac_ag.suite.constitution import PINNED_JUDGE
from esac_ag.suite.verdict import Verdict
from tests.builders_suite_run import (
    HELD_OUT_SEED,
    JUDGE_KEY,
    JUDGED,
    MODEL_KEY,
    QUICK,
    SealedRun,
    a_chat_agent,
    a_judge,
    a_sealed_run,
    a_skill,
    held_out,
)
from tests.model_server import Scripted, refuses, says
from tests.playing_server import MODEL, PlayingServer, shortcut

REFUND, NAME, COUNT = QUICK
OTHER_DIGEST = "cd" * 32
AGAIN = refuses(503, retry_after="0")
"""A failure of the service that may be tried again at once."""


def finished(folder: Path, **request: Any) -> SealedRun:  # noqa: ANN401
    """A finished run of three items by their references."""
    run = a_sealed_run(folder, **request)
    assert run.run().finished
    return run


def files_of(run: SealedRun) -> dict[str, bytes]:
    """Every file of the report."""
    report = run.folder.report
    return {
        path.relative_to(report).as_posix(): path.read_bytes()
        for path in sorted(report.rglob("*"))
        if path.is_file()
    }


def attempt_folder(run: SealedRun, item: str = REFUND) -> Path:
    """The folder of an item's attempt."""
    return run.folder.attempt(run.attempt_of(item).attempt_id).path


def edit(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Edit a record."""
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def told(run: SealedRun) -> set[tuple[str, str]]:
    """Place and sentence of each finding of the audit."""
    return {(finding.where, finding.what) for finding in audit(run.folder.path).findings}


def test_a_finished_run_is_reported_and_audits_clean(tmp_path: Path) -> None:
    """The items that ran, by the sealed plan, and no finding with the report written."""
    run = finished(tmp_path)
    reports = write_suite_reports(run.folder.path)
    view = reports.views["neutral"]
    assert {item.id for item in view.items if item.fraction is not None} == set(QUICK)
    assert {item.fraction for item in view.items if item.id in QUICK} == {1.0}
    assert view.decision.verdict is Verdict.INCOMPLETE
    assert reports.exit_code == 1
    assert reports.arms is None
    assert view.header.manifest_sha256 == run.records().manifest_sha256
    assert view.header.arm is None
    assert view.header.judge is None
    found = audit(run.folder.path)
    assert (found.findings, found.notes) == ((), ())
    assert (found.cells_planned, found.cells_done, found.attempts) == (3, 3, 3)


def test_a_report_says_that_policies_acted(tmp_path: Path) -> None:
    """Evidence about no model, in every form of the report."""
    run = finished(tmp_path)
    view = write_suite_reports(run.folder.path).views["neutral"]
    assert view.notices[0].startswith("Scripted:")
    assert "scripted" in view.header.agent
    assert [name for name, data in files_of(run).items() if b"cripted" not in data] == []


def test_reports_are_the_same_whenever_they_are_written(tmp_path: Path) -> None:
    """Byte for byte: nothing but the records is in them."""
    run = finished(tmp_path)
    write_suite_reports(run.folder.path)
    first = files_of(run)
    write_suite_reports(run.folder.path)
    assert files_of(run) == first
    assert set(first) == {f"suite-report.{form}" for form in ("json", "md", "txt", "html")}
    read_suite_json(first["suite-report.json"], "the report")


def test_a_run_without_gradings_has_nothing_to_report(tmp_path: Path) -> None:
    """The refusal says how to go on."""
    run = a_sealed_run(tmp_path)
    run.run(limit=0)
    with pytest.raises(InputRefused, match="nothing to report") as caught:
        write_suite_reports(run.folder.path)
    assert "--resume" in caught.value.remedy
    assert not run.folder.report.exists()


def test_a_run_that_is_half_done_reports_what_is_there(tmp_path: Path) -> None:
    """Items that did not run are no zeros; the report is told to be old when the run went on."""
    run = a_sealed_run(tmp_path)
    run.run(limit=1)
    view = write_suite_reports(run.folder.path).views["neutral"]
    first = run.plan.item_ids[0]
    assert [item.id for item in view.items if item.earned is not None] == [first]
    assert audit(run.folder.path).clean
    run.run()
    assert {where for where, _ in told(run)} == {f"report/{name}" for name in files_of(run)}


def test_an_item_with_one_of_two_runs_graded_has_no_result(tmp_path: Path) -> None:
    """The report says INCOMPLETE, and the item did not run, while the other one has its result."""
    with PlayingServer() as server:
        judge = a_judge(server.base_url)
        run = a_sealed_run(tmp_path, JUDGED, REFUND, agent=a_chat_agent(server.base_url), judge=judge)
        order = [cell.task for cell in run.plan.cells()]
        assert order == [REFUND, JUDGED, JUDGED]
        run.run(limit=2)
        views = suite_views(run.records())
        assert views["neutral"].decision.verdict is Verdict.INCOMPLETE
        standing = {item.id: item.fraction for item in views["neutral"].items}
        assert (standing[REFUND], standing[JUDGED]) == (1.0, None)
        assert views["neutral"].header.judge is None
        run.run()
        whole = suite_views(run.records())["neutral"]
    assert {item.id: item.fraction for item in whole.items}[JUDGED] == 1.0
    assert whole.header.judge == PINNED_JUDGE
    assert server.judged == [JUDGED] * 4


def test_a_judged_run_by_another_name_is_told(tmp_path: Path) -> None:
    """What the endpoint says answered is compared with what was asked."""

    class Renamed(PlayingServer):
        def _judgment(self, body: dict[str, Any]) -> Scripted:
            reply = super()._judgment(body)
            body["model"] = "another/judge"
            return reply

    with Renamed() as server:
        run = a_sealed_run(
            tmp_path, JUDGED, agent=a_chat_agent(server.base_url), judge=a_judge(server.base_url)
        )
        run.run()
    notices = suite_views(run.records())["neutral"].notices
    assert any("another/judge" in notice for notice in notices)


def test_scores_of_the_judge_are_averaged_over_four_observations(tmp_path: Path) -> None:
    """Two runs, two judgments each; a run that failed counts nothing and asks nobody."""
    with PlayingServer(instead={JUDGED: [says("")]}, score=lambda _: 2) as server:
        run = a_sealed_run(
            tmp_path, JUDGED, agent=a_chat_agent(server.base_url), judge=a_judge(server.base_url)
        )
        run.run()
    (item,) = [item for item in suite_views(run.records())["neutral"].items if item.id == JUDGED]
    assert [row.end.value for row in item.runs] == ["empty", "answered"]
    assert server.judged == [JUDGED] * 2
    assert item.fraction is not None
    assert item.fraction == pytest.approx(item.runs[1].fraction / 2)


def test_retries_are_those_of_requests_judgments_and_launches(tmp_path: Path) -> None:
    """One repeated request of the model, one of the judge, and one launch that the engine spoiled."""
    failures: list[Scripted] = []

    class FailingJudge(PlayingServer):
        def _judgment(self, body: dict[str, Any]) -> Scripted:
            return failures.pop() if failures else super()._judgment(body)

    with FailingJudge(before={1: AGAIN}) as server:
        run = a_sealed_run(
            tmp_path, JUDGED, agent=a_chat_agent(server.base_url), judge=a_judge(server.base_url)
        )
        run.engine.fail_next("start", SandboxLost("gone"))
        run.run(limit=1)
        assert [grading.retries for grading in run.gradings] == [1]
        failures.append(AGAIN)
        run.run()
    assert sorted(grading.retries for grading in run.gradings) == [1, 1]
    view = suite_views(run.records())["neutral"]
    assert view.retries == 3
    assert {item.retries for item in view.items if item.id == JUDGED} == {3}


def test_a_run_that_a_person_stopped_is_no_retry(tmp_path: Path) -> None:
    """Retries are failures of the infrastructure; a launch that was cut off is none."""
    run = a_sealed_run(tmp_path, REFUND)
    run.run(limit=0)
    with open_ledger(run.folder.ledger) as ledger:
        ledger.append(
            AttemptStarted(
                attempt_id="cutoff", cell=Cell(task=REFUND, arm="neutral", repetition=1), ordinal=1
            )
        )
    run.run()
    outcomes = [attempt.outcome for attempt in read_state(run.folder.ledger).attempts.values()]
    assert outcomes == [Outcome.CANCELLED, Outcome.COMPLETED]
    assert suite_views(run.records())["neutral"].retries == 0


def test_retries_are_no_part_of_any_score(tmp_path: Path) -> None:
    """The same run with failures of the service earns the same."""
    seen = []
    for number, before in enumerate(({}, {1: AGAIN, 2: AGAIN})):
        with PlayingServer(before=before) as server:
            run = a_sealed_run(tmp_path / str(number), REFUND, agent=a_chat_agent(server.base_url))
            run.run()
        view = suite_views(run.records())["neutral"]
        seen.append((view.total, view.usage, view.modifier, view.retries))
    (total, usage, modifier, none), (again, same_usage, same_modifier, two) = seen
    assert (total, usage, modifier) == (again, same_usage, same_modifier)
    assert (none, two) == (0, 2)


PRICES = Prices(
    source="a price list",
    currency="EUR",
    date="2026-01-01",
    version="1",
    per_million={
        MODEL: TokenPrice(input=1.0, output=10.0, cached_input=1.0),
        PINNED_JUDGE: TokenPrice(input=2.0, output=20.0, cached_input=2.0),
    },
)


def judged_by_chat(folder: Path, prices: Prices | None, **server: Any) -> SealedRun:  # noqa: ANN401
    """A finished run of a judged item by a played model."""
    with PlayingServer(**server) as played:
        run = a_sealed_run(
            folder,
            JUDGED,
            agent=a_chat_agent(played.base_url),
            judge=a_judge(played.base_url),
            prices=prices,
        )
        run.run()
    return run


def test_costs_are_those_of_the_sealed_prices(tmp_path: Path) -> None:
    """Model and judge apart, each reply of 100 and 20 tokens."""
    run = judged_by_chat(tmp_path, PRICES)
    view = suite_views(run.records())["neutral"]
    assert view.cost is not None
    assert view.usage.input_tokens is not None
    asked = view.usage.input_tokens // 100
    assert view.cost.model == pytest.approx(asked * (100 * 1.0 + 20 * 10.0) / 1e6)
    assert view.cost.judge == pytest.approx(4 * (100 * 2.0 + 20 * 20.0) / 1e6)
    assert (view.cost.currency, view.cost.source) == ("EUR", "a price list")
    assert (view.usage.judge.input, view.usage.judge.output) == (400, 80)


def test_without_prices_there_are_no_costs(tmp_path: Path) -> None:
    """Nothing is guessed."""
    assert suite_views(judged_by_chat(tmp_path, None).records())["neutral"].cost is None


def test_prices_of_other_models_are_no_prices(tmp_path: Path) -> None:
    """Cost is unknown, and never zero."""
    others = PRICES.model_copy(update={"per_million": {"other": TokenPrice(input=1.0, output=1.0)}})
    cost = suite_views(judged_by_chat(tmp_path, others).records())["neutral"].cost
    assert cost is not None
    assert (cost.model, cost.judge) == (None, None)


def test_tokens_that_one_reply_does_not_tell_are_unknown(tmp_path: Path) -> None:
    """And with them the cost of the model."""
    run = judged_by_chat(tmp_path, PRICES, instead={JUDGED: [says("Done.", usage=None)]})
    view = suite_views(run.records())["neutral"]
    assert (view.usage.input_tokens, view.usage.output_tokens) == (None, None)
    assert (view.usage.runs, view.usage.runs_known) == (2, 1)
    assert view.cost is not None
    assert view.cost.model is None
    assert view.cost.judge is not None
    assert "unavailable" in write_and_read(run)


def write_and_read(run: SealedRun) -> str:
    """The text of a report."""
    write_suite_reports(run.folder.path)
    return (run.folder.report / "suite-report.txt").read_text()


def test_a_policy_has_no_cost_even_with_prices(tmp_path: Path) -> None:
    """Its tokens are estimates, which are never multiplied by prices."""
    view = suite_views(finished(tmp_path, prices=PRICES).records())["neutral"]
    assert view.cost is not None
    assert (view.cost.model, view.cost.judge) == (None, None)


@pytest.mark.parametrize("name", [RESULT, "attempt.json"])
def test_an_edited_record_is_refused_by_the_report_and_told_by_the_audit(tmp_path: Path, name: str) -> None:
    """Whether a report was written before or not."""
    run = finished(tmp_path)
    path = attempt_folder(run) / name
    where = path.relative_to(run.folder.path).as_posix()
    edit(path, lambda data: data.update(manifest_sha256=OTHER_DIGEST))
    with pytest.raises(SubstitutionRefused):
        write_suite_reports(run.folder.path)
    assert (where, "a file was changed") in told(run)


@pytest.mark.parametrize("name", [RESULT, "attempt.json"])
@pytest.mark.parametrize("how", ["edited", "removed", "damaged"])
def test_the_audit_tells_a_spoiled_record_beside_a_report(tmp_path: Path, name: str, how: str) -> None:
    """It never fails where it has to tell."""
    run = finished(tmp_path)
    write_suite_reports(run.folder.path)
    path = attempt_folder(run) / name
    where = path.relative_to(run.folder.path).as_posix()
    match how:
        case "edited":
            edit(path, lambda data: data.update(manifest_sha256=OTHER_DIGEST))
        case "removed":
            path.unlink()
        case _:
            path.write_bytes(b"{")
    places = {place for place, _ in told(run)}
    assert where in places
    assert any(place.startswith("report") for place in places)


@pytest.mark.parametrize(
    "name", ["suite-report.json", "suite-report.md", "suite-report.txt", "suite-report.html"]
)
def test_an_edited_report_is_found(tmp_path: Path, name: str) -> None:
    """Reports are computed again from the records and compared byte for byte."""
    run = finished(tmp_path)
    write_suite_reports(run.folder.path)
    path = run.folder.report / name
    path.write_bytes(path.read_bytes().replace(b"0", b"9", 1))
    assert {where for where, _ in told(run)} == {f"report/{name}"}


@pytest.mark.parametrize("name", ["schedule.json", "tasks.json"])
def test_an_edited_or_missing_file_of_the_plan_is_found(tmp_path: Path, name: str) -> None:
    """The files that the folder holds for readers are digested, too."""
    run = finished(tmp_path)
    path = run.folder.path / name
    path.write_bytes(path.read_bytes() + b" ")
    assert told(run) == {(name, "a file of the plan was changed")}
    path.unlink()
    (finding,) = audit(run.folder.path).findings
    assert finding.found == "no such file"


def test_an_edited_manifest_is_found(tmp_path: Path) -> None:
    """The ledger names the digest that the run was opened with, and every record names it, too."""
    run = finished(tmp_path)
    run.save(run.data | {"pool": "held-out"})
    assert ("manifest.json", "digest of the sealed plan") in told(run)
    assert "the attempt carries another plan" in {what for _, what in told(run)}


def test_an_attempt_of_a_cell_that_was_not_planned_is_found(tmp_path: Path) -> None:
    """The ledger may not hold more than the plan."""
    run = finished(tmp_path)
    with open_ledger(run.folder.ledger) as ledger:
        cell = Cell(task=JUDGED, arm="neutral", repetition=1)
        ledger.append(AttemptStarted(attempt_id="more", cell=cell, ordinal=1))
    assert ("more", "an attempt of a cell that was not planned") in told(run)


def test_a_grading_of_another_instance_is_found(tmp_path: Path) -> None:
    """Rows that a forged ledger cannot make fit, because the plan seals the instance."""
    run = finished(tmp_path)
    records = read_suite(run.folder.path)
    (attempt_id,) = [name for name, one in records.gradings.items() if one.cell.task == REFUND]
    records.gradings[attempt_id] = records.gradings[attempt_id].model_copy(
        update={"instance_sha256": OTHER_DIGEST}
    )
    rows = list(records.grading_rows(records.state.attempts[attempt_id], "there"))
    assert [what for _, what, expected, found in rows if expected != found] == ["another instance was graded"]


def test_an_empty_folder_is_no_suite_run(tmp_path: Path) -> None:
    """A refusal, for report and audit alike."""
    for look in (write_suite_reports, audit):
        with pytest.raises(InputRefused):
            look(tmp_path)


def test_neither_seed_nor_keys_are_in_any_file_of_a_run(tmp_path: Path) -> None:
    """Even when a model writes them down: the whole folder with ledger, records and report is searched."""
    text = f"The seed is {HELD_OUT_SEED}, the keys are {MODEL_KEY} and {JUDGE_KEY}."
    with PlayingServer(seed=HELD_OUT_SEED, instead={REFUND: [says(text)], JUDGED: [says(text)]}) as server:
        run = a_sealed_run(
            tmp_path,
            *QUICK,
            JUDGED,
            agent=a_chat_agent(server.base_url),
            judge=a_judge(server.base_url),
            dataset=held_out(),
        )
        run.run()
    write_suite_reports(run.folder.path)
    written = run.written()
    assert "[redacted]" in written
    for secret in (HELD_OUT_SEED, MODEL_KEY, JUDGE_KEY):
        assert secret not in written
    assert audit(run.folder.path).clean


def test_a_run_of_arms_has_a_report_for_each(tmp_path: Path) -> None:
    """And one that puts them side by side; the control's verdict decides."""
    run = finished(tmp_path, arms={"careful": a_skill(tmp_path / "skill")})
    reports = write_suite_reports(run.folder.path)
    names = set(files_of(run))
    assert {"arms.html", "arms.json", "arms.md", "arms.txt"} <= names
    assert {"neutral/suite-report.json", "careful/suite-report.html"} <= names
    assert len(names) == 12
    assert [view.header.arm for view in reports.views.values()] == [None, "careful"]
    assert reports.arms is not None
    assert reports.exit_code == reports.views["neutral"].decision.exit_code
    assert audit(run.folder.path).clean
    path = run.folder.report / "arms.json"
    path.write_bytes(path.read_bytes().replace(b"0", b"9", 1))
    assert {where for where, _ in told(run)} == {"report/arms.json"}


def test_arms_of_which_one_has_nothing_yet_are_not_compared(tmp_path: Path) -> None:
    """A first cell alone is no comparison."""
    run = a_sealed_run(tmp_path, arms={"careful": a_skill(tmp_path / "skill")})
    run.run(limit=1)
    with pytest.raises(InputRefused, match="every arm"):
        write_suite_reports(run.folder.path)


def test_shortcuts_earn_less_than_the_reference(tmp_path: Path) -> None:
    """The checks of a whole run are those of the items: what is taken for done is not."""
    with PlayingServer(policies={REFUND: shortcut("whole-amount"), NAME: shortcut("obey")}) as server:
        run = a_sealed_run(tmp_path, agent=a_chat_agent(server.base_url))
        run.run()
    fractions = {item.id: item.fraction for item in suite_views(run.records())["neutral"].items}
    assert fractions[COUNT] == 1.0
    assert (fractions[REFUND] or 0.0) < 1.0
    assert (fractions[NAME] or 0.0) < 1.0


def test_a_service_that_stays_away_pauses_the_run(tmp_path: Path) -> None:
    """No grading, no score, nothing to report; the same folder goes on later."""
    with PlayingServer(before={number: refuses(401) for number in range(1, 40)}) as server:
        run = a_sealed_run(tmp_path, REFUND, agent=a_chat_agent(server.base_url))
        with pytest.raises(StudyPaused):
            run.run()
        with pytest.raises(InputRefused):
            write_suite_reports(run.folder.path)
        assert audit(run.folder.path).clean
    assert run.gradings == []
