"""Medians of things measured in turn."""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter


@dataclass(frozen=True)
class Figure:
    """A time beside its floor.

    Attributes:
        name: What was measured.
        seconds: Median of it.
        floor_name: What it is compared with.
        floor: Median of that.
        bound: Ratio that must not be exceeded; None where nothing is promised.
    """

    name: str
    seconds: float
    floor_name: str
    floor: float
    bound: float | None = None

    @property
    def ratio(self) -> float:
        return self.seconds / self.floor

    @property
    def holds(self) -> bool:
        return self.bound is None or self.ratio <= self.bound

    def __str__(self) -> str:
        bound = "" if self.bound is None else f" (at most {self.bound:g}: {'holds' if self.holds else 'EXCEEDED'})"
        times = f"{self.seconds * 1000:9.2f} ms against {self.floor * 1000:9.2f} ms"
        return f"{self.name:44} {times}  {self.floor_name:36} ratio {self.ratio:5.2f}{bound}"


def in_turn(rounds: int, *measured: Callable[[], float]) -> list[float]:
    """Medians of several measures, taken one after the other in each round, so that a slow moment hits all alike."""
    times: list[list[float]] = [[] for _ in measured]
    for number in range(rounds + 1):
        for index, measure in enumerate(measured):
            gc.collect()
            seconds = measure()
            if number:  # the first round warms caches
                times[index].append(seconds)
    return [statistics.median(each) for each in times]


def clock(action: Callable[[], object]) -> Callable[[], float]:
    """Time on the clock of an action in this process."""

    def measure() -> float:
        started = perf_counter()
        action()
        return perf_counter() - started

    return measure


def processor(program: str, *arguments: str) -> Callable[[], float]:
    """Processor time of a Python program in a process of its own, its children included."""
    command = [sys.executable, "-c", program, *arguments]

    def measure() -> float:
        before = getrusage(RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
        after = getrusage(RUSAGE_CHILDREN)
        return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)

    return measure
