"""The root file system from Debian packages: which release, and whose mirrors."""

from __future__ import annotations

from pathlib import Path

import pytest

from esac_ag.errors import InfrastructureFailure
from esac_ag.sandbox.debian import host_release, host_sources


def _etc(folder: Path, **files: str) -> Path:
    (folder / "apt" / "sources.list.d").mkdir(parents=True)
    for name, text in files.items():
        (folder / name.replace("__", "/").replace("_", "-").replace("..", "_")).write_text(text)
    return folder


def test_the_release_is_the_hosts_own(tmp_path: Path) -> None:
    """Packages of the host's release are what its mirrors and keys are for."""
    etc = _etc(tmp_path, os_release='NAME="Ubuntu"\nID=ubuntu\nVERSION_CODENAME=noble\n# a comment\n')
    assert host_release(etc) == ("ubuntu", "noble")


@pytest.mark.parametrize("text", ["ID=fedora\nVERSION_CODENAME=x\n", "ID=debian\n", ""])
def test_a_host_without_debian_packages_is_told_to_name_a_base(tmp_path: Path, text: str) -> None:
    """Elsewhere the base has to be pulled, and the message says how."""
    with pytest.raises(InfrastructureFailure) as caught:
        host_release(_etc(tmp_path, os_release=text))
    assert "--base" in caught.value.remedy


def test_the_distributions_own_source_file_comes_first(tmp_path: Path) -> None:
    """Files of third parties beside it are not read at all."""
    etc = _etc(tmp_path)
    (etc / "apt" / "sources.list.d" / "debian.sources").write_text("Types: deb\n")
    (etc / "apt" / "sources.list.d" / "vendor.sources").write_text("Types: other\n")
    (etc / "apt" / "sources.list").write_text("deb http://mirror.invalid/debian bookworm main\n")
    assert host_sources("debian", "bookworm", etc) == "Types: deb\n"


def test_third_parties_in_the_classic_list_are_left_out(tmp_path: Path) -> None:
    """Only entries of the release, its updates and its security fixes count."""
    kept = (
        "deb http://mirror.invalid/debian bookworm main\n"
        "deb [arch=amd64] http://mirror.invalid/security bookworm-security main\n"
    )
    etc = _etc(tmp_path)
    (etc / "apt" / "sources.list").write_text(
        "# deb http://mirror.invalid/debian bookworm contrib\n"
        + kept
        + "deb-src http://mirror.invalid/debian bookworm main\ndeb http://vendor.invalid/apt stable main\n"
    )
    assert host_sources("debian", "bookworm", etc) == kept


def test_a_host_without_known_sources_leaves_the_choice_open(tmp_path: Path) -> None:
    """No file of a known form is no error: the public mirror is then used."""
    assert host_sources("debian", "bookworm", _etc(tmp_path)) == ""
