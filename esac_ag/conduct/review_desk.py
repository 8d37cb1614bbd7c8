"""One reviewer's desk: read packets, save forms as they are filled in, submit them, see how far one is.

A page, an import or a model's judge all work through it:

    desk = ReviewDesk.open(study, "ada")          raises when anything that the ledger names was changed
    for packet in desk.book.packets: ...          in the reviewer's own order
    form = desk.form(packet.label)                blank at first
    desk.save(form.model_copy(update={...}))      autosave; takes a submission back
    desk.save(changed, of=revision_of(form))      the same, unless another has been saved meanwhile
    desk.faults(label)                            what keeps it from being submitted
    desk.submit(label)                            the same; submitted when there is none
    desk.progress()

A desk holds no more than its own reviewer's packets and forms, and knows neither arms nor attempts. Forms
are files, so a desk may be opened in several processes; what is saved last holds. Threads may share a desk.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from esac_ag.artifacts import write_atomic
from esac_ag.artifacts.review_folder import PersonFolder, record_bytes
from esac_ag.canonical import sha256_of_bytes
from esac_ag.conduct.review_seals import read_part, reviewed
from esac_ag.errors import FormChanged, UsageError
from esac_ag.study.forms import Author, Form, FormFault, FormSet, Progress, faults_of
from esac_ag.study.packets import Packet, PacketBook


class ReviewDesk:
    """The packets and forms of one reviewer, or of the adjudicator."""

    def __init__(self, folder: PersonFolder, book: PacketBook) -> None:
        self._folder = folder
        self._packets = {packet.label: packet for packet in book.packets}
        self.book = book

    @classmethod
    def open(cls, study: Path, reviewer: str) -> Self:
        """The desk of a reviewer of a study.

        Args:
            study: the study's folder below results/.
            reviewer: a name that the review was prepared for, or the adjudicator's.

        Raises:
            InputRefused: the folder holds no study, or the packets cannot be read.
            UsageError: the review is not prepared, or nobody of that name reviews.
            SubstitutionRefused: something that the ledger names was changed.
        """
        folder, state = reviewed(study)
        if state.packets_sha256(reviewer) is None:
            known = (*state.reviewers, *([state.adjudicator] if state.adjudicator else []))
            raise UsageError(
                "nobody of that name reviews this study",
                where="--reviewer",
                expected=" or ".join(known),
                found=reviewer,
            )
        person = folder.person(reviewer)
        return cls(person, read_part(person.packets, PacketBook))

    @property
    def locked(self) -> bool:
        """Whether the forms cannot change any more."""
        return self._folder.locked.exists()

    @property
    def author(self) -> Author:
        """Who fills the forms in; a person unless a model or a script did."""
        return read_part(self._folder.author, Author) if self._folder.author.exists() else Author()

    def packet(self, label: str) -> Packet:
        """A packet by its label.

        Raises:
            UsageError: the reviewer has none of that label.
        """
        if label not in self._packets:
            raise UsageError("there is no packet of that label", expected="one of this reviewer's labels")
        return self._packets[label]

    def form(self, label: str) -> Form:
        """The form of a packet as it was saved last; blank at first, final once locked.

        Raises:
            UsageError: the reviewer has no packet of that label.
            InputRefused: the saved form cannot be read.
        """
        self.packet(label)
        if self.locked:
            return next(form for form in self.form_set().forms if form.label == label)
        path = self._folder.form(label)
        return read_part(path, Form) if path.exists() else Form(label=label)

    def form_set(self) -> FormSet:
        """All forms in the packets' order."""
        if self.locked:
            return read_part(self._folder.locked, FormSet)
        return FormSet(
            format_version=1,
            reviewer=self.book.reviewer,
            role=self.book.role,
            author=self.author,
            forms=tuple(self.form(label) for label in self._packets),
        )

    def save(
        self, form: Form, author: Author | None = None, *, of: str | None = None, keeps_earlier: bool = False
    ) -> Form:
        """Save a form, complete or not; it counts as not submitted until `submit`. The form as saved.

        Args:
            form: in place of the one of its label.
            author: who filled it in; a person by default.
            of: `revision_of` the form that it was made from; any, if it is left out.
            keeps_earlier: whether what it replaces is kept in `earlier/`.

        Raises:
            FormChanged: another than `of` has been saved meanwhile; nothing was saved.
            UsageError: the forms are locked, there is no such packet, or another kind of author began them.
            StudyBusy: another process has been writing for too long.
        """
        self.packet(form.label)
        kept = form.model_copy(update={"submitted": False})
        with self._writing(author or Author()):
            self._unchanged(form.label, of)
            if keeps_earlier and self._folder.form(form.label).exists():
                self._folder.keep_earlier(form.label)
            write_atomic(self._folder.form(form.label), record_bytes(kept))
        return kept

    def replace(self, forms: tuple[Form, ...], author: Author | None = None) -> None:
        """Save forms in place of others; what they replace is kept in `earlier/`. None of them is lost.

        Raises:
            UsageError, StudyBusy: as `save`; then nothing was replaced.
        """
        for form in forms:
            self.packet(form.label)
        with self._writing(author or Author()):
            for form in forms:
                if self._folder.form(form.label).exists():
                    self._folder.keep_earlier(form.label)
                write_atomic(self._folder.form(form.label), record_bytes(form))

    def begin(self, author: Author) -> None:
        """Say who fills the forms in, before anything is filled in.

        Raises:
            UsageError, StudyBusy: as `save`.
        """
        with self._writing(author):
            pass

    def faults(self, label: str) -> tuple[FormFault, ...]:
        """What keeps a saved form from being submitted; empty when it is complete."""
        return faults_of(self.form(label), self.packet(label), self.book.critical_failures)

    def submit(self, label: str, *, of: str | None = None) -> tuple[FormFault, ...]:
        """Submit a form if it is complete; otherwise what it lacks, and nothing changes.

        Args:
            label: of its packet.
            of: `revision_of` the form that is meant; any, if it is left out.

        Raises:
            FormChanged, UsageError, StudyBusy: as `save`.
        """
        with self._writing(self.author):
            form = self._unchanged(label, of)
            faults = faults_of(form, self.packet(label), self.book.critical_failures)
            if not faults:
                done = form.model_copy(update={"submitted": True})
                write_atomic(self._folder.form(label), record_bytes(done))
        return faults

    def _unchanged(self, label: str, of: str | None) -> Form:
        """The saved form, which has to be the one that is meant."""
        saved = self.form(label)
        if of is not None and of != revision_of(saved):
            raise FormChanged(
                "the form was saved elsewhere meanwhile, so nothing was saved over it",
                where=label,
                remedy="look at what was saved, then decide which of the two holds",
            )
        return saved

    def progress(self) -> Progress:
        """How far the reviewer is."""
        forms = self.form_set().forms
        return Progress(
            packets=len(forms),
            begun=sum(not form.is_blank for form in forms),
            submitted=sum(form.submitted for form in forms),
            locked=self.locked,
        )

    @contextmanager
    def _writing(self, author: Author) -> Iterator[None]:
        with self._folder.alone():
            self._refuse_locked()
            self._refuse_other(author)
            yield

    def _refuse_locked(self) -> None:
        if self.locked:
            raise UsageError(
                "the forms are locked and cannot change any more",
                where=str(self._folder.locked),
                remedy="a wrong score is corrected by a revision of the report, never in the forms",
            )

    def _refuse_other(self, author: Author) -> None:
        """A person's forms stay a person's, and those of a model or a script stay marked."""
        if author != self.author and any((self._folder.path / "forms").glob("*.json")):
            raise UsageError(
                "these forms were begun by another author",
                where=f"--reviewer {self.book.reviewer}",
                expected=_shown(self.author),
                found=_shown(author),
                remedy="prepare the review with one name for each author",
            )
        if author != self.author:
            write_atomic(self._folder.author, record_bytes(author))


def revision_of(form: Form) -> str:
    """SHA-256 of a form as it is written; another one when anything changes, be it that it was submitted."""
    return sha256_of_bytes(record_bytes(form))


def _shown(author: Author) -> str:
    return f"{author.kind.value} {author.label}".strip()
