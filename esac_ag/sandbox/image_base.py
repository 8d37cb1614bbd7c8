"""The base of both images: a public image by digest where a registry answers, Debian packages elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from esac_ag.canonical import canonical_json
from esac_ag.clock import Deadline
from esac_ag.errors import ImageMissing, InfrastructureFailure
from esac_ag.record import Record
from esac_ag.sandbox import debian
from esac_ag.sandbox.contract import Engine, Role, SandboxSpec, Termination
from esac_ag.sandbox.image_definition import ImageDefinition, ImageKind, without_tag
from esac_ag.sandbox.registry import RegistryState, ask_registry

if TYPE_CHECKING:
    from esac_ag.sandbox.docker import ImageStore
    from esac_ag.sandbox.facts import ImageFacts

PACKAGES = "debian-packages"
"""Given instead of a reference: make the base from Debian packages without asking any registry."""

INPUTS_LABEL = "esac-ag.inputs"
KIND_LABEL = "esac-ag.image"
BASE_LABEL = "esac-ag.base"

Progress = Callable[[str], None]
"""Receives one sentence a step."""


class Origin(StrEnum):
    """Where a base comes from."""

    PULLED = "pulled"
    DEBIAN_PACKAGES = PACKAGES


class BaseSource(Record):
    """What a base was made from; label of the base image."""

    origin: Origin
    requested: str
    """The reference by digest that was asked for, or `debian-packages`."""
    source: str
    """`name@sha256:...` of the pulled image, or the code name of the release."""

    def describe(self) -> str:
        """In words, for a table."""
        match self.origin:
            case Origin.PULLED:
                return f"pulled {self.source}"
            case Origin.DEBIAN_PACKAGES:
                return f"Debian packages, {self.source} (mmdebstrap)"
            case _:
                assert_never(self.origin)


class BaseRecord(Record):
    """A base with all that is in it; label of the images that stand on it."""

    made_from: BaseSource
    digest: str
    """Content digest of the base image."""
    packages: tuple[str, ...]
    """`name=version` of every Debian package, sorted."""


def ensure_base(
    store: ImageStore, definition: ImageDefinition, base: str | None, progress: Progress
) -> ImageFacts:
    """The base image, made if it is not there.

    Args:
        store: the engine's images.
        definition: what the images are made from.
        base: a reference by digest, which is then the only one that will do; `debian-packages`; or None
            for the definition's reference where a registry answers and Debian packages elsewhere.
        progress: told each step that takes time.

    Raises:
        UsageError: the reference is not pinned by digest.
        ImageMissing: the registry knows no such image, or a base that was asked for cannot be had.
        InfrastructureFailure: the base could not be made.
    """
    requested = PACKAGES if base == PACKAGES else without_tag(base or definition.base.reference)
    inputs = definition.base_digest(requested)
    name = f"esac-ag/{ImageKind.BASE.value}:{inputs[:12]}"
    found = store.inspect(name)
    if found and found.labels.get(INPUTS_LABEL) == inputs:
        return found
    if requested != PACKAGES and _can_be_pulled(store, requested, progress, required=base is not None):
        return _from_registry(store, definition, requested, name, progress)
    return _from_packages(store, definition, requested, name, progress)


def base_record(engine: Engine, facts: ImageFacts) -> BaseRecord:
    """What is in a base, by its own package database, read in a container without network.

    Raises:
        InfrastructureFailure: the base has no readable package database.
    """
    output = bytearray()
    spec = SandboxSpec(
        image=facts.id,
        role=Role.PROBE,
        study="images",
        attempt="packages",
        argv=("dpkg-query", "--show", "--showformat=${Package}=${Version}\\n"),
        uid=10001,
        gid=10001,
        cpus=1.0,
        memory_mib=256,
        pids=32,
    )
    with engine.create(spec) as sandbox:
        sandbox.start()
        ended = sandbox.wait(Deadline.after_s(60), sink=output.extend)
    if ended.termination is not Termination.EXITED or ended.exit_code != 0:
        raise InfrastructureFailure(
            "The base's packages could not be listed.",
            where=facts.id,
            expected="dpkg-query to exit with 0",
            found=f"{ended.termination.value}, exit code {ended.exit_code}",
        )
    made_from = BaseSource.model_validate_json(facts.labels[BASE_LABEL])
    packages = tuple(sorted(set(output.decode().split())))
    return BaseRecord(made_from=made_from, digest=facts.digest(), packages=packages)


def _can_be_pulled(store: ImageStore, reference: str, progress: Progress, *, required: bool) -> bool:
    if store.inspect(reference):
        return True
    progress(f"asking the registry for {reference}")
    answer = ask_registry(reference)
    match answer.state:
        case RegistryState.HAS_IT:
            return True
        case RegistryState.KNOWS_NONE:
            problem = "The registry knows no image of that digest."
        case RegistryState.UNREACHABLE if required:
            problem = "The registry of the base does not answer."
        case RegistryState.UNREACHABLE:
            progress(f"no registry answers ({answer.words}); the base is made from Debian packages")
            return False
        case _:
            assert_never(answer.state)
    raise ImageMissing(
        problem,
        where=reference,
        expected="an image of exactly that digest",
        found=answer.words,
        remedy=f"correct the digest, or `esac-ag images build --base {PACKAGES}`",
    )


def _from_registry(
    store: ImageStore, definition: ImageDefinition, reference: str, name: str, progress: Progress
) -> ImageFacts:
    public = store.inspect(reference)
    if public is None:
        progress(f"pulling {reference}")
        public = store.pull(reference)
    # Engines shorten the name (`debian` for `docker.io/library/debian`), never the digest.
    digest = reference.partition("@")[2]
    if digest not in {found.partition("@")[2] for found in public.repo_digests}:
        raise ImageMissing(
            "The engine's image is not the one that was asked for.",
            where=reference,
            expected=reference,
            found=", ".join(public.repo_digests) or "an image without a registry digest",
        )
    progress("preparing the base from the pulled image")
    return store.build(
        definition.base_context(),
        "Dockerfile",
        name,
        _labels(definition, BaseSource(origin=Origin.PULLED, requested=reference, source=reference)),
        {
            "BASE": public.id,
            "PACKAGES": " ".join(definition.base.packages),
            "SOURCE_DATE_EPOCH": str(definition.base.epoch_s),
        },
        network="host",
    )


def _from_packages(
    store: ImageStore, definition: ImageDefinition, requested: str, name: str, progress: Progress
) -> ImageFacts:
    progress("making the base from Debian packages with mmdebstrap (about a minute, once)")
    with debian.root_archive(definition) as (suite, archive):
        source = BaseSource(origin=Origin.DEBIAN_PACKAGES, requested=requested, source=suite)
        progress("importing the base")
        return store.import_root(archive, name, _labels(definition, source))


def _labels(definition: ImageDefinition, source: BaseSource) -> dict[str, str]:
    return {
        INPUTS_LABEL: definition.base_digest(source.requested),
        KIND_LABEL: ImageKind.BASE.value,
        BASE_LABEL: canonical_json(source).decode(),
    }
