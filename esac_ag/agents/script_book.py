"""Script books: what the scripted agent may play, by task and arm, read strictly from JSON.

A book holds for every task named *plays* (lists of actions) and their weights; weights may differ by arm.
Patches are named by path or given as text; a loaded book holds their text, so that its digest covers all that
can be played.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, ValidationError, model_validator

from esac_ag.canonical import loads_strict, sha256_of
from esac_ag.errors import InputRefused, SubstitutionRefused
from esac_ag.record import Identifier, Record, Sha256

ANY_TASK = "*"
"""Key of the plays for tasks that the book does not name."""


def _without_nul(value: str) -> str:
    if "\0" in value:
        raise ValueError("must not hold NUL")
    return value


InsidePath = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_without_nul)]
"""A path inside the container, relative to the workspace unless absolute."""
Weight = Annotated[float, Field(ge=0, le=1_000_000)]
Argument = Annotated[str, Field(max_length=100_000), AfterValidator(_without_nul)]


class WriteFile(Record):
    """Write a whole text file."""

    do: Literal["write_file"]
    path: InsidePath
    text: str


class Run(Record):
    """Run a command in the workspace."""

    do: Literal["run"]
    argv: Annotated[tuple[Argument, ...], Field(min_length=1)]


class ApplyPatch(Record):
    """Apply a unified diff with `git apply -p1` in the workspace."""

    do: Literal["apply_patch"]
    patch: str | None = None
    patch_file: str | None = None
    """File of the workspace's rooms on the host, relative to the root; read when the book is loaded."""

    @model_validator(mode="after")
    def _has_a_patch(self) -> Self:
        if self.patch is None and self.patch_file is None:
            raise ValueError("needs `patch` or `patch_file`")
        return self


class Delete(Record):
    """Delete a file or a folder."""

    do: Literal["delete"]
    path: InsidePath


class Sleep(Record):
    """Let time pass, inside the container."""

    do: Literal["sleep"]
    duration_s: Annotated[float, Field(ge=0, le=86_400)]


class Say(Record):
    """Say something, in the transcript and the log."""

    do: Literal["say"]
    text: str


class Fail(Record):
    """End abnormally at once."""

    do: Literal["fail"]
    exit_code: Annotated[int, Field(ge=1, le=255)]


class NoOp(Record):
    """Do nothing."""

    do: Literal["no-op"]


Action = Annotated[
    WriteFile | Run | ApplyPatch | Delete | Sleep | Say | Fail | NoOp, Field(discriminator="do")
]
Actions = tuple[Action, ...]


class TaskScript(Record):
    """What can be played for a task."""

    plays: Annotated[dict[Identifier, Actions], Field(min_length=1)]
    weights: dict[Identifier, Weight] = Field(default_factory=dict)
    """By play; plays that are not named have weight 1 when this is empty, else 0."""
    arms: dict[Identifier, dict[Identifier, Weight]] = Field(default_factory=dict)
    """Weights in place of `weights`, by arm."""

    @model_validator(mode="after")
    def _weights_fit(self) -> Self:
        for where, weights in {"weights": self.weights, **self.arms}.items():
            if unknown := sorted(set(weights) - set(self.plays)):
                raise ValueError(f"{where}: there is no play {', '.join(unknown)}")
            if weights and sum(weights.values()) <= 0:
                raise ValueError(f"{where}: the weights add up to nothing")
            if where != "weights" and not weights:
                raise ValueError(f"{where}: no weights")
        return self

    def weights_for(self, arm: str) -> dict[str, float]:
        """The weights that hold for an arm, by play."""
        return dict(self.arms.get(arm) or self.weights or dict.fromkeys(self.plays, 1.0))


