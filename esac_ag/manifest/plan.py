"""The run manifest, format_version 2, as frozen records.

A draft becomes a sealed manifest by `esac-ag freeze`; a sealed manifest is never edited. Its digest is
SHA-256 over its RFC 8785 canonical form (`canonical.sha256_of`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from esac_ag.canonical import HashRule
from esac_ag.manifest.decision import DecisionRules
from esac_ag.manifest.lineage import HoldoutOf, Lineage
from esac_ag.record import Identifier, Record, Sha256

NEUTRAL = "neutral"
"""Id of the control arm: no bundle."""

Positive = Annotated[int, Field(gt=0)]
PositiveNumber = Annotated[float, Field(gt=0)]
Repetitions = Annotated[int, Field(ge=1, le=1000)]
Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]


class Phase(StrEnum):
    """Which part of the programme a study is."""

    CALIBRATION = "calibration"
    PRIMARY = "primary"
    HOLDOUT = "holdout"
    SHADOW = "shadow"


MINIMUM_TASKS = {Phase.CALIBRATION: 4, Phase.PRIMARY: 12, Phase.HOLDOUT: 12, Phase.SHADOW: 1}
"""Fewest tasks that a phase needs (protocol, "Study design"; manifest version 1)."""


class Status(StrEnum):
    """Whether the plan is sealed."""

    DRAFT = "draft"
    FROZEN = "frozen"


class SuiteName(StrEnum):
    """What kind of measurement the manifest plans."""

    STUDY = "study"
    ESAC_AG = "esac-ag"


class AgentKind(StrEnum):
    """What acts in the container."""

    SCRIPTED = "scripted"
    """Replays a file of actions; evidence about no model."""
    CHAT = "chat"
    """Our own tool loop over a chat-completions endpoint."""
    COMMAND = "command"
    """A command-line agent behind the model gateway."""


class Network(StrEnum):
    """What a container can reach."""

    NONE = "none"
    MODEL_GATEWAY = "model-gateway"


class ModelWayKind(StrEnum):
    """How an agent's container reaches the model gateway."""

    SOCKET = "socket"
    """No network; the gateway's socket is mounted. For an engine on this machine."""
    NETWORK = "network"
    """A network of its own, with a relay on it. For every engine."""


class Suite(Record):
    """Name and version of what is measured."""

    name: SuiteName
    version: str


class Decoding(Record):
    """Decoding parameters that are sent with every model call; null is left to the provider."""

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    max_output_tokens: Positive | None = None
    seed: int | None = None


class Model(Record):
    """The model under test, as requested from its provider."""

    name: str
    version: str
    provider: str
    reasoning: str | None = None
    decoding: Decoding = Decoding()


class AgentPlan(Record):
    """The agent that acts in the container."""

    kind: AgentKind
    version: str
    argv: tuple[str, ...] | None = None
    settings: dict[str, JsonValue] = Field(default_factory=dict)


class Harness(Record):
    """What ran the study."""

    version: str
    revision: str
    """Commit of the harness, or `unversioned`."""
    dirty: bool
    package_sha256: Sha256
    """Tree hash of the package's own code."""
    runner_sha256: Sha256
    """Tree hash of `runner/`."""
    grader_revision: Sha256
    """Tree hash of `graders/`, the tasks of this manifest only."""


class Image(Record):
    """A container image: the reference that it is found by, and its content digest."""

    reference: str
    digest: Digest
    """`sha256:` over layer diff ids and configuration, the same wherever it was built or pulled."""


class Images(Record):
    """Both images."""

    agent: Image
    grader: Image


class GraderLimits(Record):
    """What the grader's container may use."""

    wall_clock_s: PositiveNumber = 120.0
    cpus: PositiveNumber = 1.0
    memory_mib: Positive = 512
    pids: Positive = 128
    workspace_mib: Positive = 128
    output_bytes: Positive = 1_000_000


class Limits(Record):
    """What one attempt may use; what is null is not limited (and not possible for the engine's limits)."""

    wall_clock_s: PositiveNumber = 900.0
    turns: Positive | None = 60
    tool_calls: Positive | None = 200
    input_tokens: Positive | None = None
    output_tokens: Positive | None = None
    cost_usd: PositiveNumber | None = None
    cpus: PositiveNumber = 1.0
    memory_mib: Positive = 1024
    pids: Positive = 256
    workspace_mib: Positive = 64
    tmp_mib: Positive = 64
    files: Positive = 20_000
    output_bytes: Positive = 10_000_000
    grader: GraderLimits = GraderLimits()


class ProbeReference(Record):
    """The record that backs `isolation_probe_passed`."""

    record: str
    """Path relative to the manifest."""
    sha256: Sha256


class Isolation(Record):
    """What was proved of the runner's isolation."""

    fresh_process_per_run: bool
    isolated_config_per_arm: bool
    private_material_unreadable: bool
    isolation_probe_passed: bool
    probe: ProbeReference | None = None


class Schedule(Record):
    """The order of runs: algorithm, seed and digest of the resulting list of cells."""

    algorithm: Literal["randomised-complete-blocks/1"] = "randomised-complete-blocks/1"
    seed: str
    sha256: Sha256


class BundleFile(Record):
    """One file of a bundle."""

    path: str
    sha256: Sha256
    rule: HashRule = HashRule.TEXT_LF
    """Which bytes were hashed."""


class ArmKind(StrEnum):
    """What a bundle is."""

    NONE = "none"
    SKILL = "skill"
    INSTRUCTIONS = "instructions"
    FOLDER = "folder"


class Install(Record):
    """How a bundle reaches the agent, beyond being installed where the agent looks."""

    mention_in_instructions: bool = False
    """Whether the agent's global instructions name the bundle in one line."""


