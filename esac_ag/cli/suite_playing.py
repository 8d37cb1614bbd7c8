"""`suite selftest`: in memory, or in containers with progress and an orderly end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from esac_ag.cli.place import engine_of, print_json, stderr, stdout, teller, workspace_at
from esac_ag.cli.suite_rendering import print_selftest
from esac_ag.conduct.suite import dataset_of, selftest_in_memory, write_oracle_report

if TYPE_CHECKING:
    from esac_ag.report.suite_view import SuiteView
    from esac_ag.suite.pools import DatasetSeed
    from esac_ag.suite.replication import ItemResult
    from esac_ag.suite.selftest import SuiteSelftest


def selftest_command(
    *,
    pool: str,
    seed: str | None,
    output: Path | None,
    docker: bool,
    concurrency: int,
    root: Path | None,
    json: bool,
    quiet: bool,
) -> bool:
    """Test, print, and write the report that is wanted; whether nothing missed."""
    dataset = dataset_of(pool, seed, root)
    if docker:
        found, view = _in_containers(dataset, output, root, concurrency, quiet=quiet)
    else:
        found = selftest_in_memory(dataset)
        view = None if output is None else write_oracle_report(output, dataset)
    if json:
        print_json(found)
    else:
        print_selftest(found, stdout())
    if output is not None and view is not None:
        verdict = view.decision.verdict.value
        stderr().print(f"report: {output / 'suite-report.html'} ({verdict})", soft_wrap=True, markup=False)
    return found.holds


def _in_containers(
    dataset: DatasetSeed, output: Path | None, root: Path | None, concurrency: int, *, quiet: bool
) -> tuple[SuiteSelftest, SuiteView | None]:
    from esac_ag.cli.running import stopping_on_signals
    from esac_ag.conduct.context import Stop
    from esac_ag.conduct.suite_containers import SuiteBench, oracle_in_containers, selftest_in_containers

    stop, tell = Stop(), teller(quiet=quiet)
    workspace = workspace_at(root)
    bench = SuiteBench.of(workspace, engine_of(workspace), stop)
    with stopping_on_signals(stop, "stopping: containers are removed; again to leave at once"):
        found = selftest_in_containers(bench, dataset, concurrency=concurrency, tell=tell)
        if output is None:
            return found, None
        tell("the reference policies again, for the report")

        def play(drawn: DatasetSeed) -> tuple[ItemResult, ...]:
            return oracle_in_containers(bench, drawn, concurrency=concurrency, tell=tell)

        return found, write_oracle_report(output, dataset, play)
