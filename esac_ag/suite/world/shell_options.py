"""Options of commands: clusters of letters, values, and operands in any order."""

from __future__ import annotations

from dataclasses import dataclass, field

from .shell_call import Call, CommandFailed


@dataclass(frozen=True, slots=True)
class Options:
    """What was given: options in order with their values, and operands."""

    given: list[tuple[str, str]] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)

    def has(self, *names: str) -> bool:
        """Whether one of these was given."""
        return any(name in names for name, _ in self.given)

    def last(self, *names: str) -> str | None:
        """The last value given for one of these."""
        values = self.all(*names)
        return values[-1] if values else None

    def all(self, *names: str) -> list[str]:
        """All values given for these."""
        return [value for name, value in self.given if name in names]


def options_of(
    call: Call, flags: str, valued: str = "", *, long_valued: tuple[str, ...] = (), status: int = 1
) -> Options:
    """Options and operands of a call.

    Raises:
        CommandFailed: with `status`, for an option that there is not or that lacks its value.
    """
    options = Options()
    rest = list(call.arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            options.operands.extend(rest)
            break
        if argument.startswith("--"):
            name, equals, value = argument[2:].partition("=")
            if name not in long_valued or not (equals or rest):
                raise CommandFailed(f"unrecognized option '{argument}'", status)
            options.given.append((name, value if equals else rest.pop(0)))
        elif argument.startswith("-") and argument != "-":
            _cluster(argument[1:], rest, options, flags, valued, status)
        else:
            options.operands.append(argument)
    return options


def _cluster(letters: str, rest: list[str], options: Options, flags: str, valued: str, status: int) -> None:
    for position, letter in enumerate(letters):
        if letter in flags:
            options.given.append((letter, ""))
            continue
        if letter not in valued:
            raise CommandFailed(f"invalid option -- '{letter}'", status)
        attached = letters[position + 1 :]
        if not attached and not rest:
            raise CommandFailed(f"option requires an argument -- '{letter}'", status)
        options.given.append((letter, attached or rest.pop(0)))
        return


def count_of(text: str, what: str) -> int:
    """A number that is not negative.

    Raises:
        CommandFailed: for anything else.
    """
    if not (text.isascii() and text.isdigit()) or len(text) > 15:  # noqa: PLR2004 no file has so many
        raise CommandFailed(f"invalid number of {what}: '{text}'")
    return int(text)
