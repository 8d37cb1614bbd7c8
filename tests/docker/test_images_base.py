"""Where the base comes from: a registry by digest, or Debian packages where none answers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from esac_ag.clock import Deadline, opaque_id
from esac_ag.errors import ImageMissing
from esac_ag.sandbox.contract import Role, SandboxSpec
from esac_ag.sandbox.docker import DockerEngine, ImageStore, connect
from esac_ag.sandbox.image_base import PACKAGES, Origin, base_record, ensure_base
from esac_ag.sandbox.image_definition import read_definition
from esac_ag.sandbox.images import build_images
from esac_ag.sandbox.registry import RegistryState, ask_registry
from tests.builders_images import a_registry, a_runner, free_port, remove_images, unpinned_digest

pytestmark = pytest.mark.docker

_SMALL_ROOT = """
tools=$(for tool in sh env find mktemp touch rm chmod dpkg-query python3; do command -v $tool; done)
libraries=$(for tool in $tools; do ldd $tool; done | grep -o '/[^ ]*' | sort -u)
tar -chf - /bin/sh /etc/passwd /tmp /var/lib/dpkg/status /usr/lib/python3* \\
    $(realpath -s $tools) $libraries 2>/dev/null
"""


@pytest.fixture(scope="module")
def store() -> Iterator[ImageStore]:
    """The engine's images."""
    made = ImageStore()
    yield made
    made.close()


@pytest.fixture(scope="module")
def published(
    store: ImageStore,
    docker_engine: DockerEngine,
    agent_image: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """`name@sha256:...` of a small image that a registry on loopback has and the engine has not."""
    folder = tmp_path_factory.mktemp("registry")
    root = folder / "root.tar"
    root.write_bytes(_small_root(docker_engine, agent_image))
    with a_registry(folder) as address:
        name = f"{address}/public-{opaque_id()}"
        store.import_root(root, f"{name}:1", {})
        client = connect()
        client.push(name, tag="1")
        reference = next(iter(store.require(f"{name}:1").repo_digests))
        client.close()
        remove_images(store, f"{name}:1", reference)
        yield reference
        remove_images(store, reference)


def _small_root(engine: DockerEngine, image: str) -> bytes:
    """A root with the little that building our images calls, so that pushing and pulling take little time."""
    output = bytearray()
    spec = SandboxSpec(
        image=image,
        role=Role.PROBE,
        study="tests",
        attempt="root",
        argv=("sh", "-c", _SMALL_ROOT),
        uid=0,
        gid=0,
        cpus=1.0,
        memory_mib=256,
        pids=64,
        output_bytes=100_000_000,
    )
    with engine.create(spec) as sandbox:
        sandbox.start()
        assert sandbox.wait(Deadline.after_s(60), sink=output.extend).exit_code == 0
    return bytes(output)


def test_a_base_is_pulled_by_digest_and_recorded_as_such(
    store: ImageStore, docker_engine: DockerEngine, published: str, tmp_path: Path
) -> None:
    """Both images stand on exactly the layers of the published image, and say so."""
    runner = a_runner(tmp_path / "runner", base={"reference": published, "packages": []})
    report = build_images(store, docker_engine, runner, progress=lambda _: None)
    public = store.require(published)
    for image in report.images:
        assert image.made_from.origin is Origin.PULLED
        assert image.made_from.source == published
        assert store.require(image.reference).diff_ids[: len(public.diff_ids)] == public.diff_ids
        assert any(package.startswith("libc6=") for package in image.packages)
    remove_images(store, *(image.reference for image in report.images))
    _remove_base(store, runner)


def test_a_digest_that_the_registry_does_not_know_is_refused(
    store: ImageStore, published: str, tmp_path: Path
) -> None:
    """A registry that answers and has no such image is never replaced by another base in silence."""
    wrong = published.partition("@")[0] + "@" + unpinned_digest()
    definition = read_definition(a_runner(tmp_path / "runner", base={"reference": wrong}))
    steps: list[str] = []
    with pytest.raises(ImageMissing) as caught:
        ensure_base(store, definition, None, steps.append)
    assert caught.value.where == wrong
    assert PACKAGES in caught.value.remedy
    assert not any("mmdebstrap" in step for step in steps)


def test_a_base_that_was_asked_for_is_not_replaced(store: ImageStore, tmp_path: Path) -> None:
    """Who names a base gets that one or a refusal, also when its registry is silent."""
    definition = read_definition(a_runner(tmp_path / "runner"))
    wanted = f"127.0.0.1:{free_port()}/public@{unpinned_digest()}"
    with pytest.raises(ImageMissing) as caught:
        ensure_base(store, definition, wanted, lambda _: None)
    assert "does not answer" in caught.value.what


@pytest.mark.slow
def test_without_a_registry_the_base_is_made_from_packages(
    store: ImageStore, docker_engine: DockerEngine, tmp_path: Path
) -> None:
    """The definition's base cannot be had, so a root of signed packages takes its place, recorded as such."""
    unreachable = f"127.0.0.1:{free_port()}/public@{unpinned_digest()}"
    runner = a_runner(tmp_path / "runner", base={"reference": unreachable, "packages": ["dash"]})
    made = ensure_base(store, read_definition(runner), None, lambda _: None)
    record = base_record(docker_engine, made)
    assert record.made_from.origin is Origin.DEBIAN_PACKAGES
    assert record.made_from.requested == unreachable
    assert any(package.startswith("dash=") for package in record.packages)
    _remove_base(store, runner)


def test_a_registry_that_never_answers_counts_as_absent() -> None:
    """A closed network may swallow packets; set-up must not hang in it."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        answer = ask_registry(f"127.0.0.1:{port}/public@{unpinned_digest()}", timeout_s=1.0)
    assert answer.state is RegistryState.UNREACHABLE


def _remove_base(store: ImageStore, runner: Path) -> None:
    definition = read_definition(runner)
    inputs = definition.base_digest(definition.base.reference)
    remove_images(store, f"esac-ag/base:{inputs[:12]}")
