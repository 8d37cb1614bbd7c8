"""Locks forms, sends disagreement to an adjudicator, and takes guesses of arms: each recorded for ever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from esac_ag import clock
from esac_ag.artifacts import StudyFolder
from esac_ag.artifacts.review_folder import ReviewFolder, record_bytes, write_locked
from esac_ag.attempt.review_events import (
    AdjudicationPrepared,
    ArmsGuessed,
    ReviewLocked,
    ReviewState,
)
from esac_ag.canonical import sha256_of_bytes
from esac_ag.clock import Seeds
from esac_ag.conduct.collect import read_study
from esac_ag.conduct.review_desk import ReviewDesk
from esac_ag.conduct.review_prepare import refuse_name, write_book
from esac_ag.conduct.review_seals import read_part, reviewed
from esac_ag.errors import InputRefused, UsageError
from esac_ag.ledger import open_ledger
from esac_ag.plural import plural
from esac_ag.record import Record
from esac_ag.study.disagreement import differences, opinion_of
from esac_ag.study.forms import Form, FormSet
from esac_ag.study.packets import Packet, PacketBook, Role
from esac_ag.study.packing import ReviewKey, labelled, labels_for
from esac_ag.study.scores import Guesses

MOST_SHOWN = 10


class Adjudication(Record):
    """What `review adjudicate` found."""

    adjudicator: str
    submissions: int
    cases: int
    """Submissions on which reviewers disagree materially; the adjudicator has a packet for each."""


def lock_forms(study: Path, reviewer: str) -> FormSet:
    """Lock a reviewer's forms, or the adjudicator's: all are complete, and from here on none can change.

    Raises:
        UsageError: they are locked already, or forms are not submitted, and which.
        SubstitutionRefused: something that the ledger names was changed.
        StudyBusy: another process works on the study, or is writing the forms.
    """
    desk = ReviewDesk.open(study, reviewer)
    folder = ReviewFolder(study)
    with open_ledger(StudyFolder(study).ledger) as ledger, folder.person(reviewer).alone():
        if reviewer in ledger.state.review.locked:
            raise _done(f"{reviewer}'s forms are locked already", study)
        forms = desk.form_set()
        _refuse_incomplete(desk, forms, study)
        # A crash may have come after the file and before its event: then the file holds.
        path = folder.person(reviewer).locked
        data = path.read_bytes() if path.exists() else record_bytes(forms)
        if not path.exists():
            write_locked(path, data)
        ledger.append(
            ReviewLocked(
                reviewer=reviewer,
                forms_sha256=sha256_of_bytes(data),
                provisional=forms.author.provisional,
            )
        )
    return forms


def _refuse_incomplete(desk: ReviewDesk, forms: FormSet, study: Path) -> None:
    lacking = [form.label for form in forms.forms if not form.submitted or desk.faults(form.label)]
    if lacking:
        shown = ", ".join(lacking[:MOST_SHOWN]) + (" …" if len(lacking) > MOST_SHOWN else "")
        raise UsageError(
            f"not submitted: {len(lacking)} of {plural(len(forms.forms), 'form')}",
            where=f"--reviewer {forms.reviewer}",
            expected="all of them complete and submitted",
            found=shown,
            remedy=f"esac-ag review status {study} --reviewer {forms.reviewer} tells what each lacks",
        )


def _done(what: str, study: Path) -> UsageError:
    return UsageError(what, where=str(study / "review"), remedy="what is recorded is never done again")


def locked_forms(folder: ReviewFolder, state: ReviewState) -> tuple[FormSet, ...]:
    """The locked forms of everybody who judged, reviewers first."""
    names = (*state.reviewers, *([state.adjudicator] if state.adjudicator else []))
    return tuple(read_part(folder.person(name).locked, FormSet) for name in names if name in state.locked)


def _forms_by_attempt(
    form_sets: Sequence[FormSet], labels: Mapping[str, Mapping[str, str]]
) -> dict[str, list[Form]]:
    found: dict[str, list[Form]] = {}
    for one in form_sets:
        for form in one.forms:
            found.setdefault(labels[one.reviewer][form.label], []).append(form)
    return found


def adjudicate(study_path: Path, adjudicator: str) -> Adjudication:
    """Make packets, with the reviewers' opinions, of all submissions on which they disagree materially.

    Args:
        study_path: the study's folder below results/.
        adjudicator: a name that no reviewer has.

    Raises:
        UsageError: reviewers have not locked, it was done before, or the name is a reviewer's.
        SubstitutionRefused: something that the ledger names was changed.
    """
    folder, state = reviewed(study_path)
    study = read_study(study_path)
    refuse_name(adjudicator, study)
    _refuse_adjudication(state, adjudicator, study_path)
    key = read_part(folder.key, ReviewKey)
    forms = _forms_by_attempt(locked_forms(folder, state), key.labels)
    rule = study.manifest.review.disagreement
    cases = [attempt for attempt in sorted(forms) if differences(forms[attempt], rule)]
    secret = clock.secret_text()
    labels = labels_for(adjudicator, cases, secret)
    packets = _with_opinions(folder, state.reviewers[0], key, {one: forms[one] for one in cases}, secret)
    with open_ledger(study.folder.ledger) as ledger:
        _refuse_adjudication(ledger.state.review, adjudicator, study_path)
        own_key = ReviewKey(format_version=1, secret=secret, labels={adjudicator: labels})
        key_sha256 = folder.write_private(folder.adjudication_key, own_key)
        digest = write_book(folder, adjudicator, Role.ADJUDICATOR, labelled(packets, labels), study)
        ledger.append(
            AdjudicationPrepared(
                adjudicator=adjudicator, cases=len(cases), key_sha256=key_sha256, packets_sha256=digest
            )
        )
    return Adjudication(adjudicator=adjudicator, submissions=len(forms), cases=len(cases))


def _refuse_adjudication(state: ReviewState, adjudicator: str, study: Path) -> None:
    if state.adjudication is not None:
        raise _done("disagreement was looked for already", study)
    waiting = [name for name in state.reviewers if name not in state.locked]
    if waiting:
        raise UsageError(
            "not all reviewers have locked their forms",
            where=str(study / "review"),
            expected=f"{', '.join(state.reviewers)} locked",
            found=f"not yet: {', '.join(waiting)}",
            remedy=f"esac-ag review lock {study} --reviewer {waiting[0]}",
        )
    if adjudicator in state.reviewers:
        raise UsageError(
            "a reviewer cannot decide on a disagreement of their own",
            where="--adjudicator",
            expected="a third person's name",
            found=adjudicator,
        )


def _with_opinions(
    folder: ReviewFolder, reviewer: str, key: ReviewKey, forms: Mapping[str, list[Form]], secret: str
) -> dict[str, Packet]:
    """One reviewer's packets, by attempt, with all opinions in an order of each packet's own."""
    book = read_part(folder.person(reviewer).packets, PacketBook)
    found: dict[str, Packet] = {}
    for packet in book.packets:
        attempt = key.labels[reviewer][packet.label]
        if attempt in forms:
            order = list(forms[attempt])
            Seeds(secret).stream("opinions", attempt).shuffle(order)
            opinions = tuple(opinion_of(form, number) for number, form in enumerate(order, start=1))
            found[attempt] = packet.model_copy(update={"opinions": opinions})
    return found


def arms_to_guess(study_path: Path, reviewer: str) -> tuple[str, ...]:
    """Ids of the arms that a reviewer may be asked for, in the manifest's order.

    Raises:
        UsageError: the reviewer has not locked, has guessed before, or the review is unblinded.
        SubstitutionRefused: something that the ledger names was changed.
    """
    _, state = reviewed(study_path)
    _refuse_guessing(state, reviewer, study_path)
    return tuple(arm.id for arm in read_study(study_path).manifest.arms)


def record_guesses(study_path: Path, reviewer: str, guesses: Mapping[str, str | None]) -> Guesses:
    """Record which arm a reviewer takes each packet to be of; once, after locking and before unblinding.

    Args:
        study_path: the study's folder below results/.
        reviewer: who guesses.
        guesses: arm by label, null for no idea; every packet of the reviewer's.

    Raises:
        UsageError: the reviewer has not locked, has guessed before, or the review is unblinded.
        InputRefused: labels are missing or unknown, or an arm is none of the study's.
    """
    folder, state = reviewed(study_path)
    arms = tuple(arm.id for arm in read_study(study_path).manifest.arms)
    _refuse_guessing(state, reviewer, study_path)
    labels = {packet.label for packet in read_part(folder.person(reviewer).packets, PacketBook).packets}
    wrong = [f"{label} is no packet of yours" for label in guesses if label not in labels]
    wrong += [f"{label} is missing" for label in sorted(labels - guesses.keys())]
    wrong += [f"{label}: {arm} is no arm" for label, arm in guesses.items() if arm not in (None, *arms)]
    if wrong:
        raise InputRefused(
            "the guesses do not fit the packets",
            where=f"--reviewer {reviewer}",
            expected=f"for each packet one of {', '.join(arms)}, or nothing",
            found="; ".join(wrong[:MOST_SHOWN]),
        )
    record = Guesses(format_version=1, reviewer=reviewer, guesses=dict(sorted(guesses.items())))
    with open_ledger(StudyFolder(study_path).ledger) as ledger:
        _refuse_guessing(ledger.state.review, reviewer, study_path)
        digest = write_locked(folder.person(reviewer).guesses, record_bytes(record))
        ledger.append(ArmsGuessed(reviewer=reviewer, guesses_sha256=digest))
    return record


def _refuse_guessing(state: ReviewState, reviewer: str, study: Path) -> None:
    if state.unblinded is not None:
        raise _done("the review is unblinded: nobody has to guess any more", study)
    if reviewer in state.guesses:
        raise _done(f"{reviewer} has guessed already", study)
    if reviewer not in state.locked:
        raise UsageError(
            "arms are guessed after locking, so that guessing changes no score",
            where=f"--reviewer {reviewer}",
            remedy=f"esac-ag review lock {study} --reviewer {reviewer}",
        )
