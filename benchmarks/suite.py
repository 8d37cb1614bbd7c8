"""What the harness adds to the bare engine on the whole suite, and how long the suite takes in memory.

One process alternates both, so that a noisy machine meets both alike. Ours: `suite run` with the reference
policies on one sealed plan: verified bytes, the world replayed on the host, an agent container for each run,
a grader container with its hidden tests for each program, strict parsing, archives, a fsynced ledger, the
report. Bare: the SDK alone, with containers of the same images and the same configuration; it puts the same
files in, starts the same tool server and speaks the same lines to it, runs the same programs by the same
command, and runs the same hidden tests. Judged items are left out of both: their cost is the judge's.

usage: python -m benchmarks.suite [--pairs 3] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from benchmarks.bare_suite import BareSuite, OracleRun
from benchmarks.overhead import timed
from esac_ag.conduct.suite import dataset_of
from esac_ag.suite.bank import bank
from esac_ag.suite.oracle import oracle_results

MOST_RATIO = 1.5
MOST_IN_MEMORY_S = 2.0


def measured(pairs: int) -> dict[str, float]:
    """Median seconds of both, their ratio, and the oracle in memory."""
    ours, bare = [], []
    with (
        tempfile.TemporaryDirectory(prefix="esac-ag-bench-") as folder,
        closing(OracleRun(Path(folder))) as oracle,
    ):
        oracle.run()
        with closing(BareSuite(oracle)) as theirs:
            theirs.run()
            for _ in range(pairs):
                ours.append(timed(oracle.run))
                bare.append(timed(theirs.run))
    memory = [timed(oracle_results, bank(), dataset_of("public", None, None).seed) for _ in range(3)]
    ratios = [mine / their for mine, their in zip(ours, bare, strict=True)]
    return {
        "ours_s": statistics.median(ours),
        "bare_s": statistics.median(bare),
        "ratio": statistics.median(ratios),
        "in_memory_s": statistics.median(memory),
    }


def main() -> int:
    """Measure and compare with the bounds; 1 when one is passed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measured(options.pairs)
    if options.json:
        print(json.dumps(found))
    else:
        print(f"whole suite, reference policies: ours {found['ours_s']:.1f} s, bare {found['bare_s']:.1f} s")
        print(f"median ratio {found['ratio']:.2f} over {options.pairs} pairs (bound {MOST_RATIO})")
        print(f"in memory: {found['in_memory_s']:.2f} s (bound {MOST_IN_MEMORY_S})")
    return 0 if found["ratio"] <= MOST_RATIO and found["in_memory_s"] <= MOST_IN_MEMORY_S else 1


if __name__ == "__main__":
    sys.exit(main())
