"""From a submission to a packet: what is shown is masked, and what could tell the arm is not taken along."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import Field

from esac_ag.attempt import Grading
from esac_ag.clock import Seeds
from esac_ag.manifest.package import TaskPackage
from esac_ag.record import Identifier, Record
from esac_ag.seen_words import readable_text
from esac_ag.study.claims import claims_of
from esac_ag.study.diff import read_diff
from esac_ag.study.executed import Executed, shown
from esac_ag.study.giveaways import GiveAways
from esac_ag.study.masking import Masker
from esac_ag.study.packets import CheckShown, Document, Packet, TaskContext
from esac_ag.transcript import Entry
from esac_ag.tree import FileTree

MOST_DOCUMENT_CHARACTERS: Final = 40_000
MOST_DOCUMENTS: Final = 20
LABEL_DIGITS: Final = 10

_DOCUMENT: Final = re.compile(
    r"(?:.*/)?(?:README|AGENTS|CLAUDE|CONTRIBUTING|ARCHITECTURE|CHANGELOG|DESIGN)(?:\.md|\.rst|\.txt)?"
    r"|docs?/.*\.(?:md|rst|txt)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Submission:
    """What one attempt left, as far as a packet is made of it."""

    attempt_id: str
    task_id: str
    patch: str
    """The patch from the snapshot to the submission; empty when nothing was changed."""
    entries: Sequence[Entry]
    executed: Sequence[Executed]
    grading: Grading | None


class ReviewKey(Record):
    """Whose submission a packet holds; kept apart until the review is unblinded (`key.json`)."""

    format_version: Literal[1]
    secret: str
    """What labels and orders were drawn from."""
    labels: dict[Identifier, dict[Identifier, Identifier]]
    """Attempt by label, by reviewer."""
    left_out: dict[Identifier, int] = Field(default_factory=dict)
    """Commands that only loaded instructions, by attempt: no packet holds them."""


def context_of(package: TaskPackage, request: str, snapshot: FileTree) -> TaskContext:
    """The public side of a task: request, public tests, and the documents that tell the contracts."""
    return TaskContext(
        task_id=package.task_id,
        title=package.title,
        request=request,
        public_command=package.public_command,
        expected_failure=package.baseline_expected_failure,
        documents=tuple(_documents(snapshot))[:MOST_DOCUMENTS],
    )


def _documents(snapshot: FileTree) -> Iterator[Document]:
    for path, node in snapshot.files().items():
        name = path.decode("utf-8", "replace")
        text = readable_text(node.data)
        if text and _DOCUMENT.fullmatch(name):
            cut = len(text) > MOST_DOCUMENT_CHARACTERS
            yield Document(path=name, text=text[:MOST_DOCUMENT_CHARACTERS], cut=cut)


def pack(
    submission: Submission, context: TaskContext, giveaways: GiveAways, *, show_checks: bool
) -> tuple[Packet, int]:
    """A packet whose label is still to be given, and how many commands were left out.

    Args:
        submission: what an attempt left.
        context: of its task.
        giveaways: of its task.
        show_checks: whether reviewers see what hidden checks said.
    """
    masker = Masker(giveaways)
    diff = masker.diff(read_diff(submission.patch))
    commands, left_out = shown(submission.executed, masker, context.public_command)
    claims = claims_of(submission.entries, masker)
    packet = Packet(
        label="unlabelled",
        task=context,
        diff=diff,
        commands=commands,
        claims=claims,
        checks=_checks(submission.grading) if show_checks else None,
        masked=masker.count,
    )
    return packet, left_out


def _checks(grading: Grading | None) -> tuple[CheckShown, ...]:
    return tuple(
        CheckShown(id=f"check-{check.id}", kind=check.kind, dimension=check.dimension, verdict=check.verdict)
        for check in (grading.checks if grading else ())
    )


def labels_for(person: str, attempts: Sequence[str], secret: str) -> dict[str, str]:
    """Attempt by label, in an order of this person's own; labels of two people have nothing in common.

    Args:
        person: whose packets they are.
        attempts: ids in any order, which has no effect.
        secret: of this review; without it no label can be computed.

    Raises:
        ValueError: two labels are the same, which another secret mends.
    """
    seeds = Seeds(secret)
    order = sorted(attempts)
    seeds.stream("order", person).shuffle(order)
    digits = LABEL_DIGITS * 4
    found = {
        f"p-{seeds.number('label', person, one) >> (256 - digits):0{LABEL_DIGITS}x}": one for one in order
    }
    if len(found) != len(order):
        raise ValueError("two packets were given one label")
    return found


def labelled(packets: Mapping[str, Packet], labels: Mapping[str, str]) -> tuple[Packet, ...]:
    """Packets by attempt, as those of one person in the person's order."""
    return tuple(packets[attempt].model_copy(update={"label": label}) for label, attempt in labels.items())
