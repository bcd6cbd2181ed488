"""`make bench`: each figure beside its floor, measured in turn in one run, as ratios.

These machines are shared and noisy: a ratio of medians holds better than a time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from bench import discovery, runs, sessions, start
from bench.measure import Figure

BENCHMARKS: dict[str, Callable[[], list[Figure]]] = {
    "start": start.measure,
    "discovery": discovery.measure,
    "runs": runs.measure,
    "sessions": sessions.measure,
}


def main(names: list[str]) -> int:
    """Prints every figure; the exit code is 1 if a bound is exceeded."""
    failed = False
    for name in names or BENCHMARKS:
        for figure in BENCHMARKS[name]():
            print(figure)
            failed |= not figure.holds
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
