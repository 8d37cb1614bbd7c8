"""Freezing: what is missing is told at once, what is refused leaves nothing, what is sealed validates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from esac_ag.artifacts import write_atomic
from esac_ag.conduct import sealing
from esac_ag.conduct.context import Stop
from esac_ag.conduct.freeze import Sealed, freeze_draft, probe_manifest
from esac_ag.conduct.opening import open_study
from esac_ag.errors import InfrastructureFailure, InputRefused
from esac_ag.rooms.proofs import proof_path
from esac_ag.rooms.validation import validate_manifest
from esac_ag.sandbox.memory import InMemoryEngine
from esac_ag.sandbox.memory_process import FakeProcess, Program, ProgramExit
from tests.builders_freeze import TASKS, a_draft, a_probe, an_engine, lenient_judge, workspace_of
from tests.builders_manifest import Study, write
from tests.builders_manifest_changes import set_at

CHAT = {"kind": "chat", "version": "1"}
COMMAND = {"kind": "command", "version": "0.171.0", "settings": {"agent": "codex"}}


def freeze(draft: Study, engine: InMemoryEngine | None = None, output: Path | None = None) -> Sealed:
    """Freeze a draft as its data is now."""
    return freeze_draft(
        draft.save(),
        output or draft.folder / "study.json",
        workspace=workspace_of(draft),
        engine=engine or an_engine(),
        repeats=1,
        tell=lambda _: None,
    )


def refused(draft: Study, engine: InMemoryEngine | None = None) -> str:
    """What a refusal tells; no container was made for it and nothing was written."""
    engine = engine or an_engine()
    before = files_of(draft)
    with pytest.raises(InputRefused) as refusal:
        freeze(draft, engine)
    assert files_of(draft) | {draft.path} == before | {draft.path}
    assert engine.specs == [], "something ran for a draft that cannot be sealed"
    return refusal.value.found


def files_of(draft: Study) -> set[Path]:
    """Everything beside the draft."""
    return set(draft.folder.rglob("*"))


def test_a_complete_draft_becomes_a_manifest_that_validates_and_opens(tmp_path: Path) -> None:
    """Inventories, proofs, probe and schedule are filled in as everybody will check them."""
    draft = a_draft(tmp_path)
    engine = an_engine()
    sealed = freeze(draft, engine)
    assert sealed.tasks_proved == len(TASKS)
    path = Path(sealed.path)
    assert validate_manifest(path, strict=True, workspace=workspace_of(draft)).errors == 0
    assert [proof_path(path, task).is_file() for task in TASKS] == [True] * len(TASKS)
    opened = open_study(
        path,
        workspace=workspace_of(draft),
        engine=engine,
        results=tmp_path / "results",
        environ={},
        stop=Stop(),
        dry_run=True,
    )
    assert len(opened.cells) == len(TASKS) * 2 * 2


def test_a_manifest_can_be_sealed_into_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    """Its paths are relative to where it will lie."""
    draft = a_draft(tmp_path)
    path = Path(freeze(draft, output=tmp_path / "manifests" / "new" / "deep" / "study.json").path)
    assert validate_manifest(path, strict=True, workspace=workspace_of(draft)).errors == 0
    assert json.loads(path.read_text())["arms"][1]["bundle"] == "../../../arms/careful"


def test_nothing_is_ever_overwritten(tmp_path: Path) -> None:
    """A second freeze to the same place is refused before anything runs, whatever lies there."""
    draft = a_draft(tmp_path)
    path = Path(freeze(draft).path)
    before = path.read_bytes()
    engine = an_engine()
    with pytest.raises(InputRefused, match="there is another file"):
        freeze(draft, engine)
    with pytest.raises(InputRefused, match="there is another file"):
        freeze(draft, engine, output=draft.path)
    assert path.read_bytes() == before
    assert engine.specs == []


def test_a_draft_that_lacks_nearly_everything_is_told_all_of_it_at_once(tmp_path: Path) -> None:
    """One pass names missing keys, placeholders, arms, bundles, packages and images."""
    draft = a_draft(tmp_path)
    draft.data = {
        "format_version": 2,
        "study_id": "x",
        "status": "draft",
        "arms": [{"id": "a", "bundle": "nope"}],
        "tasks": [{"id": "nope"}, {"id": "task-2"}],
        "model": {"name": "replace-me"},
        "agent": {"kind": "scripted", "version": "1", "settings": {"script": "absent.json"}},
    }
    write(tmp_path / "tasks" / "task-2" / "public" / "shop.py", "NAME = 'edited'\n")
    found = refused(draft, an_engine(images={}))
    for told in (
        "The key `phase` is missing",
        "The key `repetitions` is missing",
        "#/model: The key `version` is missing",
        "#/model: The key `provider` is missing",
        "#/model/name: A placeholder is left",
        "#/arms: The control arm is missing",
        "#/arms/0/bundle: The bundle cannot be read",
        "#/tasks/0: The task package cannot be used",
        "#/tasks/0: The grader package cannot be used",
        "#/tasks/1: `public_tree_sha256` in task.json of task-2 does not name the files at hand",
        "#/agent/settings/script: the scripted agent has no script",
        "the image esac-ag/agent:",
        "the image esac-ag/grader:",
    ):
        assert told in found, found


PRICES: dict[str, Any] = {
    "source": "s",
    "currency": "USD",
    "date": "2026-01-01",
    "version": "1",
    "per_million": {"other": {"input": 1.0, "output": 1.0}},
}
CANNOT_RUN: dict[str, tuple[dict[str, Any], str]] = {
    "settings that the chat agent does not know": (
        {"agent": CHAT | {"settings": {"nonsense": 1}}},
        "#/agent/settings: The settings of the chat agent are wrong",
    ),
    "an address that nobody can call": (
        {"agent": CHAT | {"settings": {"base_url": "ftp://somewhere"}}},
        "#/agent/settings: The settings of the chat agent are wrong",
    ),
    "settings that the scripted agent does not know": (
        {"agent": {"kind": "scripted", "version": "1", "settings": {"script": "script.json", "speed": 2}}},
        "#/agent/settings: The settings of the scripted agent are wrong",
    ),
    "a script book of another digest": (
        {
            "agent": {
                "kind": "scripted",
                "version": "1",
                "settings": {"script": "script.json", "script_sha256": "ab" * 32},
            }
        },
        "#/agent/settings/script: The script book is not the one",
    ),
    "a command-line agent without a name": (
        {"agent": COMMAND | {"settings": {}}, "network": "model-gateway"},
        "#/agent/settings: The settings of the command-line agent are wrong",
    ),
    "a command-line agent that nobody described": (
        {"agent": COMMAND | {"settings": {"agent": "unheard-of"}}, "network": "model-gateway"},
        "#/agent/settings/agent: There is no agent of that name",
    ),
    "another version of a command-line agent": (
        {"agent": COMMAND | {"version": "0.0.1"}, "network": "model-gateway"},
        "#/agent/version: The plan is for another version of codex",
    ),
    "a command-line agent without a network": (
        {"agent": COMMAND},
        "#/network: A command-line agent cannot reach its model",
    ),
    "tool calls of a command-line agent that nobody can stop": (
        {"agent": COMMAND, "network": "model-gateway"},
        "#/limits/tool_calls: Nobody can stop a command-line agent",
    ),
    "a seed that the protocol does not take": (
        {
            "agent": COMMAND,
            "network": "model-gateway",
            "model": {"name": "m", "version": "1", "provider": "p", "decoding": {"seed": 1}},
        },
        "#/model: The protocol responses takes no seed",
    ),
    "a network that the agent's container will not have": (
        {"agent": CHAT, "network": "model-gateway"},
        "#/network: An agent of kind chat has no network",
    ),
    "a cost limit without a price table": (
        {"agent": CHAT, "limits": {"cost_usd": 1.0}},
        "#/limits/cost_usd: A cost limit cannot be enforced",
    ),
    "a cost limit without a price of the model": (
        {"agent": CHAT, "limits": {"cost_usd": 1.0}, "prices": PRICES},
        "#/limits/cost_usd: A cost limit cannot be enforced",
    ),
    "a seed that no JSON reader keeps": (
        {
            "agent": CHAT,
            "model": {"name": "m", "version": "1", "provider": "p", "decoding": {"seed": 2**60}},
        },
        "#/model/decoding/seed",
    ),
    "a grader with less room than the agent": (
        {"limits": {"workspace_mib": 4096}},
        "#/limits/grader/workspace_mib",
    ),
    "a comparison of an arm with itself": (
        {"analysis": {"primary_comparison": {"arm": "careful", "control": "careful"}}},
        "#/analysis/primary_comparison: The primary comparison compares an arm with itself",
    ),
    "fewer tasks than the phase needs": ({"phase": "primary"}, "#/tasks: There are fewer tasks"),
}


@pytest.mark.parametrize("name", CANNOT_RUN)
def test_a_plan_that_could_not_run_is_refused_before_anything_runs(tmp_path: Path, name: str) -> None:
    """The agents' own readers judge their settings, without a key and without an endpoint."""
    changes, told = CANNOT_RUN[name]
    found = refused(a_draft(tmp_path, **changes))
    assert told in found, found


