"""A skill's folder that was left alone for a while, and then changes."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from assembler.skills.tree import Place, read_tree
from assembler.skills.watch import Watch


def _edit(skill: Path) -> None:
    (skill / "references/table.csv").write_text("c,d\n")


def _retarget(skill: Path) -> None:
    (skill.parent / "current").unlink()
    (skill.parent / "current").symlink_to("new")


def _swap(skill: Path) -> None:
    """Another file under the name of the first, with the times of folder and file as they were."""
    folder, file = skill / "references", skill / "references/table.csv"
    times = [(path, path.stat().st_atime_ns, path.stat().st_mtime_ns) for path in (file, folder)]
    (skill.parent / "other.csv").write_text("longer than it was\n")
    (skill.parent / "other.csv").replace(file)
    for path, read, written in times:
        os.utime(path, ns=(read, written))


def _extract(skill: Path) -> None:
    """A new file, where the folder's time of writing is set back, as archives and copies do."""
    status = (skill / "references").stat()
    (skill / "references/new.md").write_text("new")
    os.utime(skill / "references", ns=(status.st_atime_ns, status.st_mtime_ns))


CHANGES: dict[str, tuple[Callable[[Path], object], bool]] = {
    "nothing": (lambda skill: None, False),
    "a file that is no part of it": (lambda skill: (skill / ".hidden").write_text("x"), False),
    "an edited file": (_edit, True),
    "another file of the same time": (_swap, True),
    "a new file at the top": (lambda skill: (skill / "new.md").write_text("new"), True),
    "a new file below": (lambda skill: (skill / "references/new.md").write_text("new"), True),
    "a new file that hides its time": (_extract, True),
    "a new file in an empty folder": (lambda skill: (skill / "empty/new.md").write_text("new"), True),
    "a file that is gone": (lambda skill: (skill / "references/table.csv").unlink(), True),
    "a file with another name": (lambda skill: (skill / "SKILL.md").rename(skill / "skill.md"), True),
    "a link whose target changes on the way": (_retarget, True),
    "a refused link that leads somewhere now": (lambda skill: (skill.parent / "later.md").write_text("x"), True),
    "no folder": (shutil.rmtree, True),
}


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Watch]]:
    """A skill for each change, all of them seen a while after they were written."""
    places: dict[str, Place] = {}
    for number, change in enumerate(CHANGES):
        skill = tmp_path_factory.mktemp(f"root-{number}") / "demo"
        for name in ("references/table.csv", "SKILL.md", "../old/linked.md", "../new/linked.md"):
            (skill / name).parent.mkdir(parents=True, exist_ok=True)
            (skill / name).write_text(f"a,b {len(name)}\n" if "new" not in name else "another text\n")
        (skill / "empty").mkdir()
        if "link" in change:
            (skill.parent / "current").symlink_to("old")
            target = "later.md" if "refused" in change else "current/linked.md"
            (skill / "linked.md").symlink_to(f"../{target}")
        places[change] = Place(str(skill), str(skill.parent), "demo")
    watches = {change: Watch(place, read_tree(place, keep=False).stamps) for change, place in places.items()}
    time.sleep(2.1)
    assert not any(watch.differs() for watch in watches.values())
    return {change: (Path(places[change].folder), watch) for change, watch in watches.items()}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_is_seen(watched: dict[str, tuple[Path, Watch]], change: str) -> None:
    skill, watch = watched[change]
    make, differs = CHANGES[change]
    assert watch.differs() is False
    make(skill)
    assert watch.differs() is differs
    assert watch.differs() is differs
