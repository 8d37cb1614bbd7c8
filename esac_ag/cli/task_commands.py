"""`esac-ag task`: task packages, listed, sealed, proved, begun and imported."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from esac_ag.cli.place import (
    ConcurrencyOption,
    JsonOption,
    QuietOption,
    RootOption,
    engine_of,
    print_json,
    stdout,
    teller,
    workspace_at,
)

task_app = typer.Typer(help="Task packages: list, prove, seal, begin and import them.", no_args_is_help=True)
import_app = typer.Typer(help="Tasks of other harnesses.", no_args_is_help=True)
task_app.add_typer(import_app, name="import")

RepeatsOption = Annotated[
    int, typer.Option("--repeats", min=1, max=50, help="How often each proof is repeated.")
]


@task_app.command("list")
def task_list(root: RootOption = None, json: JsonOption = False) -> None:
    """List the workspace's task packages."""
    from esac_ag.cli.rendering import print_tasks
    from esac_ag.conduct.tasks import list_tasks

    tasks = list_tasks(workspace_at(root))
    if json:
        print_json(tasks)
    else:
        print_tasks(tasks, stdout())


@task_app.command("seal")
def task_seal(
    ids: Annotated[list[str] | None, typer.Argument(help="Task ids; all when none is given.")] = None,
    root: RootOption = None,
) -> None:
    """Write the digests of snapshot and grader into task.json."""
    from esac_ag.conduct.tasks import seal_tasks

    for line in seal_tasks(workspace_at(root), tuple(ids or ())):
        stdout().print(line, soft_wrap=True, markup=False)


@task_app.command("check")
def task_check(
    ids: Annotated[list[str] | None, typer.Argument(help="Task ids; all when none is given.")] = None,
    repeats: RepeatsOption = 3,
    fresh: Annotated[bool, typer.Option("--fresh", help="Prove again even what was proved before.")] = False,
    n: ConcurrencyOption = 2,
    root: RootOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Prove task packages in the real grader container; exit 1 if a proof does not hold."""
    from esac_ag.cli.rendering import print_proofs
    from esac_ag.conduct.tasks import check_tasks

    workspace = workspace_at(root)
    proofs = check_tasks(
        workspace,
        engine_of(workspace),
        tuple(ids or ()),
        repeats=repeats,
        fresh=fresh,
        concurrency=n,
        tell=teller(quiet=quiet),
    )
    if json:
        print_json(proofs)
    else:
        print_proofs(proofs, stdout())
    raise typer.Exit(0 if proofs.hold else 1)


@task_app.command("new")
def task_new(
    task_id: Annotated[
        str, typer.Argument(metavar="ID", help="Id of the new task: lower case, digits, hyphens.")
    ],
    request: Annotated[
        str | None, typer.Option("--request", help="What the agent is asked to do.", show_default=False)
    ] = None,
    root: RootOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Begin a task and its grader from a small example whose proof holds."""
    from esac_ag.cli.rendering import print_new_task
    from esac_ag.conduct.scaffold import new_task

    begun = new_task(workspace_at(root), task_id, request=request)
    if json:
        print_json(begun)
    elif not quiet:
        print_new_task(begun, stdout())


@import_app.command("harbor")
def import_harbor(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A Harbor task, or a folder of them.", show_default=False)
    ],
    task_id: Annotated[
        str | None,
        typer.Option("--id", help="Id of the one task; by default from its name.", show_default=False),
    ] = None,
    repeats: RepeatsOption = 2,
    n: ConcurrencyOption = 2,
    root: RootOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make packages of Harbor tasks (schema 1.4), and prove them; exit 1 if a proof does not hold."""
    from esac_ag.cli.rendering import print_imports
    from esac_ag.conduct.harbor import import_harbor

    workspace = workspace_at(root)
    done = import_harbor(
        workspace,
        engine_of(workspace),
        folder,
        wanted_id=task_id,
        repeats=repeats,
        concurrency=n,
        tell=teller(quiet=quiet),
    )
    if json:
        print_json(done)
    else:
        print_imports(done, stdout())
    raise typer.Exit(0 if done.hold else 1)
