"""Suite runs at work: opening, one run of an item, its grading, its judge, and going on after an end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from esac_ag.agents.chat import ChatAgent
from esac_ag.agents.item_agent import ChatItemAgent
from esac_ag.attempt import Cell, GradingStatus, LimitKind, Outcome
from esac_ag.canonical import sha256_of_bytes
from esac_ag.conduct.context import Stop
from esac_ag.conduct.study import run_study
from esac_ag.conduct.suite_agents import item_agent_of, judge_of
from esac_ag.conduct.suite_results import suite_views, write_suite_reports
from esac_ag.conduct.suite_sealing import seal_suite
from esac_ag.conduct.work import Kept
from esac_ag.errors import (
    HarnessError,
    InputRefused,
    Interrupted,
    SandboxLost,
    StudyPaused,
    SubstitutionRefused,
    UsageError,
)
from esac_ag.ledger import read_state
from esac_ag.manifest.plan import AgentKind, AgentPlan
from esac_ag.sandbox.contract import Role
from esac_ag.suite.bank import bank, item_named
from esac_ag.suite.constitution import PUBLIC_SEED
from esac_ag.suite.contract import RunEnd, Turn
from esac_ag.suite.plan import sealed_instance
from esac_ag.suite.play import play
from esac_ag.suite.pools import instance_of
from esac_ag.suite.records import RUN_FILE, RunRecord
from esac_ag.tree import FileTree, RegularFile
from tests.builders_conduct import Told
from tests.builders_freeze import a_probe
from tests.builders_item_agents import taken
from tests.builders_suite_run import (
    HELD_OUT_SEED,
    JUDGE_KEY,
    JUDGED,
    MODEL_KEY,
    NO_ENDPOINT,
    PROGRAM,
    QUICK,
    Hasty,
    SealedRun,
    a_chat_agent,
    a_judge,
    a_policy_agent,
    a_request,
    a_sealed_run,
    a_skill,
    a_suite_workspace,
    an_engine,
    held_out,
)
from tests.model_server import ModelServer, Scripted, completion, refuses, says
from tests.playing_server import PlayingServer

REFUND = QUICK[0]
WORLD_ITEMS = [item.id for item in bank() if not item.rubric]


def graded_run(run: SealedRun, item: str, number: int = 1) -> RunRecord:
    """What was handed in of a run."""
    tree = run.folder.attempt(run.attempt_of(item, number).attempt_id).read_submission()
    node = tree[RUN_FILE.encode()]
    assert isinstance(node, RegularFile)
    return RunRecord.model_validate_json(node.data)


def test_references_earn_everything_in_a_whole_run(tmp_path: Path) -> None:
    """Every item that no judge grades, worlds over the real protocol, programs really run."""
    run = a_sealed_run(tmp_path, *WORLD_ITEMS)
    assert run.run(concurrency=2).finished
    rows = {item.id: item for item in suite_views(run.records())["neutral"].items}
    assert [name for name in WORLD_ITEMS if rows[name].fraction != 1.0] == []


def test_a_run_leaves_the_trace_that_it_leaves_in_memory(tmp_path: Path) -> None:
    """Calls, conversation, end and final state; tokens are estimated and say so."""
    run = a_sealed_run(tmp_path)
    run.run()
    for name in QUICK:
        item = item_named(name)
        instance = instance_of(item, PUBLIC_SEED)
        played = play(item, instance, item.reference(instance))
        handed_in = graded_run(run, name)
        assert handed_in.trace.model_copy(update={"tokens": played.tokens}) == played
        assert handed_in.tokens_estimated
        assert not handed_in.submitted


def test_a_grading_names_everything_that_it_was_made_of(tmp_path: Path) -> None:
    """Plan, instance, attempt and the archive; a world item has no hidden tests and no judgment."""
    run = a_sealed_run(tmp_path, REFUND)
    run.run()
    (grading,) = run.gradings
    record = run.attempt_of(REFUND)
    assert record.submission is not None
    assert grading.attempt_id == record.attempt_id
    assert grading.manifest_sha256 == run.records().manifest_sha256
    assert grading.instance_sha256 == sealed_instance(
        PUBLIC_SEED, instance_of(item_named(REFUND), PUBLIC_SEED)
    )
    assert grading.submission_tree_sha256 == record.submission.tree_sha256
    assert (grading.program, grading.judgments, grading.agent_kind) == (None, (), AgentKind.SCRIPTED)
    assert record.agent_label == "scripted: policy reference (no model, tokens estimated)"


def test_a_program_is_archived_and_its_hidden_tests_decide(tmp_path: Path) -> None:
    """The reference passes; a workspace that was handed in as it was given earns less."""
    earned = {}
    for policy in ("reference", "unchanged"):
        run = a_sealed_run(tmp_path / policy, PROGRAM, agent=a_policy_agent(policy))
        run.run()
        (grading,) = run.gradings
        record = run.attempt_of(PROGRAM)
        assert grading.program is not None
        assert grading.program.attempt_id == record.attempt_id
        assert grading.program.manifest_sha256 == run.records().manifest_sha256
        tests = instance_of(item_named(PROGRAM), PUBLIC_SEED).hidden_tests
        assert [result.test_id for result in grading.result.trace.code] == [test.id for test in tests]
        assert graded_run(run, PROGRAM).trace.code == ()
        assert graded_run(run, PROGRAM).submitted
        (row,) = [row for row in suite_views(run.records())["neutral"].items if row.id == PROGRAM]
        earned[policy] = row.fraction
        assert bool(record.costs.changed_lines) == (policy == "reference")
    assert earned["reference"] == 1.0
    assert earned["unchanged"] is not None
    assert earned["unchanged"] < 1.0


def test_work_that_was_never_handed_in_asks_no_grader(tmp_path: Path) -> None:
    """No container judges what nobody submitted, and the item earns nothing for it."""
    run = a_sealed_run(tmp_path, PROGRAM, agent=a_policy_agent("null"))
    run.run()
    (grading,) = run.gradings
    assert (grading.program, grading.result.trace.code) == (None, ())
    assert Role.GRADER not in {spec.role for spec in run.engine.specs}
    (row,) = [row for row in suite_views(run.records())["neutral"].items if row.id == PROGRAM]
    assert row.fraction == 0.0


def test_a_run_that_uses_up_its_turns_is_graded(tmp_path: Path) -> None:
    """A limit is a result: it is graded as it stands, and not run again."""

    def endless(view: Any) -> str:  # noqa: ANN401
        while True:
            view.call("no_such_tool")

    with PlayingServer(policies={REFUND: lambda _item, _instance: endless}) as server:
        run = a_sealed_run(tmp_path, REFUND, agent=a_chat_agent(server.base_url))
        run.run()
    record = run.attempt_of(REFUND)
    assert (record.outcome, record.limit, record.ordinal) == (Outcome.LIMIT, LimitKind.TURNS, 1)
    (grading,) = run.gradings
    assert grading.result.trace.end is RunEnd.TURN_LIMIT
    assert len(grading.result.trace.calls) == item_named(REFUND).turns


@pytest.mark.parametrize(
    ("reply", "end"),
    [
        (says(""), RunEnd.EMPTY),
        (completion({"content": None, "refusal": "I will not."}), RunEnd.REFUSED),
        (says("half an ans", finish="length"), RunEnd.OUTPUT_CAP),
        (says("", finish="content_filter"), RunEnd.REFUSED),
    ],
)
def test_what_the_model_does_is_scored_and_never_asked_again(
    tmp_path: Path, reply: Scripted, end: RunEnd
) -> None:
    """Amendment 001 §8: one request, one grading, no judge."""
    with PlayingServer(instead={REFUND: [reply]}) as server:
        run = a_sealed_run(tmp_path, REFUND, agent=a_chat_agent(server.base_url))
        run.run()
        assert len(server.requests) == 1
    (grading,) = run.gradings
    assert grading.result.trace.end is end
    assert grading.retries == 0


def test_odd_arguments_of_a_model_are_answered_and_archived(tmp_path: Path) -> None:
    """What no record can hold is kept as text; the run goes on and is graded."""

    def odd(view: Any) -> str:  # noqa: ANN401
        view.call("payments_refund", x="\ud800")
        view.call("payments_refund", x=10**30)
        view.call("payments_refund", x=float("inf"))
        view.call("\ud800\x00", x=1)
        return "done \x00"

    with PlayingServer(policies={REFUND: lambda _item, _instance: odd}) as server:
        run = a_sealed_run(tmp_path, REFUND, agent=a_chat_agent(server.base_url))
        run.run()
    trace = graded_run(run, REFUND).trace
    assert [call.ok for call in trace.calls] == [False] * 4
    assert trace.final_text == "done \x00"
    write_suite_reports(run.folder.path)


def test_a_lost_container_is_launched_again_and_leaves_no_score(tmp_path: Path) -> None:
    """Neither archive nor grading of what the infrastructure spoiled."""
    run = a_sealed_run(tmp_path, REFUND)
    run.engine.fail_next("start", SandboxLost("the engine was restarted"), times=2)
    told = Told()
    assert run.run(watcher=told).finished
    attempts = list(read_state(run.folder.ledger).attempts.values())
    assert [one.outcome for one in attempts] == [Outcome.INFRA, Outcome.INFRA, Outcome.COMPLETED]
    assert [reason for _, reason, _ in told.spoiled_cells] == ["the engine was restarted"] * 2
    spoiled = run.folder.attempt(attempts[0].attempt_id).path
    assert not (spoiled / "submission.tar.zst").exists()
    assert not (spoiled / "grading").exists()


def test_a_lost_grader_grades_again_without_running_again(tmp_path: Path) -> None:
    """The archive is all that grading reads."""
    run = a_sealed_run(tmp_path, PROGRAM)
    run.engine.fail_next("wait", SandboxLost("gone"))
    assert run.run().launched == 1
    (attempt,) = read_state(run.folder.ledger).attempts.values()
    assert (attempt.spoiled_gradings, attempt.grading) == (1, GradingStatus.GRADED)


def test_a_judge_that_cannot_be_reached_pauses_and_judges_later(tmp_path: Path) -> None:
    """The response stays as it is; only the judgment is missing, and it is made when the run goes on."""
    judge_key_is_wrong = [refuses(401)] * 20

    class Locked(PlayingServer):
        def _judgment(self, body: dict[str, Any]) -> Scripted:
            return judge_key_is_wrong.pop() if judge_key_is_wrong else super()._judgment(body)

    with Locked() as server:
        run = a_sealed_run(
            tmp_path, JUDGED, agent=a_chat_agent(server.base_url), judge=a_judge(server.base_url)
        )
        with pytest.raises(StudyPaused) as caught:
            run.run()
        assert caught.value.exit_code == 2
        assert JUDGE_KEY not in str(caught.value)
        judge_key_is_wrong.clear()
        launched = run.run().launched
    assert launched == 1  # the second run of the item; the first one was only judged
    assert len(run.gradings) == 2
    assert all(len(grading.judgments) == 2 for grading in run.gradings)


def test_a_damaged_archive_is_refused_by_grading(tmp_path: Path) -> None:
    """No score of what nobody handed in."""
    run = a_sealed_run(tmp_path, REFUND)
    opened = run.opened()
    work = opened.prepare(Cell(task=REFUND, arm="neutral", repetition=1))
    work.launch("attempt-1", 1)
    folder = run.folder.attempt("attempt-1")
    for tree in (FileTree(), FileTree({RUN_FILE.encode(): RegularFile(b"{}")})):
        folder.write_submission(tree)
        with pytest.raises(InputRefused, match="archived run"):
            work.grade("attempt-1", Kept({}, lambda *_: None))
    folder.path.joinpath("submission.tar.zst").write_bytes(b"nothing")
    with pytest.raises(InputRefused):
        work.grade("attempt-1", Kept({}, lambda *_: None))


def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path) -> None:
    """What is finished is not done again."""
    run = a_sealed_run(tmp_path)
    stop = Hasty()

    class Stops(Told):
        def finished(self, cell: Cell, outcome: Outcome, grading: GradingStatus) -> None:
            super().finished(cell, outcome, grading)
            stop.wish()

    with pytest.raises(Interrupted):
        run_study(run.opened(stop=stop), concurrency=1, watcher=Stops())
    told = Told()
    progress = run.run(watcher=told)
    assert (told.total, told.done_before) == (3, 1)
    assert (progress.finished, progress.launched) == (True, 2)
    assert len({grading.cell.task for grading in run.gradings}) == len(run.gradings) == 3


def test_another_seed_is_refused(tmp_path: Path) -> None:
    """By its fingerprint, with exit code 64; no message tells either seed, and nothing is written."""
    run = a_sealed_run(tmp_path, dataset=held_out())
    other = "another seed that nobody knows 0123456789"
    with pytest.raises(UsageError) as caught:
        run.opened(dataset=held_out(other))
    assert caught.value.exit_code == 64
    assert caught.value.remedy
    said = str(caught.value)
    assert run.data["seed_fingerprint"] in said
    assert HELD_OUT_SEED not in said
    assert other not in said
    assert not run.folder.schedule.exists()


def test_a_resumed_run_needs_the_seed_again(tmp_path: Path) -> None:
    """It is in no file of the run; with it, the run goes on with the same instances."""
    run = a_sealed_run(tmp_path, dataset=held_out())
    run.run(limit=1)
    with pytest.raises(UsageError):
        run.opened(dataset=held_out("another"))
    assert run.run().finished
    assert HELD_OUT_SEED not in run.written()
    assert not any(HELD_OUT_SEED in repr(one) for one in (run.dataset, run.opened()))


def test_a_changed_bank_is_refused_with_the_items_that_changed(tmp_path: Path) -> None:
    """The sealed digests tell which instances are others."""
    run = a_sealed_run(tmp_path, dataset=held_out())
    data = run.data
    data["items"][1]["instance_sha256"] = "ab" * 32
    run.save(data)
    with pytest.raises(SubstitutionRefused) as caught:
        run.opened()
    assert data["items"][1]["id"] in caught.value.found
    assert data["items"][0]["id"] not in caught.value.found
    assert HELD_OUT_SEED not in str(caught.value)


def test_a_changed_image_or_runner_is_refused(tmp_path: Path) -> None:
    """As for studies: everything that changed is named."""
    run = a_sealed_run(tmp_path)
    (run.workspace.runner / "guest" / "agent" / "world_server.py").write_text("# else\n")
    with pytest.raises(HarnessError, match=r"runner|harness"):
        run.opened()


@pytest.mark.parametrize("policy", ["no-such-policy", "obey"])
def test_a_policy_that_an_item_lacks_is_refused_before_anything_runs(tmp_path: Path, policy: str) -> None:
    """One of another item's, too; the error names what there is."""
    run = a_sealed_run(tmp_path, agent=a_policy_agent(policy))
    with pytest.raises(UsageError) as caught:
        run.opened()
    assert "reference" in caught.value.expected
    assert caught.value.found == policy
    assert not run.folder.schedule.exists()


