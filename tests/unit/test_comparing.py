"""From options to a sealed study, with the in-memory engine: what is looked at, and what is written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from esac_ag.conduct.comparing import CompareOptions, Prepared, draft_path, prepare, seal_comparison
from esac_ag.errors import EngineUnavailable, HarnessError, InputRefused, UsageError
from esac_ag.manifest.draft import Draft
from esac_ag.manifest.plan import AgentKind, Manifest, Phase
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.memory import InMemoryEngine
from tests.builders_compare import (
    MODEL,
    a_compare_workspace,
    a_price_table,
    a_skill,
    add_tiny_agent,
    an_engine,
    options,
)
from tests.builders_manifest import write

KEY = {"OPENAI_API_KEY": "sk-compare-4711-Zq", "ANTHROPIC_API_KEY": "sk-compare-4711-Ant"}


class Away(InMemoryEngine):
    """An engine that does not answer."""

    def image_digest(self, reference: str) -> str:
        """Nobody answers."""
        raise EngineUnavailable("No Docker engine answers.", where=reference)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace of four tasks."""
    return a_compare_workspace(tmp_path / "workspace")


def prepared(
    wanted: CompareOptions,
    workspace: Workspace,
    *,
    engine: InMemoryEngine | None = None,
    environ: dict[str, str] | None = None,
) -> Prepared:
    """A comparison of which nothing is missing."""
    return prepare(
        wanted,
        workspace=workspace,
        engine=engine or an_engine(),
        environ=KEY if environ is None else environ,
    )


def sealed(wanted: CompareOptions, workspace: Workspace) -> tuple[Path, list[str]]:
    """The sealed manifest and what was told."""
    told: list[str] = []
    engine = an_engine()
    path = seal_comparison(
        prepared(wanted, workspace, engine=engine),
        workspace=workspace,
        engine=engine,
        repeats=1,
        build=lambda _: pytest.fail("every image is there"),
        tell=told.append,
    )
    return path, told


def files_of(workspace: Workspace) -> set[Path]:
    """All files of the workspace."""
    return {path for path in workspace.root.rglob("*") if path.is_file()}


def test_a_skill_from_anywhere_becomes_a_sealed_study(workspace: Workspace, tmp_path: Path) -> None:
    """Its bytes are copied into the workspace, the control is added, and every task is proved."""
    skill = a_skill(tmp_path)
    path, told = sealed(options("neutral", skill), workspace)
    manifest = Manifest.model_validate_json(path.read_bytes())
    assert path == workspace.manifests / "compared.json"
    assert [arm.id for arm in manifest.arms] == ["neutral", "my-skill"]
    assert [task.id for task in manifest.tasks] == [f"task-{number}" for number in range(1, 5)]
    assert manifest.phase is Phase.SHADOW
    copied = workspace.arms / "my-skill" / "SKILL.md"
    assert copied.read_bytes() == (skill / "SKILL.md").read_bytes()
    assert any("copied to" in line for line in told)


def test_looking_writes_nothing(workspace: Workspace, tmp_path: Path) -> None:
    """Neither a bundle nor a draft, whatever is right or wrong."""
    skill, before = a_skill(tmp_path), files_of(workspace)
    prepared(options(skill), workspace)
    with pytest.raises(HarnessError):
        prepared(options(skill, "nowhere"), workspace)
    assert files_of(workspace) == before


def test_everything_that_is_missing_is_told_at_once(workspace: Workspace) -> None:
    """Key, bundle, task, price and engine, each with its remedy; the exit code is the first kind's."""
    wanted = options("nowhere", agent="codex", base_url=None, tasks=("task-9",), max_cost_usd=1.0)
    with pytest.raises(UsageError) as refusal:
        prepared(wanted, workspace, engine=Away(), environ={})
    told = str(refusal.value)
    assert told.startswith("5 things are in the way")
    expected = ("OPENAI_API_KEY", "nowhere", "task-9", "--prices FILE", "No Docker engine answers")
    assert [word for word in expected if word not in told] == []
    assert told.count("remedy:") == 4


