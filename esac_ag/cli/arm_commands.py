"""`esac-ag arm freeze` and `esac-ag arm list`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from esac_ag.cli.place import JsonOption, RootOption, print_json, stderr, stdout, workspace_at

if TYPE_CHECKING:
    from esac_ag.rooms.freezing import FrozenArm

arm_app = typer.Typer(help="Instruction bundles: freeze and list them.", no_args_is_help=True)
SHOWN_DIGITS = 12


@arm_app.command("freeze")
def arm_freeze(
    source: Annotated[
        Path,
        typer.Argument(help="A skill folder, an AGENTS.md or CLAUDE.md, or any folder.", show_default=False),
    ],
    arm_id: Annotated[str, typer.Option("--id", help="Id of the arm.", show_default=False)],
    kind: Annotated[
        str | None,
        typer.Option("--kind", help="skill, instructions or folder; by default what it looks like."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to put it; by default arms/<id>/.")
    ] = None,
    json: JsonOption = False,
    root: RootOption = None,
) -> None:
    """Copy a bundle into the workspace, take its inventory, and print its entry for a draft."""
    from esac_ag.rooms.freezing import freeze_arm, kind_named

    frozen = freeze_arm(source, arm_id, workspace=workspace_at(root), kind=kind_named(kind), output=output)
    if json:
        print_json(frozen)
        return
    verb = "copied to" if frozen.copied else "was there before, the same, in"
    stderr().print(f"{_summary(frozen)}: {verb} {frozen.folder}", markup=False, soft_wrap=True)
    print_json(frozen.arm)


@arm_app.command("list")
def arm_list(json: JsonOption = False, root: RootOption = None) -> None:
    """List the workspace's bundles."""
    from esac_ag.rooms.freezing import list_arms

    arms = list_arms(workspace_at(root))
    if json:
        print_json(arms)
        return
    lines = ["neutral: no bundle (the control)", *map(_summary, arms.arms)]
    for line in lines:
        stdout().print(line, markup=False, soft_wrap=True)


def _summary(frozen: FrozenArm) -> str:
    count = len(frozen.files)
    digest = frozen.tree_sha256[:SHOWN_DIGITS]
    return f"{frozen.arm.id}: {frozen.kind.value}, {count} file{'s' * (count != 1)}, tree {digest}"
