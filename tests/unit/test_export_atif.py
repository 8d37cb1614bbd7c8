"""Attempts as ATIF 1.8: studies and suite runs on the in-memory engine, and the format's rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

from esac_ag.artifacts import StudyFolder, file_digest
from esac_ag.attempt import AttemptRecord, Cell, Costs, Outcome, Usage
from esac_ag.canonical import canonical_json, loads_strict, sha256_of_bytes
from esac_ag.cli.app import app
from esac_ag.conduct.audit import audit
from esac_ag.conduct.exporting import export_atif
from esac_ag.errors import InputRefused, SubstitutionRefused, UsageError
from esac_ag.manifest.plan import AgentKind, Manifest
from esac_ag.report.atif import AtifTrajectory
from esac_ag.report.atif_export import SCRIPTED_NOTE, TORN_NOTE, trajectory_of
from esac_ag.sandbox.memory_process import FakeProcess
from esac_ag.transcript import Entry, EntryKind
from tests.builders_conduct import PROGRAMS, a_runnable_study, an_engine, folder_of, run
from tests.builders_report import a_manifest
from tests.builders_suite_run import a_sealed_run
from tests.model_server import ModelServer, calls, says, submits

STARTED = "2026-11-30T10:00:00.000Z"
BOOK = {
    "format_version": 1,
    "tasks": {
        "*": {
            "plays": {
                "only": [
                    {"do": "say", "text": "I fix it."},
                    TOUCH := {"do": "run", "argv": ["touch", "fixed.txt"]},
                    TOUCH,
                ]
            }
        }
    },
}
EACH = Usage(model_calls=1, input_tokens=100, cached_input_tokens=60, output_tokens=20, reasoning_tokens=5)


def trajectories(folder: Path) -> list[dict[str, Any]]:
    """All that was written to a folder, each held against the rules once more."""
    found = []
    for path in sorted(folder.glob("*.json")):
        AtifTrajectory.model_validate_json(path.read_bytes())
        found.append(json.loads(path.read_text()))
    return found


def acts_of(trajectory: dict[str, Any]) -> list[dict[str, Any]]:
    """The agent's steps."""
    return [step for step in trajectory["steps"] if step["source"] == "agent"]


def sha256sum(process: FakeProcess) -> int:
    """`sha256sum -z -- PATH ...`."""
    for path in process.argv[3:]:
        digest = sha256_of_bytes(process.files.read(path))
        process.write(f"{digest}  {path}\0")
    return 0


def a_scripted_study(folder: Path) -> StudyFolder:
    """A finished study of two arms and four tasks."""
    study = a_runnable_study(folder, book=BOOK, repetitions=1)
    assert run(study).finished
    return folder_of(study)


def a_record(kind: AgentKind = AgentKind.CHAT, costs: Costs | None = None) -> AttemptRecord:
    """An attempt's record."""
    return AttemptRecord(
        attempt_id="a1",
        manifest_sha256="ab" * 32,
        cell=Cell(task="invoice-rounding", arm="markskill", repetition=2),
        ordinal=1,
        agent_kind=kind,
        agent_label="m at h",
        arm_sha256=None,
        started_at=STARTED,
        ended_at=STARTED,
        outcome=Outcome.COMPLETED,
        reason="done",
        costs=costs or Costs(),
        submission=None,
    )


def as_trajectory(
    *entries: Entry, record: AttemptRecord | None = None, plan: Manifest | None = None
) -> AtifTrajectory:
    """Entries as a trajectory."""
    made = trajectory_of(entries, record or a_record(), plan or a_manifest(), torn=False)
    assert made is not None
    return made


def call(call_id: str, tool: str = "bash") -> Entry:
    """A call of a tool."""
    return Entry(kind=EntryKind.TOOL_CALL, at_s=2.0, call_id=call_id, tool=tool, arguments={"n": None})


def result(call_id: str, text: str = "out", **fields: Any) -> Entry:  # noqa: ANN401
    """A tool's result."""
    return Entry(kind=EntryKind.TOOL_RESULT, at_s=3.0, call_id=call_id, text=text, **fields)


def model(text: str = "", **fields: Any) -> Entry:  # noqa: ANN401
    """A message of the model."""
    return Entry(kind=EntryKind.MODEL, at_s=1.5, text=text, **fields)