def test_an_engine_that_is_away_is_a_failure_of_the_infrastructure(
    workspace: Workspace, tmp_path: Path
) -> None:
    """When it is all that is missing, the exit code is its own."""
    with pytest.raises(EngineUnavailable):
        prepared(options(a_skill(tmp_path)), workspace, engine=Away())


@pytest.mark.parametrize(
    ("agent", "variable", "provider"),
    [
        ("claude-code", "ANTHROPIC_API_KEY", "anthropic"),
        ("codex", "OPENAI_API_KEY", "openai"),
        ("opencode", "OPENAI_API_KEY", "openai"),
        ("mini-swe-agent", "OPENAI_API_KEY", "openai"),
    ],
)
def test_a_command_line_agent_is_drafted_by_its_file(
    workspace: Workspace, tmp_path: Path, agent: str, variable: str, provider: str
) -> None:
    """Version from runner/agents/, provider and key by its protocol."""
    wanted = options(a_skill(tmp_path), agent=agent, base_url=None)
    found = prepared(wanted, workspace)
    file = json.loads((workspace.runner / "agents" / f"{agent}.json").read_text())
    plan = found.request.agent
    assert (plan.kind, plan.version, plan.settings) == (AgentKind.COMMAND, file["version"], {"agent": agent})
    assert found.request.model.provider == provider
    assert found.agent.key_variable == variable
    with pytest.raises(UsageError, match="key is not set") as refusal:
        prepared(wanted, workspace, environ={})
    assert variable in refusal.value.remedy


def test_any_agent_of_the_workspace_can_be_compared(workspace: Workspace, tmp_path: Path) -> None:
    """Also one that a person described."""
    add_tiny_agent(workspace)
    wanted = options(a_skill(tmp_path), agent="tiny", api_key_env="MY_KEY")
    found = prepared(wanted, workspace, environ={})
    assert found.request.agent.settings == {
        "agent": "tiny",
        "base_url": "http://127.0.0.1:9/v1",
        "api_key_env": "MY_KEY",
    }
    assert found.request.model.provider == "unspecified"
    with pytest.raises(UsageError, match="no such agent") as refusal:
        prepared(options(a_skill(tmp_path), agent="huge"), workspace)
    assert refusal.value.expected == "claude-code, codex, mini-swe-agent, opencode, tiny, chat"


def test_a_key_in_place_of_a_variables_name_is_refused_and_not_shown(
    workspace: Workspace, tmp_path: Path
) -> None:
    """No plan is to hold it."""
    with pytest.raises(UsageError, match="not named by an environment variable") as refusal:
        prepared(options(a_skill(tmp_path), api_key_env="sk-not-a-name"), workspace)
    assert "sk-not-a-name" not in str(refusal.value)


def test_a_chat_agent_needs_an_address(workspace: Workspace, tmp_path: Path) -> None:
    """From the option or the environment."""
    wanted = options(a_skill(tmp_path), base_url=None)
    with pytest.raises(UsageError, match="no usable address"):
        prepared(wanted, workspace)
    found = prepared(wanted, workspace, environ={"ESAC_AG_BASE_URL": "http://127.0.0.1:8/v1"})
    assert found.request.agent.settings == {"base_url": "http://127.0.0.1:8/v1"}
    assert not found.agent.key_is_set


def test_images_that_are_not_built_are_built(workspace: Workspace, tmp_path: Path) -> None:
    """The command-line agent's too; a comparison of which only images are missing is no fault."""
    engine = an_engine(images={})
    found = prepared(options(a_skill(tmp_path), agent="codex"), workspace, engine=engine)
    assert [reference.partition(":")[0] for reference in found.missing_images] == [
        "esac-ag/agent",
        "esac-ag/grader",
        "esac-ag/agent-codex",
    ]
    built: list[tuple[str, ...]] = []
    with pytest.raises(InputRefused, match="not complete"):
        seal_comparison(
            found, workspace=workspace, engine=engine, repeats=1, build=built.append, tell=lambda _: None
        )
    assert built == [("codex",)]


