"""Scripts that mean harm: each ends in a clear result, and nothing of it survives."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from assembler.runners.base import ScriptJob, ScriptLimits
from assembler.runners.plain import Subprocess
from assembler.runners.scripts import FileRunner

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="scripts run on Linux only")

SLEEPER = """
def sleeper():
    import subprocess, sys
    return [sys.executable, "-c", "import time; time.sleep(600)", sys.argv[1]]
"""


@pytest.mark.parametrize("forged", [b"exit 0 0.000\n", b"signal 99\n", b"exit -1 x\n", b"\xff\n", b"", b"x" * 65536])
def test_forged_reports_are_no_accident(kind: type[FileRunner], run, forged: bytes) -> None:
    code = f"""
import os
for pid in (1, os.getppid()):
    for number in range(3, 20):
        try:
            descriptor = os.open(f"/proc/{{pid}}/fd/{{number}}", os.O_WRONLY | os.O_NONBLOCK)
            os.write(descriptor, {forged!r})
        except OSError:
            pass
"""
    result = run(kind(), code)
    assert (result.exit_code, result.stopped) in {(0, None), (None, "signal")}


def test_a_killed_watcher_is_told(run) -> None:
    result = run(Subprocess(), "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nimport time; time.sleep(0.2)")
    assert result.stopped == "signal"
    assert "watched over it" in result.reason


def test_a_stopped_watcher_goes_on(run, marked) -> None:
    code = SLEEPER + "import os, signal, subprocess\nsubprocess.Popen(sleeper())\nos.kill(os.getppid(), signal.SIGSTOP)"
    result = run(Subprocess(limits=ScriptLimits(timeout="1s")), code, [marked.word])
    assert result.stopped == "timeout"


def test_without_isolation_a_script_still_sees_a_clean_environment(run, monkeypatch) -> None:
    monkeypatch.setenv("A_SECRET_KEY", "sk-very-secret")
    result = run(Subprocess(), "import os\nprint(dict(os.environ), open(f'/proc/{os.getppid()}/environ').read())")
    assert result.exit_code == 0
    assert "secret" not in result.stdout.lower()


def test_a_script_that_writes_to_its_skill_spoils_only_its_copy(kind: type[FileRunner], skill) -> None:
    code = """
import os
folder = os.path.dirname(__file__)
try:
    os.chmod(folder, 0o700); os.chmod(__file__, 0o700)
    open(__file__, "w").write("spoilt"); open(folder + "/new", "w").write("new")
except OSError:
    pass
"""
    folder = skill({"main.py": code})
    asyncio.run(kind().run(ScriptJob(folder, "main.py")))
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"main.py": code}


def test_endless_output_is_stopped(kind: type[FileRunner], run) -> None:
    limits = ScriptLimits(output=1000, output_hard=4 * 1024**2)
    code = "import os\nfor _ in range(1600):\n    os.write(1, b'x' * 65536)\nprint('end')"
    result = run(kind(limits=limits), code)
    assert result.stopped == "output"
    assert result.exit_code is None
    assert 4 * 1024**2 < result.stdout_bytes <= 4 * 1024**2 + 65536
    assert len(result.stdout) < 1100
    assert "bytes left out ...]" in result.stdout


def test_what_never_ends_is_stopped(kind: type[FileRunner], run, marked) -> None:
    code = SLEEPER + "import subprocess\nprint('begun', flush=True)\nsubprocess.run(sleeper())"
    result = run(kind(limits=ScriptLimits(timeout="1s")), code, [marked.word])
    assert (result.stopped, result.exit_code) == ("timeout", None)
    assert result.stdout == "begun\n"
    assert result.reason == "stopped after 1 s (`limits.timeout`)"
    assert result.seconds < 3


def test_signals_that_ask_politely_are_not_enough_to_stay(kind: type[FileRunner], run) -> None:
    code = "import signal, time\nfor n in {*signal.Signals} - {9, 19}: signal.signal(n, signal.SIG_IGN)\ntime.sleep(60)"
    assert run(kind(limits=ScriptLimits(timeout="0.5s")), code).stopped == "timeout"


DETACHED = (
    SLEEPER
    + """
import os, subprocess
for _ in range(2):
    if os.fork():
        os._exit(0) if _ else os.waitpid(-1, 0)
        break
    os.setsid()
else:
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2): os.dup2(null, descriptor)
    os.execv(sleeper()[0], sleeper())
