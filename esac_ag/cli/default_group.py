"""A group of commands one of which needs no name: `publish STUDY` beside `publish verify BUNDLE`."""

from __future__ import annotations

from typing import Any, Final

from typer.core import TyperGroup


class WriteByDefault(TyperGroup):
    """`report STUDY` is `report write STUDY`."""

    default_command: Final = "write"

    # Typer keeps the class of its context to itself.
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401
        """Put the default command before arguments that begin with none."""
        if args and args[0] not in {*self.commands, "--help"}:
            args = [self.default_command, *args]
        return super().parse_args(ctx, args)