def test_the_same_study_goes_on_and_another_one_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    """By its id: the same draft is not frozen again, and a different one names what differs."""
    skill = a_skill(tmp_path)
    path, _ = sealed(options(skill), workspace)
    before = path.read_bytes()
    again, told = sealed(options(skill), workspace)
    assert (again, again.read_bytes()) == (path, before)
    assert told == [f"{path} is sealed already, from the same draft"]
    with pytest.raises(InputRefused, match="another study compared") as refusal:
        prepared(options(skill, repetitions=2, max_cost_usd=None), workspace)
    assert "repetitions differ" in refusal.value.found
    assert "esac-ag run" in refusal.value.remedy
    assert path.read_bytes() == before


def test_no_file_of_somebody_elses_is_overwritten(workspace: Workspace, tmp_path: Path) -> None:
    """A manifest of that id without a draft is another study."""
    (workspace.manifests / "compared.json").write_text("{}")
    with pytest.raises(InputRefused, match="another study compared") as refusal:
        prepared(options(a_skill(tmp_path)), workspace)
    assert "draft is not there" in refusal.value.found


def test_a_bundle_that_changed_needs_another_id(workspace: Workspace, tmp_path: Path) -> None:
    """What was sealed under an id is never changed; `ID=PATH` gives the new text one of its own."""
    sealed(options(a_skill(tmp_path)), workspace)
    changed = a_skill(tmp_path, "Read twice.")
    with pytest.raises(InputRefused, match="taken by another bundle") as refusal:
        prepared(options(changed, study_id="second"), workspace)
    assert "--arm ID=PATH" in refusal.value.remedy
    path, _ = sealed(options(f"my-skill-2={changed}", "my-skill", study_id="second"), workspace)
    manifest = Manifest.model_validate_json(path.read_bytes())
    assert [arm.id for arm in manifest.arms] == ["neutral", "my-skill-2", "my-skill"]
    assert manifest.analysis.primary_comparison.arm == "my-skill-2"


@pytest.mark.parametrize(
    ("arms", "words"),
    [
        (("neutral",), "nothing to compare"),
        (("careful", "careful"), "named twice"),
        (("neutral=/tmp",), "no bundle"),
        (("=",), "no such bundle"),
        (("",), "no such bundle"),
        (("Bad Id=.",), "malformed"),
    ],
)
def test_arms_that_say_nothing_are_refused(workspace: Workspace, arms: tuple[str, ...], words: str) -> None:
    """With the option that they were given by."""
    with pytest.raises(UsageError, match=words) as refusal:
        prepared(options(*arms), workspace)
    assert "--arm" in refusal.value.where


def test_a_single_file_of_instructions_is_an_arm(workspace: Workspace, tmp_path: Path) -> None:
    """Named by its name without the ending; the mention is sealed with it."""
    path = write(tmp_path / "AGENTS.md", "Read first.\n")
    found = prepared(options(path, mention=True), workspace)
    (arm,) = found.request.arms
    assert (arm.id, arm.install.mention_in_instructions) == ("agents", True)


def test_tasks_are_named_by_id_by_package_or_by_folder(workspace: Workspace, tmp_path: Path) -> None:
    """A package outside of the workspace is taken where it lies; its grader is the workspace's."""
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(workspace.tasks / "task-2", elsewhere / "task-2")
    skill = a_skill(tmp_path)
    by_id = prepared(options(skill, tasks=("task-1", str(workspace.tasks / "task-3"))), workspace)
    assert [(task.id, task.manifest) for task in by_id.request.tasks] == [("task-1", None), ("task-3", None)]
    path, _ = sealed(options(skill, tasks=(str(elsewhere),)), workspace)
    (task,) = Manifest.model_validate_json(path.read_bytes()).tasks
    assert (workspace.manifests / task.manifest).resolve() == elsewhere / "task-2" / "task.json"
    with pytest.raises(UsageError, match="have one id"):
        prepared(options(skill, tasks=("task-2", str(elsewhere)), study_id="second"), workspace)


