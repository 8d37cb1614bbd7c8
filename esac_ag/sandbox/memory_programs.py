"""The programs that every in-memory sandbox has: a handful of commands and a shell of a few rules."""

from __future__ import annotations

import shlex
import socket
from collections.abc import Mapping

from esac_ag.sandbox.memory_process import FakeProcess, Program, ProgramExit
from esac_ag.sandbox.model_socket import RELAY_PROGRAM
from esac_ag.sandbox.streams import CappedOutput

_FOREVER_S = 1e9
_YES = b"y\n" * 32_768
_MAX_REDIRECTED_BYTES = 256 * 1024 * 1024


def _true(_: FakeProcess) -> ProgramExit:
    return 0


def _false(_: FakeProcess) -> ProgramExit:
    return 1


def _echo(process: FakeProcess) -> ProgramExit:
    process.write(" ".join(process.argv[1:]) + "\n")
    return 0


def _cat(process: FakeProcess) -> ProgramExit:
    if len(process.argv) == 1:
        for line in iter(process.read_line, b""):
            process.write(line)
    for name in process.argv[1:]:
        process.write(process.files.read(process.path(name)))
    return 0


def _sleep(process: FakeProcess) -> ProgramExit:
    process.sleep(_FOREVER_S if process.argv[1] == "infinity" else float(process.argv[1]))
    return 0


def _yes(process: FakeProcess) -> ProgramExit:
    while True:
        process.write(_YES)


def _rm(process: FakeProcess) -> ProgramExit:
    for name in process.argv[1:]:
        if not name.startswith("-"):
            process.files.remove(process.path(name))
    return 0


def _mkdir(process: FakeProcess) -> ProgramExit:
    for name in process.argv[1:]:
        if not name.startswith("-"):
            process.files.make_folders(process.path(name))
    return 0


def _ln(process: FakeProcess) -> ProgramExit:
    target, name = process.argv[-2:]
    process.files.link(process.path(name), target)
    return 0


def _pwd(process: FakeProcess) -> ProgramExit:
    process.write(process.working_dir + "\n")
    return 0


def _printenv(process: FakeProcess) -> ProgramExit:
    value = process.environment.get(process.argv[1])
    if value is None:
        return 1
    process.write(value + "\n")
    return 0


def _kill(process: FakeProcess) -> ProgramExit:
    """Only the first process has a number here; its end is the container's."""
    if process.argv[-1] != "1":
        return 1
    process.switches.end()
    process.check()
    return 0


def _relay(process: FakeProcess) -> ProgramExit:
    """The guest's relay as its starter hears it; programs connect to the socket by themselves."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.connect(str(process.model_socket or "/nonexistent"))
    except OSError as error:
        process.write(f"unreachable: {error.strerror or error}\n")
        return 1
    process.write("ready\n")
    while process.read_line():
        pass
    return 0


def _neighbour(process: FakeProcess) -> ProgramExit:
    """The isolation probe's neighbour, to whom nobody comes: there is no network here."""
    process.write("ready 1 \n")
    while process.read_line():
        process.write('{"own": true, "arrivals": []}\n')
    return 0


def _shell(process: FakeProcess) -> ProgramExit:
    """`sh -c` with `;`, `&&`, a trailing `&`, `>`, `>>`, `exit N`, and quotes; no variables, no pipes."""
    code = 0
    lexer = shlex.shlex(process.argv[2], posix=True, punctuation_chars=";&>")
    lexer.whitespace_split = True
    statement: list[str] = []
    for word in [*lexer, ";"]:
        if word not in {";", "&&", "&"}:
            statement.append(word)
            continue
        if statement[:1] == ["exit"]:
            return int(statement[1])
        # What runs in the background has no effect that anyone waits for.
        if statement and word != "&":
            code = _statement(process, statement)
        if word == "&&" and code != 0:
            return code
        statement = []
    return code


def _statement(process: FakeProcess, words: list[str]) -> ProgramExit:
    for operator in (">", ">>"):
        if operator in words:
            at = words.index(operator)
            kept = CappedOutput(_MAX_REDIRECTED_BYTES, None)
            code = process.run(words[:at], kept)
            name = process.path(words[at + 1])
            process.files.write(name, kept.kept(), append=operator == ">>")
            return code
    return process.run(words)


BUILTINS: Mapping[str, Program] = {
    "true": _true,
    "false": _false,
    "echo": _echo,
    "cat": _cat,
    "sleep": _sleep,
    "yes": _yes,
    "rm": _rm,
    "mkdir": _mkdir,
    "ln": _ln,
    "pwd": _pwd,
    "printenv": _printenv,
    "kill": _kill,
    "sh -c": _shell,
    " ".join(RELAY_PROGRAM): _relay,
    "python3 -I -S -B /agent/home/probe_neighbour.py": _neighbour,
}
