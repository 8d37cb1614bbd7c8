"""Removes what this workspace's runs left in the engine, but not what a live harness is using."""

from __future__ import annotations

from esac_ag.ledger import is_locked
from esac_ag.record import Record
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.contract import Engine


class Cleaned(Record):
    """What was removed, and what was left because somebody works with it."""

    removed: tuple[str, ...]
    kept: tuple[str, ...]


def clean_workspace(workspace: Workspace, engine: Engine) -> Cleaned:
    """Remove containers and volumes of all studies of this workspace that no harness works on."""
    removed: list[str] = []
    kept: list[str] = []
    label = workspace.label
    for study in engine.studies(label):
        if is_locked(workspace.results / study / "ledger.jsonl"):
            kept.append(f"study {study}: a harness is working on it; nothing was removed")
        else:
            removed += engine.clean(label, study)
    for partial in workspace.results.glob("*/**/.*.partial"):
        if not is_locked(
            workspace.results / partial.relative_to(workspace.results).parts[0] / "ledger.jsonl"
        ):
            partial.unlink(missing_ok=True)
            removed.append(f"file {partial.relative_to(workspace.root)}")
    return Cleaned(removed=tuple(removed), kept=tuple(kept))
