"""The grader's container: who is who in it, what lies where, and what it may use.

The guest side is `runner/guest/judge.py`; users and folders are the same there.
"""

from __future__ import annotations

from esac_ag.manifest.plan import GraderLimits
from esac_ag.sandbox.contract import Role, SandboxSpec, ScratchMount, Volume

GRADER_UID = 10002
GRADER_GID = 10002
SUBJECT_UID = 10003

GRADE_FOLDER = "/grade"
"""Volume of the judge, closed to the subject."""
PRIVATE_FOLDER = "/grade/private"
RESULT_FOLDER = "/grade/out"
SUBJECT_FOLDER = "/subject"
"""Memory of the subject: working copy, scratch folder and HOME of the running check."""
PUBLIC_FOLDER = "/grade/work"
"""Where the public command runs, in containers that judge nothing."""

_MIB = 1024 * 1024
_MAX_FILES = 20_000
_TMP_MIB = 32
_SHARED_MIB = 64
"""`/dev/shm`, as the engine mounts it."""
_PROCESSES_MIB = 96
"""Memory that files must leave to processes: memory file systems count as memory of the container, and
were they alone able to fill it, the kernel would have only the judge left to kill."""


def workspace_mib(limits: GraderLimits, folders: int = 0) -> int:
    """Size of the subject's memory: what the limits say, as far as the container's memory can bear it.

    `folders`: how many further folders of that size there are.
    """
    bearable_mib = (limits.memory_mib - _TMP_MIB - _SHARED_MIB - _PROCESSES_MIB) // (1 + folders)
    return min(limits.workspace_mib, max(8, bearable_mib))


def grader_spec(
    *,
    image: str,
    limits: GraderLimits,
    study: str,
    attempt: str,
    role: Role = Role.GRADER,
    folders: tuple[str, ...] = (),
) -> SandboxSpec:
    """A container that judges one submission.

    The supervisor is root without any right over files: three capabilities let it start processes of the
    other two users and end them. Everything else of root's is gone. `folders`: more of the subject's.
    """
    size_bytes = workspace_mib(limits, len(folders)) * _MIB
    return SandboxSpec(
        image=image,
        role=role,
        study=study,
        attempt=attempt,
        # No site packages and no byte code: they only cost time in a read-only container.
        argv=("python3", "-I", "-S", "-B", "/esac/judge.py"),
        uid=0,
        gid=0,
        capabilities=("SETUID", "SETGID", "KILL"),
        volumes=(Volume(path=GRADE_FOLDER),),
        scratch=(
            *(
                ScratchMount(
                    path=path, size_bytes=size_bytes, owner_uid=SUBJECT_UID, mode=0o755, max_files=_MAX_FILES
                )
                for path in (SUBJECT_FOLDER, *folders)
            ),
            ScratchMount(path="/tmp", size_bytes=_TMP_MIB * _MIB, max_files=_MAX_FILES),  # noqa: S108
        ),
        cpus=limits.cpus,
        memory_mib=limits.memory_mib,
        pids=limits.pids,
        output_bytes=limits.output_bytes,
    )


def public_spec(*, image: str, limits: GraderLimits, study: str, attempt: str, command: str) -> SandboxSpec:
    """A container that runs a task's public command as the subject, and judges nothing."""
    return SandboxSpec(
        image=image,
        role=Role.GRADER,
        study=study,
        attempt=attempt,
        argv=("/bin/sh", "-c", command),
        uid=SUBJECT_UID,
        gid=SUBJECT_UID,
        environment=(("PYTHONDONTWRITEBYTECODE", "1"),),
        working_dir=PUBLIC_FOLDER,
        volumes=(Volume(path=GRADE_FOLDER),),
        scratch=(ScratchMount(path="/tmp", size_bytes=_TMP_MIB * _MIB, max_files=_MAX_FILES),),  # noqa: S108
        cpus=limits.cpus,
        memory_mib=limits.memory_mib,
        pids=limits.pids,
        output_bytes=limits.output_bytes,
    )
