"""Medians of things measured in turn, and ratios of them."""

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
class Unit:
    """How a value is shown.

    Attributes:
        name: What stands behind it.
        factor: What it is multiplied with.
    """

    name: str
    factor: float

    def __call__(self, value: float) -> str:
        return f"{value * self.factor:8.2f} {self.name:5}"


MILLISECONDS = Unit("ms", 1e3)
MICROSECONDS = Unit("µs", 1e6)
A_SECOND = Unit("/s", 1)
MEBIBYTES = Unit("MiB", 1 / 2**20)


@dataclass(frozen=True)
class Limit:
    """What a ratio has to keep.

    Attributes:
        ratio: The least or the most that it may be.
        is_least: Which of the two.
    """

    ratio: float
    is_least: bool = False

    def holds(self, ratio: float) -> bool:
        return ratio >= self.ratio if self.is_least else ratio <= self.ratio

    def __str__(self) -> str:
        return f"{'at least' if self.is_least else 'at most'} {self.ratio:g}"


def at_most(ratio: float) -> Limit:
    return Limit(ratio)


def at_least(ratio: float) -> Limit:
    return Limit(ratio, is_least=True)


@dataclass(frozen=True)
class Figure:
    """A value beside the one that it is compared with.

    Attributes:
        name: What was measured.
        value: Median of it, in seconds, bytes, or times a second.
        other_name: What it is compared with.
        other: Median of that.
        unit: How both are shown.
        bound: What the ratio has to keep; None where nothing is promised.
        goal: What it is to keep one day, where that is not the bound yet.
    """

    name: str
    value: float
    other_name: str
    other: float
    unit: Unit = MILLISECONDS
    bound: Limit | None = None
    goal: Limit | None = None

    @property
    def ratio(self) -> float:
        return self.value / self.other

    @property
    def holds(self) -> bool:
        return self.bound is None or self.bound.holds(self.ratio)

    def __str__(self) -> str:
        said: list[str] = []
        if self.bound is not None:
            said.append(f"{self.bound}: {'holds' if self.holds else 'BROKEN'}")
        if self.goal is not None:
            said.append(f"goal {self.goal}: {'reached' if self.goal.holds(self.ratio) else 'missed'}")
        values = f"{self.unit(self.value)} against {self.unit(self.other)}"
        judged = f" ({'; '.join(said)})" if said else ""
        return f"{self.name:44} {values} {self.other_name:36} ratio {self.ratio:5.2f}{judged}"


def in_turn(rounds: int, *measured: Callable[[], float]) -> list[float]:
    """Medians of several measures, taken one after the other in each round, so that a slow moment hits all alike."""
    values: list[list[float]] = [[] for _ in measured]
    for number in range(rounds + 1):
        for index, measure in enumerate(measured):
            gc.collect()
            gc.freeze()  # what one system holds is not looked through while another one is measured
            value = measure()
            if number:  # the first round warms caches
                values[index].append(value)
    return [statistics.median(each) for each in values]


def clock(action: Callable[[], object]) -> Callable[[], float]:
    """Time on the clock of an action in this process."""

    def measure() -> float:
        started = perf_counter()
        action()
        return perf_counter() - started

    return measure


def processor(program: str, *arguments: str) -> Callable[[], float]:
    """Processor time of a Python program in a process of its own, its children included."""

    def measure() -> float:
        before = getrusage(RUSAGE_CHILDREN)
        _run(program, arguments)
        after = getrusage(RUSAGE_CHILDREN)
        return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)

    return measure


def printed(program: str, *arguments: str) -> Callable[[], float]:
    """The number that a Python program prints, in a process of its own."""
    return lambda: float(_run(program, arguments))


def _run(program: str, arguments: tuple[str, ...]) -> str:
    command = [sys.executable, "-c", program, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if ended.returncode:
        raise SystemExit(f"a measured program failed:\n{ended.stderr}")
    return ended.stdout