def test_every_attempt_of_a_scripted_study_is_exported_and_says_what_it_is(tmp_path: Path) -> None:
    """One file an attempt, no model named, and the study audits as clean as before."""
    folder = a_scripted_study(tmp_path)
    exported = export_atif(folder.path)
    assert (len(exported.written), exported.left_out) == (8, {})
    found = trajectories(folder.path / "atif")
    assert len(found) == 8
    for one in found:
        assert one["schema_version"] == "ATIF-v1.8"
        assert one["notes"] == SCRIPTED_NOTE
        assert "model_name" not in one["agent"]
        first, second = acts_of(one)
        assert (first["llm_call_count"], second["llm_call_count"]) == (0, 0)
        assert (first["message"], second["message"]) == ("I fix it.", "")
        assert first["tool_calls"][0]["arguments"]["argv"] == ["touch", "fixed.txt"]
        assert first["observation"]["results"][0]["source_call_id"] == first["tool_calls"][0]["tool_call_id"]
        assert one["final_metrics"] == {"total_steps": 3, "extra": one["final_metrics"]["extra"]}
    assert {one["extra"]["esac_ag"]["arm"] for one in found} == {"neutral", "careful"}
    assert audit(folder.path).clean


def test_a_chat_study_is_exported_with_the_usage_of_each_call(tmp_path: Path) -> None:
    """Messages, calls, results and tokens of the transcript; totals of the attempt's record."""
    script = [says("I look."), calls(("read_file", {"path": "gone.txt"})), submits()] * 8
    with ModelServer(script) as server:
        agent = {"kind": "chat", "version": "1", "settings": {"base_url": server.base_url}}
        study = a_runnable_study(tmp_path, agent=agent, repetitions=1)
        engine = an_engine(programs=PROGRAMS | {"sha256sum": sha256sum})
        assert run(study, engine, concurrency=1).finished
    folder = folder_of(study)
    export_atif(folder.path, tmp_path / "out")
    found = trajectories(tmp_path / "out")
    assert len(found) == 8
    for one in found:
        agent_steps = acts_of(one)
        assert [step["llm_call_count"] for step in agent_steps] == [1, 1, 1]
        assert agent_steps[0]["message"] == "I look."
        assert agent_steps[0]["metrics"] == {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "cached_tokens": 60,
            "extra": {"reasoning_tokens": 5},
        }
        assert agent_steps[1]["tool_calls"][0]["function_name"] == "read_file"
        assert agent_steps[1]["observation"]["results"][0]["content"]
        assert one["agent"]["model_name"] == study.data["model"]["name"]
        assert one["final_metrics"]["total_prompt_tokens"] == 300
        assert one["final_metrics"]["total_completion_tokens"] == 60
        assert one["final_metrics"]["extra"]["model_calls"] == 3
        assert "total_cost_usd" not in one["final_metrics"]
        assert one["steps"][0]["source"] == "system"


def test_a_suite_run_is_exported_too(tmp_path: Path) -> None:
    """Its items' prompts are the user's."""
    sealed = a_sealed_run(tmp_path)
    assert sealed.run().finished
    exported = export_atif(sealed.folder.path)
    assert len(exported.written) == 3
    for one in trajectories(sealed.folder.path / "atif"):
        assert "user" in [step["source"] for step in one["steps"]]
        assert acts_of(one)
        assert one["final_metrics"]["total_steps"] == len(one["steps"])


def test_calls_of_one_model_call_stay_in_one_step() -> None:
    """However their results come between them."""
    made = as_trajectory(
        model("Both.", usage=EACH, reasoning="Hm.", request_sha256="ef" * 32),
        call("a"),
        result("a", exit_code=0),
        call("b"),
        result("b", "long", truncated=True),
        Entry(kind=EntryKind.USER, text="And?"),
        model("Done."),
    )
    first, asked, last = made.steps
    assert first.tool_calls is not None
    assert [one.tool_call_id for one in first.tool_calls] == ["a", "b"]
    assert first.observation is not None
    assert [(one.source_call_id, one.extra) for one in first.observation.results] == [
        ("a", {"exit_code": 0}),
        ("b", {"truncated": True}),
    ]
    assert first.reasoning_content == "Hm."
    dumped = made.model_dump(mode="json", exclude_none=True)
    assert dumped["steps"][0]["tool_calls"][0]["arguments"] == {"n": None}
    assert first.extra == {"request_sha256": "ef" * 32}
    assert first.timestamp == "2026-11-30T10:00:01.500Z"
    assert (asked.source, asked.message, asked.timestamp) == ("user", "And?", None)
    assert (last.message, last.metrics, last.llm_call_count) == ("Done.", None, None)


