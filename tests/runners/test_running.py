"""What a well-meant script finds, and what its caller gets back, with and without isolation."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from assembler.errors import AssemblerError
from assembler.runners.base import ScriptJob, ScriptLimits, ScriptResult
from assembler.runners.plain import Subprocess
from assembler.runners.sandbox import Sandbox
from assembler.runners.scripts import FileRunner

SHOW = """
import json, os, sys
print(json.dumps({"argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ), "stdin": sys.stdin.read()}))
"""


def shown(result: ScriptResult) -> dict[str, Any]:
    assert result.exit_code == 0, result
    return json.loads(result.stdout)


def test_arguments_output_and_status_come_through(kind: type[FileRunner], run) -> None:
    code = "import sys\nprint('out', sys.argv[1:])\nprint('err', file=sys.stderr)\nsys.exit(3)"
    result = run(kind(), code, ["a", "--b=c", "ä"])
    assert (result.exit_code, result.stdout, result.stderr) == (3, "out ['a', '--b=c', 'ä']\n", "err\n")
    assert (result.stopped, result.reason) == (None, "")
    assert (result.stdout_bytes, result.stderr_bytes) == (len(result.stdout.encode()), 4)


@pytest.mark.parametrize("status", [0, 1, 127, 128, 137, 152, 255])
def test_a_status_is_never_taken_for_a_signal(kind: type[FileRunner], run, status: int) -> None:
    result = run(kind(), f"exit {status}\n", name="main.sh")
    assert (result.exit_code, result.stopped) == (status, None)


def test_a_signal_is_named(kind: type[FileRunner], run) -> None:
    result = run(kind(), "kill -SEGV $$\n", name="main.sh")
    assert (result.exit_code, result.stopped, result.reason) == (None, "signal", "ended by SIGSEGV")


def test_a_broken_pipe_ends_a_writer(kind: type[FileRunner], run) -> None:
    result = run(kind(), "yes | head -1; echo ${PIPESTATUS[0]}\n", name="main.sh")
    assert result.stdout.split() == ["y", "141"]


def test_a_script_reads_nothing_unless_it_is_given(kind: type[FileRunner], run) -> None:
    assert shown(run(kind(), SHOW))["stdin"] == ""


def test_json_on_standard_input(kind: type[FileRunner], run) -> None:
    runner = kind(arguments={"style": "json-stdin"}, limits=ScriptLimits(output="4MiB"))
    value = {"text": "ä" * 200_000, "n": None}
    found = shown(run(runner, SHOW, value))
    assert json.loads(found["stdin"]) == value
    assert found["argv"] == []


def test_json_in_a_file(kind: type[FileRunner], run) -> None:
    runner = kind(arguments={"style": "json-file"})
    result = run(runner, "import sys\nprint(len(sys.argv), open(sys.argv[1]).read())", {"a": 1})
    assert result.stdout == '2 {"a":1}\n'
    assert shown(run(runner, SHOW))["argv"] == []


def test_many_arguments(kind: type[FileRunner], run) -> None:
    result = run(kind(), "import sys\nprint(len(sys.argv))", ["word"] * 20_000)
    assert result.stdout == "20001\n"


def test_the_environment_is_ours_alone(kind: type[FileRunner], run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    env = shown(run(kind(env={"MODE": "fast"}), SHOW))["env"]
    names = {"PATH", "LANG", "HOME", "TMPDIR", "SKILL_DIR", "SCRATCH_DIR", "MODE"}
    names |= {"PYTHONUTF8", "PYTHONNOUSERSITE", "PYTHONDONTWRITEBYTECODE"}
    assert set(env) - {"PWD"} == names
    assert env["MODE"] == "fast"
    assert not Path(env["HOME"]).is_relative_to(env["SCRATCH_DIR"])


@pytest.mark.parametrize("env", [{"HOME": "/"}, {"A=B": "x"}, {"": "x"}, {"A": "\0"}, {"1A": "x"}])
def test_variables_of_the_runner_are_its_own(env: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        Sandbox.model_validate({"env": env})


def test_the_working_folder_is_scratch_or_the_skill(kind: type[FileRunner], run) -> None:
    found = shown(run(kind(), SHOW))
    assert found["cwd"] == found["env"]["SCRATCH_DIR"]
    found = shown(run(kind(cwd="skill"), SHOW))
    assert found["cwd"] == found["env"]["SKILL_DIR"]


def test_scratch_home_and_temporary_folder_can_be_written(kind: type[FileRunner], run) -> None:
    code = """
import os, tempfile
for folder in (".", os.environ["HOME"], os.environ["SCRATCH_DIR"], tempfile.gettempdir()):
    with open(folder + "/new", "w") as file: print(file.write("x"), end="")
"""
    assert run(kind(), code).stdout == "1111"


def test_files_are_handed_over_read_only(kind: type[FileRunner], skill, tmp_path: Path) -> None:
    report = tmp_path / "report.txt"
    report.write_text("figures")
    report.chmod(0o600)
    folder = skill(
        {"main.py": "import os\nprint(os.listdir('inputs'), open('inputs/r 1.txt').read())\nopen('inputs/r 1.txt','w')"}
    )
    job = ScriptJob(folder, "main.py", files=[("r 1.txt", report)])
    result = asyncio.run(kind().run(job))
    assert result.stdout == "['r 1.txt'] figures\n"
    if kind is Sandbox or os.geteuid() != 0:
        assert result.exit_code == 1
    assert report.read_text() == "figures"


def test_modules_beside_a_script_can_be_imported_and_leave_no_bytecode(kind: type[FileRunner], skill) -> None:
    folder = skill({"scripts/main.py": "import helper\nprint(helper.NAME)", "scripts/helper.py": "NAME = 'helper'"})
    result = asyncio.run(kind().run(ScriptJob(folder, "scripts/main.py")))
    assert result.stdout == "helper\n"
    assert sorted(path.name for path in folder.rglob("*")) == ["helper.py", "main.py", "scripts"]


def test_a_shell_script_finds_python_and_its_streams_by_name(kind: type[FileRunner], run) -> None:
    script = "python3 -c 'print(1)'; python -c 'print(2)'; echo three > /dev/stdout; echo four > /dev/stderr\n"
    result = run(kind(), script, name="main.sh")
    assert result.stdout.split() == ["1", "2", "three"]
    assert result.stderr == "four\n"


@pytest.mark.usefixtures("sandbox_works")
def test_a_sandboxed_script_is_somebody_whom_the_system_knows(run) -> None:
    assert run(Sandbox(), "import getpass, os\nos.environ.clear()\nprint(getpass.getuser())").stdout == "script\n"


def test_node_runs(kind: type[FileRunner], run) -> None:
    try:
        kind().check("main.js")
    except AssemblerError as error:
        pytest.skip(str(error))
    code = (
        "const {execSync} = require('child_process'); console.log(process.argv.slice(2), execSync('echo child') + '')"
    )
    result = run(kind(), code, ["a"], name="main.js")
    assert result.stdout == "[ 'a' ] child\n\n", result


@pytest.mark.parametrize(
    "script", ["missing.py", "../outside.py", "/etc/passwd", "", ".", "scripts", "link.py", "a\0.py"]
)
def test_only_scripts_of_the_skill_run(kind: type[FileRunner], skill, tmp_path: Path, script: str) -> None:
    (tmp_path / "outside.py").write_text("print('outside')")
    folder = skill({"scripts/main.py": "print('ran')"})
    (folder / "link.py").symlink_to(tmp_path / "outside.py")
    with pytest.raises(AssemblerError) as caught:
        asyncio.run(kind().run(ScriptJob(folder, script)))
    assert caught.value.diagnostics[0].code == "runner/no-script"


def test_bad_arguments_run_nothing(kind: type[FileRunner], run) -> None:
    with pytest.raises(AssemblerError) as caught:
        run(kind(), "print('ran')", "--flag value")
    assert caught.value.diagnostics[0].code == "script/bad-arguments"


def test_an_interpreter_that_cannot_be_executed_is_an_error_not_a_result(
    kind: type[FileRunner], run, tmp_path: Path
) -> None:
    program = tmp_path / "tool"
    program.write_bytes(b"\x7fELF not really")
    program.chmod(0o755)
    with pytest.raises(AssemblerError) as caught:
        run(kind(interpreters={".py": str(program)}), "x")
    assert caught.value.diagnostics[0].code == "runner/start-failed"
    assert "Exec format error" in caught.value.diagnostics[0].message


def test_cancelling_kills_the_tree_first(kind: type[FileRunner], skill, marked) -> None:
    code = """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", sys.argv[1]], start_new_session=True).wait()
"""
    folder = skill({"main.py": code})

    async def cancel() -> None:
        task = asyncio.create_task(kind().run(ScriptJob(folder, "main.py", [marked.word])))
        await marked.appear()
        task.cancel()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert marked.alive() == []

    asyncio.run(cancel())


@pytest.mark.parametrize("delay", [0, 0.001, 0.005, 0.02, 0.05])
def test_cancelling_early_leaves_nothing(kind: type[FileRunner], skill, marked, delay: float) -> None:
    code = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import time; time.sleep(600)', sys.argv[1]])"
    folder = skill({"main.py": code})

    async def cancel() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(kind().run(ScriptJob(folder, "main.py", [marked.word])), delay)

    asyncio.run(cancel())
    assert marked.alive() == []


def test_a_loop_that_shuts_down_leaves_nothing(kind: type[FileRunner], skill, marked) -> None:
    code = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import time; time.sleep(600)', sys.argv[1]])"
    folder = skill({"main.py": code})

    async def leave() -> None:
        task = asyncio.create_task(kind().run(ScriptJob(folder, "main.py", [marked.word])))
        await marked.appear()
        assert not task.done()

    asyncio.run(leave())
    assert marked.alive() == []


@pytest.mark.slow
def test_the_loop_is_not_blocked_and_nothing_leaks(kind: type[FileRunner], skill) -> None:
    folder = skill({"main.py": "import time, sys\ntime.sleep(0.3)\nprint(sys.argv[1])"})

    async def many() -> float:
        gaps = [0.0]

        async def watch() -> None:
            before = time.monotonic()
            while True:
                await asyncio.sleep(0.01)
                now = time.monotonic()
                gaps.append(now - before)
                before = now

        watcher = asyncio.create_task(watch())
        jobs = (kind().run(ScriptJob(folder, "main.py", [str(number)])) for number in range(32))
        results = await asyncio.gather(*jobs)
        watcher.cancel()
        assert [result.stdout for result in results] == [f"{number}\n" for number in range(32)]
        return sum(gap for gap in gaps if gap > 0.25)

    asyncio.run(kind().run(ScriptJob(folder, "main.py", ["warm"])))
    before = set(Path("/proc/self/fd").iterdir())
    # Waiting for scripts on the loop would block it for 32 times 0.3 seconds; a busy machine delays it now and then.
    assert asyncio.run(many()) < 5
    assert set(Path("/proc/self/fd").iterdir()) == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_several_loops_at_once(kind: type[FileRunner], skill) -> None:
    folder = skill({"main.py": "import sys\nprint(sys.argv[1])"})
    printed: list[str] = []

    def work(number: int) -> None:
        async def run() -> None:
            results = await asyncio.gather(*(kind().run(ScriptJob(folder, "main.py", [str(number)])) for _ in range(3)))
            printed.extend(result.stdout.strip() for result in results)

        asyncio.run(run())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(printed) == sorted(str(number) for number in range(4) for _ in range(3))


def test_no_time_at_all(kind: type[FileRunner], run) -> None:
    assert run(kind(limits=ScriptLimits(timeout=0)), "print(1)").stopped == "timeout"


def test_runners_are_values() -> None:
    assert Sandbox() == Sandbox()
    assert Sandbox() != Sandbox(isolation="prefer")
    assert Sandbox().model_dump(mode="json")["kind"] == "sandbox"
    assert Subprocess.model_validate({"limits": {"memory": "1GiB"}}).limits.memory == 1024**3
