"""How long `esac-ag --help` takes, beside the interpreter's own start, alternated in one run.

usage: python -m benchmarks.startup [--rounds 15]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

MOST_S = 0.3


def command_s(argv: list[str]) -> float:
    """Wall time of a command."""
    started = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> int:
    """Measure, print, and fail above the bound."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    program = str(Path(sys.executable).with_name("esac-ag"))
    pairs = [(command_s([sys.executable, "-c", ""]), command_s([program, "--help"])) for _ in range(rounds)]
    bare_s, help_s = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(ours / bare for bare, ours in pairs)
    print(f"--help {help_s:.3f} s, bare interpreter {bare_s:.3f} s, median ratio {ratio:.1f}")
    kept = help_s <= MOST_S
    print(f"bound {MOST_S} s: {'kept' if kept else 'EXCEEDED'}", file=sys.stderr)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
