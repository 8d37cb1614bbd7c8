"""Records of how a study and its report stand: arms that were stopped, reports that came before."""

from __future__ import annotations

from esac_ag.manifest.package import CriticalFailure
from esac_ag.record import Record, Sha256


class StoppedArm(Record):
    """An arm that was stopped by rule; its cells without an attempt that counts are not launched any more."""

    arm: str
    task: str
    kind: CriticalFailure
    attempts: tuple[str, ...]
    """The attempts that show the failure, each a fresh launch."""


class EarlierRevision(Record):
    """A report of this study that came before; its files stay as they were."""

    number: int
    at: str | None
    """Null for the first report, which no event of the ledger tells."""
    reason: str
    """Why it was made; of the first one empty."""
    files: dict[str, Sha256]
    """By path in the study's folder."""


class Revision(Record):
    """Which report of the study this is; null in its place means the first one."""

    number: int
    at: str
    reason: str
    earlier: tuple[EarlierRevision, ...]
