"""The agent and the grader image: built when their inputs changed, named by their inputs, known by content.

A name such as `esac-ag/agent:0123456789ab` follows from `runner/` alone. The label `esac-ag.inputs` also
covers the base's content, so an image on another base is built anew under the same name. The content digest
(layer diff ids and configuration) is what manifests seal.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock
from pydantic import ValidationError

from esac_ag.canonical import canonical_json, sha256_of
from esac_ag.errors import InfrastructureFailure
from esac_ag.record import Record
from esac_ag.sandbox.agent_files import read_agent
from esac_ag.sandbox.agent_images import (
    AGENT_LABEL,
    AgentWork,
    agent_image_reference,
    agent_image_references,
    ensure_agent_image,
)
from esac_ag.sandbox.contract import Engine
from esac_ag.sandbox.image_base import (
    BASE_LABEL,
    INPUTS_LABEL,
    KIND_LABEL,
    BaseRecord,
    BaseSource,
    Progress,
    base_record,
    ensure_base,
)
from esac_ag.sandbox.image_definition import ImageDefinition, ImageKind, read_definition

if TYPE_CHECKING:
    from esac_ag.sandbox.docker import ImageStore
    from esac_ag.sandbox.facts import ImageFacts

LAYER_KINDS = (ImageKind.AGENT, ImageKind.GRADER)


class ImageState(StrEnum):
    """What a build did to an image, or what a listing says of it."""

    BUILT = "built"
    UNCHANGED = "unchanged"
    """Nothing had changed, nothing was done."""
    CURRENT = "current"
    """Today's `runner/` calls for it."""
    OLDER = "older"
    """An earlier `runner/`, or another base, called for it."""


class OurImage(Record):
    """One of our images."""

    kind: ImageKind
    reference: str
    """`repository:tag`, or the engine's id when newer builds took all names."""
    digest: str
    """`sha256:` content digest."""
    inputs: str
    """64 hexadecimal digits over all that it is made from."""
    size_bytes: int
    created: str
    state: ImageState
    made_from: BaseSource
    packages: tuple[str, ...]
    """`name=version` of all that is in it; empty for a base, whose images tell."""
    command_agent: str | None = None
    """Name and version of the command-line agent in it."""


class ImageReport(Record):
    """Our images, after a build or as they are."""

    images: tuple[OurImage, ...]

    def of(self, kind: ImageKind) -> OurImage:
        """The first image of a kind."""
        return next(image for image in self.images if image.kind is kind)


def agent_reference(runner_dir: Path, command_agent: str | None = None) -> str:
    """Name of the agent image that today's `runner/` calls for, whether or not it exists.

    Args:
        runner_dir: the workspace's `runner/` folder.
        command_agent: name of the command-line agent that has to be in it.

    Raises:
        InputRefused: the files that the image is made from cannot be used.
        UsageError: there is no agent of that name.
    """
    definition = read_definition(runner_dir)
    if command_agent is None:
        return definition.reference(ImageKind.AGENT)
    return agent_image_reference(definition, read_agent(runner_dir, command_agent))


def grader_reference(runner_dir: Path) -> str:
    """Name of the grader image that today's `runner/` calls for, whether or not it exists."""
    return read_definition(runner_dir).reference(ImageKind.GRADER)


def images_lock() -> FileLock:
    """What is held while images are built, so that two commands that need the same ones build them once.

    Who takes an image away holds it, too: engines let go of the steps that it was built in, and a build that
    has just found one of them would fail.
    """
    return FileLock(Path(tempfile.gettempdir()) / f"esac-ag-images-{os.getuid()}.lock")