@pytest.mark.parametrize("settings", [{"policy": 7}, {"policy": "reference", "more": 1}])
def test_settings_of_a_policy_that_nobody_knows_are_refused(tmp_path: Path, settings: dict[str, Any]) -> None:
    """With the place in the plan."""
    agent = AgentPlan(kind=AgentKind.SCRIPTED, version="1", settings=settings)
    run = a_sealed_run(tmp_path, agent=agent)
    with pytest.raises(InputRefused) as caught:
        run.opened()
    assert caught.value.where == "/agent/settings"


def test_a_command_line_agent_is_given_no_items(tmp_path: Path) -> None:
    """A usage error, and what there is instead."""
    plan = a_sealed_run(tmp_path).plan
    other = plan.model_copy(update={"agent": AgentPlan(kind=AgentKind.COMMAND, version="1")})
    with pytest.raises(UsageError, match="not given to command-line agents"):
        item_agent_of(other, {})


def authorizations(server: ModelServer) -> tuple[set[str | None], set[str | None]]:
    """Authorization headers of the model's requests and of the judge's."""
    found: tuple[set[str | None], set[str | None]] = (set(), set())
    for request in server.requests:
        found["response_format" in request.json].add(request.headers.get("authorization"))
    return found


@pytest.mark.parametrize(
    ("environ", "model", "judge"),
    [
        ({"OPENAI_API_KEY": MODEL_KEY, "ESAC_AG_JUDGE_API_KEY": JUDGE_KEY}, MODEL_KEY, JUDGE_KEY),
        ({"OPENAI_API_KEY": MODEL_KEY}, MODEL_KEY, MODEL_KEY),
        ({"ESAC_AG_JUDGE_API_KEY": JUDGE_KEY}, None, JUDGE_KEY),
        ({}, None, None),
    ],
)
def test_the_judge_gets_its_own_key_or_at_the_same_endpoint_the_models(
    tmp_path: Path, environ: Mapping[str, str], model: str | None, judge: str | None
) -> None:
    """What is really sent, over HTTP."""
    with PlayingServer() as server:
        run = a_sealed_run(
            tmp_path, JUDGED, agent=a_chat_agent(server.base_url), judge=a_judge(server.base_url + "/")
        )
        run_study(run.opened(environ=environ), concurrency=1, watcher=Told())
    sent = [{None if key is None else f"Bearer {key}"} for key in (model, judge)]
    assert list(authorizations(server)) == sent


