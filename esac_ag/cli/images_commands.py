"""`esac-ag images build|list`."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from esac_ag.cli.place import (
    JsonOption,
    QuietOption,
    RootOption,
    engine_of,
    print_json,
    stdout,
    teller,
    workspace_at,
)

if TYPE_CHECKING:
    from esac_ag.sandbox.images import ImageReport

app = typer.Typer(help="The images of agents and graders: build and list them.", no_args_is_help=True)

_MIB = 1024 * 1024
_DIGEST_DIGITS = 19


@app.command("build")
def build(
    base: Annotated[
        str | None,
        typer.Option(
            "--base",
            help="NAME@sha256:... of a public image, or `debian-packages`. By default the image in "
            "runner/images/base.json where its registry answers, and Debian packages elsewhere.",
            show_default=False,
        ),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            help="Also the image of this command-line agent (a file in runner/agents/); may be repeated. Its "
            "packages are fetched by npm or pip on this machine.",
            show_default=False,
        ),
    ] = None,
    root: RootOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Build what is missing or changed; does nothing when nothing changed."""
    from esac_ag.sandbox.docker import ImageStore
    from esac_ag.sandbox.images import build_images

    workspace = workspace_at(root)
    with closing(ImageStore()) as store:
        report = build_images(
            store,
            engine_of(workspace),
            workspace.runner,
            base=base,
            agents=tuple(agent or ()),
            progress=teller(quiet=quiet),
        )
    _show(report, json=json)


@app.command("list")
def list_(root: RootOption = None, json: JsonOption = False) -> None:
    """List our images: digest, size, what their base was made from, and whether they are current."""
    from esac_ag.sandbox.docker import ImageStore
    from esac_ag.sandbox.images import list_images

    with closing(ImageStore()) as store:
        report = list_images(store, workspace_at(root).runner)
    _show(report, json=json)


def _show(report: ImageReport, *, json: bool) -> None:
    from rich.table import Table

    if json:
        print_json(report)
        return
    console = stdout()
    if not console.is_terminal:
        for image in report.images:
            console.print(
                f"{image.reference} {image.digest} {image.state.value}, base {image.made_from.describe()}",
                soft_wrap=True,
                markup=False,
            )
        return
    table = Table(box=None, pad_edge=False)
    for title in ("image", "content digest", "MiB", "state"):
        table.add_column(title, justify="right" if title == "MiB" else "left", no_wrap=True)
    for image in report.images:
        digest = image.digest[:_DIGEST_DIGITS] + "…"
        table.add_row(image.reference, digest, str(image.size_bytes // _MIB), image.state.value)
    console.print(table)
    for words in dict.fromkeys(image.made_from.describe() for image in report.images):
        console.print(f"base: {words}", soft_wrap=True, markup=False)
