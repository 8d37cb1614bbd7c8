"""Suite runs on the in-memory engine, from the sealed plan to the report.

Worlds are served by the guest's own tool server, programs of items run in this process, and the grader's
judge passes the hidden tests of every workspace that was changed. A model is played by a server of its own
(`tests.playing_server`).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from esac_ag.agents.world_session import SERVER_ARGV
from esac_ag.artifacts import StudyFolder
from esac_ag.attempt import AttemptRecord, Cell
from esac_ag.conduct.context import Stop
from esac_ag.conduct.study import Progress, Watcher, run_study
from esac_ag.conduct.suite_opening import open_suite
from esac_ag.conduct.suite_programs import RUNNER as RUN_PROGRAM
from esac_ag.conduct.suite_results import SuiteRecords, read_suite
from esac_ag.conduct.suite_sealing import SuiteRequest, seal_suite
from esac_ag.conduct.work import OpenPlan
from esac_ag.manifest.plan import AgentKind, AgentPlan, Decoding, Limits, Model, Policies, Prices
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.memory import InMemoryEngine
from esac_ag.sandbox.memory_process import FakeProcess, Program
from esac_ag.suite.bank import item_named
from esac_ag.suite.constitution import PINNED_JUDGE, PUBLIC_SEED, Pool
from esac_ag.suite.contract import CheckResult, Item, RunEnd, Tokens, Trace
from esac_ag.suite.efficiency import ActionFacts
from esac_ag.suite.own_programs import run_own
from esac_ag.suite.plan import JudgePlan, SuitePlan
from esac_ag.suite.pools import DatasetSeed, SeedSource
from esac_ag.suite.records import ItemGrading
from esac_ag.suite.replication import RunResult
from tests.builders_conduct import Told
from tests.builders_freeze import RUNNER, a_probe
from tests.builders_manifest import SKILL_TEXT, a_workspace, write
from tests.builders_world_server import world_program
from tests.playing_server import MODEL

QUICK = ("tool-call-refund", "injection-name", "state-stock-count")
"""World items of three categories; no judge grades them."""
JUDGED = "ambiguity-default"
PROGRAM = "code-log-report"
NO_ENDPOINT = "http://127.0.0.1:9/v1"
"""Nothing listens there."""
MODEL_KEY = "sk-model-4711-4711"
JUDGE_KEY = "sk-judge-0815-0815"
HELD_OUT_SEED = "f3b1c6d09a4e57b82c61d0f9e8a7b5c4"
LIMITS = Limits(wall_clock_s=900.0, turns=None, tool_calls=None)
DIGEST = "5e" * 32


class Hasty(Stop):
    """Never waits before a retry."""

    def wait_s(self, duration_s: float) -> None:
        """Go on at once."""


def run_program(process: FakeProcess) -> int:
    """The agent image's runner of programs, which runs ours in this process."""
    staged, _, *command = process.argv[len(RUN_PROGRAM) :]
    path = command[-1]
    text = process.files.read(f"{staged}/files/{path}").decode()
    ran = run_own({path: text}, path, process.files.read(f"{staged}/stdin").decode())
    process.write(json.dumps({"exit_code": ran.exit_code, "stdout": ran.stdout, "stderr": ran.stderr}) + "\n")
    return 0


def judge_changed(process: FakeProcess) -> int:
    """A judge that passes the hidden tests of a workspace that differs from the one that was given."""
    plan = json.loads(process.files.read("/grade/judge.json"))
    given, left = (process.files.tree(f"/grade/{name}") for name in ("snapshot", "submission"))
    changed = given != left
    checks = [
        {"id": one["id"], "verdict": "pass" if changed else "fail", "reason": "", "duration_s": 0.0}
        for one in plan["checks"]
    ]
    result = {"format_version": 1, "status": "graded", "invalid_reason": None, "checks": checks}
    process.files.write("/grade/out/result.json", json.dumps(result).encode())
    return 0


