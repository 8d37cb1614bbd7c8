"""The real command-line agents on the whole way, before a provider that works and before one that fails."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from esac_ag.agents.logs import LogFormat
from esac_ag.attempt import GradingStatus, LimitKind, Outcome, Usage
from esac_ag.conduct.exporting import export_atif
from esac_ag.report.atif import AtifTrajectory
from esac_ag.sandbox.docker import DockerEngine, ImageStore
from esac_ag.sandbox.images import ImageReport, build_images
from tests.builders_command_agents import (
    AGENTS,
    ARM,
    COMMANDS,
    OWN_WORDS,
    REQUEST,
    TURNS,
    Played,
    Worked,
    a_persons_home,
    contents_below,
    play,
    work,
)
from tests.builders_gateway import KEY
from tests.builders_images import RUNNER
from tests.command_model import CommandModel, Scenario

pytestmark = [pytest.mark.docker, pytest.mark.slow]

FAILURES = {
    Scenario.STATUS_401: "credentials: HTTP 401",
    Scenario.STATUS_429: "rate-limited: HTTP 429",
    Scenario.STATUS_500: "overloaded: HTTP 500",
    Scenario.CUT: "truncated: ",
    Scenario.SILENCE: "timed-out: ",
}
"""What the reason of an attempt begins with, after the words that the endpoint failed."""
PLAYED: Mapping[str, tuple[Scenario, ...]] = {
    LogFormat.CLAUDE_CODE.value: (
        Scenario.STATUS_401,
        Scenario.CUT,
        Scenario.ENDLESS,
        Scenario.BABBLES,
        Scenario.RECOVERS_429,
    ),
    LogFormat.CODEX.value: (Scenario.STATUS_429, Scenario.SILENCE, Scenario.ENDLESS, Scenario.RECOVERS_429),
    LogFormat.OPENCODE.value: (Scenario.STATUS_401, Scenario.STATUS_500, Scenario.ENDLESS),
    LogFormat.MINI_SWE_AGENT.value: (
        Scenario.STATUS_500,
        Scenario.CUT,
        Scenario.ENDLESS,
        Scenario.BABBLES,
    ),
}
"""Who meets what: every agent its budget and two failures, and every failure one that ends and asks no more.

