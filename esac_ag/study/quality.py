"""The quality score of one run, as a blinded review locked it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import Field, model_validator

from esac_ag.manifest.package import DIMENSION_WEIGHTS, HIGHEST_ANCHOR, CriticalFailure, Dimension
from esac_ag.record import Record
from esac_ag.statistics.estimates import rounded

Anchored = Annotated[float, Field(ge=0, le=HIGHEST_ANCHOR)]


class QualityScore(Record):
    """What the reviewers, or the adjudicator, gave one attempt."""

    dimensions: dict[Dimension, Anchored]
    """0 to 4 in each of the five dimensions."""
    critical_failures: tuple[CriticalFailure, ...] = ()
    """Those that the review settled on."""
    provisional: bool = False
    """Whether a model or a script filled in a form of the review."""
    is_rehearsal: bool = False
    """Whether a script did: then it is no evidence at all."""

    @model_validator(mode="after")
    def _all_dimensions(self) -> Self:
        missing = [dimension.value for dimension in Dimension if dimension not in self.dimensions]
        if missing:
            raise ValueError(f"no score in {', '.join(missing)}")
        return self

    @property
    def points(self) -> float:
        """The weighted average, 0 to 100."""
        weighted = math.fsum(DIMENSION_WEIGHTS[name] * self.dimensions[name] for name in Dimension)
        return rounded(100.0 * weighted / HIGHEST_ANCHOR)

    @property
    def dimension_points(self) -> dict[Dimension, float]:
        """Each dimension, 0 to 100."""
        return {name: rounded(100.0 * self.dimensions[name] / HIGHEST_ANCHOR) for name in Dimension}


def is_rehearsed(scores: Mapping[str, QualityScore] | None) -> bool:
    """Whether a script filled in any form that these scores, by attempt, come from; never without scores."""
    return any(score.is_rehearsal for score in (scores or {}).values())
