"""Prepares a blinded review: packets for each reviewer, the key apart, and no packet that tells its arm."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from esac_ag import clock
from esac_ag.artifacts import write_atomic
from esac_ag.artifacts.review_folder import ReviewFolder, record_bytes
from esac_ag.attempt.events import AttemptState
from esac_ag.attempt.review_events import ReviewPrepared
from esac_ag.conduct.collect import StudyRecords, read_study
from esac_ag.conduct.opening import design_of
from esac_ag.conduct.review_submissions import known_of, sources_of, submission_of, tasks_of
from esac_ag.errors import InputRefused, UsageError
from esac_ag.ledger import open_ledger
from esac_ag.plural import plural
from esac_ag.record import Record
from esac_ag.rooms.tasks import LoadedTask
from esac_ag.rooms.workspace import Workspace
from esac_ag.schedule import make_schedule
from esac_ag.study.giveaways import GiveAways, Sources
from esac_ag.study.leaks import LeakScan
from esac_ag.study.packets import Packet, PacketBook, Role, TaskContext
from esac_ag.study.packing import ReviewKey, context_of, labelled, labels_for, pack

MOST_LEAKS_SHOWN: Final = 10
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,59}")


class PreparedReview(Record):
    """What `review prepare` made."""

    study: str
    reviewers: tuple[str, ...]
    packets: int
    """Of each reviewer."""
    masked: int
    """Pieces of text that were masked in all packets."""
    shows_hidden_checks: bool


def prepare_review(
    study_path: Path,
    *,
    workspace: Workspace,
    reviewers: Sequence[str],
    manifest: Path | None = None,
) -> PreparedReview:
    """Make the packets of a finished study.

    Args:
        study_path: the study's folder below results/.
        workspace: where its tasks and bundles lie, which are compared with their seals.
        reviewers: names, as many as the plan says; they are for ever, so none is made up.
        manifest: the sealed manifest, whose bundles lie relative to it; by default they are looked for in the
            workspace's `manifests/` and `arms/`.

    Raises:
        UsageError: the study is not finished, is reviewed already, or the names do not fit the plan.
        InputRefused: a packet would tell its arm, and where; nothing was written.
        SubstitutionRefused: a task, a bundle or a record is not the sealed one.
        StudyBusy: a harness works on the study.
    """
    study = read_study(study_path)
    plan = study.manifest.review
    names = tuple(reviewers)
    _refuse_names(names, study, plan.reviewers)
    attempts = _reviewable(study)
    sources = sources_of(study, workspace, None if manifest is None else manifest.parent)
    packets, left_out = _packets(study, attempts, sources, tasks_of(study, workspace))
    secret = clock.secret_text()
    labels = {name: labels_for(name, list(packets), secret) for name in names}
    folder = ReviewFolder(study_path)
    with open_ledger(study.folder.ledger) as ledger:
        if ledger.state.review.prepared is not None:
            raise _prepared_before(study_path)
        key = ReviewKey(format_version=1, secret=secret, labels=labels, left_out=left_out)
        key_sha256 = folder.write_private(folder.key, key)
        digests = {
            name: write_book(folder, name, Role.REVIEWER, labelled(packets, labels[name]), study)
            for name in names
        }
        ledger.append(ReviewPrepared(key_sha256=key_sha256, packets=digests))
    return PreparedReview(
        study=study.manifest.study_id,
        reviewers=names,
        packets=len(packets),
        masked=sum(packet.masked for packet in packets.values()),
        shows_hidden_checks=plan.show_hidden_checks,
    )


def write_book(
    folder: ReviewFolder, name: str, role: Role, packets: tuple[Packet, ...], study: StudyRecords
) -> str:
    """Write somebody's packets; their SHA-256."""
    book = PacketBook(
        format_version=1,
        reviewer=name,
        role=role,
        critical_failures=study.manifest.policies.critical_failures,
        packets=packets,
    )
    return write_atomic(folder.person(name).packets, record_bytes(book))


def refuse_name(name: str, study: StudyRecords) -> None:
    """Refuse what cannot be the name of a person in a review.

    Raises:
        UsageError: it is none, or an arm's.
    """
    if not _NAME.fullmatch(name) or name in {arm.id for arm in study.manifest.arms}:
        raise UsageError(
            "that cannot be a reviewer's name",
            expected="at most 60 of: lower case, digits, `.`, `_`, `-`; and not the id of an arm",
            found=name[:100],
        )


def _refuse_names(names: Sequence[str], study: StudyRecords, count: int) -> None:
    for name in names:
        refuse_name(name, study)
    if len(names) != count or len(set(names)) != count:
        raise UsageError(
            "the plan has another number of reviewers" if names else "the reviewers are not named",
            where="--reviewers",
            expected=f"{count} different names, as `review.reviewers` of the manifest says",
            found=", ".join(names),
            remedy="a review is prepared once, and its names stay: use those of the people who will judge",
        )


def _prepared_before(study: Path) -> UsageError:
    return UsageError(
        "the review of this study is prepared already",
        where=str(study / "review"),
        remedy=f"esac-ag review status {study} tells how far it is; a study is reviewed once",
    )


def _reviewable(study: StudyRecords) -> tuple[AttemptState, ...]:
    """The attempts that count, one of each cell."""
    state = study.state
    if state.review.prepared is not None:
        raise _prepared_before(study.folder.path)
    cells = make_schedule(*design_of(study.manifest))
    counting = [state.counting(cell) for cell in cells]
    found = tuple(one for one in counting if one is not None and one.grading is not None)
    if not state.finished or len(found) != len(cells):
        raise UsageError(
            "the study is not finished, so it cannot be reviewed yet",
            where=str(study.folder.path),
            expected=f"{plural(len(cells), 'cell')} done",
            found=f"{len(found)} done",
            remedy="go on with: esac-ag run MANIFEST",
        )
    return found


def _packets(
    study: StudyRecords,
    attempts: Sequence[AttemptState],
    sources: Sources,
    tasks: Mapping[str, LoadedTask],
) -> tuple[dict[str, Packet], dict[str, int]]:
    """Packets by attempt, and the commands that were left out of each."""
    tools = {name: _Tools.of(task, sources) for name, task in tasks.items()}
    packets: dict[str, Packet] = {}
    left_out: dict[str, int] = {}
    leaks: list[str] = []
    for attempt in attempts:
        own = tools[attempt.cell.task]
        packet, omitted = pack(
            submission_of(study, attempt),
            own.context,
            own.giveaways,
            show_checks=study.manifest.review.show_hidden_checks,
        )
        packets[attempt.attempt_id] = packet
        left_out[attempt.attempt_id] = omitted
        leaks += [f"{attempt.attempt_id}{leak.pointer}: {leak.what}" for leak in own.scan.leaks(packet)]
    if leaks:
        raise InputRefused(
            f"a packet would tell its arm, so nothing was written ({plural(len(leaks), 'place')})",
            where=str(study.folder.path),
            expected="nothing of any arm, model, or attempt after masking",
            found="; ".join(leaks[:MOST_LEAKS_SHOWN]),
            remedy="report it with the place, which masking should have replaced (docs/review.md)",
        )
    return packets, left_out


@dataclass(frozen=True, slots=True)
class _Tools:
    """What packets of one task are made and searched with."""

    context: TaskContext
    giveaways: GiveAways
    scan: LeakScan

    @classmethod
    def of(cls, task: LoadedTask, sources: Sources) -> _Tools:
        known = known_of(task)
        return cls(
            context_of(task.package, task.request, task.snapshot),
            GiveAways.of(sources, known),
            LeakScan.of(sources, known),
        )
