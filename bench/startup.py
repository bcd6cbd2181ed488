"""What it costs to start: fresh processes, by turns, so that a busy machine slows all of them alike."""

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
ROUNDS = 11

ASSEMBLE = [sys.executable, "-m", "assembler.cli.main"]
QUESTION = "How many kilometres is a 26.2 mile marathon?"
MEASURES = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import assembler": [sys.executable, "-c", "import assembler"],
    "assemble --help": [*ASSEMBLE, "--help"],
    "assemble skills list": [*ASSEMBLE, "skills", "list", "conf=quickstart"],
    "assemble run, with a script": [*ASSEMBLE, "run", "conf=quickstart", "runner.isolation=prefer", "-i", QUESTION],
    "import openai": [sys.executable, "-c", "import openai"],
}
TARGETS = {"assemble skills list": ("import openai", 0.6)}
"""Measure: what it is compared with, and the share of it that it may take."""


def seconds(command: list[str]) -> float:
    """Wall time of one process; bytecode is written, as it is for users, since compiling doubles every start."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> int:
    """Prints medians in milliseconds; returns 1 where a target is missed."""
    times: dict[str, list[float]] = {name: [] for name in MEASURES}
    for _ in range(1 + ROUNDS):
        for name, command in MEASURES.items():
            times[name].append(seconds(command))
    medians = {name: median(values[1:]) for name, values in times.items()}  # the first round fills the caches

    missed = 0
    for name, value in medians.items():
        note = ""
        if name in TARGETS:
            floor, share = TARGETS[name]
            ratio = value / medians[floor]
            missed += ratio > share
            note = f"{ratio:6.2f} x {floor}, target {share}{' MISSED' if ratio > share else ''}"
        print(f"{name:30}{value * 1000:8.1f} ms  {note}".rstrip())
    return 1 if missed else 0
