"""Finding skills in folders, by the layouts and accidents that real skill sets showed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError
from tests.skills.support import Listed, Write, list_of, named_pipe, skill_md

from assembler.skills.names import is_name
from assembler.skills.sources.base import SkillSource
from assembler.skills.sources.files import FilesSource

Find = Callable[..., Listed]


@pytest.mark.parametrize("path", ["plugins/acme/skills/demo", "plugins/acme/skills", "plugins", "."])
def test_a_path_may_be_a_skill_a_folder_of_skills_or_a_repository(write: Write, find: Find, path: str) -> None:
    write({"plugins/acme/skills/demo/SKILL.md": skill_md("demo")})
    found = find(path)
    assert (found.names, found.places) == (["demo"], ["plugins/acme/skills/demo/SKILL.md"])
    assert found.diagnostics == []


def test_a_path_may_be_absolute_or_of_the_home_folder(
    write: Write, find: Find, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write({"project/x": "", "home/skills/demo/SKILL.md": skill_md("demo")})
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for path in ("~/skills", tmp_path / "home/skills"):
        source = FilesSource(paths=(Path(path),))
        found = asyncio.run(list_of(source, tmp_path / "project"))
        assert found.places == [str(tmp_path / "home/skills/demo/SKILL.md")]


def test_a_path_may_be_a_link(write: Write, find: Find, tmp_path: Path) -> None:
    write({"elsewhere/demo/SKILL.md": skill_md("demo")})
    (tmp_path / "skills").symlink_to(tmp_path / "elsewhere")
    found = find("skills")
    assert (found.names, found.places, found.codes) == (["demo"], ["skills/demo/SKILL.md"], [])


def test_skills_come_sorted_by_path_whatever_the_order_on_disk(write: Write, find: Find) -> None:
    folders = ["b/two", "a-b", "a/z", "b/one", "a/y", "c"]
    write({f"{folder}/SKILL.md": skill_md(Path(folder).name) for folder in folders})
    found = find()
    assert found.names == ["y", "z", "a-b", "one", "two", "c"]
    assert find().places == found.places


def test_paths_keep_their_order_and_a_skill_in_two_of_them_comes_once(write: Write, find: Find) -> None:
    write({f"{folder}/SKILL.md": skill_md(Path(folder).name) for folder in ("a/one", "b/two", "b/three")})
    found = find("b", "a", ".", "a/one")
    assert (found.names, found.codes) == (["three", "two", "one"], [])


def test_what_lies_inside_a_skill_is_the_skill_s(write: Write, find: Find) -> None:
    write({"outer/SKILL.md": skill_md("outer"), "outer/outer/SKILL.md": skill_md("outer")})
    found = find()
    assert found.names == ["outer"]
    resources = asyncio.run(found.skills[0].resources())
    assert [resource.name for resource in resources] == ["outer/SKILL.md"]


def test_the_depth_counts_folders_below_the_path(write: Write, find: Find) -> None:
    write({"1/2/3/4/5/6/SKILL.md": skill_md("6"), "1/2/3/4/5/x/7/SKILL.md": skill_md("7")})
    assert find().names == ["6"]
    assert find(depth=7).names == ["6", "7"]
    assert find("1/2/3/4/5/6", depth=0).names == ["6"]


def test_one_bad_skill_never_stops_the_others(write: Write, find: Find) -> None:
    write(
        {
            "good/SKILL.md": skill_md("good"),
            "latin/SKILL.md": b"---\nname: latin\ndescription: caf\xe9\n---\n",
            "broken/SKILL.md": "---\n{name: broken\n---\n",
            "silent/SKILL.md": "---\nname: silent\n---\n",
            "bare/SKILL.md": "# Bare\n",
            "also-good/SKILL.md": skill_md("also-good"),
        }
    )
    found = find()
    assert found.names == ["also-good", "good"]
    assert [(str(told.where), told.code, told.severity) for told in found.diagnostics] == [
        ("bare/SKILL.md:1:1", "skills/no-frontmatter", "error"),
        ("broken/SKILL.md:3:1", "skills/bad-frontmatter", "error"),
        ("latin/SKILL.md:3:17", "skills/not-utf8", "error"),
        ("silent/SKILL.md:1:1", "skills/no-description", "error"),
    ]


def test_strict_mode_skips_what_breaks_the_specification(write: Write, find: Find) -> None:
    write({"good/SKILL.md": skill_md("good"), "folder/SKILL.md": skill_md("other")})
    assert find().names == ["other", "good"]
    strict = find(mode="strict")
    assert strict.names == ["good"]
    assert [(told.code, told.severity) for told in strict.diagnostics] == [("skills/name-differs", "error")]


@pytest.mark.parametrize("name", ["skill.md", "Skill.md", "SKILL.MD"])
def test_a_file_name_in_the_wrong_case_is_told(write: Write, find: Find, name: str) -> None:
    write({f"demo/{name}": skill_md("demo"), "good/SKILL.md": skill_md("good"), "good/skill.md": "a resource"})
    found = find()
    assert found.names == ["good"]
    assert [(told.code, str(told.where)) for told in found.diagnostics] == [("skills/wrong-case", f"demo/{name}")]


def test_a_path_that_is_not_there_does_not_stop_the_others(write: Write, find: Find) -> None:
    write({"skills/demo/SKILL.md": skill_md("demo"), "file": ""})
    found = find("skils", "file", "skills")
    assert found.names == ["demo"]
    assert [(told.code, told.severity, str(told.where)) for told in found.diagnostics] == [
        ("skills/no-such-folder", "error", "skils"),
        ("skills/no-such-folder", "error", "file"),
    ]


def test_a_path_without_skills_is_told_and_what_was_passed_over(write: Write, find: Find) -> None:
    write({"repository/.claude/skills/demo/SKILL.md": skill_md("demo"), "repository/.git/config": ""})
    found = find("repository")
    assert [(told.code, told.severity) for told in found.diagnostics] == [("skills/none-found", "warning")]
    assert ".claude" in found.diagnostics[0].hint
    assert find("repository/.claude").names == ["demo"]


@pytest.mark.parametrize("folder", [".git", ".hidden", "node_modules", "__pycache__", "Node_Modules", "venv"])
def test_folders_of_tools_are_not_searched(write: Write, find: Find, folder: str) -> None:
    write({f"{folder}/demo/SKILL.md": skill_md("demo"), "good/SKILL.md": skill_md("good")})
    assert find().names == ["good"]


def test_a_folder_named_as_the_file_is_an_ordinary_folder(write: Write, find: Find) -> None:
    write({"SKILL.md/demo/SKILL.md": skill_md("demo")})
    assert find().names == ["demo"]


def test_a_named_pipe_is_told_and_waits_for_nobody(write: Write, find: Find, tmp_path: Path) -> None:
    write({"good/SKILL.md": skill_md("good"), "pipe/x": ""})
    with named_pipe(tmp_path / "pipe" / "SKILL.md"):
        found = find()
    assert (found.names, found.codes) == (["good"], ["skills/unreadable"])


def test_a_file_that_is_too_long_is_told(write: Write, find: Find) -> None:
    write({"good/SKILL.md": skill_md("good"), "long/SKILL.md": skill_md("long", body="x" * 1024**2)})
    found = find()
    assert (found.names, found.codes) == (["good"], ["skills/too-large"])


class TestLinks:
    def test_a_link_to_a_skill_inside_the_path_adds_nothing(self, write: Write, find: Find, tmp_path: Path) -> None:
        write({"real/SKILL.md": skill_md("real")})
        (tmp_path / "alias").symlink_to("real")
        found = find()
        assert (found.names, found.places, found.codes) == (["real"], ["real/SKILL.md"], [])

    def test_a_link_that_leads_out_is_told(self, write: Write, find: Find, tmp_path: Path) -> None:
        write({"outside/demo/SKILL.md": skill_md("demo"), "skills/good/SKILL.md": skill_md("good")})
        (tmp_path / "skills" / "demo").symlink_to("../outside/demo")
        found = find("skills")
        assert (found.names, found.codes) == (["good"], ["skills/link-refused"])
        assert str(tmp_path / "outside" / "demo") in found.diagnostics[0].message

    def test_a_name_that_only_begins_like_the_path_is_outside(self, write: Write, find: Find, tmp_path: Path) -> None:
        write({"skills-private/demo/SKILL.md": skill_md("demo"), "skills/good/SKILL.md": skill_md("good")})
        (tmp_path / "skills" / "demo").symlink_to("../skills-private/demo")
        assert find("skills").codes == ["skills/link-refused"]

    def test_a_link_to_what_is_hidden_is_told(self, write: Write, find: Find, tmp_path: Path) -> None:
        write({".agents/demo/SKILL.md": skill_md("demo"), "good/SKILL.md": skill_md("good")})
        (tmp_path / "demo").symlink_to(".agents/demo")
        found = find()
        assert (found.names, found.codes) == (["good"], ["skills/link-refused"])

    def test_loops_end(self, write: Write, find: Find, tmp_path: Path) -> None:
        write({"a/one/SKILL.md": skill_md("one"), "b/two/SKILL.md": skill_md("two")})
        for link, target in (("a/loop", "../b"), ("b/loop", "../a"), ("b/up", "."), ("itself", "itself")):
            (tmp_path / link).symlink_to(target)
        found = find()
        assert found.names == ["one", "two"]
        assert [(told.code, str(told.where)) for told in found.diagnostics] == [
            ("skills/link-loop", "b/up"),
            ("skills/link-refused", "itself"),
        ]

    @pytest.mark.parametrize("target", ["/etc/passwd", "../../secret.md", "missing.md", ".env", "SKILL.md"])
    def test_a_skill_file_may_not_lead_out(self, write: Write, find: Find, tmp_path: Path, target: str) -> None:
        write({"secret.md": skill_md("secret"), "skills/demo/.env": skill_md("env")})
        (tmp_path / "skills/demo/SKILL.md").symlink_to(target)
        found = find("skills")
        assert (found.names, [(told.code, told.severity) for told in found.diagnostics]) == (
            [],
            [("skills/unreadable", "error")],
        )

    def test_a_skill_file_may_be_a_link_inside_the_path(self, write: Write, find: Find, tmp_path: Path) -> None:
        write({"shared/demo.md": skill_md("demo"), "demo/x": ""})
        (tmp_path / "demo/SKILL.md").symlink_to("../shared/demo.md")
        found = find()
        assert (found.names, found.codes) == (["demo"], [])
        assert asyncio.run(found.skills[0].content()) == "Do it."

    def test_a_hard_link_to_a_file_elsewhere_is_not_read(self, write: Write, find: Find, tmp_path: Path) -> None:
        write({"secret.md": skill_md("demo"), "skills/demo/x": ""})
        (tmp_path / "skills/demo/SKILL.md").hardlink_to(tmp_path / "secret.md")
        assert (find("skills").names, find("skills").codes) == ([], ["skills/hard-link"])
        allowed = find("skills", hard_links="allow")
        assert (allowed.names, allowed.codes) == (["demo"], [])


@pytest.mark.parametrize(
    ("files", "resources", "scripts"),
    [
        ([], False, False),
        (["README.md"], True, False),
        (["references/deep/er/x.md"], True, False),
        (["scripts/x.py"], False, True),
        (["scripts/sub/x.SH"], False, True),
        (["scripts/x.py", "scripts/data.json"], True, True),
        (["x.py"], True, False),
        (["assets/x.py", "scripts/x.mjs"], True, True),
        ([".env", "server.key", "node_modules/x/y.js", ".github/x.md", "scripts/.x.py", "id_rsa"], False, False),
    ],
)
def test_listing_knows_what_a_skill_has(
    write: Write, find: Find, files: list[str], resources: bool, scripts: bool
) -> None:
    write({"demo/SKILL.md": skill_md("demo"), **{f"demo/{file}": "" for file in files}})
    (skill,) = find().skills
    assert (skill.has_resources, skill.has_scripts) == (resources, scripts)
    assert bool(asyncio.run(skill.resources())) is resources
    assert bool(asyncio.run(skill.scripts())) is scripts


def test_every_advertised_name_can_be_loaded(write: Write, find: Find) -> None:
    names = ["Managing SSL/TLS", "chat-sdk", "my_skill", "élan", "a" * 70, "../../up", "数据 分析", "123"]
    write({f"folder-{number}/SKILL.md": skill_md(f'"{name}"') for number, name in enumerate(names)})
    found = find()
    assert len(found.skills) == len(names)
    assert all(is_name(name) for name in found.names)
    assert len(set(found.names)) == len(names)
    assert all(told.severity == "warning" for told in found.diagnostics)


def test_file_names_in_other_encodings_can_be_told(write: Write, find: Find, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    (folder / "SKILL.md").write_text(skill_md("coffee"))
    found = find()
    assert found.names == ["coffee"]
    assert [told.code for told in found.diagnostics] == ["skills/name-differs"]
    for told in found.diagnostics:
        str(told).encode("utf-8")


def test_files_are_read_in_utf8_whatever_the_locale(
    write: Write, run_python: Callable[[str], str], tmp_path: Path
) -> None:
    write({"demo/SKILL.md": skill_md("demo", "Grüße → ✓")})
    program = f"""
