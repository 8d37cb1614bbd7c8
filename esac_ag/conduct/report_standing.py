"""Which report of a study is the newest, as its ledger tells."""

from __future__ import annotations

from collections.abc import Sequence

from esac_ag.attempt.events import ReportRevised, StudyState
from esac_ag.report.standing import EarlierRevision, Revision


def newest(state: StudyState) -> int:
    """Number of the newest report; 1 is the first one."""
    return len(state.revisions) + 1


def revision_of(revisions: Sequence[ReportRevised]) -> Revision | None:
    """What the last of these reports says of itself; none of the first one, which has no event.

    Args:
        revisions: in order, from the second report on.
    """
    if not revisions:
        return None
    last = revisions[-1]
    told = [(None, ""), *((item.at, item.reason) for item in revisions[:-1])]
    earlier = tuple(
        EarlierRevision(number=number, at=at, reason=reason, files=item.earlier)
        for number, ((at, reason), item) in enumerate(zip(told, revisions, strict=True), start=1)
    )
    return Revision(number=last.number, at=last.at, reason=last.reason, earlier=earlier)