def test_a_chat_draft_freezes_without_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither key nor address is part of the plan."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("ESAC_AG_BASE_URL", raising=False)
    assert freeze(a_draft(tmp_path, agent=CHAT)).tasks_proved == len(TASKS)


def test_a_skill_that_the_agent_cannot_read_is_told(tmp_path: Path) -> None:
    """A bundle is laid out as the agent will load it; a scripted agent reads none."""
    draft = a_draft(tmp_path, agent=CHAT)
    (tmp_path / "arms" / "careful" / "SKILL.md").write_bytes(b"\xff\xfe")
    assert "#/arms/1/bundle: SKILL.md of arm careful is not UTF-8" in refused(draft)
    scripted = {"kind": "scripted", "version": "1", "settings": {"script": "script.json"}}
    set_at("agent", value=scripted)(draft)
    assert freeze(draft).tasks_proved == len(TASKS)


def test_a_script_book_without_plays_for_a_task_is_told(tmp_path: Path) -> None:
    """Every task of the draft has to have a script."""
    draft = a_draft(tmp_path)
    book = json.loads((draft.folder / "script.json").read_text())
    book["tasks"]["task-1"] = book["tasks"].pop("*")
    write(draft.folder / "script.json", json.dumps(book))
    found = refused(draft)
    assert all(f"no plays for task task-{number}" in found for number in (2, 3, 4))
    assert "task task-1" not in found