import asyncio, locale
from pathlib import Path
from assembler.skills.sources.files import FilesSource
from assembler.skills.skill import SourceContext
locale.setlocale(locale.LC_ALL, "C")
skills = asyncio.run(FilesSource(paths=({str(tmp_path)!r},)).list_skills(SourceContext()))
print(ascii(skills[0].description))
"""
    assert run_python(program) == ascii("Grüße → ✓")


def test_listing_does_not_hold_up_the_event_loop(write: Write, tmp_path: Path) -> None:
    write({f"skill-{number}/SKILL.md": skill_md(f"skill-{number}") for number in range(50)})

    async def main() -> None:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0)
                ticks += 1

        ticking = asyncio.create_task(tick())
        await list_of(FilesSource(paths=(tmp_path,)))
        ticking.cancel()
        assert ticks > 10

    asyncio.run(main())


def test_it_is_a_component() -> None:
    source = SkillSource.of_kind("files").model_validate({"paths": ["skills"], "order": 2})
    assert source == FilesSource(paths=(Path("skills"),), order=2)
    assert source.model_dump(mode="json")["kind"] == "files"
    for bad in ({"paths": []}, {}, {"paths": ["x"], "depth": -1}, {"paths": ["x"], "mode": "loose"}):
        with pytest.raises(ValidationError):
            FilesSource.model_validate(bad)
