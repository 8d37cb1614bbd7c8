"""`esac-ag publish`: the public evidence of a study, and `esac-ag publish verify` for whoever receives it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from esac_ag.cli.default_group import WriteByDefault
from esac_ag.cli.place import JsonOption, RootOption, print_json, stdout, workspace_at
from esac_ag.plural import plural

if TYPE_CHECKING:
    from esac_ag.conduct.publication_check import PublicationCheck
    from esac_ag.conduct.publishing import Publication
    from esac_ag.report.publication_view import Part

publish_app = typer.Typer(
    cls=WriteByDefault,
    help="The public evidence of a study: esac-ag publish STUDY -o FOLDER_OR_ARCHIVE.",
    no_args_is_help=True,
)


@publish_app.command()
def write(
    study: Annotated[
        Path, typer.Argument(help="A folder of a study or a suite run below results/.", show_default=False)
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Folder to make, or an archive: NAME.tar.gz, NAME.zip.",
            show_default=False,
        ),
    ] = None,
    *,
    include: Annotated[
        list[str] | None,
        typer.Option(
            "--include",
            help="Also patches, transcripts, arms, tasks or rationales; repeat it, or join with commas.",
            show_default=False,
        ),
    ] = None,
    leave_out: Annotated[
        list[str] | None,
        typer.Option(
            "--leave-out",
            help="Of what is included: a file, or an attempt's folder, by its path in the bundle.",
            show_default=False,
        ),
    ] = None,
    incomplete: Annotated[
        bool, typer.Option("--incomplete", help="Publish an unfinished study; the bundle says so.")
    ] = False,
    name_reviewers: Annotated[
        bool, typer.Option("--name-reviewers", help="Names in place of pseudonyms.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List what would be published and what is found; write nothing.")
    ] = False,
    manifest: Annotated[
        Path | None,
        typer.Option(
            "--manifest", help="The sealed manifest, if it is not in manifests/.", show_default=False
        ),
    ] = None,
    root: RootOption = None,
    json: JsonOption = False,
) -> None:
    """Write what may be public of a study (`esac-ag publish STUDY`); exit 4 if it holds what must not be."""
    import os

    from esac_ag.conduct.publishing import PublishRequest, publish, refusal
    from esac_ag.errors import UsageError

    if (output is None) != dry_run:
        raise UsageError(
            "A publication is written somewhere, or only looked at.",
            expected="-o FOLDER_OR_ARCHIVE, or --dry-run",
            found="both" if dry_run else "neither",
        )
    request = PublishRequest(
        parts=tuple(_parts(include or [])),
        left_out=tuple(leave_out or ()),
        incomplete=incomplete,
        name_reviewers=name_reviewers,
        manifest=None if manifest is None else str(manifest),
    )
    with _sigterm_as_interrupt():
        made = publish(study, output, request, workspace=workspace_at(root), environ=os.environ)
    if json:
        print_json(made)
    else:
        _print(made)
    if made.findings:
        raise refusal(made.findings)


@publish_app.command()
def verify(
    bundle: Annotated[
        Path, typer.Argument(help="A bundle: a folder, a .tar.gz or a .zip.", show_default=False)
    ],
    json: JsonOption = False,
) -> None:
    """Verify a bundle by itself; exit 1 if anything in it does not hold."""
    from esac_ag.conduct.publication_check import verify_publication

    checked = verify_publication(bundle)
    if json:
        print_json(checked)
    else:
        _print_check(checked)
    raise typer.Exit(0 if checked.clean else 1)


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """SIGTERM ends the command as Ctrl-C does: what was begun is removed."""
    import signal

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _parts(words: list[str]) -> list[Part]:
    from esac_ag.errors import UsageError
    from esac_ag.report.publication_view import Part

    names = [name for word in words for name in word.split(",") if name]
    unknown = sorted(set(names) - {part.value for part in Part})
    if unknown:
        raise UsageError(
            "Something else than a part of a publication is to be included.",
            where="--include",
            expected=", ".join(Part),
            found=", ".join(unknown),
        )
    return [Part(name) for name in names]


def _print(made: Publication) -> None:
    console = stdout()
    for name, size in made.files.items():
        console.print(f"{size:>12,}  {name}", soft_wrap=True, markup=False)
    for note in made.notes:
        console.print(f"note: {note}", soft_wrap=True, markup=False)
    looked = made.looked_for
    sought = ", ".join(
        (
            plural(looked.secret_values, "secret value"),
            plural(looked.key_formats, "key format"),
            plural(looked.private_phrases, "private phrase"),
            plural(looked.hidden_ids, "hidden id"),
            plural(looked.local_names, "local name"),
        )
    )
    console.print(f"searched for {sought}: {len(made.findings)} found", soft_wrap=True, markup=False)
    if made.output is not None:
        console.print(
            f"{made.output}: {len(made.files)} files\nSHA-256 of SHA256SUMS, to be told by another way: "
            f"{made.bundle_sha256}",
            soft_wrap=True,
            markup=False,
        )


def _print_check(checked: PublicationCheck) -> None:
    from esac_ag.report.escaping import visible

    console = stdout()
    for finding in checked.findings:
        said = f"{finding.where}: {finding.what}"
        if finding.expected or finding.found:
            said += f" (expected {finding.expected or 'nothing'}, found {finding.found or 'nothing'})"
        console.print(visible(said), soft_wrap=True, markup=False)
    for note in checked.notes:
        console.print(visible(f"note: {note}"), soft_wrap=True, markup=False)
    console.print(
        f"{visible(checked.study_id)}: {plural(checked.files, 'file')}, "
        f"{plural(checked.ledger_lines, 'ledger line')}, {plural(checked.attempts, 'attempt')}: "
        f"{plural(len(checked.findings), 'finding')}\n"
        f"SHA-256 of SHA256SUMS: {checked.bundle_sha256}; compare it with what the owner says by another way",
        soft_wrap=True,
        markup=False,
    )