def build_images(
    store: ImageStore,
    engine: Engine,
    runner_dir: Path,
    *,
    base: str | None = None,
    agents: Sequence[str] = (),
    progress: Progress,
) -> ImageReport:
    """Build what is missing or changed of base, agent and grader image, and of images of command-line agents.

    Args:
        store: the engine's images.
        engine: makes the container in which a new base's packages are listed.
        runner_dir: the workspace's `runner/` folder.
        base: `name@sha256:...` or `debian-packages`; None for the definition's choice.
        agents: names of command-line agents (`runner/agents/`).
        progress: told each step that takes time.

    Returns:
        The agent and the grader image, and then the agents' in the order of their names.

    Raises:
        InputRefused: the definition, or an agent's, is wrong.
        SubstitutionRefused: an agent's package is not the pinned one.
        UsageError: the base is not pinned by digest, or there is no such agent.
        ImageMissing: the base, or an agent's package, cannot be had.
        InfrastructureFailure: a build failed.
    """
    definition = read_definition(runner_dir)
    known_agents = [read_agent(runner_dir, name) for name in dict.fromkeys(agents)]
    with images_lock():
        below = ensure_base(store, definition, base, progress)
        work = _Work(store, engine, definition, progress)
        images = [_ensure_layer(work, kind, below) for kind in LAYER_KINDS]
        agent_image = next(image for image in images if image.kind is ImageKind.AGENT)
        agent_work = AgentWork(store, engine, definition, runner_dir, progress)
        for agent in known_agents:
            facts, is_new = ensure_agent_image(
                agent_work, agent, store.require(agent_image.reference), agent_image.packages
            )
            images.append(
                _known(facts, ImageState.BUILT if is_new else ImageState.UNCHANGED, facts.repo_tags[0])
            )
        return ImageReport(images=tuple(images))


def list_images(store: ImageStore, runner_dir: Path) -> ImageReport:
    """All images of ours that the engine has, current ones first."""
    definition = read_definition(runner_dir)
    wanted = {definition.reference(kind) for kind in LAYER_KINDS}
    wanted.update(agent_image_references(definition, runner_dir).values())
    found = store.list(KIND_LABEL)
    tops = [facts for facts in found if not wanted.isdisjoint(facts.repo_tags)]
    bases = {record.digest for facts in tops if (record := _base_of(facts))}
    current = {facts.id for facts in found if facts in tops or facts.digest() in bases}
    images = (
        _described(facts, ImageState.CURRENT if facts.id in current else ImageState.OLDER) for facts in found
    )
    order = {ImageState.CURRENT: 0, ImageState.OLDER: 1}
    known = filter(None, images)
    return ImageReport(images=tuple(sorted(known, key=lambda i: (order[i.state], i.kind, i.reference))))


@dataclass(frozen=True, slots=True)
class _Work:
    store: ImageStore
    engine: Engine
    definition: ImageDefinition
    progress: Progress


def _ensure_layer(work: _Work, kind: ImageKind, below: ImageFacts) -> OurImage:
    reference = work.definition.reference(kind)
    inputs = sha256_of({"definition": work.definition.digest(kind), "base": below.digest()})
    found = work.store.inspect(reference)
    if (
        found
        and found.labels.get(INPUTS_LABEL) == inputs
        and (known := _described(found, ImageState.UNCHANGED))
    ):
        return known.model_copy(update={"reference": reference})
    work.progress(f"building {reference}")
    labels = {
        INPUTS_LABEL: inputs,
        KIND_LABEL: kind.value,
        BASE_LABEL: canonical_json(base_record(work.engine, below)).decode(),
    }
    context = work.definition.layer_context(kind)
    made = work.store.build(context, "Dockerfile", reference, labels, {"BASE": below.id})
    return _known(made, ImageState.BUILT, reference)


def _known(facts: ImageFacts, state: ImageState, reference: str) -> OurImage:
    known = _described(facts, state)
    if known is None:
        raise InfrastructureFailure(
            "The engine lost the labels of an image that it built.",
            where=reference,
            expected=f"{KIND_LABEL}, {INPUTS_LABEL}, {BASE_LABEL}",
            found=", ".join(facts.labels),
        )
    return known.model_copy(update={"reference": reference})


def _base_of(facts: ImageFacts) -> BaseRecord | None:
    """The record of the base in an image's label; None for a base itself, or a label of another version."""
    try:
        return BaseRecord.model_validate_json(facts.labels.get(BASE_LABEL, ""))
    except ValidationError:
        return None


def _described(facts: ImageFacts, state: ImageState) -> OurImage | None:
    """An image by its labels; None when they are of another version."""
    record = _base_of(facts)
    try:
        kind = ImageKind(facts.labels[KIND_LABEL])
        inputs = facts.labels[INPUTS_LABEL]
        source = record.made_from if record else BaseSource.model_validate_json(facts.labels[BASE_LABEL])
    except (KeyError, ValueError):
        return None
    return OurImage(
        kind=kind,
        reference=facts.repo_tags[0] if facts.repo_tags else facts.id,
        digest=facts.digest(),
        inputs=inputs,
        size_bytes=facts.size_bytes,
        created=facts.created,
        state=state,
        made_from=source,
        packages=record.packages if record else (),
        command_agent=facts.labels.get(AGENT_LABEL),
    )