def test_ids_that_a_provider_uses_again_are_told_apart() -> None:
    """Within a step by their names, between steps by the latest."""
    made = as_trajectory(
        model(usage=EACH),
        call("c"),
        result("c", "1"),
        call("c"),
        result("c", "2"),
        model(usage=EACH),
        call("c"),
        result("c", "3"),
    )
    told = [
        (result.source_call_id, result.content)
        for step in made.steps
        for result in (step.observation.results if step.observation else ())
    ]
    assert told == [("c", "1"), ("c#2", "2"), ("c", "3")]
    clash = as_trajectory(model(usage=EACH), call("c#3"), call("c"), call("c"), call("c")).steps[0]
    assert clash.tool_calls is not None
    assert [one.tool_call_id for one in clash.tool_calls] == ["c#3", "c", "c#4", "c#5"]


def test_what_belongs_to_no_call_is_kept() -> None:
    """A result without its call, a call without a name or a model, and notices."""
    made = as_trajectory(
        result("x", "stray"),
        Entry(kind=EntryKind.TOOL_CALL, call_id=None),
        Entry(kind=EntryKind.NOTICE, text="limit"),
        Entry(kind=EntryKind.TOOL_RESULT, text="late"),
    )
    stray, acted, notice = made.steps
    assert (stray.source, stray.tool_calls) == ("system", None)
    assert stray.observation is not None
    assert stray.observation.results[0].extra == {"call_id": "x"}
    assert acted.tool_calls is not None
    assert (acted.tool_calls[0].function_name, acted.llm_call_count) == ("unnamed", None)
    assert acted.observation is not None
    assert acted.observation.results[0].content == "late"
    assert (notice.source, notice.message, notice.extra) == ("system", "limit", {"kind": "notice"})


def test_a_cost_is_in_dollars_or_beside_its_currency() -> None:
    """The format has dollars only."""
    record = a_record(costs=Costs(cost=0.25))
    plan = a_manifest()
    assert plan.prices is not None
    dollars = plan.model_copy(update={"prices": plan.prices.model_copy(update={"currency": "USD"})})
    euros = plan.model_copy(update={"prices": plan.prices.model_copy(update={"currency": "EUR"})})
    assert as_trajectory(model(), record=record, plan=dollars).final_metrics.total_cost_usd == 0.25
    in_euros = as_trajectory(model(), record=record, plan=euros).final_metrics
    assert (in_euros.total_cost_usd, in_euros.extra) == (None, {"cost": 0.25, "currency": "EUR"})


def test_a_transcript_that_was_cut_off_says_so() -> None:
    """The size limit cuts in the middle of a line."""
    made = trajectory_of([model("a")], a_record(), a_manifest(), torn=True)
    assert made is not None
    assert made.notes == TORN_NOTE
    assert trajectory_of([], a_record(), a_manifest(), torn=True) is None


def relinked(folder: StudyFolder, change: bytes | None) -> str:
    """Change a study's first transcript behind a ledger that was forged to name it; its attempt."""
    path = min((folder.path / "attempts").iterdir()) / "transcript.jsonl"
    before = file_digest(path)
    path.write_bytes(path.read_bytes() + change if change is not None else b"")
    previous, lines = "0" * 64, []
    for raw in folder.ledger.read_bytes().splitlines():
        data = loads_strict(raw.replace(before.encode(), file_digest(path).encode()))
        assert isinstance(data, dict)
        line = canonical_json(data | {"previous": previous})
        previous = sha256_of_bytes(line)
        lines.append(line + b"\n")
    folder.ledger.write_bytes(b"".join(lines))
    return path.parent.name


def test_the_torn_line_of_a_full_transcript_is_left_out(tmp_path: Path) -> None:
    """What is before it is exported, with a note."""
    folder = a_scripted_study(tmp_path)
    attempt = relinked(folder, b'{"kind": "model", "at_')
    export_atif(folder.path)
    made = json.loads((folder.path / "atif" / f"{attempt}.json").read_text())
    assert made["notes"] == f"{SCRIPTED_NOTE} {TORN_NOTE}"
    assert len(acts_of(made)) == 2


