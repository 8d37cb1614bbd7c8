"""The two consoles: what becomes of a command whose output nobody reads any more."""

from __future__ import annotations

from rich.console import Console


class ResultConsole(Console):
    """For results, which are all that the command is for."""

    def on_broken_pipe(self) -> None:
        """Let the error end the command."""
        raise BrokenPipeError


class ProgressConsole(Console):
    """For progress and logs: runs that cost money are not lost with their reader."""

    def on_broken_pipe(self) -> None:
        """Say nothing more."""
        self.quiet = True
