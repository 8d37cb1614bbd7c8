"""Time and memory of analysing a study, by its size: records from JSON, the view of the report, its files.

250 tasks, 4 arms; what grows is the tasks up to there, then the repetitions. Every size runs in a process of
its own, whose peak is the kernel's count. Times are the processor's, so that other work on the machine does
not fail the bounds. Reading files from disk is not in it. What the report's files take is told beside it, and
only its growth is bounded.

usage: python -m benchmarks.analysis [--sizes 1000 10000 100000]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

from esac_ag.attempt import AttemptRecord, Cell, Grading
from esac_ag.conduct.reporting import report_files
from esac_ag.manifest.plan import IntervalMethod, Phase
from esac_ag.report.build import build_view
from esac_ag.report.compact import compact, many_records
from esac_ag.report.evidence import EVIDENCE
from esac_ag.report.gradings import facts_of
from esac_ag.report.inputs import ReportInputs
from esac_ag.schedule import make_schedule
from tests.builders_report import (
    MANIFEST_SHA256,
    SEED,
    a_grading,
    a_manifest,
    a_package,
    an_attempt,
    varied_score,
)

MOST_S = 30.0
MOST_MIB = 1024.0
MOST_GROWTH = 1.3
"""Seconds per attempt at one size over those at the size before."""
ARMS = ("neutral", "current-restraint", "second", "markskill")
MOST_TASKS = 250
FAMILIES = 6


class Reading:
    """Records as a report reads them, with the time that only reading took."""

    def __init__(self) -> None:
        """Nothing read yet."""
        self.taken_s = 0.0

    def attempt(self, text: str) -> AttemptRecord:
        """One attempt."""
        started = time.process_time()
        record = compact(AttemptRecord.model_validate_json(text))
        self.taken_s += time.process_time() - started
        return record

    def grading(self, text: str) -> Iterator[Grading]:
        """One grading, and what its taker does with it."""
        started = time.process_time()
        yield Grading.model_validate_json(text)
        self.taken_s += time.process_time() - started


def inputs_of(size: int, reading: Reading) -> ReportInputs:
    """A study of about as many attempts."""
    tasks = [f"task-{number}" for number in range(min(MOST_TASKS, max(12, size // (len(ARMS) * 5))))]
    repetitions = round(size / len(tasks) / len(ARMS))
    manifest = a_manifest(
        tasks=tasks,
        arms=ARMS,
        repetitions=repetitions,
        phase=Phase.PRIMARY,
        method=IntervalMethod.STUDENTISED_SMOOTHED,
    )
    interval = manifest.analysis.interval.model_copy(update={"replicates": 10_000})
    analysis = manifest.analysis.model_copy(update={"interval": interval})
    manifest = manifest.model_copy(update={"analysis": analysis})
    attempts: list[AttemptRecord] = []
    counting: dict[Cell, str] = {}
    planned = make_schedule(SEED, tasks, ARMS, repetitions)

    def read() -> Iterator[tuple[str, Grading]]:
        for cell in planned:
            attempt = reading.attempt(an_attempt(cell, manifest).model_dump_json())
            attempts.append(attempt)
            counting[attempt.cell] = attempt.attempt_id
            text = a_grading(attempt, varied_score(cell)).model_dump_json()
            for grading in reading.grading(text):
                yield attempt.attempt_id, grading

    gradings, checks = facts_of(read())
    return ReportInputs(
        manifest=manifest,
        manifest_sha256=MANIFEST_SHA256,
        planned=planned,
        attempts=tuple(attempts),
        gradings=gradings,
        checks=checks,
        evidence=dict.fromkeys(counting.values(), tuple(EVIDENCE)),
        counting=counting,
        tasks={
            name: a_package(
                name, family=f"family-{number % FAMILIES}", contrast=("restraint", "expansion")[number % 2]
            )
            for number, name in enumerate(tasks)
        },
    )


def child(size: int) -> None:
    """Analyse one study and print what it took as JSON."""
    reading = Reading()
    with many_records():
        inputs = inputs_of(size, reading)
        started = time.process_time()
        view = build_view(inputs)
    view_s = time.process_time() - started
    assert len(view.attempts) == len(inputs.attempts)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = {"attempts": len(inputs.attempts), "read_s": reading.taken_s, "view_s": view_s}
    started = time.process_time()
    sizes = {name: len(data) for name, data in report_files(view).items()}
    files_s = time.process_time() - started
    page_mb, all_mb = sizes["report.html"] / 1e6, sum(sizes.values()) / 1e6
    print(json.dumps(told | {"peak_mib": peak_mib, "files_s": files_s, "page_mb": page_mb, "all_mb": all_mb}))


def main() -> int:
    """Measure every size, print, and fail above a limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child)
        return 0
    failed, before, file_ms_before = [], None, None
    for size in options.sizes:
        argv = [sys.executable, "-m", "benchmarks.analysis", "--child", str(size)]
        told = json.loads(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)
        taken_s = told["read_s"] + told["view_s"]
        each_ms = 1000 * taken_s / told["attempts"]
        print(
            f"{told['attempts']:7,} attempts: {told['read_s']:5.1f} s to read records, "
            f"{told['view_s']:5.1f} s to analyse, {each_ms:.3f} ms each, peak {told['peak_mib']:.0f} MiB; "
            f"{told['files_s']:.1f} s to write {told['all_mb']:.1f} MB, the page {told['page_mb']:.1f} MB",
            flush=True,
        )
        if taken_s > MOST_S or told["peak_mib"] > MOST_MIB:
            failed.append(f"{size}: {taken_s:.1f} s of {MOST_S}, {told['peak_mib']:.0f} of {MOST_MIB} MiB")
        if before is not None and each_ms > MOST_GROWTH * before:
            failed.append(f"{size}: {each_ms:.3f} ms each after {before:.3f}")
        file_ms = 1000 * told["files_s"] / told["attempts"]
        if file_ms_before is not None and file_ms > MOST_GROWTH * file_ms_before:
            failed.append(f"{size}: files {file_ms:.3f} ms each after {file_ms_before:.3f}")
        before, file_ms_before = each_ms, file_ms
    print("bounds: " + ("; ".join(failed) if failed else "kept"), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
