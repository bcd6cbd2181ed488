"""What a person agreed to: kept in their own state folder, one file a project, out of any project's reach."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from assembler.errors import AssemblerError, problem
from assembler.folders import state_file
from assembler.values import JSON

VERSION = 1
MAX_KEPT = 100
"""Most agreements of one project; the oldest goes first."""

Record = dict[str, JSON]
"""A power, with everything that consent to it is bound to."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """A set of powers that somebody looked at together.

    Attributes:
        powers: The powers.
        at: When, in ISO 8601.
    """

    powers: Sequence[Record]
    at: str


class Agreements:
    """The agreements about one project.

    Args:
        project: The project's folder; it is told apart by its path with all links followed.
    """

    def __init__(self, project: Path) -> None:
        self._project = Path(os.path.realpath(project))
        self._file = state_file(project, "trust", ".json")

    def read(self) -> list[Agreement]:
        """The agreements, the oldest first.

        Raises:
            AssemblerError: The file is not one that only its owner can have written, or cannot be read
                (``trust/bad-record``).
        """
        if not self._file.is_absolute():
            return []  # nobody who has no home can have agreed to anything
        try:
            # Without waiting: it may be a pipe.
            descriptor = os.open(self._file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._bad(error.strerror or "it cannot be opened") from error
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise self._bad("it is not a file")
            if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o022:
                raise self._bad("others can write to it")
            with os.fdopen(descriptor, "rb", closefd=False) as opened:
                data = opened.read()
        finally:
            os.close(descriptor)
        try:
            return self._parsed(json.loads(data))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise self._bad("it is not what was written") from error

    def add(self, powers: Sequence[Record]) -> None:
        """Remembers that somebody agreed to a set of powers.

        Raises:
            AssemblerError: It cannot be written (``trust/not-kept``).
        """
        agreement = Agreement(powers, datetime.now(UTC).isoformat(timespec="seconds"))
        with self._changing():
            kept = [known for known in self.read() if list(known.powers) != list(powers)]
            self._write([*kept, agreement][-MAX_KEPT:])

    def revoke(self) -> int:
        """Forgets everything; how many agreements there were.

        Raises:
            AssemblerError: It cannot be removed (``trust/not-kept``).
        """
        with self._changing():
            try:
                count = len(self.read())
            except AssemblerError:
                count = 1  # whatever it was, it counts for nothing from now on
            self._file.unlink(missing_ok=True)
        return count

    def _parsed(self, found: Any) -> list[Agreement]:
        if found["version"] != VERSION or found["project"] != str(self._project):
            raise ValueError
        agreements = cast("list[dict[str, Any]]", found["agreements"])
        return [Agreement([dict(power) for power in each["powers"]], str(each["at"])) for each in agreements]

    def _write(self, agreements: Sequence[Agreement]) -> None:
        content = {
            "version": VERSION,
            "project": str(self._project),
            "agreements": [{"at": each.at, "powers": list(each.powers)} for each in agreements],
        }
        # Written whole beside it, then renamed: whoever reads it meanwhile, or is left after a crash, sees one or the
        # other. Temporary files are readable by their owner alone.
        descriptor, name = tempfile.mkstemp(dir=self._file.parent, prefix=".", suffix=".json")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
                json.dump(content, opened, indent=1)
            Path(name).replace(self._file)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    @contextmanager
    def _changing(self) -> Generator[None]:
        """Holds off other processes that change the same."""
        if not self._file.is_absolute():
            hint = "set HOME, or XDG_STATE_HOME"
            raise problem("trust/not-kept", "there is no home folder to keep in what was agreed to", hint=hint)
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with (self._file.parent / ".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
        except OSError as error:
            message = f"`{self._file}` cannot be changed: {error.strerror}"
            hint = "set XDG_STATE_HOME to a folder that you can write"
            raise problem("trust/not-kept", message, hint=hint) from error

    def _bad(self, why: str) -> AssemblerError:
        message = f"what was agreed to is not looked at: `{self._file}`: {why}"
        return problem("trust/bad-record", message, hint="`assemble trust --revoke` removes it")
