"""A model reviews in place of a person, through the same packets; whatever it says is provisional."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from esac_ag.agents.judge_client import Judge
from esac_ag.artifacts.review_folder import ReviewFolder
from esac_ag.clock import Deadline
from esac_ag.conduct.review_desk import ReviewDesk
from esac_ag.plural import plural
from esac_ag.record import Record
from esac_ag.study.forms import Author, AuthorKind, Form
from esac_ag.study.model_judging import read_review, review_request
from esac_ag.study.packets import Packet

JUDGE_LOG: Final = "judge.log"
PACKET_TIMEOUT_S: Final = 1800.0
"""Of one packet, its retries included."""


class ModelReview(Record):
    """What `review judge` did."""

    reviewer: str
    model: str
    provisional: bool = True
    """Always: a model's review decides nothing."""
    judged: int
    """Packets whose form was filled in now."""
    before: int
    """Packets that had a submitted form already."""
    retries: int
    """Requests repeated, whatever the reason; no reply that cannot be used became a score."""


def judge_packets(
    study: Path,
    reviewer: str,
    judge: Judge,
    *,
    cancelled: Callable[[], bool] = lambda: False,
    tell: Callable[[str], None] = lambda _text: None,
) -> ModelReview:
    """Have a model fill in the forms of a reviewer's name; goes on where an earlier call stopped.

    Args:
        study: the study's folder below results/.
        reviewer: a name that the review was prepared for, and whose forms no person began.
        judge: the model at its endpoint.
        cancelled: whether to stop; asked several times a second.
        tell: gets a line of progress for each packet.

    Raises:
        UsageError: a person began the forms, or they are locked.
        ServiceFailure: the endpoint failed, or gave no usable reply; forms that were filled in are kept.
        Interrupted: it was cancelled.
    """
    desk = ReviewDesk.open(study, reviewer)
    author = Author(kind=AuthorKind.MODEL, label=judge.at.model)
    desk.begin(author)
    todo = [packet for packet in desk.book.packets if not desk.form(packet.label).submitted]
    retries = 0
    with (ReviewFolder(study).person(reviewer).path / JUDGE_LOG).open("ab") as log:
        for number, packet in enumerate(todo, start=1):
            form, repeated = _judged(judge, packet, desk.book.critical_failures, cancelled, log.write)
            retries += repeated
            desk.save(form, author)
            desk.submit(packet.label)
            tell(f"{number} of {plural(len(todo), 'packet')}, provisional")
    return ModelReview(
        reviewer=reviewer,
        model=judge.at.model,
        judged=len(todo),
        before=len(desk.book.packets) - len(todo),
        retries=retries,
    )


def _judged(
    judge: Judge,
    packet: Packet,
    critical_failures: tuple[str, ...],
    cancelled: Callable[[], bool],
    log: Callable[[bytes], object],
) -> tuple[Form, int]:
    """A complete form of one packet, and how often it was asked for again."""

    def keep(line: bytes) -> None:
        log(line)

    answer = judge.ask(
        lambda delimiter: review_request(judge.at.model, packet, critical_failures, delimiter),
        lambda text: read_review(text, packet, critical_failures),
        where=f"packet {packet.label}",
        deadline=Deadline.after_s(PACKET_TIMEOUT_S),
        cancelled=cancelled,
        log=keep,
    )
    return answer.value, answer.retries
