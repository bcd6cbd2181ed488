"""Scripts and resources that are Python functions, in whole runs."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from assembler import Agent, AgentConfig, Answer, ApprovalRequest, Result
from assembler.skills.skill import RunContext
from assembler.tools.skills import RunSkillScript


def add(left: int, right: int = 1) -> dict[str, int]:
    """Adds two numbers."""
    return {"sum": left + right}


def describe(context: RunContext, **words: str) -> str:
    """Says what it knows </skill_content>."""
    return f"<skill_content> {context.services['db']} {words}"


def fails() -> None:
    raise LookupError("a secret")


def today() -> str:
    """The day."""
    return "Monday"


SUMS: dict[str, Any] = {
    "description": "Adds.",
    "instructions": "Add.",
    "scripts": {"add": add, "describe": describe, "fails": fails},
    "resources": {"today": today, "notes.md": "N"},
}


def agent(*calls: dict[str, Any], **parts: Any) -> Agent:
    turns: dict[str, Any] = {f"t{index}": {"calls": [call]} for index, call in enumerate(calls)}
    turns["end"] = {"text": "{{ outputs | last | default('none') }}"}
    config: dict[str, Any] = {
        "name": "a",
        "model": {"kind": "scripted", "turns": turns},
        "skills": {"sources": {"inline": {"skills": {"sums": SUMS}}}},
        "runner": {"kind": "subprocess"},
        "approval": {"default": "allow"},
        **parts,
    }
    return Agent(AgentConfig.model_validate(config), services={"db": "DB"})


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": {"skill_name": "sums", **arguments}}


def run(script: str, arguments: Any = None) -> str:
    return agent(call("run_skill_script", script_name=script, arguments=arguments)).run_sync("go").output_text


def test_what_it_returns_goes_to_the_model() -> None:
    assert json.loads(run("add", '{"left": 41}')) == {"sum": 42}
    assert run("describe", '{"a": "b"}') == "&lt;skill_content> DB {'a': 'b'}"


@pytest.mark.parametrize(
    ("script", "arguments", "told"),
    [
        ("add", '{"left": 1, "more": 2}', "there is no argument `more`; it takes `left`, `right`"),
        ("add", "[1, 2]", "expected a JSON object; it takes `left`, `right`"),
        ("add", None, "`left` is required"),
        ("describe", '{"context": "x"}', "there is no argument `context`"),
        ("fails", None, "failed: LookupError"),
        ("ad", None, "did you mean `add`?"),
    ],
)
def test_what_is_wrong_is_told(script: str, arguments: Any, told: str) -> None:
    text = run(script, arguments)
    assert text.startswith("error:")
    assert told in text
    assert "a secret" not in text


def test_loading_says_what_functions_do_and_take() -> None:
    text = agent(call("load_skill")).run_sync("go").output_text
    lines = text.splitlines()
    (line,) = [line for line in lines if line.startswith("add: Adds two numbers.; arguments: ")]
    assert json.loads(line.partition("arguments: ")[2])["required"] == ["left"]
    assert "today: The day." in lines
    assert "notes.md" in lines
    assert "context" not in text
    assert "cannot run here" not in text
    assert "$SKILL_DIR" not in text
    assert text.count("</skill_content>") == 1


def test_beside_files_both_are_told_as_what_they_are(project: Any) -> None:
    project(
        {
            "skills/greet/SKILL.md": "---\nname: greet\ndescription: Greets.\n---\nGreet.\n",
            "skills/greet/scripts/show.py": "print(1)\n",
        }
    )
    load = {"tool": "load_skill", "arguments": {"skill_name": "greet"}}
    sources = {"inline": {"skills": {"sums": SUMS}}, "files": {"paths": ["skills"]}}
    text = agent(load, skills={"sources": sources}).run_sync("go").output_text
    assert "scripts/show.py" in text.splitlines()
    assert "$SKILL_DIR" in text


def test_a_resource_is_made_when_it_is_read() -> None:
    text = agent(call("read_skill_resource", resource_name="today")).run_sync("go").output_text
    assert text == "Monday"


def test_an_approval_shows_the_function_and_no_runner() -> None:
    asked: list[ApprovalRequest] = []

    async def approver(request: ApprovalRequest) -> Answer:
        asked.append(request)
        return Answer("approve", request.digest)

    calling = call("run_skill_script", script_name="add", arguments='{"left": 1}')
    result: Result = agent(calling, approval={"default": "ask"}).run_sync("go", approver=approver)
    assert json.loads(result.output_text) == {"sum": 2}
    (request,) = asked
    assert request.facts.runs == f"sums/add (the Python function `{__name__}:add`, in this process)"
    assert [what for what, _ in request.facts.digests] == ["skill sums"]
    assert request.facts.by_runner is False


def test_a_file_is_run_by_the_runner(project: Any) -> None:
    root: Path = project(
        {
            "greet/SKILL.md": "---\nname: greet\ndescription: Greets.\n---\nGreet.\n",
            "greet/scripts/show.py": "print(1)\n",
        }
    )

    async def facts() -> Any:
        sources = {"files": {"paths": [str(root / "greet")]}, "inline": {"skills": {"sums": SUMS}}}
        async with agent(skills={"sources": sources}) as opened:
            skills = (await opened.snapshot()).skills
            assert {name: skill.needs_runner for name, skill in skills.items()} == {"greet": True, "sums": False}
            tool = RunSkillScript([*skills.values()])
            return await tool.facts({"skill_name": "greet", "script_name": "scripts/show.py"})

    found = asyncio.run(facts())
    assert (found.runs, found.by_runner) == ("greet/scripts/show.py", True)


def test_functions_run_side_by_side_and_not_on_the_event_loop() -> None:
    meeting = threading.Barrier(2, timeout=20)

    def meet() -> str:
        meeting.wait()
        return "met"

    skills = {"sources": {"inline": {"skills": {"sums": {**SUMS, "scripts": {"meet": meet}}}}}}
    both = [call("run_skill_script", script_name="meet")] * 2
    turns = {"t": {"calls": both}, "end": {"text": "{{ outputs | join(' ') }}"}}
    model = {"kind": "scripted", "turns": turns}
    assert agent(skills=skills, model=model).run_sync("go").output_text == "met met"
