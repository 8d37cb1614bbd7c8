"""Packages are fetched by real clients, from places of the test's own, and have to be the pinned bytes."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from esac_ag.errors import ImageMissing, InputRefused, SubstitutionRefused
from esac_ag.manifest.agent_file import NpmPackage, PypiPackages
from esac_ag.sandbox.agent_context import add_npm, add_own, add_wheels, write_context, written_layer
from esac_ag.sandbox.packages import fetch_npm, fetch_wheels, locked
from tests.builders_presets import an_agent_file

EPOCH_S = 1_700_000_000


def a_package(path: Path, members: dict[str, bytes], *, link: str = "") -> bytes:
    """An archive as npm makes it; programs begin with `#!`."""
    with tarfile.open(path, "w:gz") as archive:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.uid = len(data), 5, 1000
            member.mode = 0o755 if data.startswith(b"#!") else 0o600
            archive.addfile(member, io.BytesIO(data))
        if link:
            member = tarfile.TarInfo("package/link")
            member.type, member.linkname = tarfile.SYMTYPE, link
            archive.addfile(member)
    return path.read_bytes()


def a_wheel(folder: Path, name: str, members: dict[str, bytes]) -> str:
    """A wheel that pip takes; its SHA-256."""
    info = f"{name}-1.0.dist-info"
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for member, data in members.items():
            wheel.writestr(member, data)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def pinned(data: bytes) -> NpmPackage:
    """A package with the digest of those bytes."""
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
    return NpmPackage(source="npm", package="@some/agent", version="1.0.0", integrity=integrity)


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An npm client that hands out `served.tgz` and writes down how it was called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "npm"
    program.write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/called\n'
        f"[ -f {tmp_path}/served.tgz ] || {{ echo E404 >&2; exit 1; }}\n"
        f"cp {tmp_path}/served.tgz some-agent-1.0.0.tgz\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return tmp_path


@pytest.fixture
def into(tmp_path: Path) -> Path:
    """An empty folder to fetch into."""
    (tmp_path / "into").mkdir()
    return tmp_path / "into"


def test_a_package_of_the_pinned_bytes_is_taken(client: Path, into: Path) -> None:
    """The client is asked for exactly one version, and runs none of its scripts."""
    data = a_package(client / "served.tgz", {"package/agent": b"#!/bin/sh\n"})
    assert fetch_npm(pinned(data), into).read_bytes() == data
    called = (client / "called").read_text().split()
    assert called[:2] == ["pack", "@some/agent@1.0.0"]
    assert "--ignore-scripts" in called
    assert [word for word in called if "registry" in word or "://" in word] == []


def test_a_package_of_other_bytes_is_refused(client: Path, into: Path) -> None:
    """Whatever registry, mirror or cache it came from."""
    a_package(client / "served.tgz", {"package/agent": b"#!/bin/sh\nevil\n"})
    with pytest.raises(SubstitutionRefused) as caught:
        fetch_npm(pinned(b"other"), into)
    assert caught.value.expected != caught.value.found
    assert caught.value.remedy


def test_a_package_that_the_client_cannot_fetch_is_missing(client: Path, into: Path) -> None:
    """The reader sees the end of the client's own words."""
    with pytest.raises(ImageMissing) as caught:
        fetch_npm(pinned(b""), into)
    assert "E404" in caught.value.found


