"""`make bench`: each figure beside its floor, measured in turn in one run, as ratios.

These machines are shared and noisy: a ratio of medians holds better than a time.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from bench import discovery, dispatch, memory, runs, sessions, start
from bench.measure import Figure

BENCHMARKS: dict[str, Callable[[int], list[Figure]]] = {
    "start": start.measure,
    "discovery": discovery.measure,
    "runs": runs.measure,
    "dispatch": dispatch.measure,
    "sessions": sessions.measure,
    "memory": memory.measure,
}


def main(arguments: Sequence[str]) -> int:
    """Prints every figure; the exit code is 1 if a bound is broken."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"what to measure: {', '.join(BENCHMARKS)}; or all")
    parser.add_argument("--rounds", type=int, default=7, help="how often each is measured (default: 7)")
    given = parser.parse_args(arguments)
    unknown = set(given.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    broken = False
    for name in given.names or BENCHMARKS:
        for figure in BENCHMARKS[name](given.rounds):
            print(figure, flush=True)
            broken |= not figure.holds
    return int(broken)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