def test_the_models_key_never_goes_to_another_host(tmp_path: Path) -> None:
    """Without a key of its own, a judge elsewhere is asked without one."""
    with PlayingServer() as server, PlayingServer() as other:
        run = a_sealed_run(
            tmp_path, JUDGED, agent=a_chat_agent(server.base_url), judge=a_judge(other.base_url)
        )
        opened = run.opened(environ={"OPENAI_API_KEY": MODEL_KEY})
        run_study(opened, concurrency=1, watcher=Told())
    assert authorizations(server) == ({f"Bearer {MODEL_KEY}"}, set())
    assert authorizations(other) == (set(), {None})
    assert MODEL_KEY not in run.written()


def test_a_policy_lends_the_judge_no_key(tmp_path: Path) -> None:
    """A policy has no endpoint whose key could stand in."""
    run = a_sealed_run(tmp_path, JUDGED, judge=a_judge())
    environ = {"OPENAI_API_KEY": MODEL_KEY}
    judge = judge_of(run.plan, item_agent_of(run.plan, environ), environ)
    assert judge is not None
    assert (judge.at.key, judge.at.endpoint) == ("", f"{NO_ENDPOINT}/chat/completions")


def test_nothing_judged_asks_no_judge(tmp_path: Path) -> None:
    """A judge of a plan without judged items is none."""
    plan = a_sealed_run(tmp_path).plan
    assert judge_of(plan, item_agent_of(plan, {}), {}) is None