def test_tasks_that_cannot_be_used_are_all_told(workspace: Workspace, tmp_path: Path) -> None:
    """One without a grader, and one whose files are not the sealed ones."""
    shutil.rmtree(workspace.graders / "task-1")
    (workspace.graders / "task-2" / "fix-0.patch").write_text("other\n")
    with pytest.raises(InputRefused) as refusal:
        prepared(options(a_skill(tmp_path)), workspace)
    told = str(refusal.value)
    assert "2 things" in told
    assert "task-1 has no grader" in told
    assert "esac-ag task seal task-2" in told


def test_a_cost_limit_is_shared_out_and_sealed(workspace: Workspace, tmp_path: Path) -> None:
    """With the table that enforces it; a table of another model is refused before anything is written."""
    wanted = options(a_skill(tmp_path), max_cost_usd=2.4, prices=a_price_table(tmp_path))
    path, _ = sealed(wanted, workspace)
    manifest = Manifest.model_validate_json(path.read_bytes())
    assert manifest.limits.cost_usd == pytest.approx(0.1)
    assert manifest.prices is not None
    assert MODEL in manifest.prices.per_million
    with pytest.raises(UsageError, match="without the model's price"):
        prepared(options(a_skill(tmp_path), max_cost_usd=1.0, model="m-2", study_id="second"), workspace)


def test_the_draft_is_one_that_a_person_could_freeze(workspace: Workspace, tmp_path: Path) -> None:
    """It lies beside the manifest."""
    sealed(options(a_skill(tmp_path)), workspace)
    draft = Draft.model_validate_json(draft_path("compared", workspace).read_bytes())
    assert draft.study_id == "compared"


def test_the_way_to_the_model_is_part_of_the_plan(workspace: Workspace, tmp_path: Path) -> None:
    """It is sealed for programs in containers; the chat agent has none, and says so."""
    skill = a_skill(tmp_path)
    networked = prepared(options(skill, agent="codex", model_way="network"), workspace)
    assert networked.agent.plan.settings["model_way"] == "network"
    assert "model_way" not in prepared(options(skill, agent="codex"), workspace).agent.plan.settings
    with pytest.raises(UsageError, match="asks its model from the host"):
        prepared(options(skill, agent="chat", model_way="socket"), workspace)
    with pytest.raises(UsageError, match="no such way"):
        prepared(options(skill, agent="codex", model_way="pigeon"), workspace)


@pytest.mark.parametrize(
    ("changes", "told"),
    [({"model": " "}, "no name"), ({"wall_clock_s": float("inf")}, "has to end")],
)
def test_what_no_draft_can_hold_is_refused_before_one_is_written(
    workspace: Workspace, tmp_path: Path, changes: dict[str, Any], told: str
) -> None:
    """A draft that cannot be sealed would keep its study's id."""
    before = files_of(workspace)
    with pytest.raises(UsageError, match=told):
        prepared(options(a_skill(tmp_path), agent="codex", **changes), workspace)
    assert files_of(workspace) == before


def test_a_skill_that_no_agent_would_list_is_told_before_anything_is_paid(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Agents list a skill by the name and description at its head."""
    plain = a_skill(tmp_path)
    _, told = sealed(options(plain, agent="codex", study_id="listed"), workspace)
    assert not [line for line in told if line.startswith("warning")]
    write(tmp_path / "headless" / "SKILL.md", "Read every file first.\n")
    _, told = sealed(options(tmp_path / "headless", agent="codex", study_id="unlisted"), workspace)
    (warning,) = [line for line in told if line.startswith("warning")]
    assert "arm headless: SKILL.md has no name and no description" in warning
