"""A machine with secrets, projects that somebody cloned onto it, and what commands do when they are run in there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import assembler

CANARY = "canary-7f3a91"
"""Stands in every file and variable that is not a project's to read, and may stand in no output."""

PRIVATE = {
    "home/.ssh/id_rsa": f"-----BEGIN OPENSSH PRIVATE KEY-----\n{CANARY}\n",
    "home/.aws/credentials": f"[default]\naws_secret_access_key = {CANARY}\n",
    "home/.netrc": f"machine api.openai.com login me password {CANARY}\n",
    "outside/secret.txt": f"{CANARY}\n",
    "outside/agent.yaml": f"name: {CANARY}\n{CANARY}: 1\nmodel: {{kind: {CANARY}}}\n",
    "outside/model/echo.yaml": f"kind: {CANARY}\n{CANARY}: 1\n",
    f"outside/model/{CANARY}.yaml": "",
    "outside/skill/SKILL.md": f"---\nname: {CANARY}\ndescription: {CANARY}\n---\n{CANARY}\n",
}
VARIABLES = {
    "AWS_SECRET_ACCESS_KEY": CANARY,
    "CANARY": CANARY,
    "HTTPS_PROXY": f"http://{CANARY}@127.0.0.1:9",
    "OPENAI_API_KEY": CANARY,
}
PACKAGE = Path(assembler.__file__).parents[1]
"""The folder that the tested package is imported from."""

PROGRAM = Path(__file__).with_name("watched.py")
END = "\n-- the end of a command --\n"


@dataclass(frozen=True)
class Visit:
    """What somebody does in a project.

    Attributes:
        project: Its folder.
        commands: The arguments of each command; what follows `complete` is the line that a shell would complete.
        is_on_path: Whether Python looks for modules in the project, and beside it.
    """

    project: Path
    commands: Sequence[Sequence[str]]
    is_on_path: bool = False

    @property
    def path(self) -> list[str]:
        """Where Python looks for modules before it looks elsewhere."""
        return [str(self.project), str(self.project.parent)] if self.is_on_path else []


@dataclass(frozen=True)
class Outcome:
    """What came of a command.

    Attributes:
        project: Where it was run.
        command: Its arguments.
        code: Its exit code; None where it raised its own.
        stdout: What it printed.
        stderr: The same on standard error.
        did: What happened outside of the project, and which of its code ran.
        variables: The environment variables that were read.
        seconds: Processor time that it took.
    """

    project: Path
    command: Sequence[str]
    code: int | None
    stdout: str
    stderr: str
    did: Sequence[str]
    variables: Sequence[str]
    seconds: float


@dataclass(frozen=True)
class Machine:
    """A machine with secrets on it.

    Attributes:
        folder: Holds the person's home, other files of theirs, and the projects.
    """

    folder: Path

    @property
    def state(self) -> Path:
        """Where the person's own records are."""
        return self.folder / "state"

    def project(self, name: str, files: Mapping[str, str]) -> Path:
        """Clones a project, a repository of its own; in their texts, `{project}` and `{around}` stand for its
        folder and the one around it."""
        project = self.folder / name
        (project / ".git").mkdir(parents=True)
        for path, text in files.items():
            file = project / path
            file.parent.mkdir(parents=True, exist_ok=True)
            filled = text.replace("{project}", str(project)).replace("{around}", str(self.folder))
            file.write_text(filled, "utf-8")
        return project

    @property
    def environment(self) -> dict[str, str]:
        """All variables of the person."""
        return {
            **VARIABLES,
            "HOME": str(self.folder / "home"),
            "LANG": "C.UTF-8",
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(PACKAGE),
            "TMPDIR": str(self.folder / "tmp"),
            "XDG_STATE_HOME": str(self.state),
        }

    def watch(self, *visits: Visit) -> list[Outcome]:
        """Runs the commands of visits in one process, one after the other, with nobody there to be asked."""
        asked, report = self.folder / "tmp" / "asked.json", self.folder / "tmp" / "report.json"
        free = [sys.prefix, sys.base_prefix, PACKAGE, self.folder / "tmp", self.state, "/dev", "/proc/self"]
        what: dict[str, Any] = {
            "visits": [{"project": str(each.project), "commands": each.commands, "path": each.path} for each in visits],
            "free": [*map(str, free)],
            "end": END,
            "report": str(report),
        }
        asked.write_text(json.dumps(what), "utf-8")
        done = subprocess.run(
            # As a file: Python looks for modules in its folder, not in the working folder, as it does for `assemble`.
            [sys.executable, str(PROGRAM), str(asked)],
            cwd=visits[0].project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            capture_output=True,
            encoding="utf-8",
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        told = json.loads(report.read_text("utf-8"))
        outputs = zip(done.stdout.split(END), done.stderr.split(END), strict=True)
        ran = ((visit.project, command) for visit in visits for command in visit.commands)
        return [
            Outcome(project, command, stdout=stdout, stderr=stderr, **outcome)
            for (project, command), outcome, (stdout, stderr) in zip(ran, told, outputs, strict=False)
        ]

    def content(self) -> dict[str, tuple[int, ...]]:
        """What lies on it, but for temporary files and the person's records."""
        ours = (self.folder / "tmp", self.state)
        paths = [path for path in self.folder.rglob("*") if not any(path.is_relative_to(folder) for folder in ours)]
        status = {str(path): path.lstat() for path in paths}
        return {path: (each.st_ino, each.st_mode, each.st_size, each.st_mtime_ns) for path, each in status.items()}


def machine(folder: Path) -> Machine:
    """A machine without projects.

    Args:
        folder: A new folder for all of it.
    """
    made = Machine(folder.resolve())
    for name in ("state", "tmp"):
        (made.folder / name).mkdir(parents=True)
    for name, text in PRIVATE.items():
        file = made.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return made
