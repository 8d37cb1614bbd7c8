"""Images of command-line agents: the agent image with one pinned agent in it.

A name `esac-ag/agent-<name>:<digest>` follows from `runner/` alone; the label `esac-ag.inputs` also covers
the content of the agent image below. An image is kept only when its program tells the pinned version, in a
hardened container.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from esac_ag.canonical import sha256_of
from esac_ag.clock import Deadline
from esac_ag.errors import ImageMissing, InfrastructureFailure, InputRefused
from esac_ag.manifest.agent_file import AgentFile, NpmPackage, OwnFolder, PypiPackages
from esac_ag.owner import temporary_folder
from esac_ag.sandbox.agent_context import add_npm, add_own, add_wheels, write_context, written_layer
from esac_ag.sandbox.agent_files import KnownAgent, agent_names, read_agent
from esac_ag.sandbox.contract import Engine, Role, SandboxSpec, ScratchMount, Termination, Volume
from esac_ag.sandbox.image_base import INPUTS_LABEL, KIND_LABEL, Progress
from esac_ag.sandbox.image_definition import ImageDefinition, ImageKind
from esac_ag.sandbox.packages import fetch_npm, fetch_wheels, locked

if TYPE_CHECKING:
    from esac_ag.sandbox.docker import ImageStore
    from esac_ag.sandbox.facts import ImageFacts

AGENT_LABEL = "esac-ag.command-agent"
"""Name and version of the agent in an image, with a space between."""

_MIB = 1024 * 1024
_ARCHITECTURES = {"linux/amd64": "amd64"}
_VERSION_LIMIT_S = 120.0


@dataclass(frozen=True, slots=True)
class AgentWork:
    """What the steps of a build need."""

    store: ImageStore
    engine: Engine
    definition: ImageDefinition
    runner_dir: Path
    progress: Progress


def agent_image_reference(definition: ImageDefinition, agent: KnownAgent) -> str:
    """Name of an agent's image that today's `runner/` calls for, whether or not it exists."""
    return f"esac-ag/agent-{agent.file.name}:{_digest(definition, agent)[:12]}"


def agent_image_references(definition: ImageDefinition, runner_dir: Path) -> dict[str, str]:
    """Names of the images of all agents, by agent; agent files that cannot be used are left out."""
    references = {}
    for name in agent_names(runner_dir):
        try:
            references[name] = agent_image_reference(definition, read_agent(runner_dir, name))
        except InputRefused:
            continue
    return references


def ensure_agent_image(
    work: AgentWork, agent: KnownAgent, below: ImageFacts, packages: Sequence[str]
) -> tuple[ImageFacts, bool]:
    """An agent's image and whether it was built now.

    Args:
        work: engine, definition and progress.
        agent: what goes into it.
        below: the agent image.
        packages: `name=version` of the Debian packages in it.

    Raises:
        InputRefused: the agent's files are wrong.
        SubstitutionRefused: a package is not the pinned one.
        ImageMissing: a package cannot be had, or the agent is for another platform or Python.
        InfrastructureFailure: the build failed, or the program does not tell the pinned version.
    """
    reference = agent_image_reference(work.definition, agent)
    inputs = sha256_of({"definition": _digest(work.definition, agent), "base": below.digest()})
    found = work.store.inspect(reference)
    if found and found.labels.get(INPUTS_LABEL) == inputs:
        return found, False
    _require_fit(agent.file, below, packages)
    labels = {
        INPUTS_LABEL: inputs,
        KIND_LABEL: ImageKind.COMMAND_AGENT.value,
        AGENT_LABEL: f"{agent.file.name} {agent.file.version}",
    }
    with temporary_folder("agent-image") as folder:
        context = _context(work, agent, folder)
        work.progress(f"building {reference}")
        made = work.store.build(context, "Dockerfile", reference, labels, {"BASE": below.id})
    try:
        require_version(work.engine, agent.file, made.id)
    except BaseException:
        work.store.remove(reference)
        raise
    return made, True


def require_version(engine: Engine, file: AgentFile, image: str) -> None:
    """Run an agent's program as every run does, and see that it tells the pinned version.

    Raises:
        InfrastructureFailure: it does not start, or tells another version.
    """
    output = bytearray()
    with engine.create(_version_spec(file, image)) as sandbox:
        sandbox.start()
        ended = sandbox.wait(Deadline.after_s(_VERSION_LIMIT_S), sink=output.extend)
    lines = [line.rstrip() for line in output.decode("utf-8", "replace").splitlines()]
    well = ended.termination is Termination.EXITED and ended.exit_code == 0
    if not (well and file.version_line in lines):
        raise InfrastructureFailure(
            f"The agent {file.name} does not tell its pinned version.",
            where=" ".join((file.program_path, *file.version_argv)),
            expected=f"the line {file.version_line!r} and exit code 0",
            found="\n".join([f"{ended.termination.value}, exit code {ended.exit_code}", *lines[:10]]),
            remedy=f"correct `version_line` or the package in runner/agents/{file.name}.json",
        )


def _version_spec(file: AgentFile, image: str) -> SandboxSpec:
    return SandboxSpec(
        image=image,
        role=Role.PROBE,
        study="images",
        attempt="version",
        argv=(file.program_path, *file.version_argv),
        uid=10001,
        gid=10001,
        home="/agent",
        working_dir="/agent",
        volumes=(Volume(path="/agent", size_bytes=64 * _MIB, owner_uid=10001),),
        scratch=(ScratchMount(path="/tmp", size_bytes=64 * _MIB),),  # noqa: S108  (inside the container)
        cpus=1.0,
        memory_mib=1024,
        pids=256,
    )


def _digest(definition: ImageDefinition, agent: KnownAgent) -> str:
    return sha256_of(
        {
            "agent": agent.digest(),
            "image": definition.digest(ImageKind.AGENT),
            "layer": definition.digest(ImageKind.COMMAND_AGENT),
        }
    )


def _context(work: AgentWork, agent: KnownAgent, folder: Path) -> Path:
    """Fetch what the agent is made from, and write the build context; what was fetched is used up."""
    file, epoch_s = agent.file, work.definition.base.epoch_s
    layer = folder / "package.tar"
    with (
        written_layer(layer, file.folder, epoch_s) as members,
        temporary_folder("fetched", inside=folder) as into,
    ):
        match file.install:
            case NpmPackage() as package:
                work.progress(f"fetching {package.package}@{package.version} with npm")
                add_npm(members, fetch_npm(package, into))
            case PypiPackages() as install:
                pins = locked(agent.requirements or "", install.requirements)
                work.progress(f"fetching {len(pins)} wheels with pip")
                # The text that was read and digested is what pip gets.
                lock = into / "requirements.txt"
                lock.write_text(agent.requirements or "", encoding="utf-8")
                add_wheels(members, fetch_wheels(lock, pins, install.python, into), file, install)
            case OwnFolder():
                add_own(members, agent.own or {})
    context = folder / "context.tar"
    write_context(layer, work.definition.images[f"{ImageKind.COMMAND_AGENT}.Dockerfile"], epoch_s, context)
    return context


def _require_fit(file: AgentFile, below: ImageFacts, packages: Sequence[str]) -> None:
    """Refuse what cannot run in the image before anything is fetched."""
    wanted = _ARCHITECTURES.get(file.platform, below.architecture)
    if below.architecture != wanted:
        raise ImageMissing(
            f"The agent {file.name} is not made for this machine.",
            where=f"runner/agents/{file.name}.json",
            expected=file.platform,
            found=f"an agent image for {below.architecture}",
            remedy="use an engine on that platform",
        )
    if isinstance(file.install, PypiPackages):
        version = next((p.partition("=")[2] for p in packages if p.startswith("python3=")), "none")
        if not version.startswith(f"{file.install.python}."):
            raise ImageMissing(
                f"The wheels of the agent {file.name} are for another Python than the image's.",
                where=f"runner/agents/{file.name}.json",
                expected=f"Python {file.install.python}",
                found=f"Python {version}",
                remedy="build on the base in runner/images/base.json, or lock wheels for this Python",
            )
