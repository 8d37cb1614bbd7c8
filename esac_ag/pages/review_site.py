"""What the pages of one reviewer do: all through `ReviewDesk`, and nothing of anybody else.

Blocking; called from threads. A desk is opened again whenever a file that the ledger names has another
size, time or place than before; locking opens a new one in any case.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from markupsafe import Markup

from esac_ag.artifacts import StudyFolder
from esac_ag.artifacts.review_folder import PersonFolder, ReviewFolder
from esac_ag.conduct.review_desk import ReviewDesk, revision_of
from esac_ag.conduct.review_locking import arms_to_guess, lock_forms, record_guesses
from esac_ag.conduct.review_seals import reviewed
from esac_ag.errors import UsageError
from esac_ag.pages.diff_page import diff_html
from esac_ag.pages.review_fields import Entered
from esac_ag.study.forms import Form
from esac_ag.study.packets import Packet, Role

KEPT_DIFFS: Final = 8

Signature = tuple[tuple[str, int, int, int], ...]


class PacketState(StrEnum):
    """How far a form is."""

    BLANK = "blank"
    BEGUN = "begun"
    COMPLETE = "complete"
    """Nothing is missing, but it is not submitted."""
    SUBMITTED = "submitted"


class Standing(NamedTuple):
    """One packet in the list of all."""

    number: int
    """From 1, in the reviewer's own order."""
    packet: Packet
    state: PacketState
    lacking: int
    """How many things keep it from being submitted."""


class Closing(NamedTuple):
    """What is left to do with the forms as a whole."""

    locked: bool
    """On record, not only in a file."""
    guessed: bool
    asks_guesses: bool
    """Whether the reviewer can still be asked for arms."""


class ReviewSite:
    """One reviewer's packets and forms.

    Args:
        study: the study's folder below results/.
        reviewer: whose they are.

    Raises:
        InputRefused, UsageError, SubstitutionRefused: as `ReviewDesk.open`.
    """

    def __init__(self, study: Path, reviewer: str) -> None:
        self.reviewer = reviewer
        self._study = study
        self._guard = threading.RLock()
        self._diffs: OrderedDict[str, Markup] = OrderedDict()
        self._signature: Signature = ()
        self._desk = self.desk()

    def desk(self) -> ReviewDesk:
        """The desk, whose packets are what the ledger names.

        Raises:
            InputRefused, UsageError, SubstitutionRefused: as `ReviewDesk.open`.
        """
        with self._guard:
            now = tuple(_signature(self._study))
            if now != self._signature:
                self._desk = ReviewDesk.open(self._study, self.reviewer)
                self._diffs.clear()
                self._signature = now
            return self._desk

    def standings(self) -> tuple[Standing, ...]:
        """All packets, in the reviewer's order."""
        desk = self.desk()
        return tuple(
            _standing(desk, number, packet) for number, packet in enumerate(desk.book.packets, start=1)
        )

    def closing(self) -> Closing:
        """Whether forms are locked and arms guessed, by the ledger."""
        _, state = reviewed(self._study)
        locked, guessed = self.reviewer in state.locked, self.reviewer in state.guesses
        is_reviewer = self.desk().book.role is Role.REVIEWER
        return Closing(locked, guessed, locked and not guessed and is_reviewer and state.unblinded is None)

    def diff(self, packet: Packet, address: str) -> Markup:
        """A packet's diff as HTML.

        Args:
            packet: of the desk.
            address: of its pages of single files, to which a number is added.
        """
        with self._guard:
            if packet.label not in self._diffs:
                self._diffs[packet.label] = diff_html(packet.diff, elsewhere=lambda n: f"{address}{n}")
                while len(self._diffs) > KEPT_DIFFS:
                    self._diffs.popitem(last=False)
            return self._diffs[packet.label]

    def save(self, entered: Entered, revision: str, *, keeps_earlier: bool = False) -> Form:
        """Save what was entered over what the page was made of; nothing is written if nothing changed.

        Raises:
            FormChanged: another form has been saved meanwhile.
            UsageError, StudyBusy: as `ReviewDesk.save`.
        """
        desk = self.desk()
        saved = desk.form(entered.form.label)
        if entered.form == saved.model_copy(update={"submitted": False}):
            return saved
        return desk.save(entered.form, of=revision, keeps_earlier=keeps_earlier)

    def lock(self) -> None:
        """Lock the forms, for ever.

        Raises:
            UsageError: not all are submitted, or they are locked already.
            StudyBusy: somebody else works on the study.
        """
        lock_forms(self._study, self.reviewer)

    def arms(self) -> tuple[str, ...]:
        """Arms that may be guessed.

        Raises:
            UsageError: nobody has to guess, or not yet.
        """
        if self.desk().book.role is not Role.REVIEWER:
            raise UsageError("an adjudicator is not asked for arms")
        return arms_to_guess(self._study, self.reviewer)

    def guess(self, guesses: Mapping[str, str | None]) -> None:
        """Record guesses, once.

        Raises:
            UsageError, InputRefused: as `record_guesses`.
        """
        record_guesses(self._study, self.reviewer, guesses)


def revision(form: Form) -> str:
    """What a page sends along, so that nothing is saved over what it did not show."""
    return revision_of(form)


def _standing(desk: ReviewDesk, number: int, packet: Packet) -> Standing:
    form = desk.form(packet.label)
    if form.submitted:
        return Standing(number, packet, PacketState.SUBMITTED, 0)
    lacking = len(desk.faults(packet.label))
    if form.is_blank:
        return Standing(number, packet, PacketState.BLANK, lacking)
    return Standing(number, packet, PacketState.BEGUN if lacking else PacketState.COMPLETE, lacking)


def _signature(study: Path) -> Iterator[tuple[str, int, int, int]]:
    """What changes when a file is written: of the ledger, and of every file that it may name."""
    folder = ReviewFolder(study)
    people = sorted(folder.people.iterdir()) if folder.people.is_dir() else []
    of_people = (
        path
        for person in map(PersonFolder, people)
        for path in (person.packets, person.locked, person.guesses)
    )
    for path in (StudyFolder(study).ledger, folder.key, folder.adjudication_key, folder.scores, *of_people):
        if path.exists():
            found = path.stat()
            yield str(path), found.st_mtime_ns, found.st_size, found.st_ino
