"""What the command line has: its commands, and the exit codes that they end with."""

from __future__ import annotations

COMMANDS = {
    "run": ("assembler.cli.run", "run an agent: one input, or a chat"),
    "skills": ("assembler.cli.skills", "list the skills that an agent sees"),
    "sessions": ("assembler.cli.sessions", "list, show and delete stored conversations"),
    "trust": ("assembler.cli.trust", "show what a configuration would start, read or reach, and agree to it"),
    "completion": ("assembler.cli.completion", "print what bash, zsh or fish needs to complete"),
}
"""Each command's module, imported when it is called, and what it does."""

DONE = 0
FAILED = 1
WRONG = 2
WAITING = 4
INTERRUPTED = 130
