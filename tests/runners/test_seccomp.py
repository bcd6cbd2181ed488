"""The system call filter, read by a small machine of its own: so that both architectures are tested on either."""

from __future__ import annotations

import errno
import platform
import struct

import pytest

from assembler.runners.seccomp import filter_program, supports

ALLOW, KILL = "allow", "kill"
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# From the kernel's tables: arch/x86/entry/syscalls/syscall_64.tbl and scripts/syscall.tbl.
CALLS = {
    "x86_64": {"read": 0, "openat": 257, "socket": 41, "socketpair": 53, "connect": 42, "ioctl": 16, "clone": 56}
    | {"fork": 57, "execve": 59, "ptrace": 101, "unshare": 272, "setns": 308, "mount": 165, "bpf": 321, "keyctl": 250}
    | {"process_vm_readv": 310, "userfaultfd": 323, "open_by_handle_at": 304, "prlimit64": 302, "wait4": 61},
    "aarch64": {"read": 63, "openat": 56, "socket": 198, "socketpair": 199, "connect": 203, "ioctl": 29, "clone": 220}
    | {"execve": 221, "ptrace": 117, "unshare": 97, "setns": 268, "mount": 40, "bpf": 280, "keyctl": 219}
    | {"process_vm_readv": 270, "userfaultfd": 282, "open_by_handle_at": 265, "prlimit64": 261, "wait4": 260},
}
BOTH = {"clone3": 435, "io_uring_setup": 425, "pidfd_getfd": 438, "pidfd_open": 434, "move_mount": 429}


def decide(machine: str, number: int, *arguments: int, audit: int | None = None) -> str:
    """What the filter answers: allow, kill, or the name of an error."""
    values = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=IIQ6Q", number, AUDIT[machine] if audit is None else audit, 0, *values)
    program = list(struct.iter_unpack("=HBBI", filter_program(machine)))
    at, accumulator = 0, 0
    while True:
        code, if_true, if_false, value = program[at]
        at += 1
        if code == 0x20:
            accumulator = struct.unpack_from("=I", data, value)[0]
        elif code == 0x06:
            names = {0x7FFF0000: ALLOW, 0x80000000: KILL}
            return names.get(value) or errno.errorcode[value & 0xFFFF]
        else:
            holds = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[code]
            at += if_true if holds else if_false


@pytest.mark.parametrize("machine", list(AUDIT))
@pytest.mark.parametrize(
    ("call", "arguments", "answer"),
    [
        ("read", (), ALLOW),
        ("openat", (), ALLOW),
        ("execve", (), ALLOW),
        ("wait4", (), ALLOW),
        ("prlimit64", (), ALLOW),
        ("connect", (), ALLOW),
        ("pidfd_open", (), ALLOW),
        ("socket", (1,), "EAFNOSUPPORT"),
        ("socket", (2,), "EAFNOSUPPORT"),
        ("socket", (40,), "EAFNOSUPPORT"),
        ("socketpair", (1,), ALLOW),
        ("socketpair", (2,), "EAFNOSUPPORT"),
        ("socketpair", (1 << 32 | 1,), ALLOW),
        ("clone", (0x01200011,), ALLOW),
        ("clone", (0x003D0F00,), ALLOW),
        ("clone", (0x10000011,), "EPERM"),
        ("clone", (0x00020011,), "EPERM"),
        ("clone", (0x40000011,), "EPERM"),
        ("clone3", (), "ENOSYS"),
        ("io_uring_setup", (), "ENOSYS"),
        ("ioctl", (0, 0x5401), ALLOW),
        ("ioctl", (0, 0x5412), "EPERM"),
        ("ioctl", (0, 1 << 32 | 0x5412), "EPERM"),
        ("ioctl", (0, 0x541C), "EPERM"),
        ("unshare", (), "EPERM"),
        ("setns", (), "EPERM"),
        ("mount", (), "EPERM"),
        ("move_mount", (), "EPERM"),
        ("ptrace", (), "EPERM"),
        ("process_vm_readv", (), "EPERM"),
        ("bpf", (), "EPERM"),
        ("keyctl", (), "EPERM"),
        ("userfaultfd", (), "EPERM"),
        ("open_by_handle_at", (), "EPERM"),
        ("pidfd_getfd", (), "EPERM"),
    ],
)
def test_calls(machine: str, call: str, arguments: tuple[int, ...], answer: str) -> None:
    assert decide(machine, {**CALLS[machine], **BOTH}[call], *arguments) == answer


@pytest.mark.parametrize("machine", list(AUDIT))
def test_programs_for_other_architectures_are_killed(machine: str) -> None:
    i386 = 0x40000003
    assert decide(machine, 0, audit=i386) == KILL


def test_the_second_numbering_of_x86_64_is_killed() -> None:
    assert decide("x86_64", 0x40000000 | 41, 2) == KILL


def test_this_machine_has_a_filter_or_is_known_not_to() -> None:
    assert supports(platform.machine()) == (platform.machine() in AUDIT)
    assert not supports("riscv64")
    with pytest.raises(KeyError):
        filter_program("riscv64")