How the gateway takes each failure by each protocol, streamed and whole, is tested without the programs.
"""
WITHOUT_END = ((LogFormat.OPENCODE.value, Scenario.STATUS_500),)
"""Where OpenCode asks again until the deadline."""


def _who_meets(*scenarios: Scenario) -> tuple[tuple[str, Scenario], ...]:
    return tuple((name, scenario) for name in AGENTS for scenario in PLAYED[name] if scenario in scenarios)


FAILING = _who_meets(*FAILURES)
TALKING = _who_meets(Scenario.BABBLES)
"""One streams, the other has its replies whole."""
RECOVERING = _who_meets(Scenario.RECOVERS_429)
OTHERS = tuple(
    pair for pair in (*FAILING, *_who_meets(Scenario.ENDLESS), *RECOVERING) if pair not in WITHOUT_END
)
DEADLINES_S = (30, 60, 120, 240)
"""Of attempts that nothing else ends. One whose agent asked for nothing by then tells nothing, but that the
machine is busy: it is made again, with more time."""
PATIENCE_S = 300
"""Deadline of the others, which end long before it."""
WORKERS = 5

USED = {
    "model_calls": 3,
    "input_tokens": 2468 + 2568 + 2668,
    "cached_input_tokens": 3 * 2000,
    "output_tokens": 40 + 41 + 42,
}
"""Of three replies, all input counted and cached parts among it, whoever told it."""
USAGES = {
    **dict.fromkeys(AGENTS, Usage(**USED, reasoning_tokens=3 * 15)),
    LogFormat.CLAUDE_CODE.value: Usage(**USED, cache_write_tokens=3 * 30),
}
BUNDLED = {
    LogFormat.CLAUDE_CODE.value: ("plugin-authoring",),
    LogFormat.OPENCODE.value: ("customize-opencode",),
}
"""Skills that an agent lists whatever is set."""
COSTS = {
    **dict.fromkeys(AGENTS, ((7704 - 6000) * 3.0 + 6000 * 0.3 + 123 * 15.0) / 1e6),
    LogFormat.CLAUDE_CODE.value: ((7704 - 6000 - 90) * 3.0 + 6000 * 0.3 + 90 * 3.75 + 123 * 15.0) / 1e6,
}


@dataclass(frozen=True, slots=True)
class Whole:
    """Everything that was run."""

    worked: Mapping[str, Worked]
    played: Mapping[tuple[str, Scenario], Played]


@pytest.fixture(scope="module")
def images(docker_engine: DockerEngine) -> ImageReport:
    """The images of all four agents, built if they are missing."""
    store = ImageStore()
    try:
        return build_images(store, docker_engine, RUNNER, agents=AGENTS, progress=lambda _: None)
    finally:
        store.close()


@pytest.fixture(scope="module")
def whole(
    tmp_path_factory: pytest.TempPathFactory, docker_engine: DockerEngine, images: ImageReport
) -> Whole:
    """Run it all: first what only the deadline ends, and the rest while that waits."""
    folder = tmp_path_factory.mktemp("agents")
    own = a_persons_home(tmp_path_factory.mktemp("person"))
    late = {key: threading.Event() for key in (*WITHOUT_END, *TALKING)}

    def one(name: str, scenario: Scenario, deadline_s: float) -> Played:
        root = folder / f"{name}-{scenario.value}-{deadline_s:.0f}"
        was_asked = late.get((name, scenario), threading.Event())
        with CommandModel(scenario, KEY, COMMANDS, was_asked=was_asked) as server:
            return play(root, images, docker_engine, name, server, deadline_s=deadline_s)

    def one_late(name: str, scenario: Scenario) -> Played:
        tries = (one(name, scenario, deadline_s) for deadline_s in DEADLINES_S)
        return next(played for played in tries if played.asked)

    with (
        pytest.MonkeyPatch.context() as patch,
        ThreadPoolExecutor(len(late)) as waiting,
        ThreadPoolExecutor(WORKERS) as busy,
    ):
        for name, value in own.items():
            patch.setenv(name, value)
        playing = {key: waiting.submit(one_late, *key) for key in late}
        for was_asked in late.values():
            was_asked.wait(DEADLINES_S[0])
        working = {name: busy.submit(work, folder / f"{name}-works", images, name) for name in AGENTS}
        playing |= {key: busy.submit(one, *key, PATIENCE_S) for key in OTHERS}
        return Whole(
            {name: future.result() for name, future in working.items()},
            {key: future.result() for key, future in playing.items()},
        )


@pytest.mark.parametrize("name", AGENTS)
def test_each_agent_edits_a_file_runs_a_test_and_finishes(whole: Whole, name: str) -> None:
    """With and without the arm the edit is submitted, and the grader finds it."""
    worked = whole.worked[name]
    for arm in (ARM, "neutral"):
        attempt = worked.attempt(arm)
        assert (attempt.outcome, attempt.exit_code) == (Outcome.COMPLETED, 0), attempt.reason
        grading = worked.records.gradings[attempt.attempt_id]
        assert (grading.status, grading.score) == (GradingStatus.GRADED, 100.0)
        patch = (worked.folder(arm) / "patch.diff").read_text()
        assert "+NAME = 'right'" in patch
        assert "b/fixed.txt" in patch
    assert worked.audit.clean, worked.audit
    assert worked.left == ()


@pytest.mark.parametrize("name", AGENTS)
def test_the_transcript_holds_request_words_calls_and_results(whole: Whole, name: str) -> None:
    """Whatever the agent's log looks like, what the model did reads the same."""
    lines = whole.worked[name].transcript(ARM)
    kinds = [line["kind"] for line in lines if line["kind"] not in ("notice", "system")]
    calls = [line for line in lines if line["kind"] == "tool_call"]
    results = [line["text"] for line in lines if line["kind"] == "tool_result"]
    said = [line["text"] for line in lines if line["kind"] == "model"]
    assert kinds[:4] == ["user", "model", "tool_call", "tool_result"]
    assert REQUEST in next(line["text"] for line in lines if line["kind"] == "user")
    for command, call in zip(COMMANDS, calls, strict=False):
        assert command.split()[0] in json.dumps(call["arguments"])
    assert "1 test passed" in results[1]
    assert said[:2] == ["Step 0.", "Step 1."]
    assert len(said) == USED["model_calls"]