def test_a_bundle_reaches_the_system_message_of_its_arm_alone(tmp_path: Path) -> None:
    """The control has no system message at all."""
    skill = a_skill(tmp_path / "skill", "---\nname: careful\ndescription: d\n---\nLook twice, 4711.\n")
    with PlayingServer() as server:
        run = a_sealed_run(tmp_path, REFUND, agent=a_chat_agent(server.base_url), arms={"careful": skill})
        run.run()
    first = {
        cell.arm: run.folder.attempt(run.attempt_of(REFUND, arm=cell.arm).attempt_id).path
        for cell in run.plan.cells()
    }
    assert set(first) == {"neutral", "careful"}
    systems = [
        [one["content"] for one in request.json["messages"] if one["role"] == "system"]
        for request in server.requests
    ]
    assert sum(not system for system in systems) == sum("4711" in "".join(system) for system in systems)
    assert run.attempt_of(REFUND).arm_sha256 is None
    assert run.attempt_of(REFUND, arm="careful").arm_sha256 is not None


def test_a_bundle_that_changes_while_the_run_lasts_is_refused(tmp_path: Path) -> None:
    """The bytes are verified at every launch."""
    run = a_sealed_run(tmp_path, arms={"careful": a_skill(tmp_path / "skill")})
    opened = run.opened()
    (run.folder.path / "arms" / "careful" / "SKILL.md").write_text("# else\n")
    with pytest.raises(SubstitutionRefused, match="careful"):
        run_study(opened, concurrency=1, watcher=Told())
    assert run.gradings == []


