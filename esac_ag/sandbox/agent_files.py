"""Reading `runner/agents/`: which command-line agents a workspace knows, and what each is made from."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from esac_ag.canonical import file_sha256, loads_strict, sha256_of
from esac_ag.errors import InputRefused, UsageError
from esac_ag.manifest.agent_file import AgentFile, NpmPackage, OwnFolder, PypiPackages
from esac_ag.record import Record
from esac_ag.sandbox.image_definition import with_lf

AGENTS_ROOM = "agents"
_IGNORED = "__pycache__"


class KnownAgent(Record):
    """An agent file with the files beside it that it names."""

    file: AgentFile
    requirements: str | None = None
    """Text of the locked requirements, for wheels."""
    own: dict[str, bytes] | None = None
    """Content of the agent's own folder by POSIX path."""

    def digest(self) -> str:
        """Digest over all that the agent is made from, the packages by their pinned digests."""
        own = None if self.own is None else {path: file_sha256(data) for path, data in self.own.items()}
        plain = self.file.model_dump(mode="json", include=_IMAGE_FIELDS)
        return sha256_of({"agent": plain, "requirements": self.requirements, "own": dict(own or {})})


_IMAGE_FIELDS = {"name", "version", "platform", "install", "program", "version_argv", "version_line"}
"""What of an agent file shows in its image: how it is launched does not."""


def agent_names(runner_dir: Path) -> tuple[str, ...]:
    """Names of all agents that the workspace describes, in order."""
    return tuple(sorted(path.stem for path in (runner_dir / AGENTS_ROOM).glob("*.json")))


def read_agent(runner_dir: Path, name: str) -> KnownAgent:
    """An agent of the workspace.

    Raises:
        UsageError: the workspace has no agent of that name.
        InputRefused: its file, or a file that it names, is missing or wrong.
    """
    known = agent_names(runner_dir)
    folder = runner_dir / AGENTS_ROOM
    if name not in known:
        raise UsageError(
            "There is no agent of that name.",
            where=str(folder),
            expected=" or ".join(known) or "a file NAME.json",
            found=name,
            remedy="name one of these, or describe the agent (docs/agents.md)",
        )
    path = folder / f"{name}.json"
    file = _parsed(path)
    if file.name != name:
        raise InputRefused(
            "An agent is named otherwise than its file.", where=str(path), expected=name, found=file.name
        )
    match file.install:
        case NpmPackage():
            return KnownAgent(file=file)
        case PypiPackages(requirements=lock):
            return KnownAgent(file=file, requirements=_bytes(folder / lock, path).decode("utf-8", "replace"))
        case OwnFolder(folder=own):
            return KnownAgent(file=file, own=_own_files(folder / own, path))


def _parsed(path: Path) -> AgentFile:
    try:
        data = path.read_bytes()
        loads_strict(data)
        return AgentFile.model_validate_json(data)
    except ValidationError as error:
        found = "; ".join(f"{'/'.join(map(str, e['loc'])) or '/'}: {e['msg']}" for e in error.errors())
        raise InputRefused(
            "An agent file is wrong.",
            where=str(path),
            found=found,
            remedy="correct it; the schema is manifests/schema/agent-v1.schema.json",
        ) from error
    except (ValueError, RecursionError, OSError) as error:
        raise InputRefused("An agent file cannot be read.", where=str(path), found=str(error)) from error


def _bytes(path: Path, named_by: Path) -> bytes:
    try:
        return with_lf(path.read_bytes())
    except OSError as error:
        raise InputRefused(
            "A file that an agent is made from cannot be read.",
            where=str(path),
            expected=f"the file that {named_by.name} names",
            found=str(error),
        ) from error


def _own_files(folder: Path, named_by: Path) -> dict[str, bytes]:
    files = {
        path.relative_to(folder).as_posix(): _bytes(path, named_by)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and _IGNORED not in path.parts
    }
    if not files:
        raise InputRefused(
            "An agent's own folder holds nothing.",
            where=str(folder),
            expected=f"the folder that {named_by.name} names",
        )
    return files
