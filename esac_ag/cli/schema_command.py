"""`esac-ag schema`."""

from __future__ import annotations

from typing import Annotated

import typer

from esac_ag.cli.place import RootOption, stdout, workspace_at


def schema(
    check: Annotated[bool, typer.Option("--check", help="Exit 1 if a published schema has drifted.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Write the schemas to manifests/schema/.")] = False,
    root: RootOption = None,
) -> None:
    """List the published JSON Schemas; check or write them."""
    from esac_ag.rooms.schemas import generated_schemas, schema_drift, schema_folder, write_schemas

    folder = schema_folder(workspace_at(root))
    if not (check or write):
        names = tuple(generated_schemas())
    else:
        names = write_schemas(folder).names if write else schema_drift(folder).names
    for name in names:
        stdout().print(name, markup=False, soft_wrap=True)
    if check and not write and names:
        raise typer.Exit(1)
