"""Instruction bundles that a new suite run takes in (`--arm`), looked at before anything takes time."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from esac_ag.agents.contract import ArmBundle
from esac_ag.agents.instructions import instructions_message
from esac_ag.errors import InputRefused, UsageError
from esac_ag.report.escaping import visible
from esac_ag.rooms.freezing import bundle_to_freeze, kind_of_bundle, refuse_arm_id
from esac_ag.rooms.workspace import Workspace

WHERE: Final = "--arm"
GIVE_AN_ID: Final = "use ID=DIR, such as --arm my-rules=DIR"


def arms_of(values: tuple[str, ...], workspace: Workspace, *, reads: bool) -> dict[str, Path]:
    """Bundles by id, from `ID=DIR`, a folder, or the id of a bundle of the workspace.

    Args:
        values: what was given, one for each bundle.
        workspace: where bundles of an id are.
        reads: whether the agent reads bundles, as policies do not.

    Raises:
        UsageError: there is no such bundle, one is named twice, or its id is none.
        InputRefused: a bundle cannot be sealed, or not be read by the agent.
    """
    found: dict[str, Path] = {}
    for value in values:
        arm_id, path = _named(value, workspace)
        if path is None or arm_id in found:
            raise UsageError(
                "There is no such bundle." if path is None else "An arm is named twice.",
                where=WHERE,
                expected="ID=DIR, a folder, or the id of a bundle in arms/",
                found=visible(value),
                remedy="esac-ag arm list shows the workspace's bundles"
                if path is None
                else f"leave one out, or {GIVE_AN_ID}",
            )
        _refuse_unusable(arm_id, path, reads=reads)
        found[arm_id] = path
    return found


def _named(value: str, workspace: Workspace) -> tuple[str, Path | None]:
    """The id and the place of a bundle; no place when there is nothing."""
    name, given, place = value.partition("=")
    source = place if given else value
    path = Path(source)
    if not given and not path.exists():
        path = workspace.arms / value
    # An empty path would be the working folder, which nobody means.
    exists = bool(source) and path.exists()
    return name if given else path.resolve().name.lower(), path if exists else None


def _refuse_unusable(arm_id: str, path: Path, *, reads: bool) -> None:
    """Refuse what sealing or the agent would refuse later, with the option that it is about."""
    try:
        refuse_arm_id(arm_id)
        tree = bundle_to_freeze(path)
        if reads:
            instructions_message(ArmBundle(arm_id, kind_of_bundle(tree).value, tree))
    except UsageError as error:
        raise UsageError(
            error.what, where=WHERE, expected=error.expected, found=visible(arm_id), remedy=GIVE_AN_ID
        ) from error
    except InputRefused as error:
        raise InputRefused(
            error.what,
            where=f"{WHERE}, {error.where or visible(str(path))}",
            expected=error.expected,
            found=error.found,
            remedy=error.remedy or "correct the bundle",
        ) from error
