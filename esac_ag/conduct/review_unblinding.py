"""Unblinds a review: once everything is locked, scores and key are joined, on record."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from esac_ag.artifacts import StudyFolder, write_atomic
from esac_ag.artifacts.review_folder import ReviewFolder, record_bytes
from esac_ag.attempt import Cell
from esac_ag.attempt.review_events import ReviewState, ReviewUnblinded
from esac_ag.canonical import sha256_of_bytes
from esac_ag.conduct.collect import StudyRecords, read_study
from esac_ag.conduct.review_locking import locked_forms
from esac_ag.conduct.review_seals import read_part, reviewed
from esac_ag.errors import UsageError
from esac_ag.ledger import open_ledger
from esac_ag.study.packing import ReviewKey
from esac_ag.study.scores import Guesses, ReviewScores, scores_of


def unblind(study_path: Path) -> ReviewScores:
    """Join the scores with the key and write `review/scores.json`; the ledger keeps that it was done.

    Calling it again writes the same file again, should it be missing.

    Raises:
        UsageError: not everything is locked, and what is missing.
        SubstitutionRefused: something that the ledger names was changed.
    """
    folder, state = reviewed(study_path)
    _refuse_unblinding(state, study_path)
    scores = computed_scores(read_study(study_path), folder, state)
    data = record_bytes(scores)
    with open_ledger(StudyFolder(study_path).ledger) as ledger:
        # First the event: nobody sees scores by arm before it is on record that somebody may.
        if ledger.state.review.unblinded is None:
            ledger.append(ReviewUnblinded(scores_sha256=sha256_of_bytes(data)))
        write_atomic(folder.scores, data)
    return scores


def computed_scores(study: StudyRecords, folder: ReviewFolder, state: ReviewState) -> ReviewScores:
    """The scores that locked forms and keys come to; the same bytes each time.

    Raises:
        InputRefused: a part cannot be read.
        ValueError: parts do not fit together.
    """
    labels = dict(read_part(folder.key, ReviewKey).labels)
    if state.adjudication is not None:
        labels |= read_part(folder.adjudication_key, ReviewKey).labels
    return scores_of(
        study_id=study.manifest.study_id,
        manifest_sha256=study.manifest_sha256,
        cells=_cells(study, labels[state.reviewers[0]].values()),
        form_sets=locked_forms(folder, state),
        labels=labels,
        guesses={name: read_part(folder.person(name).guesses, Guesses) for name in state.guesses},
        rule=study.manifest.review.disagreement,
        seed=study.manifest.analysis.interval.seed,
    )


def _cells(study: StudyRecords, attempts: Iterable[str]) -> dict[str, Cell]:
    return {attempt: study.state.attempts[attempt].cell for attempt in attempts}


def _refuse_unblinding(state: ReviewState, study: Path) -> None:
    if state.all_locked():
        return
    waiting = [f"forms of {name}" for name in state.reviewers if name not in state.locked]
    if not waiting and state.adjudication is None:
        waiting = ["to look for disagreement (review adjudicate)"]
    if not waiting:
        waiting = [f"forms of the adjudicator {state.adjudicator}"]
    raise UsageError(
        "the review cannot be unblinded before everything is locked",
        where=str(study / "review"),
        expected="all forms locked, those of the adjudicator too",
        found=f"still missing: {', '.join(waiting)}",
        remedy=f"esac-ag review status {study}",
    )
