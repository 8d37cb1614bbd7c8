"""What the harness adds to the bare engine: whole runs of ours against the SDK doing the same two containers.

One process alternates both, so that a noisy machine meets both alike. Ours: verify the sealed bytes, an
agent container with a scripted agent that does nothing, freeze, export, patch, archive, remove, a grader
container with one check, strict parsing, and three fsynced ledger events. Bare: create, start, put, pause,
get and remove of the same agent container, then create, put, start, wait, get and remove of the same grader
container.

usage: python -m benchmarks.overhead [--pairs 12] [--batch 20] [--json]
"""

from __future__ import annotations

import argparse
import io
import json
import resource
import statistics
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import docker

from benchmarks.noop_study import NoOpStudy

MOST_RATIO = 1.5
MOST_CPU_S = 0.1


def tar_of(files: dict[str, bytes], *, uid: int, mode: int = 0o644) -> bytes:
    """A small archive, made as a script around the SDK would make it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.uid, member.gid, member.mode = len(data), uid, uid, mode
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


class Bare:
    """The same two containers, by the SDK's low-level client and nothing else."""

    def __init__(self, study: NoOpStudy) -> None:
        # Some of the SDK's methods have no types.
        self._client: Any = docker.APIClient(version="auto", timeout=120, max_pool_size=16)
        self._requests = study.container_requests()
        self._agent_files = tar_of(study.agent_files(), uid=10001)
        self._grader_files = study.grader_archive()

    def run(self) -> None:
        """One agent container and one grader container."""
        self._agent()
        self._grader()

    def _agent(self) -> None:
        client = self._client
        container = client.create_container_from_config(self._requests["agent"])["Id"]
        try:
            client.start(container)
            client.put_archive(container, "/agent", self._agent_files)
            client.pause(container)
            stream, _ = client.get_archive(container, "/agent")
            sum(map(len, stream))
        finally:
            client.remove_container(container, v=True, force=True)

    def _grader(self) -> None:
        client = self._client
        container = client.create_container_from_config(self._requests["grader"])["Id"]
        try:
            client.put_archive(container, "/grade", self._grader_files)
            client.start(container)
            client.wait(container)
            stream, _ = client.get_archive(container, "/grade/out")
            sum(map(len, stream))
        finally:
            client.remove_container(container, v=True, force=True)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def timed(action: Callable[..., object], *arguments: object) -> float:
    """Seconds of one call."""
    started = time.perf_counter()
    action(*arguments)
    return time.perf_counter() - started


def cpu_s() -> float:
    """CPU seconds of this process so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def one_at_a_time(study: NoOpStudy, bare: Bare, pairs: int) -> dict[str, float]:
    """Alternate single runs of both."""
    ours, theirs, cpu = [], [], []
    cells = study.cells(pairs + 1)
    study.run(cells[0])
    bare.run()
    for number, cell in enumerate(cells[1:]):
        first, second = (bare.run, None) if number % 2 else (None, bare.run)
        if first:
            theirs.append(timed(first))
        before = cpu_s()
        ours.append(timed(study.run, cell))
        cpu.append(cpu_s() - before)
        if second:
            theirs.append(timed(second))
    ratios = [mine / bare_s for mine, bare_s in zip(ours, theirs, strict=True)]
    return {
        "pairs": pairs,
        "ours_median_s": statistics.median(ours),
        "bare_median_s": statistics.median(theirs),
        "median_ratio": statistics.median(ratios),
        "harness_cpu_per_run_s": statistics.median(cpu),
    }


def batch_s(work: Callable[[Any], object], items: Iterable[Any], concurrency: int) -> float:
    """Seconds until a batch is done, several at a time."""
    started = time.perf_counter()
    with ThreadPoolExecutor(concurrency) as pool:
        list(pool.map(work, items))
    return time.perf_counter() - started


def several_at_once(study: NoOpStudy, bare: Bare, batch: int, concurrency: int = 4) -> dict[str, float]:
    """Whole batches of both, alternated, twice each."""
    ours, theirs = [], []
    cells = study.cells(2 * batch, start=10_000)
    for number in range(2):
        theirs.append(batch_s(lambda _: bare.run(), range(batch), concurrency))
        ours.append(batch_s(study.run, cells[number * batch : (number + 1) * batch], concurrency))
    return {
        "runs": batch,
        "concurrency": concurrency,
        "ours_s": min(ours),
        "bare_s": min(theirs),
        "ratio": statistics.median(m / b for m, b in zip(ours, theirs, strict=True)),
    }


def main() -> int:
    """Measure, print, and fail when a ratio is above the bound."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="esac-ag-bench-") as folder, NoOpStudy(Path(folder)) as study:
        bare = Bare(study)
        single = one_at_a_time(study, bare, options.pairs)
        batch = several_at_once(study, bare, options.batch)
        bare.close()
    if options.json:
        print(json.dumps({"one_at_a_time": single, "several_at_once": batch}))
    else:
        print(
            f"concurrency 1: ours {single['ours_median_s']:.3f} s, bare {single['bare_median_s']:.3f} s, "
            f"median ratio {single['median_ratio']:.2f} over {options.pairs} pairs; "
            f"CPU in the harness {single['harness_cpu_per_run_s'] * 1000:.0f} ms a run"
        )
        print(
            f"concurrency 4: {options.batch} runs in {batch['ours_s']:.1f} s, bare {batch['bare_s']:.1f} s, "
            f"ratio {batch['ratio']:.2f}"
        )
    kept = (
        single["median_ratio"] <= MOST_RATIO
        and batch["ratio"] <= MOST_RATIO
        and single["harness_cpu_per_run_s"] <= MOST_CPU_S
    )
    bounds = f"bounds: ratio {MOST_RATIO}, CPU {MOST_CPU_S} s a run"
    print(f"{bounds}: {'kept' if kept else 'EXCEEDED'}", file=sys.stderr)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
