"""Studies in which every cell plays an attack of its own, on the real engine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from esac_ag.attempt import AttemptRecord, Grading
from esac_ag.canonical import sha256_of
from esac_ag.conduct.collect import StudyRecords, read_study
from esac_ag.conduct.study import run_study
from esac_ag.manifest.plan import Limits
from esac_ag.rooms.workspace import Workspace
from esac_ag.tree import FileTree
from tests.builders_conduct import Told
from tests.builders_docker import a_docker_study, an_engine_for, opened_in_docker
from tests.builders_manifest import Study, write

TASKS = tuple(f"task-{number}" for number in range(1, 5))
ARMS = ("neutral", "careful")
CELLS = tuple(product(TASKS, ARMS))

Actions = Sequence[Mapping[str, Any]]


def shell(text: str) -> dict[str, Any]:
    """An action: a script for bash."""
    return {"do": "run", "argv": ["bash", "-c", text]}


def python(text: str) -> dict[str, Any]:
    """An action: a program for Python."""
    return {"do": "run", "argv": ["python3", "-I", "-c", text]}


def with_limits(study: Study, limits: Mapping[str, Any]) -> None:
    """Give a sealed study other limits, and a probe record that fits."""
    record = study.folder / "study.probe.json"
    sealed = sha256_of(Limits.model_validate(limits))
    probe = json.loads(record.read_text()) | {"limits_sha256": sealed}
    write(record, json.dumps(probe))
    study.data["limits"] = dict(limits)
    study.data["isolation"]["probe"]["sha256"] = sha256_of(probe)
    study.save()


@dataclass(frozen=True, slots=True)
class Attacked:
    """What eight attacks in one study led to."""

    root: Path
    records: StudyRecords
    watcher: Told
    cells: Mapping[str, tuple[str, str]]
    """Task and arm by attack."""
    left: tuple[str, ...]
    """Containers and volumes afterwards."""

    def attempt(self, attack: str) -> AttemptRecord:
        """The one launch of an attack's cell."""
        (found,) = (a for a in self.records.attempts.values() if self._cell(a) == self.cells[attack])
        return found

    def grading(self, attack: str) -> Grading:
        """Its grading."""
        return self.records.gradings[self.attempt(attack).attempt_id]

    def folder(self, attack: str) -> Path:
        """Its files."""
        return self.records.folder.attempt(self.attempt(attack).attempt_id).path

    def submission(self, attack: str) -> FileTree:
        """What it left."""
        return self.records.folder.attempt(self.attempt(attack).attempt_id).read_submission()

    def findings(self, attack: str) -> str:
        """What the export tells of it."""
        submission = self.attempt(attack).submission
        assert submission is not None
        return "\n".join(submission.findings)

    def told(self, attack: str) -> list[str]:
        """The outputs of its commands."""
        lines = map(json.loads, (self.folder(attack) / "transcript.jsonl").read_text().splitlines())
        return [line["text"] for line in lines if line["kind"] == "tool_result"]

    @staticmethod
    def _cell(attempt: AttemptRecord) -> tuple[str, str]:
        return attempt.cell.task, attempt.cell.arm


def attacked(
    root: Path, attacks: Mapping[str, Actions], *, limits: Mapping[str, Any], arms: Mapping[str, str]
) -> Attacked:
    """Run a study of eight cells, an attack in each.

    Args:
        root: folder for the workspace.
        attacks: at most eight; actions by name.
        limits: of the manifest.
        arms: the arm of attacks that need a certain one.
    """
    cells = _cells(attacks, arms)
    names = {cell: name for name, cell in cells.items()}
    idle = next(name for name in attacks if name not in arms)
    book = {
        "format_version": 1,
        "tasks": {
            task: {
                "plays": {name: list(actions) for name, actions in attacks.items()},
                "arms": {arm: {names.get((task, arm), idle): 1} for arm in ARMS},
            }
            for task in TASKS
        },
    }
    study = a_docker_study(root, book=book, repetitions=1)
    with_limits(study, limits)
    engine, watcher = an_engine_for(root), Told()
    run_study(opened_in_docker(root, engine), concurrency=2, watcher=watcher)
    left = tuple(engine.leftovers(Workspace(root).label))
    engine.close()
    return Attacked(root, read_study(root / "results" / "study-1"), watcher, cells, left)


def _cells(attacks: Mapping[str, Actions], arms: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    free = list(CELLS)
    assigned = {}
    for name in sorted(attacks, key=lambda name: name not in arms):
        cell = next(cell for cell in free if arms.get(name, cell[1]) == cell[1])
        free.remove(cell)
        assigned[name] = cell
    return assigned
