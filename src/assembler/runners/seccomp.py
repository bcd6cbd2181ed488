"""The system call filter of a sandbox, as the bytes that the kernel takes (classic BPF).

Namespaces decide what a script sees; the filter removes what it could still ask the kernel for: sockets of every
family, new namespaces and mounts, other processes' memory, and interfaces with a history of kernel bugs.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Mapping
from dataclasses import dataclass

# linux/filter.h, linux/seccomp.h
_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_IF_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_IF_AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_IF_ANY_BIT = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K
_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_ERRNO = 0x00050000

# struct seccomp_data; arguments are 64 bits wide, and both architectures store the low half first
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16

_CLONE_NEW = 0x7E020000  # CLONE_NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET
_AF_UNIX = 1
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_X32_BIT = 0x40000000
_CLONE3 = 435


@dataclass(frozen=True)
class _Architecture:
    audit: int
    """AUDIT_ARCH_* of linux/audit.h."""
    calls: Mapping[str, int]
    has_x32: bool = False


# Numbers that are the same everywhere, since they were given after 2019.
_COMMON = {
    "pidfd_getfd": 438,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "open_tree_attr": 467,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
}

_ARCHITECTURES = {
    "x86_64": _Architecture(
        0xC000003E,
        _COMMON
        | {
            "socket": 41,
            "socketpair": 53,
            "clone": 56,
            "ioctl": 16,
            "ptrace": 101,
            "process_vm_readv": 310,
            "process_vm_writev": 311,
            "unshare": 272,
            "setns": 308,
            "mount": 165,
            "umount2": 166,
            "pivot_root": 155,
            "chroot": 161,
            "open_by_handle_at": 304,
            "name_to_handle_at": 303,
            "bpf": 321,
            "perf_event_open": 298,
            "userfaultfd": 323,
            "add_key": 248,
            "request_key": 249,
            "keyctl": 250,
            "init_module": 175,
            "finit_module": 313,
            "delete_module": 176,
            "kexec_load": 246,
            "kexec_file_load": 320,
            "reboot": 169,
            "swapon": 167,
            "swapoff": 168,
            "acct": 163,
            "quotactl": 179,
            "syslog": 103,
            "iopl": 172,
            "ioperm": 173,
        },
        has_x32=True,
    ),
    "aarch64": _Architecture(
        0xC00000B7,
        _COMMON
        | {
            "socket": 198,
            "socketpair": 199,
            "clone": 220,
            "ioctl": 29,
            "ptrace": 117,
            "process_vm_readv": 270,
            "process_vm_writev": 271,
            "unshare": 97,
            "setns": 268,
            "mount": 40,
            "umount2": 39,
            "pivot_root": 41,
            "chroot": 51,
            "open_by_handle_at": 265,
            "name_to_handle_at": 264,
            "bpf": 280,
            "perf_event_open": 241,
            "userfaultfd": 282,
            "add_key": 217,
            "request_key": 218,
            "keyctl": 219,
            "init_module": 105,
            "finit_module": 273,
            "delete_module": 106,
            "kexec_load": 104,
            "kexec_file_load": 294,
            "reboot": 142,
            "swapon": 224,
            "swapoff": 225,
            "acct": 89,
            "quotactl": 60,
            "syslog": 116,
        },
    ),
}

_HANDLED_APART = {"socket", "socketpair", "clone", "ioctl"}


def supports(machine: str) -> bool:
    """Whether there is a filter for an architecture, named as ``platform.machine()`` does."""
    return machine in _ARCHITECTURES


def filter_program(machine: str) -> bytes:
    """The filter: an array of ``struct sock_filter``, as ``bwrap --seccomp`` reads it.

    Args:
        machine: Architecture, as ``platform.machine()`` names it.

    Raises:
        KeyError: There is none for it; see `supports`.
    """
    architecture = _ARCHITECTURES[machine]
    calls = architecture.calls
    # A program for another architecture has other numbers, and none of the rules below would mean anything.
    program = [
        _load(_ARCHITECTURE_AT),
        *_unless(_IF_EQUAL, architecture.audit, [_result(_KILL)]),
        _load(_NUMBER_AT),
    ]
    if architecture.has_x32:
        program += _when(_IF_AT_LEAST, _X32_BIT, [_result(_KILL)])
    no_family = _result(_ERRNO | errno.EAFNOSUPPORT)
    denied = _result(_ERRNO | errno.EPERM)
    program += _when(_IF_EQUAL, calls["socket"], [no_family])
    program += _when(
        _IF_EQUAL,
        calls["socketpair"],
        [_argument(0), *_unless(_IF_EQUAL, _AF_UNIX, [no_family]), _result(_ALLOW)],
    )
    program += _when(
        _IF_EQUAL,
        calls["clone"],
        [_argument(0), *_when(_IF_ANY_BIT, _CLONE_NEW, [denied]), _result(_ALLOW)],
    )
    # Its flags lie in memory, where no filter sees them; the C library falls back to clone.
    program += _when(_IF_EQUAL, _CLONE3, [_result(_ERRNO | errno.ENOSYS)])
    program += _when(
        _IF_EQUAL,
        calls["ioctl"],
        [
            _argument(1),
            *_when(_IF_EQUAL, _TIOCSTI, [denied]),
            *_when(_IF_EQUAL, _TIOCLINUX, [denied]),
            _result(_ALLOW),
        ],
    )
    for name, number in calls.items():
        if name not in _HANDLED_APART:
            # Rings carry socket calls past this filter; programs that find none use plain calls.
            answer = _result(_ERRNO | errno.ENOSYS) if name.startswith("io_uring") else denied
            program += _when(_IF_EQUAL, number, [answer])
    program.append(_result(_ALLOW))
    return b"".join(program)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _load(offset: int) -> bytes:
    return _instruction(_LOAD, offset)


def _argument(index: int) -> bytes:
    return _load(_ARGUMENTS_AT + 8 * index)


def _result(action: int) -> bytes:
    return _instruction(_RETURN, action)


def _when(test: int, value: int, then: list[bytes]) -> list[bytes]:
    return [_instruction(test, value, 0, len(then)), *then]


def _unless(test: int, value: int, then: list[bytes]) -> list[bytes]:
    return [_instruction(test, value, len(then), 0), *then]