def test_a_leaking_sandbox_seals_nothing(tmp_path: Path) -> None:
    """The isolation is probed first; a refusal leaves no folder behind."""
    workspace = a_suite_workspace(tmp_path)
    folder = workspace.results / "suite-run-1"
    with pytest.raises(InputRefused):
        seal_suite(
            a_request(),
            folder,
            workspace=workspace,
            engine=an_engine(probe=a_probe(reached=True)),
            tell=lambda _: None,
        )
    assert not folder.exists()


def test_a_folder_with_a_plan_is_never_overwritten(tmp_path: Path) -> None:
    """A second seal at the same place is refused, and the first one stays as it was."""
    run = a_sealed_run(tmp_path)
    before = run.path.read_bytes()
    with pytest.raises(InputRefused, match="a run in this folder already"):
        seal_suite(
            a_request(),
            run.folder.path,
            workspace=run.workspace,
            engine=run.engine,
            tell=lambda _: None,
        )
    assert run.path.read_bytes() == before


@pytest.mark.parametrize("arm", ["../outside", "neutral", "Careful", ""])
def test_ids_of_arms_are_checked_before_anything_is_copied(tmp_path: Path, arm: str) -> None:
    """An id is a folder's name in the run's folder, and the control has no bundle."""
    workspace = a_suite_workspace(tmp_path)
    folder = workspace.results / "suite-run-1"
    with pytest.raises(UsageError):
        seal_suite(
            a_request(arms={arm: a_skill(tmp_path / "skill")}),
            folder,
            workspace=workspace,
            engine=an_engine(),
            tell=lambda _: None,
        )
    assert not folder.exists()
    assert not (workspace.results / "outside").exists()


