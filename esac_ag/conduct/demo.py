"""The demonstration study: the shipped draft, sealed afresh under a study id of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from esac_ag import clock
from esac_ag.artifacts import write_atomic
from esac_ag.conduct.freeze import freeze_draft
from esac_ag.errors import InputRefused
from esac_ag.manifest.draft_rules import default_task_path
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.docker import DockerEngine

DRAFT = "demo.draft.json"


def seal_demo(
    workspace: Workspace, engine: DockerEngine, *, repetitions: int, tell: Callable[[str], None]
) -> Path:
    """Freeze `manifests/demo.draft.json` as a new study; the path of the sealed manifest.

    Raises:
        InputRefused: the draft is missing, or does not freeze.
    """
    source = workspace.manifests / DRAFT
    if not source.is_file():
        raise InputRefused(
            "the demonstration's draft is missing",
            where=str(source),
            remedy="restore it from the distribution, or make a new workspace with `esac-ag init`",
        )
    stamp = clock.now()[:19].replace("-", "").replace(":", "").replace("T", "-")
    study_id = f"demo-{stamp}-{clock.opaque_id()[:4]}"
    draft = json.loads(source.read_text())
    folder = workspace.root / ".esac-ag" / "demo"
    draft |= {"study_id": study_id, "repetitions": repetitions}
    _move_paths(draft, source.parent, folder)
    path = folder / f"{study_id}.draft.json"
    write_atomic(path, json.dumps(draft, indent=2).encode())
    sealed = folder / f"{study_id}.json"
    freeze_draft(path, sealed, workspace=workspace, engine=engine, repeats=1, tell=tell)
    return sealed


def _move_paths(draft: dict[str, Any], old: Path, new: Path) -> None:
    """Make the draft's paths relative to its new folder."""

    def moved(path: str) -> str:
        return Path(os.path.relpath((old / path).resolve(), new)).as_posix()

    draft["agent"]["settings"]["script"] = moved(draft["agent"]["settings"]["script"])
    for arm in draft["arms"]:
        if arm.get("bundle"):
            arm["bundle"] = moved(arm["bundle"])
    for task in draft["tasks"]:
        task["manifest"] = moved(task.get("manifest") or default_task_path(task["id"]))
