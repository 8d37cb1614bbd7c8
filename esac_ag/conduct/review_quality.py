"""The quality scores of an unblinded review, as the ledger vouches for them, for reports and decisions."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from esac_ag.artifacts import StudyFolder
from esac_ag.artifacts.review_folder import ReviewFolder
from esac_ag.attempt.events import StudyState
from esac_ag.canonical import sha256_of_bytes
from esac_ag.errors import InputRefused, SubstitutionRefused
from esac_ag.manifest.package import CriticalFailure
from esac_ag.study.quality import QualityScore
from esac_ag.study.scores import ReviewScores


def quality_of(review: ReviewScores | None) -> Mapping[str, QualityScore] | None:
    """The quality score of every attempt that was reviewed; none while the review is not unblinded."""
    if review is None:
        return None
    return {
        one.attempt_id: QualityScore(
            dimensions=one.dimensions,
            critical_failures=tuple(map(CriticalFailure, one.critical_failures)),
            provisional=review.provisional,
            is_rehearsal=review.is_rehearsal,
        )
        for one in review.scores
    }


def review_scores(folder: StudyFolder, state: StudyState) -> ReviewScores | None:
    """The scores of the study's review; none while it is not unblinded.

    Raises:
        InputRefused: the scores cannot be read.
        SubstitutionRefused: they are not the ones that the ledger names.
    """
    unblinded = state.review.unblinded
    if unblinded is None:
        return None
    path = ReviewFolder(folder.path).scores
    remedy = "esac-ag review unblind STUDY writes them again, from the locked forms"
    try:
        data = path.read_bytes()
        scores = ReviewScores.model_validate_json(data)
    except (OSError, ValidationError) as error:
        raise InputRefused(
            "the scores of an unblinded review cannot be read",
            where=str(path),
            found=str(error),
            remedy=remedy,
        ) from error
    if (found := sha256_of_bytes(data)) != unblinded.scores_sha256:
        raise SubstitutionRefused(
            "the scores of the review were changed",
            where=str(path),
            expected=unblinded.scores_sha256,
            found=found,
            remedy=remedy,
        )
    return scores
