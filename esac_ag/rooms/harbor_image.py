"""Reads a Dockerfile for what it puts into the working directory. Pure: commands are only listed here."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from esac_ag.errors import InputRefused
from esac_ag.rooms.harbor_copy import CannotCopy, Copy, copied, parse_copy
from esac_ag.rooms.harbor_dockerfile import Instruction, expanded, instructions
from esac_ag.rooms.harbor_report import Fate, Item
from esac_ag.tree import FileTree

_FETCHES = re.compile(
    r"(?:^|[\s;&|(`])(?:\S*/)?(apt-get|apt|aptitude|dpkg|apk|yum|dnf|microdnf|zypper|pacman|pip3?|pipx|uvx?|"
    r"poetry|conda|mamba|micromamba|npm|npx|yarn|pnpm|bun|cargo|rustup|gem|bundle|go|composer|curl|wget|"
    r"git\s+clone|git\s+submodule|add-apt-repository|useradd|adduser|groupadd|addgroup|chown|usermod)(?:\s|$)",
    re.MULTILINE,
)
_MODULES = re.compile(r"-m\s+(pip|ensurepip|venv)\b")
_NOTHING = {
    "CMD": "nothing of a task is started in the agent's container",
    "ENTRYPOINT": "nothing of a task is started in the agent's container",
    "EXPOSE": "containers have no network",
    "HEALTHCHECK": "nothing of a task is started in the agent's container",
    "LABEL": "no image is built",
    "MAINTAINER": "no image is built",
    "ONBUILD": "no image is built",
    "SHELL": "commands are given to /bin/sh",
    "STOPSIGNAL": "nothing of a task is started in the agent's container",
    "USER": "agents and graders run as users of ours",
    "VOLUME": "a container's folders are ours",
}


@dataclass(frozen=True, slots=True)
class Files:
    """Files that the Dockerfile copies, by absolute path without the leading slash."""

    tree: FileTree
    item: Item


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the Dockerfile that may make files in the working directory."""

    text: str
    """For `/bin/sh -c`."""
    folder: str
    variables: Mapping[str, str]
    shown: str


@dataclass(frozen=True, slots=True)
class ReadImage:
    """What a Dockerfile says about the task's files."""

    workdir: str | None
    """The last WORKDIR, None when there is none."""
    steps: tuple[Files | Command, ...]
    """In order; the last stage's only."""
    variables: Mapping[str, str]
    """What ENV sets."""
    items: tuple[Item, ...]
    """Of everything but the steps."""


def read_image(dockerfile: str, context: FileTree, where: str) -> ReadImage:
    """Read a Dockerfile together with its build context.

    Args:
        dockerfile: its text.
        context: the files of `environment/`.
        where: the Dockerfile's path, for errors.

    Raises:
        InputRefused: a path leads out of the context.
    """
    state = _State(context, where)
    for instruction in instructions(dockerfile):
        state.take(instruction)
    if b".dockerignore" in context:
        state.tell(
            "environment/.dockerignore", Fate.NOT_KEPT, "it is not applied: COPY takes what it leaves out"
        )
    return ReadImage(state.workdir, tuple(state.steps), state.env, tuple(state.items))