def test_a_line_that_is_no_entry_is_refused_with_its_number(tmp_path: Path) -> None:
    """A transcript of another format is not guessed at."""
    folder = a_scripted_study(tmp_path)
    attempt = relinked(folder, b'{"kind": "of the future"}\n')
    with pytest.raises(InputRefused) as refused:
        export_atif(folder.path)
    assert refused.value.where.endswith(f"{attempt}/transcript.jsonl:7")


def test_an_empty_transcript_is_left_out_and_named(tmp_path: Path) -> None:
    """The format has no trajectory without a step."""
    folder = a_scripted_study(tmp_path)
    attempt = relinked(folder, None)
    exported = export_atif(folder.path)
    assert exported.left_out == {attempt: "its transcript is empty"}
    assert len(exported.written) == 7


def test_a_changed_transcript_is_refused(tmp_path: Path) -> None:
    """Only what the ledger vouches for is exported."""
    folder = a_scripted_study(tmp_path)
    path = next((folder.path / "attempts").glob("*/transcript.jsonl"))
    path.write_bytes(path.read_bytes().replace(b"I fix it.", b"I fix all"))
    with pytest.raises(SubstitutionRefused):
        export_atif(folder.path)


def test_a_folder_of_the_study_is_no_place_for_an_export(tmp_path: Path) -> None:
    """Nor is a file."""
    folder = a_scripted_study(tmp_path)
    for wrong in (folder.path, folder.path / "attempts" / "x", folder.ledger):
        with pytest.raises(UsageError):
            export_atif(folder.path, wrong)
    assert audit(folder.path).clean


def test_the_command_tells_what_it_wrote(tmp_path: Path) -> None:
    """In words, and as JSON."""
    folder = a_scripted_study(tmp_path)
    out = tmp_path / "out"
    told = CliRunner().invoke(app, ["export", "atif", str(folder.path), "-o", str(out)])
    assert told.exit_code == 0
    assert told.output.replace("\n", "") == f"{out}: 8 trajectories, 0 left out"
    as_json = CliRunner().invoke(app, ["export", "atif", str(folder.path), "--json"])
    assert len(json.loads(as_json.output)["written"]) == 8


def test_a_folder_without_a_study_is_refused(tmp_path: Path) -> None:
    """With what is missing."""
    with pytest.raises(InputRefused, match="the folder holds no study"):
        export_atif(tmp_path)


STEP: dict[str, Any] = {"step_id": 1, "source": "agent", "message": ""}
CALL = {"tool_call_id": "a", "function_name": "f", "arguments": {}}
BROKEN: list[tuple[str, list[dict[str, Any]]]] = [
    ("at least 1 item", []),
    ("step_id does not count", [STEP | {"step_id": 2}]),
    ("cannot have tool_calls", [STEP | {"source": "user", "tool_calls": [CALL]}]),
    ("cannot have metrics", [STEP | {"source": "system", "metrics": {}}]),
    ("cannot have reasoning_content", [STEP | {"llm_call_count": 0, "reasoning_content": "x"}]),
    ("names no call of its step", [STEP | {"observation": {"results": [{"source_call_id": "b"}]}}]),
    ("the same tool_call_id", [STEP | {"tool_calls": [CALL, CALL]}]),
    ("Invalid isoformat", [STEP | {"timestamp": "yesterday"}]),
    ("Extra inputs", [STEP | {"unheard_of": 1}]),
]


@pytest.mark.parametrize(("told", "steps"), BROKEN, ids=[told for told, _ in BROKEN])
def test_what_breaks_a_rule_of_the_format_is_refused(told: str, steps: list[dict[str, Any]]) -> None:
    """So that no export can break one."""
    trajectory = {
        "schema_version": "ATIF-v1.8",
        "session_id": "s",
        "trajectory_id": "t",
        "agent": {"name": "n", "version": "1"},
        "steps": steps,
        "final_metrics": {"total_steps": len(steps)},
    }
    with pytest.raises(ValidationError, match=told):
        AtifTrajectory.model_validate_json(json.dumps(trajectory))
