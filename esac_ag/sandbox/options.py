"""The engine's request for a container: hardening is here, always, and is no option.

The measures and their reasons are in the design's chapter on the sandbox; each one is proved from
inside a container by `tests/docker/test_hardening_*.py`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from pydantic import JsonValue

from esac_ag.errors import UsageError
from esac_ag.owner import this_process
from esac_ag.sandbox.contract import SandboxSpec, ScratchMount, Volume
from esac_ag.sandbox.model_socket import MOUNT_POINT

LABEL_WORKSPACE = "esac-ag.workspace"
LABEL_STUDY = "esac-ag.study"
LABEL_ATTEMPT = "esac-ag.attempt"
LABEL_ROLE = "esac-ag.role"
LABEL_OWNER = "esac-ag.owner"
"""Mark of the process that made it (`esac_ag.owner`): what a live process uses is not cleaned up."""
LABEL_SANDBOX = "esac-ag.sandbox"
"""The container's name, so that its volumes can be found without it."""

HOSTNAME = "sandbox"
FIXED_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
}
OPEN_FILES = 4096
"""Far below common hard limits of hosts, which the engine would refuse to exceed."""

CLOSED_IPC = {
    "kernel.shmmni": "0",
    "kernel.msgmni": "0",
    "kernel.sem": "0 0 0 0",
    "fs.mqueue.queues_max": "0",
}
"""System V objects and POSIX queues outlive their process and use memory that counts for nobody."""

SHARED_MEMORY_BYTES = 64 * 1024 * 1024
"""Size of `/dev/shm`; its pages count as memory of the container."""

SHARED_MEMORY_OPTIONS = f"size={SHARED_MEMORY_BYTES},mode=1777,nosuid,nodev,noexec,nr_inodes=4096"
"""Without a cap on inodes, empty files would fill the kernel's memory."""

_MIB = 1024 * 1024


def container_request(
    spec: SandboxSpec, workspace: str, name: str, seccomp: str | None = None
) -> dict[str, JsonValue]:
    """The body of the engine's create call.

    Args:
        spec: what the container is.
        workspace: label that tells whose it is.
        name: the container's name.
        seccomp: a profile as JSON, stricter than the engine's default; None for the default.
    """
    labels = labels_of(spec, workspace, name)
    return {
        "Image": spec.image,
        # The image's own entry point is replaced, not extended.
        "Entrypoint": [spec.argv[0]],
        "Cmd": list(spec.argv[1:]),
        "User": f"{spec.uid}:{spec.gid}",
        "Hostname": HOSTNAME,
        "Env": [f"{name}={value}" for name, value in environment_of(spec).items()],
        "WorkingDir": spec.working_dir,
        "Labels": labels,
        "AttachStdin": False,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": False,
        "OpenStdin": False,
        "NetworkDisabled": spec.peer_network is None,
        "StopSignal": "SIGKILL",
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": _host_config(spec, labels, seccomp),
    }


def labels_of(spec: SandboxSpec, workspace: str, name: str) -> dict[str, JsonValue]:
    """The labels of a container and of its volumes."""
    return {
        LABEL_WORKSPACE: workspace,
        LABEL_STUDY: spec.study,
        LABEL_ATTEMPT: spec.attempt,
        LABEL_ROLE: spec.role.value,
        LABEL_SANDBOX: name,
        LABEL_OWNER: this_process(),
    }


def environment_of(spec: SandboxSpec) -> Mapping[str, str]:
    """The container's whole environment, except for what the image adds."""
    return {**FIXED_ENVIRONMENT, "HOME": spec.home, **dict(spec.environment)}