@dataclass(slots=True)
class _State:
    context: FileTree
    where: str
    steps: list[Files | Command] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)
    workdir: str | None = None
    stages: int = 0

    def tell(self, what: str, fate: Fate, why: str) -> None:
        self.items.append(Item(what=what, fate=fate, why=why))

    def take(self, instruction: Instruction) -> None:
        takers: dict[str, Callable[[Instruction], None]] = {
            "FROM": self._from,
            "WORKDIR": self._workdir,
            "ENV": self._env,
            "ARG": self._arg,
            "COPY": self._copy,
            "ADD": self._copy,
            "RUN": self._run,
        }
        if taker := takers.get(instruction.name):
            taker(instruction)
            return
        why = _NOTHING.get(instruction.name, "it is no instruction that is known here")
        self.tell(instruction.shown, Fate.NOT_KEPT, why)

    def _from(self, instruction: Instruction) -> None:
        if self.stages:
            why = "it belongs to an earlier build stage; only the last one is read"
            # The steps have no items yet, so that what is changed are variables.
            self.items = [
                item if item.fate is Fate.NOT_KEPT else Item(what=item.what, fate=Fate.NOT_KEPT, why=why)
                for item in self.items
            ]
            for step in self.steps:
                self.tell(step.item.what if isinstance(step, Files) else step.shown, Fate.NOT_KEPT, why)
        self.stages += 1
        self.steps, self.env, self.workdir = [], {}, None
        self.tell(
            instruction.shown,
            Fate.NOT_KEPT,
            "the image is ours: Debian with bash, coreutils, git, Python 3.11 and pytest, without a network",
        )

    def _variables(self) -> dict[str, str]:
        return {**self.arguments, **self.env}

    def _workdir(self, instruction: Instruction) -> None:
        path = expanded(instruction.text.strip("\"'"), self._variables())
        self.workdir = posixpath.normpath(posixpath.join(self.workdir or "/", path or "."))
        if self.workdir.startswith("//"):
            self.workdir = self.workdir[1:]

    def _env(self, instruction: Instruction) -> None:
        pairs = _pairs(instruction.text)
        if pairs is None:
            self.tell(instruction.shown, Fate.NOT_KEPT, "it cannot be read")
            return
        before = self._variables()
        for name, value in pairs.items():
            what = f"Dockerfile:{instruction.line}: ENV {name}"
            if name == "PATH":
                self.tell(what, Fate.NOT_KEPT, "programs are found where our images have them")
                continue
            self.env[name] = expanded(value, before)
            self.tell(what, Fate.CHANGED, "test.sh and solve.sh get it; an agent's container does not")

    def _arg(self, instruction: Instruction) -> None:
        pairs = _pairs(instruction.text)
        if pairs is None:
            self.tell(instruction.shown, Fate.NOT_KEPT, "it cannot be read")
            return
        for name, value in pairs.items():
            self.arguments[name] = expanded(value, self._variables())

    def _copy(self, instruction: Instruction) -> None:
        try:
            copy = parse_copy(instruction, self._variables())
            tree = copied(copy, self.context, self.workdir or "/", self._folders())
        except CannotCopy as error:
            if error.leaves:
                raise InputRefused(
                    "The Dockerfile copies from outside of the task's environment folder.",
                    where=f"{self.where}:{instruction.line}",
                    expected="paths inside of environment/",
                    found=instruction.shown,
                ) from error
            self.tell(instruction.shown, Fate.NOT_KEPT, str(error))
            return
        self.steps.append(Files(tree, _copy_item(instruction, copy)))

    def _folders(self) -> frozenset[str]:
        """Absolute paths that are folders by now, as far as one can tell."""
        paths = [
            path.decode("utf-8", "surrogateescape")
            for s in self.steps
            if isinstance(s, Files)
            for path in s.tree
        ]
        known = {"/"} | ({self.workdir} if self.workdir else set())
        for path in paths:
            parts = path.split("/")[:-1]
            known |= {"/" + "/".join(parts[:depth]) for depth in range(1, len(parts) + 1)}
        return frozenset(known)

    def _run(self, instruction: Instruction) -> None:
        text = _command(instruction)
        if text is None:
            self.tell(instruction.shown, Fate.NOT_KEPT, "its options (--mount, --network, ...) need a build")
            return
        if found := _FETCHES.search(text) or _MODULES.search(text):
            needs = "needs a network, a package manager or root, of which there is none"
            self.tell(instruction.shown, Fate.NOT_KEPT, f"{' '.join(found.group(1).split())} {needs}")
            return
        self.steps.append(Command(text, self.workdir or "/", self._variables(), instruction.shown))


def _copy_item(instruction: Instruction, copy: Copy) -> Item:
    if copy.dropped:
        return Item(
            what=instruction.shown,
            fate=Fate.CHANGED,
            why=f"the files are kept without {', '.join(copy.dropped)}: everything belongs to the agent",
        )
    return Item(what=instruction.shown, fate=Fate.KEPT, why="the files are in the snapshot")


def _command(instruction: Instruction) -> str | None:
    """The text for a shell; None when the instruction has options."""
    if instruction.text.startswith("--"):
        return None
    if (array := instruction.array()) is not None:
        return shlex.join(array)
    if instruction.heredocs and re.fullmatch(r"<<-?['\"]?\w+['\"]?", instruction.text):
        return instruction.heredocs[0].text
    below = "".join(f"\n{heredoc.text}{heredoc.name}" for heredoc in instruction.heredocs)
    return instruction.text + below + ("\n" if below else "")


def _pairs(text: str) -> dict[str, str] | None:
    """Names and values of ENV and ARG; None when they cannot be read."""
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    if words and "=" not in words[0]:
        name, _, value = text.partition(" ")
        return {name: value.strip()}
    pairs = dict(word.split("=", 1) for word in words if "=" in word)
    return pairs if len(pairs) == len(words) else None
