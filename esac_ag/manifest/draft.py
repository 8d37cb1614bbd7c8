"""A draft of a run manifest: what a person writes; `esac-ag freeze` fills in the rest."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from esac_ag.manifest.decision import DecisionRules
from esac_ag.manifest.lineage import DraftLineage
from esac_ag.manifest.plan import (
    AgentPlan,
    Analysis,
    Comparison,
    Install,
    Interval,
    IntervalMethod,
    Limits,
    Model,
    Network,
    Phase,
    Policies,
    Prices,
    ReviewPlan,
    Suite,
    SuiteName,
)
from esac_ag.record import Identifier, Record


class DraftArm(Record):
    """An arm before its inventory is taken."""

    id: Identifier
    bundle: str | None = None
    install: Install = Install()
    lineage: DraftLineage | None = None
    """Left out: what `esac-ag arm freeze --revises` kept beside the bundle, or nothing."""


class DraftTask(Record):
    """A task before it is proved."""

    id: Identifier
    manifest: str | None = None
    """Path of `task.json` relative to the draft; by default the workspace's `tasks/<id>/task.json`."""


class DraftInterval(Record):
    """The interval without its seed, which freezing draws where it is left out."""

    method: IntervalMethod = IntervalMethod.STUDENTISED_SMOOTHED
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    replicates: Annotated[int, Field(ge=100, le=1_000_000)] = 10_000
    seed: str | None = None

    def sealed(self, seed: str) -> Interval:
        """The interval with its own seed, or the one given."""
        return Interval(
            method=self.method,
            confidence=self.confidence,
            replicates=self.replicates,
            seed=self.seed or seed,
        )


class DraftAnalysis(Record):
    """The analysis; the primary comparison is the first arm against neutral unless given."""

    interval: DraftInterval = DraftInterval()
    primary_comparison: Comparison | None = None
    threshold_points: Annotated[float, Field(gt=0)] = 5.0

    def sealed(self, seed: str, first_arm: str) -> Analysis:
        """The analysis with everything filled in."""
        return Analysis(
            interval=self.interval.sealed(seed),
            primary_comparison=self.primary_comparison or Comparison(arm=first_arm),
            threshold_points=self.threshold_points,
        )


class Draft(Record):
    """A draft, format_version 2."""

    format_version: Literal[2]
    study_id: Identifier
    suite: Suite = Suite(name=SuiteName.STUDY, version="1")
    phase: Phase
    status: Literal["draft"]
    model: Model
    agent: AgentPlan
    limits: Limits = Limits()
    network: Network = Network.NONE
    repetitions: Annotated[int, Field(ge=1, le=1000)]
    seed: str | None = None
    """Root seed of schedule and analysis; drawn when left out."""
    arms: Annotated[tuple[DraftArm, ...], Field(min_length=2)]
    tasks: Annotated[tuple[DraftTask, ...], Field(min_length=1)]
    policies: Policies = Policies()
    analysis: DraftAnalysis = DraftAnalysis()
    decision: DecisionRules = DecisionRules()
    review: ReviewPlan = ReviewPlan()
    prices: Prices | None = None
    holdout_of: Identifier | None = None
    """Study whose provisional winner a holdout is for; a holdout needs it, other phases refuse it."""