class Arm(Record):
    """One condition: an id and a frozen bundle, or none."""

    id: Identifier
    kind: ArmKind
    bundle: str | None
    """Folder relative to the manifest; null for the control."""
    files: tuple[BundleFile, ...]
    install: Install = Install()
    lineage: Lineage | None = None
    """Null: nobody said that the bundle revises another one."""


class TaskReference(Record):
    """One task: where its package is and which bytes were sealed."""

    id: Identifier
    manifest: str
    """Path of `task.json` relative to the run manifest."""
    public_tree_sha256: Sha256
    request_sha256: Sha256
    private_grader_id: str
    """`<task id>@<tree hash of the grader>`."""
    proof_sha256: Sha256
    """Digest of the record that proved the package at freeze."""


class IncompleteRule(StrEnum):
    """What becomes of a run whose agent did not finish."""

    SCORED_AS_LEFT = "scored-as-left"
    """Grade what is in the workspace, flag the run."""


class RunnerFailureRule(StrEnum):
    """What becomes of a run that the infrastructure spoiled."""

    RETRY_THEN_PAUSE = "retry-then-pause"
    """Retry up to the cap, then pause the study; never score it."""


class EarlyStopRule(StrEnum):
    """When an arm may be stopped."""

    NEVER = "never"
    REPRODUCED_CRITICAL_FAILURE = "reproduced-critical-failure"


class Policies(Record):
    """Predeclared treatment of everything that is not a clean result."""

    timeouts: IncompleteRule = IncompleteRule.SCORED_AS_LEFT
    incomplete: IncompleteRule = IncompleteRule.SCORED_AS_LEFT
    runner_failures: RunnerFailureRule = RunnerFailureRule.RETRY_THEN_PAUSE
    max_infrastructure_retries: Annotated[int, Field(ge=0, le=20)] = 2
    """Retries of one cell after the first launch."""
    early_stop: EarlyStopRule = EarlyStopRule.REPRODUCED_CRITICAL_FAILURE
    critical_failures: tuple[str, ...] = (
        "security-regression",
        "data-loss",
        "missing-central-requirement",
        "fabricated-verification",
        "incomplete-migration",
    )
    practical_improvement_points: PositiveNumber = 5.0


class IntervalMethod(StrEnum):
    """How the interval of a mean paired difference is computed."""

    BCA = "paired-bootstrap-bca"
    STUDENTISED = "paired-bootstrap-studentised"
    PERCENTILE = "paired-bootstrap-percentile"
    STUDENTISED_SMOOTHED = "paired-bootstrap-studentised-smoothed"
    """Studentised, of smoothed resamples, never narrower than Student's t."""
    BAYESIAN = "bayesian-bootstrap"
    SIGN_FLIP = "sign-flip-inversion"
    """All means that the sign-flip test does not reject."""


class Interval(Record):
    """The interval of the mean paired difference."""

    method: IntervalMethod = IntervalMethod.STUDENTISED_SMOOTHED
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    replicates: Annotated[int, Field(ge=100, le=1_000_000)] = 10_000
    seed: str


class Comparison(Record):
    """An arm and what it is compared with."""

    arm: Identifier
    control: Identifier = NEUTRAL


class Analysis(Record):
    """The analysis, fixed before any scored run."""

    unit: Literal["task"] = "task"
    aggregate: Literal["mean"] = "mean"
    interval: Interval
    primary_comparison: Comparison
    threshold_points: PositiveNumber = 5.0


class MaterialDisagreement(Record):
    """From where on two reviewers differ so much that a third person decides."""

    dimension_points: Annotated[int, Field(ge=1, le=4)] = 2
    """Apart by so many points of the scale, 0 to 4, or by more, in any dimension."""
    total_points: Annotated[float, Field(gt=0, le=100)] = 10.0
    """Apart by more than so many points of the quality score, 0 to 100."""


class ReviewPlan(Record):
    """How submissions are reviewed, fixed before any scored run. See docs/review.md."""

    reviewers: Annotated[int, Field(ge=2, le=9)] = 2
    """Independent reviewers of each submission."""
    show_hidden_checks: bool = False
    """Whether reviewers see what the hidden checks said."""
    disagreement: MaterialDisagreement = MaterialDisagreement()


class TokenPrice(Record):
    """Price of a million tokens in the table's currency; null is unknown, never zero."""

    input: Annotated[float, Field(ge=0)] | None = None
    cached_input: Annotated[float, Field(ge=0)] | None = None
    cache_write: Annotated[float, Field(ge=0)] | None = None
    output: Annotated[float, Field(ge=0)] | None = None


class Prices(Record):
    """The price table in force when the plan was sealed; later prices never rewrite it."""

    source: str
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
    date: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    version: str
    per_million: dict[str, TokenPrice]


class Plan(Record):
    """What every sealed plan of format_version 2 holds, whatever it measures."""

    format_version: Literal[2]
    study_id: Identifier
    suite: Suite
    model: Model
    agent: AgentPlan
    harness: Harness
    images: Images
    limits: Limits
    network: Network
    isolation: Isolation
    arms: Annotated[tuple[Arm, ...], Field(min_length=1)]
    policies: Policies
    prices: Prices | None


class Manifest(Plan):
    """A sealed run manifest of a study, format_version 2."""

    phase: Phase
    status: Status
    repetitions: Repetitions
    schedule: Schedule
    arms: Annotated[tuple[Arm, ...], Field(min_length=2)]
    tasks: Annotated[tuple[TaskReference, ...], Field(min_length=1)]
    analysis: Analysis
    decision: DecisionRules = DecisionRules()
    holdout_of: HoldoutOf | None = None
    """Given if the phase is a holdout that was sealed with its study."""
    review: ReviewPlan = ReviewPlan()
