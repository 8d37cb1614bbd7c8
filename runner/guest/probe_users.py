"""Route of the isolation probe to somebody else's rights: ids, capabilities, namespaces, set-id programs."""

from __future__ import annotations

import ctypes
import os
import stat
import subprocess
from collections.abc import Callable

from probe_search import Found, Search, names_in

NAMESPACES = {
    "user": 0x10000000,
    "mount": 0x00020000,
    "control group": 0x02000000,
    "name": 0x04000000,
    "IPC": 0x08000000,
    "process": 0x20000000,
    "network": 0x40000000,
}
"""Flags of `unshare`."""
COMMANDS = ("su -c id", "sudo -n id")
COMMAND_TIMEOUT_S = 10


def begin_commands(search: Search) -> None:
    """Start what takes its time: a refused `su` lets its caller wait for a second."""
    for words in COMMANDS:
        try:
            command = subprocess.Popen(
                words.split(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except OSError:
            continue
        search.commands.append((words, command))


def other_users(search: Search) -> Found:
    """Becoming somebody else, or gaining a right that this user has not."""
    tried, reached = 0, []
    for look in (_rights, _ids, _namespaces, _programs, _commands):
        places, found = look(search)
        tried += places
        reached += found
    return tried, reached


def _rights(_search: Search) -> Found:
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        facts = dict(line.split(":", 1) for line in file.read().splitlines() if ":" in line)
    sets = [name for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb") if name in facts]
    reached = [
        f"capabilities are left: {name} {facts[name].strip()}" for name in sets if int(facts[name], 16)
    ]
    if facts.get("NoNewPrivs", "").strip() != "1":
        reached.append("new rights can be gained")
    return len(sets) + 1, reached


def _ids(_search: Search) -> Found:
    attempts: dict[str, Callable[[], object]] = {
        "setuid(0)": lambda: os.setuid(0),
        "setgid(0)": lambda: os.setgid(0),
        "setuid(10002)": lambda: os.setuid(10002),
        "setgroups": lambda: os.setgroups([0]),
        "chroot": lambda: os.chroot("/tmp"),
    }
    reached = []
    for name, attempt in attempts.items():
        try:
            attempt()
        except OSError:
            continue
        reached.append(name)
    return len(attempts), reached


def _namespaces(_search: Search) -> Found:
    """New ones, and those of the first process."""
    libc = ctypes.CDLL(None, use_errno=True)
    reached = [f"a {name} namespace" for name, flag in NAMESPACES.items() if libc.unshare(flag) == 0]
    others = names_in("/proc/1/ns")
    for name in others:
        try:
            descriptor = os.open(f"/proc/1/ns/{name}", os.O_RDONLY)
        except OSError:
            continue
        if libc.setns(descriptor, 0) == 0:
            reached.append(f"the {name} namespace of the first process")
        os.close(descriptor)
    return len(NAMESPACES) + len(others), reached


def _programs(search: Search) -> Found:
    owned = stat.S_ISUID | stat.S_ISGID
    reached = [
        f"{path} runs as its owner" for path, mode in search.tree if stat.S_ISREG(mode) and mode & owned
    ]
    return len(search.tree), reached


def _commands(search: Search) -> Found:
    reached = []
    for words, command in search.commands:
        try:
            if command.wait(COMMAND_TIMEOUT_S) == 0:
                reached.append(words)
        except subprocess.TimeoutExpired:
            command.kill()
            command.wait()
    return len(COMMANDS), reached
