"""What a sandbox denies to a script that means harm, and what it leaves to one that does not."""

from __future__ import annotations

import asyncio
import os
import socket

import pytest

from assembler.runners.base import ScriptJob, ScriptLimits
from assembler.runners.sandbox import Sandbox

pytestmark = pytest.mark.usefixtures("sandbox_works")


def test_reads_outside_are_denied(run, tmp_path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    secret.chmod(0o644)
    tmp_path.chmod(0o755)
    code = """
import os, sys
for path in sys.argv[1:]:
    try:
        print(open(path).read())
    except OSError as error:
        print(type(error).__name__)
"""
    paths = [str(secret), "/etc/shadow", "/etc/hostname", f"/proc/{os.getpid()}/environ", "/root/.bashrc"]
    result = run(Sandbox(), code, paths)
    assert result.stdout.split() == ["FileNotFoundError"] * len(paths)
    assert result.isolation == "bubblewrap+seccomp"


def test_links_out_of_the_skill_lead_nowhere(skill, tmp_path) -> None:
    (tmp_path / "secret.txt").write_text("the secret")
    folder = skill({"main.py": "print(open('/skill/link').read())"})
    (folder / "link").symlink_to(tmp_path / "secret.txt")
    result = asyncio.run(Sandbox().run(ScriptJob(folder, "main.py")))
    assert result.exit_code == 1
    assert "FileNotFoundError" in result.stderr


@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK", "AF_VSOCK"])
@pytest.mark.parametrize("type_", ["SOCK_STREAM", "SOCK_DGRAM"])
def test_sockets_are_denied(run, family: str, type_: str) -> None:
    code = f"import socket\nsocket.socket(socket.{family}, socket.{type_})"
    result = run(Sandbox(), code)
    assert result.exit_code == 1
    assert "Address family not supported" in result.stderr


def test_a_listening_service_is_not_reached(run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        script = f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]} && echo reached\n"
        result = run(Sandbox(), script, name="main.sh")
        assert "reached" not in result.stdout
        with pytest.raises(TimeoutError):
            server.accept()


def test_pairs_of_sockets_and_child_processes_work(run) -> None:
    code = """
import asyncio, socket, subprocess, sys
left, right = socket.socketpair()
left.send(b"pair"); print(right.recv(4).decode())
print(subprocess.run(["sh", "-c", "echo child | cat"], capture_output=True, text=True).stdout.strip())
async def loop(): await asyncio.sleep(0); print("loop")
asyncio.run(loop())
"""
    assert run(Sandbox(), code).stdout.split() == ["pair", "child", "loop"]


def test_the_environment_of_no_other_process_is_seen(run, monkeypatch) -> None:
    monkeypatch.setenv("A_SECRET_KEY", "sk-very-secret")
    code = """
import os
for name in sorted(os.listdir("/proc")):
    if name.isdigit():
        try:
            print(name, open(f"/proc/{name}/environ").read())
        except OSError as error:
            print(name, error.strerror)
print(dict(os.environ))
"""
    result = run(Sandbox(), code)
    assert result.exit_code == 0
    assert "secret" not in result.stdout.lower()
    assert {line.split()[0] for line in result.stdout.splitlines() if line[:1].isdigit()} == {"1", "2"}


def test_the_skill_cannot_be_written(skill) -> None:
    code = """
import os
for action in (
    lambda: open(__file__, "a").write("x"),
    lambda: open("/skill/new", "w"),
    lambda: os.remove(__file__),
    lambda: os.chmod(__file__, 0o777),
    lambda: open("/usr/bin/new", "w"),
    lambda: open("/new", "w"),
    lambda: open("/dev/new", "w"),
    lambda: open("/proc/sys/kernel/hostname", "w").write("x"),
):
    try:
        action()
        print("worked")
    except OSError as error:
        print(type(error).__name__, error.errno)
"""
    folder = skill({"main.py": code})
    result = asyncio.run(Sandbox().run(ScriptJob(folder, "main.py")))
    assert "worked" not in result.stdout
    assert result.stdout.count("Error") == 8
    assert (folder / "main.py").read_text() == code
    assert [path.name for path in folder.iterdir()] == ["main.py"]


