"""`esac-ag compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from esac_ag.cli.place import (
    ConcurrencyOption,
    JsonOption,
    QuietOption,
    ResultsOption,
    RootOption,
    workspace_at,
)

ARM_HELP = (
    "A bundle to compare: a folder, a file, ID=PATH, or an id in arms/. Repeatable; "
    "`neutral`, the control, is always there."
)


def compare(
    *,
    agent: Annotated[
        str,
        typer.Option(
            "-a", "--agent", help="An agent of runner/agents/, such as codex; or chat.", show_default=False
        ),
    ],
    model: Annotated[
        str, typer.Option("-m", "--model", help="The model's name at its provider.", show_default=False)
    ],
    arm: Annotated[list[str], typer.Option("--arm", help=ARM_HELP, show_default=False)],
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            "--tasks",
            help="A folder of task packages, one package, or a task's id. Repeatable; by default tasks/.",
            show_default=False,
        ),
    ] = None,
    repetitions: Annotated[
        int, typer.Option("-k", "--repetitions", min=1, max=1000, help="Runs of each task under each arm.")
    ] = 3,
    n: ConcurrencyOption = 2,
    max_cost: Annotated[
        float | None,
        typer.Option(
            "--max-cost",
            min=0,
            help="US dollars for all runs together, shared out evenly; needs --prices.",
            show_default=False,
        ),
    ] = None,
    prices: Annotated[
        Path | None, typer.Option("--prices", help="A price table (docs/manifest.md).", show_default=False)
    ] = None,
    max_run_s: Annotated[
        float | None,
        typer.Option(
            "--max-run-s", min=1, help="Longest time of one run; 900 by default.", show_default=False
        ),
    ] = None,
    max_turns: Annotated[
        int | None,
        typer.Option("--max-turns", min=1, help="Most turns of one run; 60 by default.", show_default=False),
    ] = None,
    mention: Annotated[
        bool,
        typer.Option(
            "--mention/--no-mention", help="Name the bundle in one line of the agent's global instructions."
        ),
    ] = False,
    reasoning: Annotated[
        str | None, typer.Option("--reasoning", help="Reasoning effort of the model.", show_default=False)
    ] = None,
    provider: Annotated[
        str | None,
        typer.Option(
            "--provider", help="Its name in reports; by default the protocol's.", show_default=False
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            "--base-url",
            help="The model's address; by default ESAC_AG_BASE_URL, then the protocol's provider.",
            show_default=False,
        ),
    ] = None,
    api_key_env: Annotated[
        str | None,
        typer.Option(
            "--api-key-env",
            help="Environment variable that holds the key; by default the protocol's.",
            show_default=False,
        ),
    ] = None,
    model_way: Annotated[
        str | None,
        typer.Option(
            "--model-way",
            help="How the agent's container reaches the model gateway: `socket`, or `network` where sockets "
            "cannot be mounted (`doctor` tells).",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        str | None, typer.Option("--seed", help="Of the order of runs; drawn by default.", show_default=False)
    ] = None,
    study_id: Annotated[
        str | None,
        typer.Option(
            "--study-id", help="By default of arm, agent and time. The same one goes on.", show_default=False
        ),
    ] = None,
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, max=50, help="How often each task's proof is repeated.")
    ] = 3,
    results: ResultsOption = None,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="Ask nothing.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Seal and estimate, run nothing.")] = False,
    root: RootOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare bundles under an agent: drafts, freezes, probes, plans, asks, runs, grades, reports."""
    from esac_ag.cli.compare_running import Way, compare_command
    from esac_ag.conduct.comparing import CompareOptions

    workspace = workspace_at(root)
    options = CompareOptions(
        agent=agent,
        model=model,
        arms=tuple(arm),
        tasks=tuple(tasks or ()),
        repetitions=repetitions,
        mention=mention,
        provider=provider,
        base_url=base_url,
        api_key_env=api_key_env,
        model_way=model_way,
        reasoning=reasoning,
        max_cost_usd=max_cost,
        prices=prices,
        wall_clock_s=max_run_s,
        turns=max_turns,
        seed=seed,
        study_id=study_id,
    )
    way = Way(
        results=results or workspace.results,
        concurrency=n,
        repeats=repeats,
        yes=yes,
        dry_run=dry_run,
        json=json,
        quiet=quiet,
    )
    compare_command(options, workspace, way)