def test_a_proof_that_does_not_hold_refuses_and_writes_nothing(tmp_path: Path) -> None:
    """A task that doing nothing solves is no task; once it is repaired, the draft freezes."""
    draft = a_draft(tmp_path)
    before = files_of(draft)
    with pytest.raises(InputRefused, match="proof does not hold") as refusal:
        freeze(draft, an_engine(judge=lenient_judge))
    assert "doing nothing would do" in refusal.value.found
    assert files_of(draft) == before
    assert freeze(draft).tasks_proved == len(TASKS)


@pytest.mark.parametrize(
    ("probe", "told"),
    [
        (a_probe(reached=True), "paths: /grade/private"),
        (a_probe(tried=0), "paths: nothing was tried"),
    ],
)
def test_a_probe_that_proves_no_isolation_refuses_and_writes_nothing(
    tmp_path: Path,
    probe: Program,
    told: str,
) -> None:
    """A leak refuses the plan, and so does a search that never looked."""
    draft = a_draft(tmp_path)
    before = files_of(draft)
    with pytest.raises(InputRefused, match="isolation probe") as refusal:
        freeze(draft, an_engine(probe=probe))
    assert told in refusal.value.found
    assert files_of(draft) == before
    assert freeze(draft).tasks_proved == len(TASKS)


def test_a_manifest_that_would_not_validate_leaves_nothing(tmp_path: Path) -> None:
    """A request that changes while the isolation is probed is met by the validation before writing."""
    draft = a_draft(tmp_path)
    request = tmp_path / "tasks" / "task-1" / "request.md"
    text = request.read_text()

    def edit(process: FakeProcess) -> ProgramExit:
        request.write_text("Something else.\n")
        return a_probe()(process)

    before = files_of(draft)
    with pytest.raises(InputRefused, match="would not validate") as refusal:
        freeze(draft, an_engine(probe=edit))
    assert "The request changed" in refusal.value.found
    assert files_of(draft) == before
    request.write_text(text)
    assert freeze(draft).tasks_proved == len(TASKS)


def test_a_crash_between_the_records_and_the_manifest_blocks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest's own file is written last; what lies beside its place is overwritten."""
    draft = a_draft(tmp_path)

    def full(path: Path, data: bytes) -> str:
        if path.name == "study.json":
            raise OSError("No space left on device")
        return write_atomic(path, data)

    with monkeypatch.context() as patched:
        patched.setattr(sealing, "write_atomic", full)
        with pytest.raises(InfrastructureFailure, match="cannot be written"):
            freeze(draft)
    assert (draft.folder / "study.probe.json").is_file()
    assert not (draft.folder / "study.json").exists()
    path = Path(freeze(draft).path)
    assert validate_manifest(path, strict=True, workspace=workspace_of(draft)).errors == 0


def test_the_proof_is_of_the_package_that_the_draft_names(tmp_path: Path) -> None:
    """A task outside of `tasks/` is proved itself, not its namesake in the workspace."""
    draft = a_draft(tmp_path)
    (tmp_path / "tasks" / "task-1").rename(tmp_path / "elsewhere")
    draft.data["tasks"][0]["manifest"] = "../elsewhere/task.json"
    sealed = json.loads(Path(freeze(draft).path).read_text())
    assert sealed["tasks"][0]["manifest"] == "../elsewhere/task.json"


@pytest.mark.parametrize("data", [b"{bad", b"\xff\xfe", b"[" * 100_000, b'{"a": 1, "a": 2}', b""])
def test_a_file_that_is_no_plan_cannot_be_probed_for(tmp_path: Path, data: bytes) -> None:
    """It is the file's fault and none of the harness."""
    draft = a_draft(tmp_path)
    draft.path.write_bytes(data)
    engine = an_engine()
    with pytest.raises(InputRefused):
        probe_manifest(draft.path, workspace=workspace_of(draft), engine=engine, output=None)
    assert engine.specs == []
