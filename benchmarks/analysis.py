"""Time and memory of a study's report, by its size: reading its folder, analysing it, and writing each file.

A folder of every size is made in a temporary place, as a real one lies on disk: 250 tasks, 4 arms; what grows
is the tasks up to there, then the repetitions. Every size is measured in a process of its own, whose peak is
the kernel's count. Times are the processor's, so that other work on the machine hardly moves the bounds:
reading and analysing 100,000 attempts within 30 s and 1 GiB, and nothing that grows faster than the number of
attempts. Growth is compared within one run, between a size and the one before.

usage: python -m benchmarks.analysis [--sizes 1000 10000 100000]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.study_folder import write_study
from esac_ag.conduct.reporting import rendered, report_inputs
from esac_ag.report.build import build_view
from esac_ag.report.compact import many_records

MOST_S = 30.0
MOST_MIB = 1024.0
MOST_GROWTH = 1.3
"""Seconds per attempt at one size over those at the size before."""
READING, ANALYSIS = "reading", "analysis"
BOUND = (READING, ANALYSIS)
"""The parts that the bound of 30 s is on; the peak is of everything."""
MOST_RUNS = 3
"""Measurements of a size that is above the bound: other work on a machine only adds, so the least counts."""
NOISE_S = 0.5
"""Parts below are too short for their growth to be told from noise."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the report of one study took."""

    attempts: int
    parts_s: dict[str, float]
    """Processor time of reading, of the analysis, and of each file by its name."""
    sizes: dict[str, int]
    """Bytes of each file."""
    peak_mib: float

    @property
    def bound_s(self) -> float:
        """Time that the bound is on."""
        return sum(self.parts_s[part] for part in BOUND)

    def each_ms(self, part: str) -> float:
        """Of one attempt."""
        return 1000 * self.parts_s[part] / self.attempts


def child(folder: Path) -> None:
    """Make the report of one study and print what each part took as JSON."""
    parts: dict[str, float] = {}
    last = time.process_time()

    def ended(part: str) -> None:
        nonlocal last
        now = time.process_time()
        parts[part], last = now - last, now

    with many_records():
        _, inputs = report_inputs(folder)
        ended(READING)
        view = build_view(inputs)
        ended(ANALYSIS)
        attempts = len(inputs.attempts)
        assert len(view.attempts) == attempts
        # As `esac-ag report` does: the view is all that is rendered, and all files are there at the end.
        del _, inputs
        files = {}
        for name, data in rendered(view):
            ended(name)
            files[name] = data
    sizes = {name: len(data) for name, data in files.items()}
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"attempts": attempts, "parts_s": parts, "sizes": sizes, "peak_mib": peak_mib}))


def measured(size: int) -> Told:
    """What a study of about as many attempts takes, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="esac-ag-bench-") as place:
        folder = Path(place) / "study"
        # In a process of its own, like the measurement: neither leaves memory to the next size.
        _step("--make", folder, size)
        runs = [Told(**json.loads(_step("--child", folder, size)))]
        while runs[-1].bound_s > MOST_S and len(runs) < MOST_RUNS:
            runs.append(Told(**json.loads(_step("--child", folder, size))))
    return min(runs, key=lambda run: run.bound_s)


def _step(step: str, folder: Path, size: int) -> str:
    argv = [sys.executable, "-m", "benchmarks.analysis", step, str(folder), "--sizes", str(size)]
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout


def show(told: Told) -> None:
    """A table of the parts of one size."""
    print(
        f"{told.attempts:,} attempts: {told.bound_s:.1f} s to read and analyse, "
        f"peak {told.peak_mib:.0f} MiB with all files",
        flush=True,
    )
    for part, taken_s in told.parts_s.items():
        size = f", {told.sizes[part] / 2**20:6.1f} MiB" if part in told.sizes else ""
        print(f"  {part:18} {taken_s:6.2f} s, {told.each_ms(part):.4f} ms each{size}", flush=True)


def broken(told: Told, before: Told | None) -> Iterator[str]:
    """The bounds that a size breaks."""
    if told.bound_s > MOST_S:
        yield f"{told.attempts:,} attempts: {told.bound_s:.1f} s of {MOST_S:g} to read and analyse"
    if told.peak_mib > MOST_MIB:
        yield f"{told.attempts:,} attempts: {told.peak_mib:.0f} of {MOST_MIB:g} MiB"
    for part, taken_s in told.parts_s.items():
        if before is None or taken_s < NOISE_S:
            continue
        growth = told.each_ms(part) / before.each_ms(part) if before.parts_s.get(part) else 0.0
        print(f"  {part:18} x {growth:.2f} per attempt from {before.attempts:,} to {told.attempts:,}")
        if growth > MOST_GROWTH and before.parts_s[part] >= NOISE_S / 10:
            yield f"{part}: x {growth:.2f} per attempt from {before.attempts:,} to {told.attempts:,}"


def main() -> int:
    """Measure every size, print, and fail above a limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        write_study(options.make, options.sizes[0])
        return 0
    if options.child:
        child(options.child)
        return 0
    failed: list[str] = []
    before = None
    for size in options.sizes:
        told = measured(size)
        show(told)
        failed += broken(told, before)
        before = told
    print("bounds: " + ("; ".join(failed) if failed else "kept"), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
