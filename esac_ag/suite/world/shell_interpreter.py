"""Runs a parsed command line on the filesystem; never a real process."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from . import (
    filesystem,
    shell_changes,
    shell_find,
    shell_grep,
    shell_ls,
    shell_sort,
    shell_test,
    shell_text,
)
from .filesystem import Nodes, PathRefused
from .shell_call import (
    MAX_STREAMED,
    NULL_DEVICE,
    Call,
    Command,
    CommandFailed,
    Input,
    Stream,
    encoded,
)
from .shell_globs import expanded
from .shell_grammar import Redirection, Simple, Step, parsed
from .shell_regex import TooExpensive, Work
from .shell_words import ShellSyntax, Word

COMMANDS: Final[dict[str, Command]] = {
    **shell_ls.COMMANDS,
    **shell_text.COMMANDS,
    **shell_grep.COMMANDS,
    **shell_find.COMMANDS,
    **shell_sort.COMMANDS,
    **shell_changes.COMMANDS,
    **shell_test.COMMANDS,
}
MAX_WORDS: Final = 10_000
SYNTAX: Final = 2
NOT_FOUND: Final = 127
TOO_MUCH: Final = 126


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command line left beside changed files."""

    exit_code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class _Target:
    """A file that a stream goes to: path, and what it held when it was opened."""

    stream: Stream
    path: str
    shown: str
    held: bytes


def run(line: str, nodes: Nodes, cwd: str) -> Outcome:
    """Run a command line; files are changed in place."""
    shell = _Shell(nodes, cwd)
    try:
        status = shell.run(parsed(line))
    except ShellSyntax as error:
        return Outcome(SYNTAX, "", f"shell: {error}\n")
    except TooExpensive:
        return Outcome(TOO_MUCH, shell.out.text, shell.err.text + "shell: work or output limit reached\n")
    return Outcome(status, shell.out.text, shell.err.text)


class _Shell:
    """One command line's streams and limits."""

    def __init__(self, nodes: Nodes, cwd: str) -> None:
        self.nodes = nodes
        self.cwd = cwd
        self.work = Work()
        self.allowance = [MAX_STREAMED]
        self.out = Stream(self.allowance)
        self.err = Stream(self.allowance)

    def run(self, steps: Iterable[Step]) -> int:
        status = 0
        for step in steps:
            wanted = {";": True, "&&": status == 0, "||": status != 0}[step.connector]
            if wanted:
                status = self._pipeline(step.pipeline)
        return status

    def _pipeline(self, commands: tuple[Simple, ...]) -> int:
        """One command after the other; the last one's status."""
        status, flowing = 0, Input()
        for number, command in enumerate(commands):
            out = self.out if number == len(commands) - 1 else Stream(self.allowance)
            status = self._command(command, flowing, out)
            flowing = Input(out.text)
        return status

    def _command(self, command: Simple, flowing: Input, out: Stream) -> int:
        targets: list[_Target] = []
        streams = {"out": out, "err": self.err}
        try:
            words = self._words(command.words)
            for redirection in command.redirections:
                flowing = self._redirected(redirection, flowing, streams, targets)
            status = self._call(words, flowing, streams)
        except CommandFailed as failed:
            self.err.write(f"shell: {failed.message}\n")
            status = failed.status
        except PathRefused as refused:
            self.err.write(f"shell: {refused.message}\n")
            status = 1
        return max(status, self._flushed(targets))

    def _call(self, words: list[str], flowing: Input, streams: dict[str, Stream]) -> int:
        if not words:
            return 0
        name, *arguments = words
        if name not in COMMANDS:
            streams["err"].write(f"shell: {name}: command not found\n")
            return NOT_FOUND
        call = Call(name, arguments, flowing, streams["out"], streams["err"], self.nodes, self.cwd, self.work)
        try:
            return COMMANDS[name](call)
        except CommandFailed as failed:
            call.complain(failed.message)
            return failed.status
        except PathRefused as refused:
            call.complain(refused.message)
            return 1

    def _words(self, words: Iterable[Word]) -> list[str]:
        found: list[str] = []
        for word in words:
            found += expanded(word, self.nodes, self.cwd)
            if len(found) > MAX_WORDS:
                raise CommandFailed("Argument list too long", TOO_MUCH)
        return found

    def _redirected(
        self, redirection: Redirection, flowing: Input, streams: dict[str, Stream], targets: list[_Target]
    ) -> Input:
        operator = redirection.operator
        if redirection.target is None:
            streams.update({"err": streams["out"]} if operator == "2>&1" else {"out": streams["err"]})
            return flowing
        names = self._words([redirection.target])
        if len(names) != 1:
            raise CommandFailed(f"{redirection.target.text}: ambiguous redirect")
        try:
            path = filesystem.absolute(names[0], self.cwd)
            if operator == "<":
                data = b"" if path == NULL_DEVICE else filesystem.read(self.nodes, path)
                return Input(data.decode("utf-8", "surrogateescape"), from_file=True)
            stream = Stream(self.allowance, path)
            if path != NULL_DEVICE:
                targets.append(self._opened(stream, path, names[0], append=operator.endswith(">>")))
        except PathRefused as refused:
            raise CommandFailed(f"{names[0]}: {refused.reason}") from None
        streams["err" if operator.startswith("2") else "out"] = stream
        return flowing

    def _opened(self, stream: Stream, path: str, shown: str, *, append: bool) -> _Target:
        """A file that is there and, unless appended to, empty, before the command runs."""
        if not shown or (shown.endswith("/") and path not in self.nodes):
            raise PathRefused("is-a-directory" if shown else "not-found", shown)
        node = self.nodes.get(path)
        held = filesystem.bytes_of(node) if append and node and not filesystem.is_directory(node) else b""
        filesystem.write(self.nodes, path, held)
        return _Target(stream, path, shown, held)

    def _flushed(self, targets: list[_Target]) -> int:
        status = 0
        for target in targets:
            if target.path not in self.nodes or not target.stream.parts:
                continue
            try:
                filesystem.write(self.nodes, target.path, target.held + encoded(target.stream.text))
            except PathRefused as refused:
                self.err.write(f"shell: {target.shown}: {refused.reason}\n")
                status = 1
        return status
