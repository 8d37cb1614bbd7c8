"""What defines the images, as digests and contexts: `runner/images/`, `runner/guest/`, the suite's world.

The agent image holds `runner/guest/agent/` and the world, the grader image the rest of `runner/guest/`.

Contexts are archives held in memory in which nothing depends on the checkout: paths are sorted, owners are
root, modes follow from the content, and all times are the definition's epoch. The same files therefore give
the same layers on every machine.
"""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, assert_never

from pydantic import Field, JsonValue, StringConstraints, ValidationError

from esac_ag.canonical import HashRule, hash_rule, sha256_of, sha256_of_bytes
from esac_ag.errors import InputRefused, UsageError
from esac_ag.record import Record

MOUNT_POINTS = ("agent", "grade", "subject")
"""Folders at the root that volumes are mounted on."""

AGENT_GUESTS = "agent/"
"""The part of `runner/guest/` that enters the agent image; all else enters the grader image."""

WORLD_PACKAGE = "esac_world"
"""Name of the suite's world beside the agent image's guest programs."""

_WORLD_FOLDER = Path(__file__).parents[1] / "suite" / "world"

_PINNED = re.compile(r"(?P<name>[^@\s]+)@(?P<digest>sha256:[0-9a-f]{64})")
_TAG = re.compile(r":[\w][\w.-]{0,127}$")


class ImageKind(StrEnum):
    """Which of our images."""

    BASE = "base"
    AGENT = "agent"
    GRADER = "grader"
    COMMAND_AGENT = "command-agent"
    """The agent image with one command-line agent in it (`agent_images.py`)."""


GUEST_FOLDERS = {ImageKind.AGENT: "opt/esac", ImageKind.GRADER: "esac"}
"""Where the images hold their guest programs."""


class BaseDefinition(Record):
    """`base.json`: what both images stand on."""

    reference: str
    """A public image by digest, taken where a registry answers."""
    packages: tuple[Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9+.-]+$")], ...]
    """Debian packages that have to be in it."""
    left_out: tuple[str, ...]
    """Patterns of paths that packages do not unpack when the root is made from packages."""
    epoch_s: Annotated[int, Field(ge=0)]
    """The time of every file that we make."""


class ImageDefinition(Record):
    """All that the images are made from, besides the base's own content."""

    base: BaseDefinition
    images: dict[str, bytes]
    """Files of `runner/images/` by POSIX path."""
    guest: dict[str, bytes]
    """Files of `runner/guest/` by POSIX path."""
    world: dict[str, bytes]
    """Files of `esac_ag/suite/world/` by POSIX path."""

    def base_digest(self, requested: str) -> str:
        """Digest of what the base image is made from: 64 hexadecimal digits."""
        files = {path: self.images[path] for path in ("base.Dockerfile", "prepare.sh")}
        base = self.base.model_dump(mode="json")
        return sha256_of({"base": base, "files": _digests(files), "requested": requested})

    def digest(self, kind: ImageKind) -> str:
        """Digest of what a layer image is made from, the base's content aside: 64 hexadecimal digits."""
        others = {f"{other.value}.Dockerfile" for other in ImageKind if other is not kind}
        images = {path: data for path, data in self.images.items() if path not in others}
        if kind is ImageKind.COMMAND_AGENT:
            # All else is in the agent image that it stands on.
            images = {path: images[path] for path in (f"{kind.value}.Dockerfile",)}
        return sha256_of({"images": _digests(images), "guest": _digests(self.guests_of(kind))})

    def guests_of(self, kind: ImageKind) -> dict[str, bytes]:
        """What an image holds of ours, by POSIX path below its guest folder."""
        match kind:
            case ImageKind.BASE:
                return {}
            case ImageKind.COMMAND_AGENT:
                return {}
            case ImageKind.AGENT:
                own = {
                    path[len(AGENT_GUESTS) :]: data
                    for path, data in self.guest.items()
                    if path.startswith(AGENT_GUESTS)
                }
                return own | {f"{WORLD_PACKAGE}/{path}": data for path, data in self.world.items()}
            case ImageKind.GRADER:
                return {path: data for path, data in self.guest.items() if not path.startswith(AGENT_GUESTS)}
            case _:
                assert_never(kind)

    def reference(self, kind: ImageKind) -> str:
        """`repository:tag` of the agent or grader image."""
        return f"esac-ag/{kind.value}:{self.digest(kind)[:12]}"

    def layer_context(self, kind: ImageKind) -> bytes:
        """Build context of the agent or grader image."""
        prefix = "rootfs/"
        files = {path[len(prefix) :]: data for path, data in self.images.items() if path.startswith(prefix)}
        files |= {f"{GUEST_FOLDERS[kind]}/{path}": data for path, data in self.guests_of(kind).items()}
        overlay = archive_of(files, self.base.epoch_s, folders=MOUNT_POINTS)
        dockerfile = self.images[f"{kind.value}.Dockerfile"]
        return archive_of({"Dockerfile": dockerfile, "overlay.tar": overlay}, self.base.epoch_s)

    def base_context(self) -> bytes:
        """Build context of a base that stands on a public image."""
        prepare = archive_of({"prepare.sh": self.images["prepare.sh"]}, self.base.epoch_s)
        files = {"Dockerfile": self.images["base.Dockerfile"], "prepare.tar": prepare}
        return archive_of(files, self.base.epoch_s)