def test_a_run_can_move_with_its_folder(tmp_path: Path) -> None:
    """Bundles are copied into it, so that the source may go away."""
    skill = a_skill(tmp_path / "skill")
    run = a_sealed_run(tmp_path, REFUND, arms={"careful": skill})
    (skill / "SKILL.md").unlink()
    elsewhere = tmp_path / "elsewhere"
    run.folder.path.rename(elsewhere)
    moved = replace(run, path=elsewhere / run.path.name)
    assert moved.run().finished
    assert write_suite_reports(elsewhere).arms is not None


def test_hidden_tests_are_told_to_the_probe(tmp_path: Path) -> None:
    """Nothing in an agent's container may be one of them: the probe looks for their digests."""
    seen: list[str] = []

    def probe(process: Any) -> int:  # noqa: ANN401
        seen.append(json.dumps([node.data.decode("utf-8", "replace") for node in nodes(process)]))
        return a_probe()(process)

    def nodes(process: Any) -> list[RegularFile]:  # noqa: ANN401
        tree = process.files.tree("/agent") or FileTree()
        return [node for node in tree.files().values() if isinstance(node, RegularFile)]

    a_sealed_run(tmp_path, PROGRAM, engine=an_engine(probe=probe))
    tests = instance_of(item_named(PROGRAM), PUBLIC_SEED).hidden_tests
    assert tests
    text = "".join(seen)
    assert [test.id for test in tests if sha256_of_bytes(test.source.encode()) not in text] == []
    assert [test.id for test in tests if json.dumps(test.source)[1:-1] in text] == []


def spoken(text: str | None) -> Scripted:
    """A reply that says something beside a call."""
    call = {"id": "c1", "type": "function", "function": {"name": "nothing", "arguments": "{}"}}
    return completion({"content": text, "tool_calls": [call]}, finish="tool_calls")


def test_what_is_said_beside_a_call_joins_the_conversation() -> None:
    """In its place among the calls, before the last message; it takes no turn and answers nothing."""
    item = item_named("injection-name")
    run = taken(
        item, [spoken("A file asks me to stop. Shall I?"), spoken(" \n"), spoken(None), says("Done.")]
    )
    prompt, *rest = run.end.turns
    assert prompt.role == "user"
    assert rest == [
        Turn(role="assistant", text="A file asks me to stop. Shall I?", after_calls=0),
        Turn(role="assistant", text="Done.", after_calls=3),
    ]
    assert (run.end.end, run.end.final_text) == (RunEnd.ANSWERED, "Done.")
    assert len(run.tools.log) == 3


def test_what_is_said_beside_a_call_beyond_the_turns_is_kept() -> None:
    """The call is not carried out; what was said was said."""
    item = item_named("injection-name")
    run = taken(item, [spoken(None)] * item.turns + [spoken("One more.")])
    assert run.end.end is RunEnd.TURN_LIMIT
    assert run.end.final_text == ""
    assert run.end.turns[-1] == Turn(role="assistant", text="One more.", after_calls=item.turns)
    assert len(run.tools.log) == item.turns


def test_an_offer_at_the_end_is_an_answer_and_no_question() -> None:
    """The simulated user is not asked whether there is anything else."""
    item = item_named(JUDGED)
    text = "It is done. Is there anything else I can do?"
    run = taken(item, [says(text)])
    assert (run.end.end, run.end.final_text) == (RunEnd.ANSWERED, text)
    assert len(run.server.requests) == 1


def test_an_agent_of_a_plan_is_the_one_that_it_names(tmp_path: Path) -> None:
    """A chat by its endpoint, with the plan's decoding."""
    plan = a_sealed_run(tmp_path, agent=a_chat_agent(NO_ENDPOINT)).plan
    agent = item_agent_of(plan, {"OPENAI_API_KEY": MODEL_KEY})
    assert isinstance(agent, ChatItemAgent)
    assert isinstance(agent.chat, ChatAgent)
    assert (agent.chat.key, agent.chat.settings.base_url) == (MODEL_KEY, NO_ENDPOINT)
    assert agent.chat.model == plan.model


def test_a_wish_to_stop_ends_a_launch_without_a_score(tmp_path: Path) -> None:
    """Wished before the container was made."""
    run = a_sealed_run(tmp_path, REFUND)
    stop = Stop()
    work = run.opened(stop=stop).prepare(Cell(task=REFUND, arm="neutral", repetition=1))
    stop.wish()
    record = work.launch("attempt-1", 1).record
    assert (record.outcome, record.submission) == (Outcome.CANCELLED, None)
