"""`esac-ag arm freeze`, `esac-ag arm list` and `esac-ag arm sham`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from esac_ag.cli.place import JsonOption, RootOption, print_json, stderr, stdout, workspace_at
from esac_ag.plural import plural

if TYPE_CHECKING:
    from esac_ag.rooms.freezing import FrozenArm

arm_app = typer.Typer(help="Instruction bundles: freeze and list them, write a sham.", no_args_is_help=True)
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
    revises: Annotated[
        Path | None,
        typer.Option(
            "--revises",
            help="The bundle that this one revises; at most two revisions are tested on one task set.",
            show_default=False,
        ),
    ] = None,
    json: JsonOption = False,
    root: RootOption = None,
) -> None:
    """Copy a bundle into the workspace, take its inventory, and print its entry for a draft."""
    from esac_ag.rooms.freezing import bundle_to_freeze, freeze_arm, kind_named, listing_warning

    frozen = freeze_arm(
        source,
        arm_id,
        workspace=workspace_at(root),
        kind=kind_named(kind),
        output=output,
        revises=revises,
    )
    if warning := listing_warning(bundle_to_freeze(source)):
        stderr().print(f"warning: {warning}", markup=False, soft_wrap=True)
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


@arm_app.command("sham")
def arm_sham(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="BUNDLE",
            help="A skill folder, an AGENTS.md or CLAUDE.md, or any folder.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder to write the sham to.", show_default=False)
    ],
    name: Annotated[
        str | None,
        typer.Option("--name", help="Name of the sham; by default lighthouse-notes, or a shorter one."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Write a bundle as long as another and built like it, about lighthouses: a sham arm."""
    from esac_ag.rooms.sham import write_sham

    sham = write_sham(source, output, name=name)
    if json:
        print_json(sham)
        return
    for what, length in (("sham", sham.length), ("bundle", sham.of_bundle)):
        counts = f"{plural(length.files, 'file')}, {plural(length.words, 'word')}"
        line = f"{what}: {counts}, {length.size_bytes} bytes"
        stdout().print(line, markup=False, soft_wrap=True)
    stderr().print(f"{sham.kind.value} in {sham.folder}", markup=False, soft_wrap=True)


def _summary(frozen: FrozenArm) -> str:
    count = len(frozen.files)
    digest = frozen.tree_sha256[:SHOWN_DIGITS]
    return f"{frozen.arm.id}: {frozen.kind.value}, {plural(count, 'file')}, tree {digest}"
