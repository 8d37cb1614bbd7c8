"""Removes what this workspace's runs left behind, but nothing that a live process is using."""

from __future__ import annotations

from esac_ag.ledger import is_locked
from esac_ag.owner import remove_abandoned_folders
from esac_ag.record import Record
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.contract import Engine


class Cleaned(Record):
    """What was removed, and what was left because somebody works with it."""

    removed: tuple[str, ...]
    kept: tuple[str, ...]


def clean_workspace(workspace: Workspace, engine: Engine) -> Cleaned:
    """Remove containers, volumes, temporary folders and half-written files whose makers are no more."""
    removed = list(engine.clean(workspace.label))
    kept = [f"{left}: a live process works with it" for left in engine.leftovers(workspace.label)]
    removed += [f"folder {name}" for name in remove_abandoned_folders(workspace.state)]
    for partial in workspace.results.glob("*/**/.*.partial"):
        study = workspace.results / partial.relative_to(workspace.results).parts[0]
        if not is_locked(study / "ledger.jsonl"):
            partial.unlink(missing_ok=True)
            removed.append(f"file {partial.relative_to(workspace.root)}")
    return Cleaned(removed=tuple(removed), kept=tuple(kept))