def an_engine(**programs: Program) -> InMemoryEngine:
    """An engine for suite runs; `world`, `program`, `judge` and `probe` may be others."""
    return InMemoryEngine(
        {
            SERVER_ARGV: programs.get("world", world_program),
            RUN_PROGRAM: programs.get("program", run_program),
            ("python3", "-I", "-S", "-B", "/esac/judge.py"): programs.get("judge", judge_changed),
            ("python3", "-I", "/agent/home/probe.py"): programs.get("probe", a_probe()),
        }
    )


def a_suite_workspace(folder: Path) -> Workspace:
    """A workspace with the real runner and one skill, `careful`."""
    workspace = a_workspace(folder)
    shutil.copytree(
        RUNNER, workspace.runner, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
    )
    return workspace


def public_dataset() -> DatasetSeed:
    """The public pool."""
    return DatasetSeed(Pool.PUBLIC, SeedSource.BUILT_IN, PUBLIC_SEED)


def held_out(seed: str = HELD_OUT_SEED) -> DatasetSeed:
    """The held-out pool under a seed."""
    return DatasetSeed(Pool.HELD_OUT, SeedSource.FLAG, seed)


def items_named(*names: str) -> tuple[Item, ...]:
    """Items by their ids."""
    return tuple(item_named(name) for name in names)


def a_policy_agent(policy: str = "reference") -> AgentPlan:
    """A scripted agent."""
    return AgentPlan(kind=AgentKind.SCRIPTED, version="1", settings={"policy": policy})


def a_chat_agent(base_url: str) -> AgentPlan:
    """A model at an endpoint."""
    return AgentPlan(kind=AgentKind.CHAT, version="1", settings={"base_url": base_url})


def a_judge(base_url: str = NO_ENDPOINT, model: str = PINNED_JUDGE) -> JudgePlan:
    """The pinned judge at an endpoint."""
    return JudgePlan(model=model, base_url=base_url, api_key_env="ESAC_AG_JUDGE_API_KEY")


def a_request(
    *names: str,
    agent: AgentPlan | None = None,
    dataset: DatasetSeed | None = None,
    judge: JudgePlan | None = None,
    prices: Prices | None = None,
    arms: Mapping[str, Path] | None = None,
    max_retries: int = 2,
) -> SuiteRequest:
    """A request for a run of some items (by default `QUICK`) by policies (by default the references)."""
    chosen = agent or a_policy_agent()
    chat = chosen.kind is AgentKind.CHAT
    return SuiteRequest(
        study_id="suite-run-1",
        model=Model(
            name=MODEL if chat else "none: policy reference",
            version="as named",
            provider="see base_url" if chat else "none",
            decoding=Decoding(temperature=0.0, top_p=1.0),
        ),
        agent=chosen,
        dataset=dataset or public_dataset(),
        items=items_named(*(names or QUICK)),
        judge=judge,
        limits=LIMITS,
        policies=Policies(max_infrastructure_retries=max_retries),
        prices=prices,
        arms=arms or {},
    )


