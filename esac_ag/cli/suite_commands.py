"""`esac-ag suite`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from esac_ag.cli.place import (
    JsonOption,
    QuietOption,
    RootOption,
    print_json,
    stderr,
    stdout,
)
from esac_ag.cli.suite_mcp_command import mcp
from esac_ag.cli.suite_options import PoolName, PoolOption, SeedOption
from esac_ag.cli.suite_run_command import auto, run
from esac_ag.errors import UsageError

suite_app = typer.Typer(help="The ESAC-AG suite: its items, seeds and self-test.", no_args_is_help=True)
seed_app = typer.Typer(help="The held-out seed: make it, or show its fingerprint.", no_args_is_help=True)
suite_app.add_typer(seed_app, name="seed")
suite_app.command()(run)
suite_app.command()(auto)
suite_app.command()(mcp)


ReportArgument = Annotated[Path, typer.Argument(help="A JSON report of a suite run.", show_default=False)]


@suite_app.command("list")
def list_(json: JsonOption = False) -> None:
    """List the items: points, caps, and what each measures."""
    from esac_ag.cli.suite_rendering import print_listing
    from esac_ag.suite.bank import bank
    from esac_ag.suite.facts import listing

    items = listing(bank())
    if json:
        print_json(items)
    else:
        print_listing(items, stdout())


@suite_app.command()
def inspect(
    item: Annotated[str, typer.Argument(help="Id of an item.", show_default=False)],
    pool: Annotated[
        PoolName | None,
        typer.Option("--pool", help="Public by default, held-out with --seed.", show_default=False),
    ] = None,
    seed: SeedOption = None,
    root: RootOption = None,
    json: JsonOption = False,
) -> None:
    """Show an item's prompt, tools, initial state, checks and envelope; of a public one the reference too."""
    from esac_ag.cli.suite_rendering import print_inspection
    from esac_ag.conduct.suite import dataset_of
    from esac_ag.suite.bank import bank, item_named
    from esac_ag.suite.inspection import inspect as lay_open

    wanted = pool or (PoolName.PUBLIC if seed is None else PoolName.HELD_OUT)
    shown = lay_open(bank(), item_named(item), dataset_of(wanted, seed, root))
    if json:
        print_json(shown)
    else:
        print_inspection(shown, stdout())


@suite_app.command()
def key(
    output: Annotated[Path, typer.Option("-o", "--output", help="A new file; it gets mode 0600.")],
    pool: PoolOption = PoolName.HELD_OUT,
    seed: SeedOption = None,
    root: RootOption = None,
) -> None:
    """Write a pool's answer key to a private file, never to a terminal."""
    from esac_ag.conduct.suite import dataset_of, write_key

    if str(output) == "-":
        raise UsageError(
            "The answers are written to a file, not to standard output.",
            where="-o/--output",
            expected="the path of a new file",
            found="-",
            remedy="-o key.json; it gets mode 0600",
        )
    write_key(output, dataset_of(pool, seed, root))
    stderr().print(f"{output}: the answer key, mode 0600", soft_wrap=True, markup=False)


@suite_app.command()
def selftest(
    pool: PoolOption = PoolName.PUBLIC,
    seed: SeedOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Folder for a report on the reference policies.", show_default=False
        ),
    ] = None,
    docker: Annotated[
        bool, typer.Option("--docker", help="Play through real containers, as a model's run is.")
    ] = False,
    concurrency: Annotated[
        int,
        typer.Option("--n-concurrent", "-n", min=1, max=64, help="With --docker: items at the same time."),
    ] = 2,
    root: RootOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Play every policy, without a model; exit 1 if one misses its predeclared fraction."""
    from esac_ag.cli.suite_playing import selftest_command

    holds = selftest_command(
        pool=pool,
        seed=seed,
        output=output,
        docker=docker,
        concurrency=concurrency,
        root=root,
        json=json,
        quiet=quiet,
    )
    raise typer.Exit(0 if holds else 1)


@suite_app.command()
def export(
    pool: Annotated[PoolName, typer.Argument(help="The pool; only the public one.", show_default=False)],
    output: Annotated[Path, typer.Option("-o", "--output", help="The JSON Lines file to write.")],
) -> None:
    """Write the public pool's instances, with the canary and without answers, as JSON Lines."""
    from esac_ag.conduct.suite import export_public

    if pool is PoolName.HELD_OUT:
        raise UsageError(
            "The held-out pool is not exported: what is given out is held out no longer.",
            where="the pool",
            expected=PoolName.PUBLIC.value,
            found=pool.value,
            remedy="esac-ag suite inspect ITEM --pool held-out shows one item; suite key writes the answers",
        )
    digest = export_public(output)
    stderr().print(f"{output}: the {pool.value} pool, SHA-256 {digest}", soft_wrap=True, markup=False)


@suite_app.command()
def compare(a: ReportArgument, b: ReportArgument, json: JsonOption = False) -> None:
    """Put two reports side by side; refused across major versions."""
    from esac_ag.conduct.suite import compare_files
    from esac_ag.report.suite_compare import render_comparison_text

    comparison = compare_files(a, b)
    if json:
        print_json(comparison)
    else:
        typer.echo(render_comparison_text(comparison), nl=False)


@seed_app.command("new")
def seed_new(root: RootOption = None, json: JsonOption = False) -> None:
    """Draw a held-out seed into .heldout/seed; never prints it, never overwrites one."""
    from esac_ag.conduct.suite import new_seed

    made = new_seed(root)
    if json:
        print_json(made)
        return
    stdout().print(
        f"{made.path}: a new held-out seed, mode 0600\nfingerprint {made.seed_fingerprint}",
        soft_wrap=True,
        markup=False,
    )


@seed_app.command("show")
def seed_show(root: RootOption = None, json: JsonOption = False) -> None:
    """Show the fingerprint of the seed that a held-out run would take, never the seed."""
    from esac_ag.conduct.suite import show_seed

    shown = show_seed(root)
    if json:
        print_json(shown)
        return
    weak = "\nit is short: whoever tries many seeds may find it" if shown.weak else ""
    stdout().print(
        f"fingerprint {shown.seed_fingerprint}\nfrom {shown.source.value}{weak}", soft_wrap=True, markup=False
    )
