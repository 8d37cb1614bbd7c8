"""What the suite does without a model: seeds, answer keys, exports, the self-test and the oracle's report."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from esac_ag import __version__
from esac_ag.artifacts import write_atomic
from esac_ag.clock import now
from esac_ag.errors import InputRefused, UsageError
from esac_ag.record import Record, Sha256
from esac_ag.report.suite_compare import SuiteComparison, compare_reports
from esac_ag.report.suite_html import render_suite_html
from esac_ag.report.suite_machine import read_suite_json, render_suite_json
from esac_ag.report.suite_markdown import render_suite_markdown
from esac_ag.report.suite_oracle import oracle_report
from esac_ag.report.suite_text import render_suite_text
from esac_ag.report.suite_view import SuiteView
from esac_ag.rooms.heldout import make_seed, read_seed, write_private
from esac_ag.rooms.reading import CannotRead, read_bounded
from esac_ag.rooms.workspace import Workspace
from esac_ag.suite.bank import bank
from esac_ag.suite.constitution import Pool
from esac_ag.suite.inspection import answer_key, public_pool
from esac_ag.suite.oracle import IN_MEMORY, RULES, oracle_results
from esac_ag.suite.pools import ENVIRONMENT_NAME, DatasetSeed, SeedSource, resolve_seed, seed_fingerprint
from esac_ag.suite.replication import ItemResult
from esac_ag.suite.selftest import SuiteSelftest, selftest

REPORT_CAP_BYTES = 64_000_000


class SeedShown(Record):
    """What may be told of a held-out seed."""

    source: SeedSource
    seed_fingerprint: Sha256
    weak: bool
    """Whether it is short enough to be guessed."""


class SeedMade(Record):
    """A new seed, by where it lies."""

    path: str
    seed_fingerprint: Sha256


def dataset_of(pool: str, flag: str | None, root: Path | None) -> DatasetSeed:
    """The dataset seed of a command: `--seed`, then the environment, then the workspace's file.

    Raises:
        UsageError: there is no usable seed.
    """
    wanted = Pool(pool)
    environment = os.environ.get(ENVIRONMENT_NAME)
    # A file that is not needed is not read, so that nothing can be wrong with it.
    needs_file = wanted is Pool.HELD_OUT and flag is None and not environment
    return resolve_seed(
        wanted,
        flag=flag,
        environment=environment,
        file=read_seed(seed_root(root)) if needs_file else None,
    )


def seed_root(root: Path | None) -> Path:
    """The folder whose `.heldout/` is meant: the workspace, or the working folder where there is none."""
    if root is not None:
        return Workspace.find(root).root
    try:
        return Workspace.find().root
    except UsageError:
        return Path.cwd()


def new_seed(root: Path | None) -> SeedMade:
    """Draw a held-out seed into its file.

    Raises:
        InputRefused: there is one already.
    """
    folder = seed_root(root)
    path = make_seed(folder)
    dataset = resolve_seed(Pool.HELD_OUT, flag=None, environment=None, file=read_seed(folder))
    return SeedMade(path=str(path), seed_fingerprint=seed_fingerprint(dataset.seed))


def show_seed(root: Path | None) -> SeedShown:
    """The fingerprint of the seed that a held-out run would take.

    Raises:
        UsageError: there is no usable seed.
    """
    dataset = dataset_of(Pool.HELD_OUT, None, root)
    return SeedShown(
        source=dataset.source, seed_fingerprint=seed_fingerprint(dataset.seed), weak=dataset.weak
    )


def write_key(path: Path, dataset: DatasetSeed) -> None:
    """Write the answers of a whole pool to a new file of mode 0600.

    Raises:
        InputRefused: there is something of that name.
    """
    write_private(path, answer_key(bank(), dataset).model_dump_json(indent=2).encode() + b"\n", what="A key")


def export_public(path: Path) -> str:
    """Write the public pool as JSON Lines; the file's SHA-256."""
    return write_atomic(path, public_pool(bank(), dataset_of(Pool.PUBLIC, None, None)))


def selftest_in_memory(dataset: DatasetSeed) -> SuiteSelftest:
    """Play all policies on all items in this process."""
    return selftest(
        bank(), dataset.seed, IN_MEMORY, pool=dataset.pool, seed_fingerprint=seed_fingerprint(dataset.seed)
    )


def oracle_in_memory(dataset: DatasetSeed) -> tuple[ItemResult, ...]:
    """Results of all reference policies, played in this process."""
    return oracle_results(bank(), dataset.seed)


def write_oracle_report(
    folder: Path,
    dataset: DatasetSeed,
    play: Callable[[DatasetSeed], Sequence[ItemResult]] = oracle_in_memory,
) -> SuiteView:
    """Play the reference policies and write the report in all its forms.

    Args:
        folder: gets the report.
        dataset: pool and seed.
        play: plays them; judged items are judged by fixed rules.
    """
    started_at = now()
    results = play(dataset)
    view = oracle_report(
        bank(),
        dataset,
        results,
        judge=RULES,
        harness_version=__version__,
        started_at=started_at,
        ended_at=now(),
    )
    write_suite_report(folder, view)
    return view


def write_suite_report(folder: Path, view: SuiteView) -> None:
    """Write `suite-report` as JSON, Markdown, text and one HTML page."""
    for name, data in suite_report_files(view).items():
        write_atomic(folder / name, data)


def suite_report_files(view: SuiteView) -> dict[str, bytes]:
    """A report in all its forms, by file name."""
    return {
        "suite-report.json": render_suite_json(view),
        "suite-report.md": render_suite_markdown(view).encode(),
        "suite-report.txt": render_suite_text(view).encode(),
        "suite-report.html": render_suite_html(view).encode(),
    }


def compare_files(a: Path, b: Path) -> SuiteComparison:
    """Two JSON reports side by side.

    Raises:
        InputRefused: a file is no report, or the reports cannot be compared.
    """
    return compare_reports(_report_at(a), _report_at(b))


def _report_at(path: Path) -> SuiteView:
    try:
        data = read_bounded(path, cap_bytes=REPORT_CAP_BYTES)
    except CannotRead as error:
        raise InputRefused("A report cannot be read.", where=str(path), found=str(error)) from error
    return read_suite_json(data, str(path))
