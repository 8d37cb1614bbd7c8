"""A small sealed study that runs on the in-memory engine, from `open_study` to the report."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import esac_ag
from esac_ag.agents.script_book import load_script_book
from esac_ag.artifacts import StudyFolder
from esac_ag.attempt import Cell, GradingStatus, Outcome
from esac_ag.conduct.context import Stop
from esac_ag.conduct.opening import open_study
from esac_ag.conduct.revision import package_sha256
from esac_ag.conduct.study import Progress, run_study
from esac_ag.conduct.work import OpenPlan
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.memory import InMemoryEngine
from esac_ag.sandbox.memory_process import FakeProcess
from esac_ag.schedule import schedule_sha256
from tests.builders_manifest import IMAGE_DIGESTS, Study, a_sealed_study, write

WRAPPED_AFTER = 5
"""`bash -c WRAPPER esac-ag LIMIT argv...`: where the agent's own command begins."""

BOOK = {
    "format_version": 1,
    "tasks": {
        "*": {
            "plays": {
                "right": [{"do": "run", "argv": ["touch", "fixed.txt"]}],
                "wrong": [{"do": "say", "text": "done"}],
            }
        }
    },
}


def bash(process: FakeProcess) -> int:
    """The agents' wrapper around commands, without its time limit."""
    return process.run(process.argv[WRAPPED_AFTER:])


def touch(process: FakeProcess) -> int:
    """Write a file in the workspace."""
    process.files.write(process.path(process.argv[1]), b"fixed\n")
    return 0


def judge(process: FakeProcess) -> int:
    """A judge that passes every check when the submission holds `fixed.txt`."""
    plan = json.loads(process.files.read("/grade/judge.json"))
    verdict = "pass" if process.files.exists("/grade/submission/fixed.txt") else "fail"
    result = {
        "format_version": 1,
        "status": "graded",
        "invalid_reason": None,
        "checks": [
            {"id": check["id"], "verdict": verdict, "reason": "", "duration_s": 0.0}
            for check in plan["checks"]
        ],
    }
    process.files.write("/grade/out/result.json", json.dumps(result).encode())
    process.write("judged\n")
    return 0


PROGRAMS = {"bash -c": bash, "touch": touch, "python3 -I -S -B /esac/judge.py": judge}


@dataclass
class Told:
    """A watcher that remembers."""

    finished_cells: list[tuple[Cell, Outcome, GradingStatus]] = field(default_factory=list)
    spoiled_cells: list[tuple[Cell, str, float | None]] = field(default_factory=list)
    halted_cells: list[Cell] = field(default_factory=list)
    total: int = 0
    done_before: int = 0

    def planned(self, total: int, done: int) -> None:
        """Remember the size."""
        self.total, self.done_before = total, done

    def launched(self, cell: Cell) -> None:
        """Nothing to remember."""

    def finished(self, cell: Cell, outcome: Outcome, grading: GradingStatus) -> None:
        """Remember a finished cell."""
        self.finished_cells.append((cell, outcome, grading))

    def spoiled(self, cell: Cell, reason: str, *, retry_in_s: float | None) -> None:
        """Remember a failure."""
        self.spoiled_cells.append((cell, reason, retry_in_s))

    def halted(self, cell: Cell) -> None:
        """Remember a cell that was not launched."""
        self.halted_cells.append(cell)


def an_engine(**changes: Any) -> InMemoryEngine:  # noqa: ANN401
    """An in-memory engine with the agents' shell and a judge."""
    images = {f"{name}:1": digest for name, digest in IMAGE_DIGESTS.items()}
    settings: dict[str, Any] = {"images": images, "programs": PROGRAMS} | changes
    return InMemoryEngine(**settings)


def a_runnable_study(folder: Path, *, book: dict[str, Any] | None = None, **changes: Any) -> Study:  # noqa: ANN401
    """A sealed study of four tasks and two arms with a scripted agent; `changes` are merged into it."""
    study = a_sealed_study(folder)
    script = json.dumps(book or BOOK)
    write(study.folder / "script.json", script)
    digest = load_script_book(script.encode()).sha256()
    study.data["agent"] = {
        "kind": "scripted",
        "version": "1",
        "settings": {"script": "script.json", "script_sha256": digest},
    }
    study.data["harness"] |= {"version": esac_ag.__version__, "package_sha256": package_sha256()}
    study.data |= changes
    tasks = [task["id"] for task in study.data["tasks"]]
    arms = [arm["id"] for arm in study.data["arms"]]
    repetitions = study.data["repetitions"]
    study.data["schedule"]["sha256"] = schedule_sha256("s", tasks, arms, repetitions)
    study.save()
    return study


def opened(study: Study, engine: InMemoryEngine, *, stop: Stop | None = None) -> OpenPlan:
    """Open a study in its workspace, with the results inside."""
    return _opened(study.path, engine, stop)


def opened_at(root: Path, programs: dict[str, Any]) -> OpenPlan:
    """Open the study that `a_runnable_study` made in a folder, perhaps in another process."""
    return _opened(root / "manifests" / "study.json", an_engine(programs=programs), None)


def run_opened(study: OpenPlan, concurrency: int = 2) -> Progress:
    """Run an open study without telling anybody."""
    return run_study(study, concurrency=concurrency, watcher=Told())


def _opened(path: Path, engine: InMemoryEngine, stop: Stop | None) -> OpenPlan:
    workspace = Workspace(path.parent.parent)
    return open_study(
        path,
        workspace=workspace,
        engine=engine,
        results=workspace.results,
        environ={},
        stop=stop or Stop(),
    )


def folder_of(study: Study) -> StudyFolder:
    """The study's results."""
    return StudyFolder(study.folder.parent / "results" / study.data["study_id"])


def run(
    study: Study,
    engine: InMemoryEngine | None = None,
    *,
    concurrency: int = 2,
    limit: int | None = None,
    watcher: Told | None = None,
) -> Progress:
    """Open and run a study."""
    return run_study(
        opened(study, engine or an_engine()),
        concurrency=concurrency,
        watcher=watcher or Told(),
        limit=limit,
    )