@pytest.mark.parametrize("name", AGENTS)
def test_usage_is_what_the_provider_said_and_cost_is_what_the_table_says(whole: Whole, name: str) -> None:
    """Counted from the wire in our own form: cached tokens are neither doubled nor lost."""
    worked = whole.worked[name]
    assert len(worked.said) == 2 * USED["model_calls"]
    assert sum(said.usage["input_tokens"] for said in worked.said) == 2 * USED["input_tokens"]
    for arm in (ARM, "neutral"):
        costs = worked.attempt(arm).costs
        assert costs.usage == USAGES[name]
        assert costs.turns == USED["model_calls"]
        assert costs.cost == pytest.approx(COSTS[name])
        written = json.loads((worked.folder(arm) / "usage.json").read_text())
        assert written["costs"] == costs.model_dump(mode="json")


@pytest.mark.parametrize("name", AGENTS)
def test_the_arm_lay_in_its_place_and_the_control_had_nothing_of_it(whole: Whole, name: str) -> None:
    """The record looked through every request that reached the provider."""
    worked = whole.worked[name]
    with_arm = json.loads((worked.folder(ARM) / "loaded-instructions.json").read_text())
    without = json.loads((worked.folder("neutral") / "loaded-instructions.json").read_text())
    assert with_arm["requests"] == without["requests"] == USED["model_calls"]
    assert {file["path"] for file in with_arm["files"]} == {"SKILL.md", "references/more.md"}
    assert all(file["present_at_start"] for file in with_arm["files"])
    assert (without["files"], without["foreign"]) == ([], [])
    first = next(file for file in with_arm["files"] if file["path"] == "SKILL.md")
    assert (first["listed_in"]["request"], first["unchanged_at_end"]) == (1, True)
    # mini-swe-agent has the text after the request; the others list the skill, and the model reads it.
    assert first["in_full_in"]["request"] == (1 if name == LogFormat.MINI_SWE_AGENT else 2)
    report = (worked.root / "results" / "study-1" / "report" / "report.md").read_text()
    assert "Manipulation check: **passed**" in report


@pytest.mark.parametrize("name", AGENTS)
def test_what_else_an_agent_brings_is_recorded_and_the_same_in_every_arm(whole: Whole, name: str) -> None:
    """Its tools, none of which searches the web, and the skills of its own that cannot be switched off."""
    folders = [whole.worked[name].folder(arm) for arm in (ARM, "neutral")]
    one, other = (json.loads((folder / "loaded-instructions.json").read_text()) for folder in folders)
    assert (one["tools"], one["bundled_skills"]) == (other["tools"], other["bundled_skills"])
    assert one["bundled_skills"] == list(BUNDLED.get(name, ()))
    assert one["tools"]
    assert [tool for tool in one["tools"] if "web" in tool.lower()] == []


@pytest.mark.parametrize("name", AGENTS)
def test_real_transcripts_are_exported_by_the_rules_of_the_format(
    whole: Whole, name: str, tmp_path: Path
) -> None:
    """Each attempt is a trajectory whose steps hold both calls and their results."""
    worked = whole.worked[name]
    exported = export_atif(worked.records.folder.path, tmp_path / "atif")
    assert (len(exported.written), exported.left_out) == (2, {})
    for path in (tmp_path / "atif").iterdir():
        trajectory = AtifTrajectory.model_validate_json(path.read_bytes())
        calls = [call for step in trajectory.steps for call in step.tool_calls or ()]
        results = [
            found for step in trajectory.steps if step.observation for found in step.observation.results
        ]
        assert len(calls) >= len(COMMANDS)
        assert any("1 test passed" in (found.content or "") for found in results)
        assert trajectory.final_metrics.total_prompt_tokens == USED["input_tokens"]