class ScriptBook(Record):
    """A whole book, format_version 1."""

    format_version: Literal[1]
    tasks: Annotated[dict[Identifier | Literal["*"], TaskScript], Field(min_length=1)]

    def sha256(self) -> str:
        """Digest over everything that can be played, the patches' text included."""
        return sha256_of(self)

    def script_for(self, task: str) -> TaskScript:
        """The script of a task.

        Raises:
            InputRefused: the book has none for it, nor one for any task.
        """
        script = self.tasks.get(task) or self.tasks.get(ANY_TASK)
        if script is None:
            raise InputRefused(
                f"The script book has no plays for task {task}",
                where=f"/tasks/{task}",
                found=", ".join(self.tasks),
                remedy=f'add the task to the book, or an entry "{ANY_TASK}" for all others',
            )
        return script


class ScriptedSettings(Record):
    """`agent.settings` of kind `scripted`."""

    script: str
    """The book, relative to the manifest."""
    script_sha256: Sha256 | None = None
    """Digest of the loaded book (`ScriptBook.sha256`); when given, another book is refused."""

    @classmethod
    def read(cls, settings: Mapping[str, JsonValue]) -> Self:
        """The settings of a manifest.

        Raises:
            InputRefused: for unknown keys and wrong values.
        """
        try:
            return cls.model_validate(dict(settings))
        except ValidationError as error:
            raise InputRefused(
                "The settings of the scripted agent are wrong",
                where="/agent/settings",
                found=_faults(error),
                remedy=f"known settings: {', '.join(cls.model_fields)}",
            ) from error

    def accept(self, book: ScriptBook) -> ScriptBook:
        """The book, when it is the sealed one.

        Raises:
            SubstitutionRefused: it is another.
        """
        if self.script_sha256 is not None and book.sha256() != self.script_sha256:
            raise SubstitutionRefused(
                "The script book is not the one that the manifest sealed",
                where=self.script,
                expected=self.script_sha256,
                found=book.sha256(),
                remedy="restore the book and its patches, or freeze a new study",
            )
        return book


def load_script_book(
    data: bytes, *, where: str = "script book", read_file: Callable[[str], bytes] | None = None
) -> ScriptBook:
    """Read a book and the patches that it names.

    Args:
        data: the book's JSON.
        where: its path, for errors.
        read_file: gives the bytes of a file from its path relative to the workspace's root, and raises
            OSError when it cannot; without it a book must not name patch files.

    Raises:
        InputRefused: the book or a patch cannot be read or is wrong.
    """
    try:
        # JSON mode, so that arrays become tuples; the text was read strictly before.
        loads_strict(data)
        book = ScriptBook.model_validate_json(data)
    except ValidationError as error:
        raise _refused(where, _faults(error)) from error
    except (ValueError, RecursionError) as error:
        raise _refused(where, str(error)) from error
    tasks = {
        task: script.model_copy(
            update={
                "plays": {
                    name: tuple(_with_patch(action, where, read_file) for action in actions)
                    for name, actions in script.plays.items()
                }
            }
        )
        for task, script in book.tasks.items()
    }
    return book.model_copy(update={"tasks": tasks})


def _with_patch(action: Action, where: str, read_file: Callable[[str], bytes] | None) -> Action:
    """The action, its patch's text filled in."""
    if not isinstance(action, ApplyPatch) or action.patch_file is None:
        return action
    path = action.patch_file
    if action.patch is not None:
        raise _refused(where, f"{path}: give `patch` or `patch_file`, not both")
    if path.startswith("/") or ".." in path.split("/"):
        raise _refused(where, f"{path}: a path below the workspace's root is expected")
    if read_file is None:
        raise _refused(where, f"{path}: this book must not name files")
    try:
        text = read_file(path).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _refused(where, f"{path}: {error}") from error
    return action.model_copy(update={"patch": text})


def _refused(where: str, found: str) -> InputRefused:
    return InputRefused(
        "The script book cannot be used",
        where=where,
        found=found,
        remedy="see docs/agents.md for the format",
    )


def _faults(error: ValidationError) -> str:
    return "; ".join(f"/{'/'.join(map(str, f['loc']))}: {f['msg']}" for f in error.errors())
