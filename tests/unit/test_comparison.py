"""A comparison becomes a draft: pure, from what a person asks for."""

from __future__ import annotations

import pytest

from esac_ag.errors import UsageError
from esac_ag.manifest.comparison import (
    ComparisonRequest,
    claim_of,
    different_keys,
    draft_of,
    id_of,
    phase_of,
    refuse_unpriced,
    run_cost_usd,
    study_id_of,
)
from esac_ag.manifest.draft import DraftArm, DraftTask
from esac_ag.manifest.plan import AgentKind, AgentPlan, Install, Limits, Model, Network, Phase, Prices
from tests.builders_compare import MODEL, PRICES

CODEX = AgentPlan(kind=AgentKind.COMMAND, version="0.171.0", settings={"agent": "codex"})
TABLE = Prices.model_validate(PRICES)


def a_request(**changes: object) -> ComparisonRequest:
    """One skill under Codex on four tasks, three times each."""
    given: dict[str, object] = {
        "study_id": "compared",
        "agent": CODEX,
        "model": Model(name=MODEL, version="unspecified", provider="openai"),
        "arms": (DraftArm(id="my-skill", bundle="../arms/my-skill"),),
        "tasks": tuple(DraftTask(id=f"task-{number}") for number in range(4)),
        "repetitions": 3,
    }
    return ComparisonRequest(**(given | changes))  # type: ignore[arg-type]


def test_the_control_is_added_and_comes_first() -> None:
    """Runs are counted with it."""
    draft = draft_of(a_request())
    assert [(arm.id, arm.bundle) for arm in draft.arms] == [
        ("neutral", None),
        ("my-skill", "../arms/my-skill"),
    ]
    assert a_request().runs == 24


def test_a_command_line_agent_gets_the_gateway_and_no_limit_of_tool_calls() -> None:
    """Its calls are its own affair; its sessions need room, and the grader has as much."""
    draft = draft_of(a_request(wall_clock_s=60.0, turns=7))
    assert draft.network is Network.MODEL_GATEWAY
    assert draft.limits.tool_calls is None
    assert (draft.limits.wall_clock_s, draft.limits.turns) == (60.0, 7)
    assert draft.limits.grader.workspace_mib >= draft.limits.workspace_mib > Limits().workspace_mib


def test_a_chat_agent_has_no_network_and_the_usual_limits() -> None:
    """As a draft that says nothing of them."""
    draft = draft_of(a_request(agent=AgentPlan(kind=AgentKind.CHAT, version="1")))
    assert draft.network is Network.NONE
    assert draft.limits == Limits()


@pytest.mark.parametrize(
    ("tasks", "phase"),
    [(1, Phase.SHADOW), (4, Phase.SHADOW), (11, Phase.SHADOW), (12, Phase.PRIMARY), (40, Phase.PRIMARY)],
)
def test_the_phase_follows_from_the_number_of_tasks(tasks: int, phase: Phase) -> None:
    """A comparison is never a calibration, whose runs are excluded from results."""
    assert phase_of(tasks) is phase


def test_the_claim_of_few_tasks_is_told_as_none() -> None:
    """Twelve make a scored pilot."""
    assert "no general claim" in claim_of(Phase.SHADOW, 4)
    assert claim_of(Phase.SHADOW, 1).startswith("1 task, fewer")
    assert "no general claim" not in claim_of(Phase.PRIMARY, 12)


def test_the_cost_of_all_runs_stays_within_the_limit() -> None:
    """The share is rounded down, never up."""
    draft = draft_of(a_request(max_cost_usd=5.0, prices=TABLE))
    share = draft.limits.cost_usd
    assert share == 0.208333
    assert share * 24 <= 5.0
    assert draft.prices == TABLE


def test_a_limit_that_leaves_nothing_for_a_run_is_refused() -> None:
    """A share of less than a millionth of a dollar is none."""
    with pytest.raises(UsageError, match="nothing for a single run"):
        run_cost_usd(0.00001, 24)


@pytest.mark.parametrize("limit", [float("inf"), 1e305])
def test_an_endless_cost_limit_is_refused(limit: float) -> None:
    """`--max-cost inf` passes for a number, and limits nothing."""
    with pytest.raises(UsageError, match="--max-cost"):
        run_cost_usd(limit, 24)


@pytest.mark.parametrize(
    ("table", "found"),
    [
        (None, "no price table"),
        (TABLE.model_copy(update={"per_million": {}}), "prices of no model"),
        (TABLE.model_copy(update={"currency": "EUR"}), "prices in EUR"),
    ],
)
def test_a_cost_limit_without_the_models_price_is_refused(table: Prices | None, found: str) -> None:
    """Nobody could enforce it."""
    with pytest.raises(UsageError, match="--max-cost") as refusal:
        refuse_unpriced(MODEL, table)
    assert refusal.value.found == found
    refuse_unpriced(MODEL, TABLE)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("My Skill", "my-skill"), ("AGENTS", "agents"), ("_x.y", "x.y"), ("über", "ber"), ("…", "")],
)
def test_an_arms_id_follows_from_the_name_of_its_folder(name: str, expected: str) -> None:
    """Lower case, and hyphens for what no id can hold."""
    assert id_of(name) == expected


def test_a_study_is_named_by_arm_agent_and_time() -> None:
    """So that a list of results tells what was compared."""
    assert study_id_of("my-skill", "codex", "2026-11-01T10:11:12.345Z") == "my-skill-codex-20261101-101112"
    assert len(study_id_of("a" * 100, "b" * 100, "2026-11-01T10:11:12.345Z")) <= 100


def test_an_id_that_no_file_can_have_is_refused() -> None:
    """Before a path is made from it."""
    with pytest.raises(UsageError, match="cannot be drafted") as refusal:
        draft_of(a_request(study_id="../elsewhere"))
    assert "study_id" in refusal.value.found


def test_drafts_that_differ_name_their_keys() -> None:
    """In the format's order."""
    mentioned = DraftArm(
        id="my-skill", bundle="../arms/my-skill", install=Install(mention_in_instructions=True)
    )
    one, other = draft_of(a_request()), draft_of(a_request(repetitions=1, arms=(mentioned,)))
    assert different_keys(one, one) == ()
    assert different_keys(one, other) == ("repetitions", "arms")