@dataclass
class SealedRun:
    """A sealed plan in its folder, and the engine that it runs on."""

    workspace: Workspace
    path: Path
    engine: InMemoryEngine
    dataset: DatasetSeed
    gradings: list[ItemGrading] = field(default_factory=list)
    """Of all sessions, as the tally is told them."""

    @property
    def folder(self) -> StudyFolder:
        """The run's folder."""
        return StudyFolder(self.path.parent)

    @property
    def data(self) -> dict[str, Any]:
        """The manifest as it lies there."""
        data: dict[str, Any] = json.loads(self.path.read_text())
        return data

    @property
    def plan(self) -> SuitePlan:
        """The sealed plan."""
        return SuitePlan.model_validate_json(self.path.read_bytes())

    def save(self, data: Mapping[str, Any]) -> None:
        """Write another manifest in its place."""
        self.path.write_text(json.dumps(data, indent=2))

    def opened(
        self,
        *,
        dataset: DatasetSeed | None = None,
        environ: Mapping[str, str] | None = None,
        stop: Stop | None = None,
        graded: Callable[[ItemGrading], None] | None = None,
        folder: StudyFolder | None = None,
    ) -> OpenPlan:
        """Open the plan; its keys are set unless another environment is given."""
        keys = {"OPENAI_API_KEY": MODEL_KEY, "ESAC_AG_JUDGE_API_KEY": JUDGE_KEY}
        return open_suite(
            self.path,
            workspace=self.workspace,
            engine=self.engine,
            folder=folder or self.folder,
            environ=keys if environ is None else environ,
            stop=stop or Hasty(),
            dataset_of_pool=lambda _: dataset or self.dataset,
            graded=graded or self.gradings.append,
        )

    def run(
        self, *, limit: int | None = None, watcher: Watcher | None = None, concurrency: int = 1
    ) -> Progress:
        """Open the plan and run it, or go on with it."""
        return run_study(self.opened(), concurrency=concurrency, watcher=watcher or Told(), limit=limit)

    def records(self) -> SuiteRecords:
        """What the folder tells."""
        return read_suite(self.folder.path)

    def attempt_of(self, item: str, run: int = 1, arm: str = "neutral") -> AttemptRecord:
        """The attempt of a cell that counts."""
        records = self.records()
        grading = records.graded(Cell(task=item, arm=arm, repetition=run))
        assert grading is not None
        return records.attempts[grading.attempt_id]

    def written(self) -> str:
        """Every byte of the run's folder, as one text."""
        files = sorted(path for path in self.folder.path.rglob("*") if path.is_file())
        return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in files)


def a_sealed_run(
    folder: Path,
    *names: str,
    engine: InMemoryEngine | None = None,
    **request: Any,  # noqa: ANN401
) -> SealedRun:
    """Seal a plan in a new workspace below a folder; `request` is that of `a_request`."""
    workspace = a_suite_workspace(folder)
    used = engine or an_engine()
    wanted = a_request(*names, **request)
    path = seal_suite(
        wanted,
        workspace.results / wanted.study_id,
        workspace=workspace,
        engine=used,
        tell=lambda _: None,
    )
    return SealedRun(workspace, path, used, wanted.dataset)


def a_skill(folder: Path, text: str = SKILL_TEXT) -> Path:
    """A skill's folder."""
    write(folder / "SKILL.md", text)
    return folder


def a_judgment(score: int = 4, item: str = JUDGED) -> tuple[CheckResult, ...]:
    """One judgment of an item with the same score, 0 to 4, on every criterion."""
    return tuple(
        CheckResult(
            id=criterion.id, weight=criterion.weight, fraction=score / 4, why=criterion.anchors[score]
        )
        for criterion in item_named(item).rubric
    )


def a_run_result(
    fraction: float = 1.0,
    *,
    end: RunEnd = RunEnd.ANSWERED,
    tokens: Tokens | None = None,
    judgments: Sequence[tuple[CheckResult, ...]] = (),
) -> RunResult:
    """A run with one check of that fraction and no calls."""
    return RunResult(
        trace=Trace(
            calls=(),
            turns=(),
            final_text="done",
            final_state={},
            end=end,
            tokens=tokens or Tokens(input=100, output=10),
        ),
        checks=()
        if judgments
        else (CheckResult(id="check", weight=1.0, fraction=fraction, why="as made up"),),
        facts=ActionFacts(redundant=0, rework=0, after_goal=0, rejected=0, calls=0),
        judgments=tuple(judgments),
    )


def a_grading(item: str, result: RunResult, *, run: int = 1, arm: str = "neutral") -> ItemGrading:
    """The grading of one run of an item."""
    return ItemGrading(
        attempt_id=f"{item}-{arm}-{run}",
        cell=Cell(task=item, arm=arm, repetition=run),
        agent_kind=AgentKind.CHAT,
        manifest_sha256=DIGEST,
        instance_sha256=DIGEST,
        submission_tree_sha256=DIGEST,
        result=result,
        judgments=(),
        program=None,
        retries=0,
        tokens_estimated=False,
    )
