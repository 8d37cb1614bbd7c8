"""Whether the harness's memory stays flat: 200 scripted runs in Docker with 10 MB of log each.

Memory is this process's resident set, sampled after every run; the peak is the kernel's own count.

usage: python -m benchmarks.memory [--repetitions 25]
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
from pathlib import Path

import psutil

from esac_ag.attempt import Cell, GradingStatus, Outcome
from esac_ag.conduct.study import run_study
from tests.builders_conduct import Told
from tests.builders_docker import a_docker_study, an_engine_for, opened_in_docker

MOST_MIB = 150.0
MIB = 1024 * 1024
MEGABYTE = ["sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x"]
BOOK = {
    "format_version": 1,
    "tasks": {"*": {"plays": {"talkative": [{"do": "run", "argv": MEGABYTE}] * 10}}},
}


class Sampling(Told):
    """A watcher that samples this process's memory after every run."""

    def __init__(self) -> None:
        """Begin with nothing sampled."""
        super().__init__()
        self.resident_mib: list[float] = []
        self._process = psutil.Process()

    def finished(self, cell: Cell, outcome: Outcome, grading: GradingStatus) -> None:
        """Sample."""
        super().finished(cell, outcome, grading)
        self.resident_mib.append(self._process.memory_info().rss / MIB)


def main() -> int:
    """Run, print, and fail when the peak is above the bound or a log is not there."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=25, help="8 runs each")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="esac-ag-bench-") as name:
        folder = Path(name)
        a_docker_study(folder, book=BOOK, repetitions=options.repetitions)
        engine = an_engine_for(folder)
        opened = opened_in_docker(folder, engine)
        told = Sampling()
        progress = run_study(opened, concurrency=3, watcher=told)
        logs = [path.stat().st_size for path in opened.site.folder.path.glob("attempts/*/agent.log")]
        engine.close()
    samples = told.resident_mib
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    quarter = max(1, len(samples) // 4)
    first, last = sum(samples[:quarter]) / quarter, sum(samples[-quarter:]) / quarter
    print(
        f"{progress.done} runs, logs of {min(logs) / 1e6:.1f} MB or more each: peak {peak_mib:.0f} MiB, "
        f"first quarter {first:.0f} MiB, last quarter {last:.0f} MiB on average, ratio {last / first:.2f}"
    )
    kept = peak_mib <= MOST_MIB and min(logs) >= 9_000_000
    print(f"bound {MOST_MIB:.0f} MiB: {'kept' if kept else 'EXCEEDED'}", file=sys.stderr)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
