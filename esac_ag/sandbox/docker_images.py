"""The engine's images, by the SDK's low-level client."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from esac_ag.errors import ImageMissing, InfrastructureFailure, SandboxLost
from esac_ag.sandbox.docker_client import (
    IMAGE_TIMEOUT_S,
    APIClient,
    NotFound,
    connect,
    parse_repository_tag,
    translated,
)
from esac_ag.sandbox.facts import EngineFacts, ImageFacts, engine_facts, image_facts


class ImageStore:
    """The engine's images, for building, sealing and the doctor."""

    def __init__(self, client: APIClient | None = None) -> None:
        self._client = client or connect(IMAGE_TIMEOUT_S)

    def engine(self) -> EngineFacts:
        """The engine and its machine."""
        with translated("its facts"):
            return engine_facts(self._client.info(), self._client.version())

    def inspect(self, reference: str) -> ImageFacts | None:
        """The facts of an image, or None when there is no such image."""
        with translated("inspect an image", where=reference):
            try:
                inspected: dict[str, Any] = self._client.inspect_image(reference)  # type: ignore[no-untyped-call]
                return image_facts(inspected)
            except NotFound:
                return None

    def require(self, reference: str) -> ImageFacts:
        """The facts of an image that has to be there.

        Raises:
            ImageMissing: there is no such image.
        """
        facts = self.inspect(reference)
        if facts is None:
            raise ImageMissing(
                "An image is missing.",
                where=reference,
                expected="an image of that name",
                found="none",
                remedy="esac-ag images build",
            )
        return facts

    def list(self, label: str | None = None) -> tuple[ImageFacts, ...]:
        """All images that carry a label (`key` or `key=value`), ordered by id."""
        with translated("list images"):
            found = self._client.images(filters={"label": label} if label else None)
        images = (self.inspect(image["Id"]) for image in sorted(found, key=lambda image: str(image["Id"])))
        return tuple(facts for facts in images if facts)

    def import_root(
        self, tar_path: Path, reference: str, labels: Mapping[str, str], changes: Sequence[str] = ()
    ) -> ImageFacts:
        """Make an image of one layer from a root file system.

        Args:
            tar_path: an archive of the root.
            reference: `repository:tag` of the image to be made.
            labels: put into the image's configuration.
            changes: further Dockerfile instructions, such as `ENV A=b`.

        Raises:
            InfrastructureFailure: the engine could not import it.
        """
        repository, tag = _named(reference)
        labelled = [f"LABEL {_quoted(key)}={_quoted(value)}" for key, value in sorted(labels.items())]
        with translated("import a root file system", where=str(tar_path)), tar_path.open("rb") as stream:
            self._client.import_image_from_data(
                stream, repository=repository, tag=tag, changes=[*labelled, *changes]
            )
        return self.require(reference)

    def build(
        self,
        context: bytes | Path,
        dockerfile: str,
        reference: str,
        labels: Mapping[str, str],
        build_args: Mapping[str, str],
        network: str = "none",
    ) -> ImageFacts:
        """Build an image from a context.

        Args:
            context: an uncompressed tar archive, held in memory or in a file.
            dockerfile: path of the Dockerfile within it.
            reference: `repository:tag` of the image to be made.
            labels: put into the image's configuration.
            build_args: values of the Dockerfile's `ARG`s.
            network: of its steps; none unless packages have to be installed.

        Raises:
            InfrastructureFailure: a step failed; `found` holds the end of the build's log.
        """
        opened = context.open("rb") if isinstance(context, Path) else io.BytesIO(context)
        with translated("build an image", where=reference), opened as archive:
            events = self._client.build(
                fileobj=archive,
                custom_context=True,
                dockerfile=dockerfile,
                tag=reference,
                labels=dict(labels),
                buildargs=dict(build_args),
                network_mode=network,
                rm=True,
                forcerm=True,
                decode=True,
            )
            _raise_on_failure(events, "An image could not be built.", reference)
        return self.require(reference)

    def pull(self, reference_with_digest: str) -> ImageFacts:
        """Pull an image by its registry digest (`name@sha256:...`).

        Raises:
            ImageMissing: the registry has no such image, or does not answer.
        """
        repository, _, digest = reference_with_digest.partition("@")
        if not digest.startswith("sha256:"):
            raise ImageMissing(
                "An image is pulled by digest only.",
                where=reference_with_digest,
                expected="name@sha256:<64 digits>",
                found=reference_with_digest,
            )
        try:
            with translated("pull an image", where=reference_with_digest):
                events = self._client.pull(repository, tag=digest, stream=True, decode=True)
                _raise_on_failure(events, "An image could not be pulled.", reference_with_digest)
        except SandboxLost as error:
            raise ImageMissing(
                "An image could not be pulled.", where=reference_with_digest, found=error.found
            ) from error
        return self.require(reference_with_digest)

    def tag(self, reference: str, name: str) -> None:
        """Give an image a further name (`repository:tag`)."""
        repository, tag = _named(name)
        with translated("tag an image", where=reference):
            self._client.tag(reference, repository, tag=tag, force=True)

    def remove(self, reference: str) -> None:
        """Remove a name, and the image with its last one; missing ones are no error."""
        with translated("remove an image", where=reference):
            try:
                self._client.remove_image(reference, noprune=False)
            except NotFound:
                return

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _named(reference: str) -> tuple[str, str]:
    repository, tag = parse_repository_tag(reference)
    return repository, tag or "latest"


def _quoted(value: str) -> str:
    """A value as the Dockerfile's `LABEL` reads it, without expansion of `$`."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$").replace("\n", "\\n")
    return f'"{escaped}"'


def _raise_on_failure(events: Iterable[Any], what: str, where: str) -> None:
    """Follow a build or a pull to its end; its failures arrive as events in a successful answer."""
    log: list[str] = []
    for event in events:
        log = [*log[-30:], str(event.get("stream") or event.get("status") or "").rstrip()]
        if "error" in event:
            found = "\n".join([*(line for line in log if line), str(event["error"])])
            raise InfrastructureFailure(what, where=where, found=found)