def test_without_a_client_the_reader_is_told_to_install_it(
    into: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Node is not needed in any container, only the client on the host."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ImageMissing) as caught:
        fetch_npm(pinned(b""), into)
    assert "npm" in caught.value.remedy


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the real pip takes its wheels from, and no index."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def a_lock(folder: Path, **digests: str) -> tuple[Path, dict[str, str]]:
    """A file of requirements, and its pins."""
    path = folder / "some.lock"
    path.write_text("".join(f"{name}==1.0 --hash=sha256:{digest}\n" for name, digest in digests.items()))
    return path, locked(path.read_text(), path.name)


def test_locked_wheels_are_fetched_by_pip(shelf: Path, into: Path, tmp_path: Path) -> None:
    """All of them, and nothing that they would ask for beside."""
    lock, pins = a_lock(tmp_path, one=a_wheel(shelf, "one", {}), two=a_wheel(shelf, "two", {}))
    wheels = fetch_wheels(lock, pins, "3.11", into)
    assert [wheel.name for wheel in wheels] == ["one-1.0-py3-none-any.whl", "two-1.0-py3-none-any.whl"]


def test_wheels_of_other_bytes_are_refused(shelf: Path, into: Path, tmp_path: Path) -> None:
    """An index that serves another file is told from one that serves none."""
    a_wheel(shelf, "one", {})
    lock, pins = a_lock(tmp_path, one="0" * 64)
    with pytest.raises(SubstitutionRefused):
        fetch_wheels(lock, pins, "3.11", into)


def test_wheels_that_nobody_has_are_missing(shelf: Path, into: Path, tmp_path: Path) -> None:
    """The end of pip's words tells which."""
    lock, pins = a_lock(tmp_path, three="0" * 64)
    with pytest.raises(ImageMissing) as caught:
        fetch_wheels(lock, pins, "3.11", into)
    assert "three==1.0" in caught.value.found


def members_of(path: Path) -> dict[str, tarfile.TarInfo]:
    """Members of an archive in order."""
    with tarfile.open(path) as archive:
        return {member.name: member for member in archive}


def test_a_package_s_files_become_root_s_and_read_only(tmp_path: Path) -> None:
    """Owners, modes and times of the package do not enter the image; folders come first."""
    a_package(tmp_path / "p.tgz", {"package/bin/agent": b"#!/bin/sh\n", "package/README": b"text"})
    with written_layer(tmp_path / "layer.tar", "/opt/agents/x", EPOCH_S) as layer:
        add_npm(layer, tmp_path / "p.tgz")
    members = members_of(tmp_path / "layer.tar")
    assert [(name, f"{member.mode:o}") for name, member in members.items()] == [
        ("opt", "755"),
        ("opt/agents", "755"),
        ("opt/agents/x", "755"),
        ("opt/agents/x/bin", "755"),
        ("opt/agents/x/bin/agent", "755"),
        ("opt/agents/x/README", "644"),
    ]
    assert {(m.uid, m.gid, m.uname, m.mtime) for m in members.values()} == {(0, 0, "", EPOCH_S)}


@pytest.mark.parametrize("name", ["package/../../etc/passwd", "package//x", "/etc/passwd/../x"])
def test_a_path_that_leads_out_of_the_agent_s_folder_is_refused(tmp_path: Path, name: str) -> None:
    """Pinned bytes are no reason to write anywhere."""
    a_package(tmp_path / "p.tgz", {name: b"x"})
    with (
        pytest.raises(InputRefused),
        written_layer(tmp_path / "layer.tar", "/opt/agents/x", EPOCH_S) as layer,
    ):
        add_npm(layer, tmp_path / "p.tgz")


def test_a_link_in_a_package_is_refused(tmp_path: Path) -> None:
    """Npm packages hold files only."""
    a_package(tmp_path / "p.tgz", {"package/a": b""}, link="/etc/passwd")
    with (
        pytest.raises(InputRefused) as caught,
        written_layer(tmp_path / "layer.tar", "/opt/agents/x", EPOCH_S) as layer,
    ):
        add_npm(layer, tmp_path / "p.tgz")
    assert caught.value.found == "package/link"


def test_wheels_are_unpacked_beside_a_program_that_is_isolated(tmp_path: Path) -> None:
    """Libraries of a wheel's data folder too; its scripts, headers and data are left out."""
    contents = {
        "one/__init__.py": b"x = 1\n",
        "one-1.0.data/purelib/inner.py": b"",
        "one-1.0.data/scripts/run": b"#!python\n",
    }
    a_wheel(tmp_path, "one", contents)
    file = an_agent_file("mini-swe-agent")
    assert isinstance(file.install, PypiPackages)
    with written_layer(tmp_path / "layer.tar", file.folder, EPOCH_S) as layer:
        add_wheels(layer, [tmp_path / "one-1.0-py3-none-any.whl"], file, file.install)
    files = {name for name, member in members_of(tmp_path / "layer.tar").items() if member.isreg()}
    prefix = "opt/agents/mini-swe-agent"
    assert {f"{prefix}/site/one/__init__.py", f"{prefix}/site/inner.py", f"{prefix}/bin/mini"} <= files
    assert [name for name in files if "scripts" in name or name.endswith("/run")] == []
    with tarfile.open(tmp_path / "layer.tar") as archive:
        stream = archive.extractfile(f"{prefix}/bin/mini")
        assert stream is not None
        assert stream.readline() == b"#!/usr/bin/python3 -I\n"


def test_the_same_files_give_the_same_context(tmp_path: Path) -> None:
    """Byte for byte, so that the layer and its digest are the same on every machine."""
    written = []
    for name in ("a", "b"):
        layer, target = tmp_path / f"{name}.layer", tmp_path / f"{name}.context"
        with written_layer(layer, "/opt/agents/x", EPOCH_S) as members:
            add_own(members, {"bin/x": b"#!/bin/sh\n", "a": b"1"})
        write_context(layer, b"FROM x\n", EPOCH_S, target)
        assert not layer.exists()
        written.append(target.read_bytes())
    assert written[0] == written[1]
    assert list(members_of(tmp_path / "a.context")) == ["Dockerfile", "package.tar"]
