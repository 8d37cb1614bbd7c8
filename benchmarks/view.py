"""Time of the pages that show a large study, against reading its ledger, and by its size.

The folders are real ones of finished studies, on a real server that one client asks. All figures are ratios
within one run, of medians, so that the machine's speed does not matter.

usage: python -m benchmarks.view [--attempts 10000]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from esac_ag.artifacts import StudyFolder
from esac_ag.ledger import read_state
from tests.builders_many import a_plan, many_attempts
from tests.builders_view import served

SMALLER = 10
"""How many times fewer attempts the smaller study has."""
ROUNDS = 15
MOST_GROWTH = 1.5
"""Time of a page of the larger study over that of the smaller one."""
MOST_OF_LEDGER = 0.25
"""Time of any page over that of reading the larger ledger once."""
MOST_OF_FIRST = 3.0
"""Time of the first page, for which the ledger is read, over that of reading the ledger alone."""
LONG_ENTRIES = 60_000
"""Of one transcript, which is as long as an agent's log may make it."""


@dataclass(frozen=True)
class Measured:
    """What one study's pages took, in milliseconds."""

    ledger_ms: float
    first_ms: float
    pages_ms: dict[str, float]
    """Medians by what the page is."""


@contextmanager
def a_study(attempts: int) -> Iterator[StudyFolder]:
    """A folder of results with one study of so many attempts, one with a long transcript."""
    with tempfile.TemporaryDirectory() as folder:
        study = many_attempts(Path(folder), a_plan(attempts))
        yield study


def lengthen(study: StudyFolder, attempt_id: str) -> None:
    """Write a long transcript; that its digest is another one now changes no time."""
    path = study.attempt(attempt_id).path / "transcript.jsonl"
    line = b'{"kind":"tool_result","at_s":1.0,"text":"' + b"word " * 100 + b'"}\n'
    path.write_bytes(line * LONG_ENTRIES)


def took_ms(client: httpx.Client, path: str) -> float:
    """One answer's time."""
    started = time.perf_counter()
    answer = client.get(path)
    taken_ms = 1000 * (time.perf_counter() - started)
    assert answer.status_code == 200, answer.text
    return taken_ms


def measured(study: StudyFolder) -> Measured:
    """Ask for every kind of page."""
    started = time.perf_counter()
    attempts = list(read_state(study.ledger).attempts)
    ledger_ms = 1000 * (time.perf_counter() - started)
    lengthen(study, attempts[0])
    own = f"studies/{study.path.name}/"
    pages = {
        "list of studies": "",
        "first page of attempts": own,
        "last page of attempts": f"{own}?page={len(attempts) // 100}",
        "attempts of one arm, by score": f"{own}?arm=careful&sort=-score&page=2",
        "one attempt": f"{own}attempts/{attempts[-1]}/",
        "one with a long transcript": f"{own}attempts/{attempts[0]}/",
        "middle of a long transcript": f"{own}attempts/{attempts[0]}/transcript/?page=700",
    }
    with (
        served(study.path.parent) as server,
        httpx.Client(base_url=server.url, trust_env=False, timeout=300) as client,
    ):
        first_ms = took_ms(client, own)
        while "still being read" in client.get(pages["attempts of one arm, by score"]).text:
            pass
        times: dict[str, list[float]] = {name: [] for name in pages}
        for _ in range(ROUNDS):
            for name, path in pages.items():
                times[name].append(took_ms(client, path))
    return Measured(ledger_ms, first_ms, {name: statistics.median(one) for name, one in times.items()})


def main() -> int:
    """Measure both sizes, print, and fail above a limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--attempts", type=int, default=10_000)
    attempts = parser.parse_args().attempts
    with a_study(attempts // SMALLER) as study:
        smaller = measured(study)
    with a_study(attempts) as study:
        larger = measured(study)
    print(f"{attempts:,} attempts: ledger {larger.ledger_ms:,.0f} ms, first page {larger.first_ms:,.0f} ms")
    failed = []
    if larger.first_ms > MOST_OF_FIRST * larger.ledger_ms:
        failed.append(f"first page {larger.first_ms / larger.ledger_ms:.2f} of {MOST_OF_FIRST} ledgers")
    for name, taken_ms in larger.pages_ms.items():
        growth = taken_ms / smaller.pages_ms[name]
        share = taken_ms / larger.ledger_ms
        print(f"{name:32} {taken_ms:6.1f} ms, {growth:4.2f} times that of a tenth, {share:.3f} ledgers")
        if growth > MOST_GROWTH:
            failed.append(f"{name}: growth {growth:.2f} of {MOST_GROWTH}")
        if share > MOST_OF_LEDGER:
            failed.append(f"{name}: {share:.2f} of {MOST_OF_LEDGER} ledgers")
    print("bounds: " + ("; ".join(failed) if failed else "kept"), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