def test_a_fork_bomb_meets_its_limit(run, marked) -> None:
    code = """
import subprocess, sys
sleeper = [sys.executable, "-c", "import time; time.sleep(600)", sys.argv[1]]
started = 0
try:
    for _ in range(60):
        subprocess.Popen(sleeper)
        started += 1
except OSError as error:
    print(started, type(error).__name__)
else:
    print(started, "all")
"""
    result = run(Sandbox(limits=ScriptLimits(processes=10)), code, [marked.word])
    started, error = result.stdout.split()
    assert error == "BlockingIOError"
    assert int(started) == 9  # and the script itself


def test_scratch_is_full_at_its_limit(run) -> None:
    code = """
import os
total = 0
for folder in (os.environ["SCRATCH_DIR"], os.environ["TMPDIR"], os.environ["HOME"], "/tmp"):
    try:
        for number in range(20):
            with open(f"{folder}/{number}", "wb") as file:
                for _ in range(16):
                    total += file.write(bytes(65536))
                    file.flush()
    except OSError as error:
        print(error.errno, end=" ")
print(total)
"""
    result = run(Sandbox(limits=ScriptLimits(scratch=4 * 1024**2)), code)
    *errors, total = map(int, result.stdout.split())
    assert errors == [28] * 4
    assert total <= 4 * 1024**2


def test_other_memory_file_systems_are_small_too(run) -> None:
    code = "open('/dev/shm/x', 'wb').write(bytes(40 * 1024**2))"
    result = run(Sandbox(), code)
    assert "No space left on device" in result.stderr


def test_privileges_and_kernel_interfaces_are_denied(run) -> None:
    code = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print(os.getuid() != 0)
for name, arguments in {
    "unshare": (0x10000000,), "setns": (0, 0), "mount": (b"x", b"/tmp", b"tmpfs", 0, None), "ptrace": (0, 0, 0, 0),
    "chroot": (b"/tmp",),
}.items():
    print(name, getattr(libc, name)(*arguments), ctypes.get_errno())
"""
    lines = run(Sandbox(), code).stdout.splitlines()
    assert lines[0] == "True"
    assert [line.split()[1:] for line in lines[1:]] == [["-1", "1"]] * 5


def test_the_host_cannot_be_signalled(run) -> None:
    result = run(Sandbox(), f"import os\nos.kill({os.getpid()}, 0)")
    assert "ProcessLookupError" in result.stderr


def test_the_first_process_cannot_be_killed(run) -> None:
    code = """
import os, signal
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
    try:
        os.kill(1, number)
    except PermissionError:
        pass
print("went on")
"""
    result = run(Sandbox(), code)
    assert (result.exit_code, result.stdout) == (0, "went on\n")


def test_home_is_fresh_and_runs_nothing(run) -> None:
    code = """
import os, site, subprocess, sys
home = os.environ["HOME"]
folder = site.getusersitepackages()
print(os.listdir(home), site.ENABLE_USER_SITE, sys.flags.no_user_site)
os.makedirs(folder)
open(folder + "/usercustomize.py", "w").write("print('ran')")
print(subprocess.run([sys.executable, "-c", "print('child')"], capture_output=True, text=True).stdout)
"""
    for _ in range(2):
        assert run(Sandbox(), code).stdout.split() == ["[]", "False", "1", "child"]


def test_taking_over_the_first_process_lifts_no_limit(run) -> None:
    code = "print(open('/proc/1/limits').read())"
    limits = ScriptLimits(memory="100MiB", file="1MiB")
    printed = run(Sandbox(limits=limits), code).stdout.splitlines()
    rows = {line[:26].strip(): line[26:].split()[:2] for line in printed}
    assert rows["Max data size"] == [str(100 * 1024**2)] * 2
    assert rows["Max file size"] == [str(1024**2)] * 2
    assert rows["Max processes"] != ["unlimited"] * 2
