"""How long the oracle takes in memory: every reference policy that needs neither programs nor a judge.

usage: python -m benchmarks.suite_memory [--rounds 5]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

from esac_ag.suite.bank import bank
from esac_ag.suite.constitution import PUBLIC_SEED
from esac_ag.suite.oracle import oracle_results

MOST_S = 2.0


def pass_s() -> float:
    """Wall time of one pass; instances are generated anew."""
    started = time.perf_counter()
    oracle_results(bank(), PUBLIC_SEED)
    return time.perf_counter() - started


def main() -> int:
    """Measure, print, and fail above the bound."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    taken_s = statistics.median(pass_s() for _ in range(parser.parse_args().rounds))
    played = len(oracle_results(bank(), PUBLIC_SEED))
    print(f"oracle in memory, {played} of {len(bank())} items: {taken_s:.3f} s")
    kept = taken_s <= MOST_S
    print(f"bound {MOST_S} s: {'kept' if kept else 'EXCEEDED'}", file=sys.stderr)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
