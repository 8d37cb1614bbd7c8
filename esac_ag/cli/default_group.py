"""A group of commands one of which needs no name: `publish STUDY` beside `publish verify BUNDLE`."""

from __future__ import annotations

from typing import Any, ClassVar

from typer.core import TyperGroup


class DefaultGroup(TyperGroup):
    """Takes words that begin with no command's name as the default command's."""

    default: ClassVar[str] = "study"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  (Typer's own, not public)
        """Put the default command's name before them."""
        if args and args[0] not in self.commands:
            args = [self.default, *args]
        return super().parse_args(ctx, args)