import time
subprocess.Popen(sleeper(), start_new_session=True)
time.sleep(0.2)
print("left")
"""
)


def test_detached_processes_do_not_survive(kind: type[FileRunner], run, marked) -> None:
    result = run(kind(), DETACHED, [marked.word])
    assert (result.exit_code, result.stdout) == (0, "left\n")
    assert marked.alive() == []


def test_detached_processes_do_not_survive_a_time_out(kind: type[FileRunner], run, marked) -> None:
    code = DETACHED + "\ntime.sleep(600)"
    assert run(kind(limits=ScriptLimits(timeout="1s")), code, [marked.word]).stopped == "timeout"
    assert marked.alive() == []


def test_a_grandchild_that_keeps_stdout_open_is_not_waited_for(kind: type[FileRunner], run, marked) -> None:
    code = SLEEPER + "import subprocess\nsubprocess.Popen(sleeper(), start_new_session=True)\nprint('done')"
    result = run(kind(), code, [marked.word])
    assert (result.exit_code, result.stdout) == (0, "done\n")
    assert 0.25 <= result.seconds < 2


def test_what_a_script_leaves_may_finish_in_the_grace_period(kind: type[FileRunner], run) -> None:
    result = run(kind(), "(sleep 0.1; echo late) &\necho early\n", name="main.sh")
    assert result.stdout == "early\nlate\n"


def test_a_memory_bomb_meets_its_limit(kind: type[FileRunner], run) -> None:
    code = "data = []\nfor _ in range(40):\n    data.append(bytearray(16 * 1024**2))"
    result = run(kind(limits=ScriptLimits(memory="128MiB")), code)
    assert result.exit_code == 1
    assert "MemoryError" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "code", ["while True: pass", "import signal\nsignal.signal(24, signal.SIG_IGN)\nwhile True: pass"]
)
def test_processor_time_is_limited(kind: type[FileRunner], run, code: str) -> None:
    result = run(kind(limits=ScriptLimits(cpu="1s")), code)
    assert (result.stopped, result.exit_code) == ("cpu", None)
    assert "`limits.cpu`" in result.reason


def test_a_single_file_is_limited(kind: type[FileRunner], run) -> None:
    code = """
head -c 3000000 /dev/zero > big; echo status $?; ls -l big | awk '{print $5}'
exec head -c 3000000 /dev/zero > bigger
"""
    result = run(kind(limits=ScriptLimits(file="1MiB")), code, name="main.sh")
    assert result.stdout.split() == ["status", "153", "1048576"]
    assert result.stopped == "signal"
    assert "`limits.file`" in result.reason


@pytest.mark.slow
def test_a_fork_bomb_is_killed_whole(kind: type[FileRunner], run, marked) -> None:
    # Bounded by itself: generations of two, each process with a short life, at most a few hundred at once.
    code = (
        SLEEPER
        + """
import os, subprocess, time
end = time.monotonic() + 20
def bomb(depth):
    while time.monotonic() < end:
        try:
            if depth and not os.fork():
                os.setsid()
                bomb(depth - 1)
                os._exit(0)
        except OSError:
            pass
        time.sleep(0.2)
        if depth < 5: os.execv(sleeper()[0], sleeper())
bomb(6)
"""
    )
    result = run(kind(limits=ScriptLimits(timeout="1s")), code, [marked.word])
    assert result.stopped == "timeout"
    assert result.seconds < 5


def test_bytes_that_are_not_utf8_are_replaced(kind: type[FileRunner], run) -> None:
    code = "import os\nos.write(1, b'a\\xf0\\xffb\\n')\nos.write(2, b'\\xc3')"
    result = run(kind(), code)
    assert (result.stdout, result.stderr) == ("a\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}b\n", "\ufffd")
    assert (result.stdout_bytes, result.stderr_bytes) == (5, 1)


@pytest.mark.slow
def test_folders_without_permissions_and_links_are_removed_without_harm(skill, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    code = f"""
import os
print(os.path.dirname(os.getcwd()))
os.symlink({str(outside)!r}, "link")
os.makedirs("a/b"); open("a/b/c", "w"); os.chmod("a/b", 0); os.chmod("a", 0)
for _ in range(1100):
    os.mkdir("deep"); os.chdir("deep")
"""
    result = asyncio.run(Subprocess().run(ScriptJob(skill({"main.py": code}), "main.py")))
    assert result.exit_code == 0
    assert not Path(result.stdout.strip()).exists()
    assert (outside / "kept").read_text() == "kept"
