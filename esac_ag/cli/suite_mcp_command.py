"""`esac-ag suite mcp`: one item for any MCP client, over standard input and output."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Final

import typer

from esac_ag import clock
from esac_ag.cli.errors import INTERRUPTED
from esac_ag.cli.place import RootOption, engine_of, stderr, workspace_at
from esac_ag.cli.suite_options import PoolName, PoolOption, SeedOption
from esac_ag.errors import HarnessError
from esac_ag.plural import plural

if TYPE_CHECKING:
    from rich.console import Console

    from esac_ag.conduct.suite_mcp import McpRun
    from esac_ag.conduct.suite_mcp_tools import McpBench

SETTLING_S: Final = 0.5


def mcp(
    item: Annotated[str, typer.Argument(help="Id of an item.", show_default=False)],
    pool: PoolOption = PoolName.PUBLIC,
    seed: SeedOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="A new file for trace and checks; mode 0600.", show_default=False
        ),
    ] = None,
    root: RootOption = None,
) -> None:
    """Serve an item as an MCP server, its tools in a container; what a client earns is no official score."""
    from esac_ag.conduct.context import Stop
    from esac_ag.conduct.suite import dataset_of
    from esac_ag.conduct.suite_mcp import play_over_mcp, refuse_output, save
    from esac_ag.conduct.suite_mcp_server import serve
    from esac_ag.conduct.suite_mcp_tools import McpBench
    from esac_ag.sandbox.images import agent_reference, grader_reference
    from esac_ag.suite.bank import item_named

    found, dataset, console = item_named(item), dataset_of(pool, seed, root), stderr()
    refuse_output(output)
    workspace = workspace_at(root)
    runner = workspace.runner
    bench = McpBench(engine_of(workspace), agent_reference(runner), grader_reference(runner), Stop())

    def ended(run: McpRun) -> None:
        save(run, output)
        _print(run, console)

    with _ending_in_order(bench, workspace.label):
        play_over_mcp(found, dataset, bench=bench, serve=serve, ended=ended)


def _print(run: McpRun, console: Console) -> None:
    """On standard error, because standard output is the client's. Why a check failed may tell an answer."""
    earned = (
        "not known: a judge decides, and none was asked" if run.fraction is None else f"{run.fraction:.4f}"
    )
    lines = (
        f"{run.item_id}: {run.trace.end.value}, {plural(len(run.trace.calls), 'call')}, fraction {earned}",
        *(f"  {check.id}: {check.fraction:.4f}" for check in run.checks),
        run.note,
    )
    for line in lines:
        console.print(line, soft_wrap=True, markup=False)


@contextmanager
def _ending_in_order(bench: McpBench, workspace: str) -> Iterator[None]:
    """Ctrl-C and SIGTERM remove the containers and end the process, which may be waiting for its client.

    The signal's handler must not remove them itself, for it may have interrupted a talk with the engine.
    """
    from esac_ag.conduct.suite_mcp_tools import STUDY

    def leave() -> None:
        try:
            bench.stop.wish()
            # The grader's container too; what cannot be removed now, the next command removes.
            with suppress(HarnessError):
                bench.engine.clean(workspace, STUDY)
            # One that was just being made, or removed, shows a moment later.
            clock.sleep_s(SETTLING_S)
            with suppress(HarnessError):
                bench.engine.clean(workspace, STUDY)
        finally:
            os._exit(INTERRUPTED)

    def handle(_signal: int, _frame: FrameType | None) -> None:
        threading.Thread(target=leave).start()

    previous = {name: signal.signal(name, handle) for name in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for name, handler in previous.items():
            signal.signal(name, handler)
