"""Time and memory of analysing a study, by its size: records from JSON, then the whole view of the report.

250 tasks, 4 arms; what grows is the tasks up to there, then the repetitions. Every size runs in a process of
its own, whose peak is the kernel's count. Times are the processor's, so that other work on the machine does
not fail the bounds. Reading files from disk is not in it.

usage: python -m benchmarks.analysis [--sizes 1000 10000 100000]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

from esac_ag.attempt import AttemptRecord, Cell, Grading
from esac_ag.manifest.plan import IntervalMethod, Phase
from esac_ag.report.build import build_view
from esac_ag.report.compact import compact, many_records
from esac_ag.report.gradings import GradingFacts
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

    def grading(self, text: str) -> GradingFacts:
        """One grading."""
        started = time.process_time()
        facts = GradingFacts.of(Grading.model_validate_json(text))
        self.taken_s += time.process_time() - started
        return facts


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
    gradings: dict[str, GradingFacts] = {}
    counting: dict[Cell, str] = {}
    planned = make_schedule(SEED, tasks, ARMS, repetitions)
    for cell in planned:
        attempt = reading.attempt(an_attempt(cell, manifest).model_dump_json())
        attempts.append(attempt)
        text = a_grading(attempt, varied_score(cell)).model_dump_json()
        gradings[attempt.attempt_id] = reading.grading(text)
        counting[attempt.cell] = attempt.attempt_id
    return ReportInputs(
        manifest=manifest,
        manifest_sha256=MANIFEST_SHA256,
        planned=planned,
        attempts=tuple(attempts),
        gradings=gradings,
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
    print(json.dumps(told | {"peak_mib": peak_mib}))


def main() -> int:
    """Measure every size, print, and fail above a limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child)
        return 0
    failed, before = [], None
    for size in options.sizes:
        argv = [sys.executable, "-m", "benchmarks.analysis", "--child", str(size)]
        told = json.loads(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)
        taken_s = told["read_s"] + told["view_s"]
        each_ms = 1000 * taken_s / told["attempts"]
        print(
            f"{told['attempts']:7,} attempts: {told['read_s']:5.1f} s to read records, "
            f"{told['view_s']:5.1f} s to analyse, {each_ms:.3f} ms each, peak {told['peak_mib']:.0f} MiB",
            flush=True,
        )
        if taken_s > MOST_S or told["peak_mib"] > MOST_MIB:
            failed.append(f"{size}: {taken_s:.1f} s of {MOST_S}, {told['peak_mib']:.0f} of {MOST_MIB} MiB")
        if before is not None and each_ms > MOST_GROWTH * before:
            failed.append(f"{size}: {each_ms:.3f} ms each after {before:.3f}")
        before = each_ms
    print("bounds: " + ("; ".join(failed) if failed else "kept"), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
