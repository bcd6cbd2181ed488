"""A skill's folder as it was at one moment: what is read and run is what was hashed."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from assembler.digests import digest_json
from assembler.errors import AssemblerError, Diagnostic, Where, problem
from assembler.folders import discard_tree
from assembler.scope import Scope
from assembler.skills.tree import SKILL_FILE, Place, Stamp, Tree, read_tree, stamp_of
from assembler.skills.watch import Watch


class SkillFolder:
    """Reads a skill's folder at most twice: for its digest, and when something of it is used first.

    The first reading keeps digests alone, so that skills which nobody loads take no memory. The second one keeps the
    bytes, and has to find what the first one found. From then on the disk is not looked at again.

    Args:
        place: Where it lies.
        where: Its SKILL.md.
        digest: Digest of the SKILL.md that was listed.
        stamp: Stamp of the SKILL.md that was listed.
    """

    def __init__(self, place: Place, where: Where, digest: str, stamp: Stamp) -> None:
        self._place, self._where, self._listed, self._listed_stamp = place, where, digest, stamp
        self._reading = threading.Lock()
        self._tree: Tree | None = None
        self._watch: Watch | None = None
        self._digest: str | None = None
        self._files: Mapping[str, bytes] | None = None
        self._failed = False

    @property
    def findings(self) -> Sequence[Diagnostic]:
        """What was left out of it and why; empty until it was read."""
        return () if self._tree is None else self._tree.findings

    async def digests(self) -> Mapping[str, str]:
        """The digest of each file, by its path from the root, sorted.

        Raises:
            AssemblerError: The folder cannot be read, is too large, or its SKILL.md is not the one that was listed
                (``skills/changed``).
        """
        tree = self._tree
        return (tree or await asyncio.to_thread(self._read_digests)).digests

    async def digest(self) -> str:
        """Digest of all files, as ``digests.digest_tree`` has it.

        Raises:
            AssemblerError: As ``digests``.
        """
        if self._digest is None:
            self._digest = digest_json(dict(await self.digests()))
        return self._digest

    async def files(self) -> Mapping[str, bytes]:
        """The bytes that were hashed, by path.

        Raises:
            AssemblerError: As ``digests``; ``skills/changed`` also if anything is not what was hashed.
        """
        files = self._files
        return await asyncio.to_thread(self._read_files) if files is None else files

    def changed(self) -> bool:
        """Whether what was read differs from what lies there now, judged by names, sizes and times of change.

        What could not be read counts as changed, so that it is looked for again. Blocks.
        """
        watch = self._watch
        if self._failed:
            return True
        if watch is not None:
            return watch.differs()
        try:
            return stamp_of(os.stat(f"{self._place.folder}/{SKILL_FILE}")) != self._listed_stamp  # noqa: PTH116  (texts, for speed)
        except OSError:
            return True

    async def copy(self, scope: Scope) -> Path:
        """A folder with the hashed files, made once for each scope; files have mode 0444, folders 0755.

        Systems remove temporary files that nobody has touched for some days; a copy that lost any is made anew.

        Raises:
            AssemblerError: As ``files``, or it cannot be written (``skills/no-copy``), or the scope was left
                (``agent/not-open``).
        """
        files = await self.files()
        digest = await self.digest()
        copies = _COPIES.setdefault(scope, {})
        old = copies.get(digest)
        if old is not None and not await _to_its_end(old.is_whole, files) and copies.get(digest) is old:
            del copies[digest]
        try:
            copy = copies.get(digest)
            if copy is None:
                copy = copies[digest] = _Copy(scope.folder("skill"))
                scope.callback(copies.pop, digest, None)
            await _to_its_end(copy.write, files)
        except OSError as error:
            message = f"the skill cannot be copied to a private folder: {error.strerror}"
            hint = "free some space for temporary files"
            raise problem("skills/no-copy", message, where=self._where, hint=hint) from error
        return copy.path

    def _read_digests(self) -> Tree:
        with self._reading:
            return self._tree or self._read(keep=False)

    def _read_files(self) -> Mapping[str, bytes]:
        with self._reading:
            if self._files is None:
                tree = self._read(keep=True)
                if self._tree is not None and tree.digests != self._tree.digests:
                    raise self._changed()
                self._files = tree.files
            return self._files

    def _read(self, *, keep: bool) -> Tree:
        self._failed = True
        tree = read_tree(self._place, keep=keep)
        if tree.digests.get(SKILL_FILE) != self._listed:
            raise self._changed()
        self._failed = False
        if self._tree is None:
            self._tree, self._watch = tree, Watch(self._place, tree.stamps)
        return tree

    def _changed(self) -> AssemblerError:
        message = "the skill has changed since it was listed"
        return problem("skills/changed", message, where=self._where, hint="the next run uses it as it is now")


class _Copy:
    """Files on their way to a folder, which exists once they are all there.

    Args:
        private: The folder above it, which nobody else may enter.
    """

    def __init__(self, private: Path) -> None:
        self.path = private / "skill"
        self._private = private
        self._writing = threading.Lock()
        self._written = False

    def is_whole(self, files: Mapping[str, bytes]) -> bool:
        """Whether all files are still there, once they were written; before, nothing can be missing."""
        with self._writing:
            if not self._written:
                return True
            try:
                # Where the folder was removed, somebody else may have made one of the same name.
                if self._private.lstat().st_uid != os.geteuid():
                    return False
                return all((self.path / path).is_file() for path in files)
            except OSError:
                return False

    def write(self, files: Mapping[str, bytes]) -> None:
        with self._writing:
            if self._written:
                return
            self.path.mkdir()
            try:
                self._write(files)
            except BaseException:
                discard_tree(self.path)
                raise
            self._written = True

    def _write(self, files: Mapping[str, bytes]) -> None:
        folders = {self.path}
        for path, data in files.items():
            target = self.path / path
            target.parent.mkdir(parents=True, exist_ok=True)
            folders.update(folder for folder in target.parents if folder.is_relative_to(self.path))
            target.write_bytes(data)
            target.chmod(0o444)
        for folder in folders:
            folder.chmod(0o755)  # whatever the umask is: the script may run as another user


_COPIES: WeakKeyDictionary[Scope, dict[str, _Copy]] = WeakKeyDictionary()

P = ParamSpec("P")
R = TypeVar("R")


async def _to_its_end(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Runs a function in a thread; a cancelled caller waits for its end, since no thread can be stopped."""
    work = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.gather(work, return_exceptions=True)
        raise
