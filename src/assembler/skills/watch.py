"""Whether a skill's files are still those that were read, found out as cheaply as the system allows."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from assembler.errors import AssemblerError
from assembler.skills.tree import Place, Stamp, stamp_of, with_status

_SETTLED = 2 * 10**9
"""Nanoseconds after which a change of a folder cannot share its time with an earlier one, whatever the file system."""


class Watch:
    """Compares the files of a skill with what they were when they were read.

    Going through the folders takes most of the time, and is left out while none of them has changed: whatever is
    added, removed or renamed changes the folder that holds it. That is not relied on where a folder changed a moment
    before it was gone through, nor where links are involved, which may lead elsewhere without any change here.

    Args:
        place: Where the skill lies.
        stamps: Stamps of its files as they were read, by path.
    """

    def __init__(self, place: Place, stamps: Mapping[str, Stamp]) -> None:
        self._place, self._stamps = place, stamps
        self._folders: Mapping[str, int] = {}
        """The folders, each with the time of its last change; empty if they have to be gone through."""

    def differs(self) -> bool:
        """Whether anything is different now; something that cannot be read is."""
        try:
            folders = self._folders
            if folders and all(_changed_at(folder) == at for folder, at in folders.items()):
                top = self._place.folder
                return any(stamp_of(os.lstat(f"{top}/{path}")) != stamp for path, stamp in self._stamps.items())
            return self._gone_through()
        except (AssemblerError, OSError):
            return True

    def _gone_through(self) -> bool:
        now = time.time_ns()
        folders: dict[str, int] = {}
        told: list[str] = []
        self._folders = {}

        def tell(code: str, path: str, message: str, hint: str) -> None:
            told.append(code)

        def enter(folder: str) -> None:
            folders[folder] = _changed_at(folder)

        seen = with_status(self._place, tell, enter)
        if {path: stamp_of(status) for (path, _), status in seen} != self._stamps:
            return True
        top = self._place.folder
        places = {f"{top}/{path}": real for (path, real), _ in seen} | {folder: folder for folder in folders}
        has_links = any(real != place or not f"{place}/".startswith(f"{top}/") for place, real in places.items())
        if not told and not has_links and max(folders.values()) + _SETTLED < now:
            self._folders = folders
        return False


def _changed_at(folder: str) -> int:
    """When a folder last changed; unlike the time of its content, nobody can set it."""
    return os.stat(folder).st_ctime_ns  # noqa: PTH116 - texts, for speed
