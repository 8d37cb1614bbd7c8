"""Why a call is refused: what becomes an error reply."""

from __future__ import annotations


class Refused(Exception):
    """A call that the world answers with an error reply.

    `code` is one of docs/suite-world.md. The state stays as it was before the call, unless
    `counts`: the refusal itself is counted in the state.
    """

    def __init__(self, code: str, message: str, *, counts: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.counts = counts


def not_found(what: str, key: str) -> Refused:
    """Nothing has this id."""
    return Refused("not-found", f"there is no {what} {key!r}")
