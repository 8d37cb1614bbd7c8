"""Packages of agents, fetched on the host by the ordinary clients, and held against their pins.

Which registry answers, by which mirror, proxy or certificate, is the client's configuration and the user's
choice: what comes has to be the pinned bytes wherever it comes from.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from esac_ag.errors import ImageMissing, InfrastructureFailure, InputRefused, SubstitutionRefused
from esac_ag.manifest.agent_file import NpmPackage

FETCH_LIMIT_S = 1800
_LOCKED = re.compile(
    r"(?P<name>[a-z0-9][a-z0-9._-]*)==(?P<version>\S+) --hash=sha256:(?P<sha256>[0-9a-f]{64})"
)
# Newest first is pip's own business: all that a bookworm-like image can load.
_PLATFORMS = (
    "manylinux_2_34_x86_64",
    "manylinux_2_28_x86_64",
    "manylinux_2_17_x86_64",
    "manylinux2014_x86_64",
)


def fetch_npm(package: NpmPackage, folder: Path) -> Path:
    """The archive of an npm package, of exactly the pinned bytes.

    Args:
        package: what to fetch.
        folder: an empty folder to fetch into.

    Raises:
        ImageMissing: there is no npm client, or the package cannot be had.
        SubstitutionRefused: the bytes are not the pinned ones.
    """
    wanted = f"{package.package}@{package.version}"
    client = shutil.which("npm")
    if client is None:
        raise ImageMissing(
            "An agent's package cannot be fetched: there is no npm client.",
            where=wanted,
            expected="npm on PATH",
            found="none",
            remedy="install npm (as root: `apt-get install npm`); Node is needed on this machine only",
        )
    argv = [client, "pack", wanted, "--pack-destination", str(folder), "--ignore-scripts", "--prefer-offline"]
    _run(argv, folder, wanted, "check that `npm view` finds the package on this machine")
    archives = list(folder.glob("*.tgz"))
    if len(archives) != 1:
        found = ", ".join(path.name for path in archives) or "nothing"
        raise ImageMissing(
            "The npm client fetched no package.", where=wanted, expected="one .tgz", found=found
        )
    found = "sha512-" + base64.b64encode(_digest(archives[0], "sha512")).decode()
    if found != package.integrity:
        raise SubstitutionRefused(
            "A package is not the pinned one.",
            where=wanted,
            expected=package.integrity,
            found=found,
            remedy="`npm cache clean --force` and build again; if it persists, do not use that registry",
        )
    return archives[0]


def fetch_wheels(lock: Path, pins: Mapping[str, str], python: str, folder: Path) -> tuple[Path, ...]:
    """The wheels of locked requirements, of exactly the pinned bytes, in order of their names.

    Args:
        lock: the file of requirements.
        pins: SHA-256 by requirement (`locked` reads it).
        python: version of Python that they are for, such as `3.11`.
        folder: an empty folder to fetch into.

    Raises:
        ImageMissing: there is no pip, or a wheel cannot be had.
        SubstitutionRefused: the bytes are not the pinned ones.
    """
    argv = [*_pip(lock.name), "download", "--quiet", "--require-hashes", "--no-deps"]
    argv += ["--only-binary=:all:", "--implementation=cp", f"--python-version={python}"]
    argv += [*(f"--platform={name}" for name in _PLATFORMS), f"--dest={folder}", f"--requirement={lock}"]
    _run(argv, folder, lock.name, "check that `pip download` works in this Python; docs/agents.md tells more")
    wheels = sorted(folder.glob("*.whl"))
    digests = sorted(_digest(wheel, "sha256").hex() for wheel in wheels)
    # pip has compared them: this holds whatever a client of another version takes for equal.
    if digests != sorted(pins.values()):
        missing = [name for name, sha256 in pins.items() if sha256 not in digests]
        raise SubstitutionRefused(
            "Wheels are not the pinned ones.",
            where=lock.name,
            expected=f"{len(pins)} wheels of the pinned digests",
            found=f"{len(wheels)}, without {', '.join(missing) or 'a missing one'}",
            remedy="`pip cache purge` and build again; if it persists, do not use that index",
        )
    return tuple(wheels)


def _pip(wanted: str) -> list[str]:
    """The client: this Python's own, or else the one on PATH."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    if (client := shutil.which("pip3") or shutil.which("pip")) is not None:
        return [client]
    raise ImageMissing(
        "An agent's packages cannot be fetched: there is no pip.",
        where=wanted,
        expected="pip in this Python or on PATH",
        found="none",
        remedy="install pip (as root: `apt-get install python3-pip`)",
    )


def locked(text: str, where: str) -> dict[str, str]:
    """SHA-256 by `name==version` of locked requirements.

    Raises:
        InputRefused: a line is something else, or there is none.
    """
    pins: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        found = _LOCKED.fullmatch(line.strip())
        if found is None:
            raise InputRefused(
                "A requirement is not locked.",
                where=f"{where}, line {number}",
                expected="name==version --hash=sha256:<64 hexadecimal digits>",
                found=line.strip()[:200],
            )
        pins[f"{found['name']}=={found['version']}"] = found["sha256"]
    if not pins:
        raise InputRefused("The locked requirements name nothing.", where=where)
    return pins


def _run(argv: Sequence[str], folder: Path, wanted: str, remedy: str) -> None:
    # A client of its own kind of package; variables that bend Python are not meant for it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    try:
        ended = subprocess.run(
            argv,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=FETCH_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise InfrastructureFailure(
            "Fetching a package took too long.", where=wanted, expected=f"at most {FETCH_LIMIT_S} s"
        ) from error
    if ended.returncode != 0:
        lines = [line for line in ended.stdout.decode("utf-8", "replace").splitlines() if line.strip()]
        # pip tells other bytes as an error of its own.
        other = any("DO NOT MATCH THE HASHES" in line for line in lines)
        kind = SubstitutionRefused if other else ImageMissing
        raise kind(
            "A package is not the pinned one." if other else "An agent's package cannot be fetched.",
            where=wanted,
            expected="the pinned bytes" if other else "exit code 0",
            found="\n".join([f"exit code {ended.returncode}", *lines[-12:]]),
            remedy=remedy,
        )


def _digest(path: Path, algorithm: str) -> bytes:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, algorithm).digest()
