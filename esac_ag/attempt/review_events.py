"""What the ledger records of a blinded review, and the state that follows: pure, no I/O.

The lines name people and digests. Which packet is whose attempt stands in the key alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal, assert_never

from pydantic import Field

from esac_ag.record import Identifier, Record, Sha256


class ReviewPrepared(Record):
    """Packets were made for all reviewers."""

    event: Literal["review-prepared"] = "review-prepared"
    key_sha256: Sha256
    """Of `review/key/key.json`, which tells whose submission a packet holds."""
    packets: Annotated[dict[Identifier, Sha256], Field(min_length=1)]
    """Of each reviewer's `packets.json`."""


class ReviewLocked(Record):
    """A reviewer's forms, or an adjudicator's, are complete and cannot change any more."""

    event: Literal["review-locked"] = "review-locked"
    reviewer: Identifier
    forms_sha256: Sha256
    """Of `locked.json`."""
    provisional: bool
    """Whether a model or a script filled the forms in."""


class AdjudicationPrepared(Record):
    """Where reviewers disagree, a third person decides."""

    event: Literal["review-adjudication-prepared"] = "review-adjudication-prepared"
    adjudicator: Identifier
    cases: Annotated[int, Field(ge=0)]
    """0 where the reviewers agree; then nobody has to decide anything."""
    key_sha256: Sha256
    """Of `review/key/adjudication.json`."""
    packets_sha256: Sha256


class ArmsGuessed(Record):
    """A reviewer said, after locking, which arm each packet was taken to be of."""

    event: Literal["review-arms-guessed"] = "review-arms-guessed"
    reviewer: Identifier
    guesses_sha256: Sha256


class ReviewUnblinded(Record):
    """The key was joined with the scores; from here on nobody is blind."""

    event: Literal["review-unblinded"] = "review-unblinded"
    scores_sha256: Sha256
    """Of `review/scores.json`."""


ReviewBody = ReviewPrepared | ReviewLocked | AdjudicationPrepared | ArmsGuessed | ReviewUnblinded


@dataclass(slots=True)
class ReviewState:
    """The review as the ledger tells it."""

    prepared: ReviewPrepared | None = None
    locked: dict[str, ReviewLocked] = field(default_factory=dict)
    """By reviewer, the adjudicator's own too."""
    adjudication: AdjudicationPrepared | None = None
    guesses: dict[str, ArmsGuessed] = field(default_factory=dict)
    """By reviewer."""
    unblinded: ReviewUnblinded | None = None

    @property
    def reviewers(self) -> tuple[str, ...]:
        """Names of the independent reviewers."""
        return () if self.prepared is None else tuple(self.prepared.packets)

    @property
    def adjudicator(self) -> str | None:
        """Name of who decides, if somebody has to."""
        return self.adjudication.adjudicator if self.adjudication and self.adjudication.cases else None

    def packets_sha256(self, name: str) -> str | None:
        """Digest of somebody's packets; none for who has none."""
        if self.prepared is not None and name in self.prepared.packets:
            return self.prepared.packets[name]
        if self.adjudication is not None and name == self.adjudicator:
            return self.adjudication.packets_sha256
        return None

    def apply(self, body: ReviewBody) -> None:
        """Take in one event.

        Raises:
            ValueError: it contradicts an earlier one.
        """
        if self.unblinded is not None:
            raise ValueError("the review goes on after it was unblinded")
        match body:
            case ReviewPrepared():
                _refuse(self.prepared is not None, "the review is prepared twice")
                self.prepared = body
            case ReviewLocked(reviewer=name):
                _refuse(self.packets_sha256(name) is None, f"{name} locks forms without packets")
                _refuse(name in self.locked, f"{name} locks forms twice")
                self.locked[name] = body
            case AdjudicationPrepared():
                _refuse(self.adjudication is not None, "the adjudication is prepared twice")
                _refuse(not self._reviewers_locked(), "an adjudication comes before the reviewers locked")
                _refuse(body.adjudicator in self.reviewers, "a reviewer adjudicates")
                self.adjudication = body
            case ArmsGuessed(reviewer=name):
                _refuse(name not in self.locked, f"{name} guesses arms before locking")
                _refuse(name in self.guesses, f"{name} guesses arms twice")
                self.guesses[name] = body
            case ReviewUnblinded():
                _refuse(not self.all_locked(), "the review is unblinded before all is locked")
                self.unblinded = body
            case _:
                assert_never(body)

    def _reviewers_locked(self) -> bool:
        return bool(self.reviewers) and all(name in self.locked for name in self.reviewers)

    def all_locked(self) -> bool:
        """Whether everybody who has to judge has locked, and disagreement was looked for."""
        decided = self.adjudicator is None or self.adjudicator in self.locked
        return self._reviewers_locked() and self.adjudication is not None and decided


def _refuse(wrong: bool, what: str) -> None:  # noqa: FBT001  (reads as a sentence)
    if wrong:
        raise ValueError(what)
