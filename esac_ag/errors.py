"""The error tree. Every error says what happened, where, what was expected and found, and what to do.

HarnessError                    2
├── UsageError                 64   the command line or its arguments are wrong
│   └── FormChanged            64   somebody else has saved the form meanwhile; nothing was saved
├── InputRefused                1   a file we were given is wrong; findings tell each fault
│   └── SubstitutionRefused     1   sealed bytes differ from the bytes at hand
├── InfrastructureFailure       2   the machine, the engine or a service failed; worth a retry
│   ├── EngineUnavailable       2   no Docker engine answers
│   ├── ImageMissing            2   an image is not there or not the sealed one
│   ├── SandboxLost             2   a container ended or vanished without the subject's doing
│   ├── DialogueTimeout         2   a tool server of ours took or said nothing until the deadline
│   └── ServiceFailure          2   a model endpoint failed after all retries
├── StudyBusy                   2   another harness works on the study
├── StudyPaused                 2   failures of the infrastructure used up the retries; resume later
├── DisclosureRefused           4   something was found that must not be published; nothing was written
├── LedgerCorrupt               1   the ledger does not verify; nothing was changed
└── Interrupted               130   Ctrl-C or SIGTERM; the study can be resumed
"""

from __future__ import annotations

from typing import ClassVar


class HarnessError(Exception):
    """Base of all errors that a user may meet; printed without a traceback.

    Args:
        what: one sentence that tells what happened.
        where: the file, pointer, container or address that it happened at.
        expected: what was expected there, if that helps.
        found: what was there instead.
        remedy: what the reader can do about it.
    """

    exit_code: ClassVar[int] = 2

    def __init__(
        self, what: str, *, where: str = "", expected: str = "", found: str = "", remedy: str = ""
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.expected = expected
        self.found = found
        self.remedy = remedy

    def in_short(self) -> str:
        """What happened, what was found and what to do, on one line; for records of failures."""
        found = " ".join(self.found.split())
        return " ".join(part for part in (self.what, found and f"({found})", self.remedy) if part)

    def __str__(self) -> str:
        """All parts that are known, one a line."""
        known = {name: getattr(self, name) for name in ("where", "expected", "found", "remedy")}
        return "\n".join(
            [self.what, *(f"  {name + ':':<10}{value}" for name, value in known.items() if value)]
        )


class UsageError(HarnessError):
    """The command line or its arguments are wrong."""

    exit_code = 64


class FormChanged(UsageError):
    """A review's form was saved elsewhere since it was read; nothing was saved over that."""


class InputRefused(HarnessError):
    """A file that we were given is wrong."""

    exit_code = 1


class SubstitutionRefused(InputRefused):
    """Bytes at hand differ from the bytes that the manifest sealed."""


class InfrastructureFailure(HarnessError):
    """The machine, the engine or a service failed: never the agent's fault, worth a retry."""


class EngineUnavailable(InfrastructureFailure):
    """No Docker engine answers."""


class ImageMissing(InfrastructureFailure):
    """An image is not there, or is not the one that the manifest sealed."""


class SandboxLost(InfrastructureFailure):
    """A container ended, vanished or stopped answering without its subject's doing."""


class DialogueTimeout(InfrastructureFailure):
    """A tool server in a sandbox took no more input, or finished no line, until the deadline."""


class ServiceFailure(InfrastructureFailure):
    """A model endpoint failed after all retries."""


class StudyBusy(HarnessError):
    """Another harness works on the same study."""


class StudyPaused(HarnessError):
    """Failures of the infrastructure used up the retries; the study can go on later."""


class DisclosureRefused(HarnessError):
    """Something was found that must not be published; nothing was written."""

    exit_code = 4


class LedgerCorrupt(HarnessError):
    """The ledger does not verify; nothing was changed."""

    exit_code = 1


class Interrupted(HarnessError):
    """Ctrl-C or SIGTERM: what ran was cancelled and will be done again."""

    exit_code = 130