def read_definition(runner_dir: Path, world_dir: Path = _WORLD_FOLDER) -> ImageDefinition:
    """Read the definition of the images.

    Args:
        runner_dir: the workspace's `runner/` folder.
        world_dir: the world's package; the harness's own unless a test brings another.

    Raises:
        InputRefused: a file is missing or `base.json` is wrong.
    """
    images = _files_below(runner_dir / "images")
    for needed in ("base.json", "prepare.sh", *(f"{kind.value}.Dockerfile" for kind in ImageKind)):
        if needed not in images:
            raise InputRefused(
                "The definition of the images is incomplete.",
                where=str(runner_dir / "images" / needed),
                expected="a file",
                found="none",
                remedy="restore `runner/images/`, or make a workspace with `esac-ag init`",
            )
    try:
        base = BaseDefinition.model_validate_json(images["base.json"])
    except ValidationError as error:
        raise InputRefused(
            "The definition of the base is wrong.",
            where=str(runner_dir / "images" / "base.json"),
            found="; ".join(f"{'/'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()),
        ) from error
    return ImageDefinition(
        base=base, images=images, guest=_files_below(runner_dir / "guest"), world=_files_below(world_dir)
    )


def without_tag(reference: str) -> str:
    """`name@sha256:...` of a reference by digest; a tag beside the digest says nothing and is dropped.

    Raises:
        UsageError: the reference has no digest.
    """
    found = _PINNED.fullmatch(reference)
    if found is None:
        raise UsageError(
            "The base is not pinned by digest.",
            where=reference,
            expected="name@sha256:<64 hexadecimal digits>",
            found=reference,
            remedy="take the digest that the registry tells for the image, never a tag alone",
        )
    return f"{_TAG.sub('', found['name'])}@{found['digest']}"


def archive_of(files: Mapping[str, bytes], epoch_s: int, *, folders: tuple[str, ...] = ()) -> bytes:
    """A tar archive of files and their parent folders, the same whatever the checkout.

    Args:
        files: content by POSIX path; programs (`#!`) get mode 0755, others 0644.
        epoch_s: modification time of every member, Unix seconds.
        folders: further folders, empty unless files lie below them.
    """
    buffer = io.BytesIO()
    parents = {"/".join(path.split("/")[:depth]) for path in files for depth in range(1, path.count("/") + 1)}
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted({*parents, *folders, *files}):
            member = tarfile.TarInfo(name)
            member.mtime = epoch_s
            if name in files:
                data = files[name]
                member.size = len(data)
                member.mode = 0o755 if data.startswith(b"#!") else 0o644
                archive.addfile(member, io.BytesIO(data))
            else:
                member.type, member.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(member)
    return buffer.getvalue()


def _digests(files: Mapping[str, bytes]) -> dict[str, JsonValue]:
    return {path: sha256_of_bytes(data) for path, data in files.items()}


def _files_below(folder: Path) -> dict[str, bytes]:
    if not folder.is_dir():
        return {}
    return {
        path.relative_to(folder).as_posix(): with_lf(path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def with_lf(data: bytes) -> bytes:
    """Line ends as Linux has them, whatever the checkout's platform."""
    return data.replace(b"\r\n", b"\n") if hash_rule(data) is HashRule.TEXT_LF else data
