"""A root file system from Debian packages, for machines on which no registry answers.

`mmdebstrap` unpacks signed packages of the host's own release. With a fixed epoch, and with what differs
between machines removed by `prepare.sh`, the same package versions give the same archive, byte for byte.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from esac_ag.errors import InfrastructureFailure
from esac_ag.owner import temporary_folder
from esac_ag.sandbox.image_definition import ImageDefinition

_ETC = Path("/etc")
_LIMIT_S = 1800
_APT_OPTIONS = (
    'Acquire::Languages "none"',
    'Acquire::Retries "2"',
    'Acquire::http::Timeout "20"',
    'APT::Install-Recommends "false"',
)


def host_release(etc: Path = _ETC) -> tuple[str, str]:
    """Distribution and code name of the host, such as `("debian", "bookworm")`.

    Raises:
        InfrastructureFailure: the host is neither Debian nor Ubuntu, or does not tell its release.
    """
    release = _os_release(etc)
    distribution, suite = release.get("ID", ""), release.get("VERSION_CODENAME", "")
    if distribution not in {"debian", "ubuntu"} or not suite:
        raise InfrastructureFailure(
            "A base cannot be made from Debian packages here.",
            where=str(etc / "os-release"),
            expected="a release of Debian or Ubuntu",
            found=f"ID={distribution or '?'} VERSION_CODENAME={suite or '?'}",
            remedy="`esac-ag images build --base NAME@sha256:...` with an image that the engine can pull",
        )
    return distribution, suite


@contextmanager
def root_archive(definition: ImageDefinition, etc: Path = _ETC) -> Iterator[tuple[str, Path]]:
    """Make a root file system of the host's release; yields the code name and the archive's path.

    Raises:
        InfrastructureFailure: `mmdebstrap` is missing or failed; `found` holds the end of its log.
    """
    distribution, suite = host_release(etc)
    program = shutil.which("mmdebstrap")
    if program is None:
        raise InfrastructureFailure(
            "No registry answers, and `mmdebstrap` is not installed.",
            expected="mmdebstrap on PATH",
            found="none",
            remedy="as root: `apt-get install mmdebstrap`, or make the registry reachable",
        )
    with temporary_folder("base") as folder:
        target = folder / "root.tar"
        script = folder / "prepare.sh"
        script.write_bytes(definition.images["prepare.sh"])
        sources = folder / "host.sources"
        sources.write_text(host_sources(distribution, suite, etc), encoding="utf-8")
        argv = [program, *_options(definition, script), suite, str(target)]
        _run(argv + [str(sources)] * (sources.stat().st_size > 0), definition.base.epoch_s)
        yield suite, target


def host_sources(distribution: str, suite: str, etc: Path = _ETC) -> str:
    """The host's own package sources of its release, so that its mirrors and proxies are used too.

    Only the distribution's own entries count. The empty string means that the host has none of a known
    form; `mmdebstrap` then takes the distribution's public mirror.
    """
    modern = etc / "apt" / "sources.list.d" / f"{distribution}.sources"
    if modern.is_file():
        return modern.read_text(encoding="utf-8")
    classic = etc / "apt" / "sources.list"
    lines = classic.read_text(encoding="utf-8").splitlines() if classic.is_file() else []
    own = {suite, f"{suite}-updates", f"{suite}-security", f"{suite}/updates"}
    kept = [line for line in lines if line.startswith("deb ") and own.intersection(line.split())]
    return "".join(line + "\n" for line in kept)


def _options(definition: ImageDefinition, script: Path) -> Iterator[str]:
    base = definition.base
    yield from ("--variant=essential", "--format=tar", "--skip=output/dev")
    yield from ("--include=" + ",".join(base.packages),) if base.packages else ()
    yield from (f"--dpkgopt=path-exclude={pattern}" for pattern in base.left_out)
    yield from (f"--aptopt={option}" for option in _APT_OPTIONS)
    wanted = shlex.join(base.packages)
    yield f'--customize-hook=chroot "$1" sh -s {wanted} < {shlex.quote(str(script))}'


def _run(argv: list[str], epoch_s: int) -> None:
    # Programs of the root are run while it is made; our interpreter's settings are not theirs.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment = {**kept, "SOURCE_DATE_EPOCH": str(epoch_s), "LC_ALL": "C.UTF-8"}
    try:
        ended = subprocess.run(
            argv,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise InfrastructureFailure(
            "Making the base took too long.", where="mmdebstrap", expected=f"at most {_LIMIT_S} s"
        ) from error
    if ended.returncode != 0:
        log = ended.stdout.decode("utf-8", "replace").splitlines()
        raise InfrastructureFailure(
            "The base could not be made from Debian packages.",
            where="mmdebstrap",
            expected="exit code 0",
            found="\n".join([f"exit code {ended.returncode}", *log[-15:]]),
            remedy="check that `apt-get update` works on this machine",
        )


def _os_release(etc: Path) -> Mapping[str, str]:
    path = etc / "os-release"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    words = (
        word for line in text.splitlines() if "=" in line for word in shlex.split(line, comments=True)[:1]
    )
    return dict(word.partition("=")[::2] for word in words)