@pytest.mark.parametrize("name", AGENTS)
def test_the_key_is_nowhere_in_the_container_but_every_request_has_it(whole: Whole, name: str) -> None:
    """Environment, arguments, memory and files of every process, and the engine's own description.

    The request is looked for in the same way, and is found in the memory of relay and agent.
    """
    worked = whole.worked[name]
    search = worked.search
    assert worked.strangers == 0
    assert search.places[KEY.encode()] == ()
    assert KEY not in search.inspected
    found = search.places[REQUEST.encode()]
    assert any(place.startswith("file /agent/home/") for place in found), found
    for process in ("/opt/esac/relay.py", f"/opt/agents/{name}/"):
        assert any(process in searched for searched in search.searched), search.searched
        assert any(place.startswith("memory of ") and process in place for place in found), found


@pytest.mark.parametrize("name", AGENTS)
def test_a_persons_own_configuration_is_never_read(whole: Whole, name: str) -> None:
    """The harness ran in the home of somebody who configured all four; nothing of it came anywhere."""
    worked = whole.worked[name]
    assert worked.search.places[OWN_WORDS.encode()] == ()
    assert [found for found, data in contents_below(worked.root) if OWN_WORDS.encode() in data] == []


def test_neither_results_nor_logs_nor_reports_hold_the_key(whole: Whole) -> None:
    """Providers quote it in their errors; compressed records are looked into as well."""
    roots = [worked.root for worked in whole.worked.values()]
    roots += [played.root for played in whole.played.values()]
    files = [found for root in roots for found in contents_below(root)]
    assert [name for name, data in files if KEY.encode() in data] == []
    quoting = {name for name, data in files if b"for [redacted]" in data}
    assert quoting >= {"attempt.json", "calls.jsonl", "transcript.jsonl", "00001-reply"}
    assert {"report.md", "00001-request", "agent.log"} <= {name for name, _ in files}


@pytest.mark.parametrize(("name", "scenario"), FAILING)
def test_a_service_that_fails_is_never_the_agents_fault(whole: Whole, name: str, scenario: Scenario) -> None:
    """Whatever the program's exit code says: no submission, no score, and the class of the failure."""
    played = whole.played[name, scenario]
    assert played.record.outcome is Outcome.INFRA, played.record.reason
    assert f"The model endpoint failed, {FAILURES[scenario]}" in played.record.reason
    assert (played.record.submission, played.grading) == (None, None)
    assert played.record.costs.usage == Usage()
    assert (played.asked > 0, played.strangers) == (True, 0)
    deadline = (name, scenario) in WITHOUT_END
    assert played.record.exit_code == (None if deadline else 1)


@pytest.mark.parametrize("name", AGENTS)
def test_a_model_that_never_stops_calling_is_ended_by_its_budget(whole: Whole, name: str) -> None:
    """The gateway refuses the next call, the agent gives up, and what there is is graded."""
    played = whole.played[name, Scenario.ENDLESS]
    assert (played.record.outcome, played.record.limit) == (Outcome.LIMIT, LimitKind.TURNS)
    assert played.asked == played.record.costs.turns == TURNS
    assert played.record.costs.tool_calls == TURNS
    assert played.grading is not None
    assert played.grading.score == 0.0


@pytest.mark.parametrize(("name", "scenario"), TALKING)
def test_a_model_that_never_stops_talking_is_ended_by_the_deadline(
    whole: Whole, name: str, scenario: Scenario
) -> None:
    """It was heard, so this is no failure of the service; what it used nobody told."""
    played = whole.played[name, scenario]
    assert (played.record.outcome, played.record.limit) == (Outcome.LIMIT, LimitKind.WALL_CLOCK)
    assert (played.asked, played.record.costs.usage) == (1, Usage())
    assert played.grading is not None


@pytest.mark.parametrize(("name", "scenario"), RECOVERING)
def test_a_failure_that_passes_spoils_nothing(whole: Whole, name: str, scenario: Scenario) -> None:
    """The agent asks again after what Retry-After says, and the refused request is in no sum."""
    played = whole.played[name, scenario]
    assert played.record.outcome is Outcome.COMPLETED, played.record.reason
    assert played.asked == USED["model_calls"] + 1
    assert played.record.costs.usage == USAGES[name]
    assert played.grading is not None
    assert played.grading.score == 100.0
