"""Where things lie in the grader's container, and the state of the running check."""

from __future__ import annotations

SHARED_FOLDERS = ("/tmp", "/dev/shm", "/dev/mqueue", "/var/tmp")
"""From these too the subject's files are removed after each check."""


class Places:
    """Folders of the container.

    Attributes:
        grade: the judge's volume.
        work: the subject's working directory.
        scratch: the subject's scratch folder.
        home: HOME and TMPDIR of the subject's processes.
        swept: folders from which the subject's files are removed after each check.
    """

    def __init__(
        self, grade: str = "/grade", subject: str = "/subject", shared: tuple[str, ...] = SHARED_FOLDERS
    ) -> None:
        self.grade, self.subject = grade, subject
        self.work, self.scratch, self.home = f"{subject}/work", f"{subject}/scratch", f"{subject}/home"
        self.swept = (subject, *shared)


class Running:
    """The check that runs; `prepared` once there is a working copy."""

    def __init__(self, check: str, since_s: float, until_s: float) -> None:
        self.check, self.since_s, self.until_s = check, since_s, until_s
        self.prepared = False