def _host_config(
    spec: SandboxSpec, labels: dict[str, JsonValue], seccomp: str | None
) -> dict[str, JsonValue]:
    memory_bytes = spec.memory_mib * _MIB
    security: list[JsonValue] = ["no-new-privileges:true"]
    if seccomp is not None:
        security.append(f"seccomp={seccomp}")
    return {
        "NetworkMode": spec.peer_network or "none",
        # The engine would copy the host's name servers and search domain. On a network its own resolver hands
        # on to this address what it does not know: the container's own loopback, where nobody answers.
        "Dns": ["127.0.0.1"],
        "DnsOptions": ["timeout:1", "attempts:1"],
        "DnsSearch": ["."],
        "ReadonlyRootfs": True,
        "Privileged": False,
        "CapDrop": ["ALL"],
        "CapAdd": list(spec.capabilities),
        "SecurityOpt": security,
        "IpcMode": "private",
        "Sysctls": dict(CLOSED_IPC),
        "CgroupnsMode": "private",
        "Memory": memory_bytes,
        "MemorySwap": memory_bytes,
        "MemorySwappiness": 0,
        "NanoCpus": round(spec.cpus * 1_000_000_000),
        "PidsLimit": spec.pids,
        "Ulimits": [
            {"Name": "core", "Soft": 0, "Hard": 0},
            {"Name": "nofile", "Soft": OPEN_FILES, "Hard": OPEN_FILES},
        ],
        "ShmSize": SHARED_MEMORY_BYTES,
        # Output goes to the attached stream only: a log file would grow without a cap on the host.
        "LogConfig": {"Type": "none"},
        "RestartPolicy": {"Name": "no"},
        "Tmpfs": {
            "/dev/shm": SHARED_MEMORY_OPTIONS,  # noqa: S108  (inside the container)
            **{mount.path: _scratch_options(mount) for mount in spec.scratch},
        },
        "Mounts": [
            *(_volume_mount(volume, labels) for volume in spec.volumes),
            *([] if spec.model_socket is None else [_socket_mount(spec.model_socket)]),
        ],
    }


def _scratch_options(mount: ScratchMount) -> str:
    options = [
        f"size={mount.size_bytes}",
        f"uid={mount.owner_uid}",
        f"mode={mount.mode:o}",
        "nosuid",
        "nodev",
    ]
    options.append("exec" if mount.executable else "noexec")
    if mount.max_files is not None:
        options.append(f"nr_inodes={mount.max_files}")
    return ",".join(options)


def _volume_mount(volume: Volume, labels: dict[str, JsonValue]) -> JsonValue:
    """An anonymous volume: it is made with the container and removed with it, without further calls."""
    options: dict[str, JsonValue] = {"NoCopy": True, "Labels": labels}
    if volume.size_bytes is not None:
        driver: dict[str, JsonValue] = {"type": "tmpfs", "device": "tmpfs", "o": _memory_options(volume)}
        options["DriverConfig"] = {"Name": "local", "Options": driver}
    return {"Type": "volume", "Target": volume.path, "VolumeOptions": options}


def _socket_mount(folder: str) -> JsonValue:
    """The one mount of the host: `require_only_a_socket` says what may be in it."""
    return {
        "Type": "bind",
        "Source": folder,
        "Target": MOUNT_POINT,
        "ReadOnly": True,
        # What is mounted below the folder, or is later, does not follow it into the container.
        "BindOptions": {"Propagation": "rprivate", "NonRecursive": True},
    }


def _memory_options(volume: Volume) -> str:
    options = [
        f"size={volume.size_bytes}",
        f"uid={volume.owner_uid}",
        f"gid={volume.owner_uid}",
        "mode=0755",
        "nosuid",
        "nodev",
    ]
    if volume.max_files is not None:
        options.append(f"nr_inodes={volume.max_files}")
    return ",".join(options)


def require_volume(spec: SandboxSpec, path: str, *, runs: bool) -> tuple[Volume, str]:
    """The volume that a path lies in and the path below it, empty for the volume itself.

    Args:
        spec: of the container.
        path: absolute.
        runs: whether the container runs, for only then has a memory volume content.

    Raises:
        UsageError: the path lies in no volume, or in a memory volume while the container does not run.
    """
    clean = posixpath.normpath(path)
    holding = [v for v in spec.volumes if clean == v.path or clean.startswith(v.path.rstrip("/") + "/")]
    if not holding:
        raise UsageError(
            "Files can be put into volumes only.",
            where=path,
            expected=" or ".join(v.path for v in spec.volumes) or "a volume in the spec",
            found="a path outside of them",
        )
    volume = max(holding, key=lambda v: len(v.path))
    if volume.size_bytes is not None and not runs:
        raise UsageError(
            "A memory volume takes files only while its container runs.",
            where=path,
            remedy="start the container first, or use a disk volume",
        )
    return volume, clean[len(volume.path) :].strip("/")
