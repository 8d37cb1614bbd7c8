"""`compare`, step by step: look at everything, draft, build images, freeze, estimate.

Running and reporting are those of any study.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from esac_ag import clock
from esac_ag.artifacts import write_atomic
from esac_ag.conduct.comparison_agent import ActingAgent, acting_agent
from esac_ag.conduct.comparison_sources import ArmSource, arm_sources, tasks_named
from esac_ag.conduct.faults import Faults
from esac_ag.conduct.freeze import Tell, freeze_draft
from esac_ag.errors import ImageMissing, InputRefused, UsageError
from esac_ag.manifest.comparison import (
    ComparisonRequest,
    different_keys,
    draft_of,
    refuse_unpriced,
    study_id_of,
)
from esac_ag.manifest.draft import Draft, DraftArm
from esac_ag.manifest.plan import Install, Model
from esac_ag.rooms.freezing import bundle_to_freeze, freeze_arm, listing_warning
from esac_ag.rooms.prices import read_prices
from esac_ag.rooms.records import read_record
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.agent_images import agent_image_reference
from esac_ag.sandbox.contract import Engine
from esac_ag.sandbox.image_definition import ImageKind, read_definition


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """What the command line says; none is what it leaves out."""

    agent: str
    model: str
    arms: tuple[str, ...]
    tasks: tuple[str, ...]
    repetitions: int
    mention: bool = False
    provider: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    model_way: str | None = None
    reasoning: str | None = None
    max_cost_usd: float | None = None
    prices: Path | None = None
    wall_clock_s: float | None = None
    turns: int | None = None
    seed: str | None = None
    study_id: str | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A comparison of which nothing is missing but, perhaps, images."""

    request: ComparisonRequest
    agent: ActingAgent
    sources: tuple[ArmSource, ...]
    missing_images: tuple[str, ...]


def prepare(
    options: CompareOptions, *, workspace: Workspace, engine: Engine, environ: Mapping[str, str]
) -> Prepared:
    """Look at everything that a comparison needs. Nothing is written.

    Raises:
        UsageError: an option, or a variable of the environment, is missing or wrong.
        InputRefused: a bundle, a task or the price table cannot be used.
        EngineUnavailable: no engine answers.
        HarnessError: several of these; all are told.
    """
    faults = Faults()
    with faults.taken():
        _refuse_unplannable(options)
    agent = acting_agent(
        options.agent,
        base_url=options.base_url,
        api_key_env=options.api_key_env,
        model_way=options.model_way,
        workspace=workspace,
        environ=environ,
        faults=faults,
    )
    sources = arm_sources(options.arms, workspace, faults)
    tasks = tasks_named(options.tasks, workspace, faults)
    prices = None
    with faults.taken():
        prices = None if options.prices is None else read_prices(options.prices)
        if options.max_cost_usd is not None:
            refuse_unpriced(options.model, prices)
    missing: tuple[str, ...] = ()
    with faults.taken():
        missing = _missing_images(agent, workspace, engine)
    faults.refuse()
    if agent is None:
        raise AssertionError("without an agent there was a fault")
    request = ComparisonRequest(
        study_id=options.study_id or study_id_of(sources[0].id, options.agent, clock.now()),
        agent=agent.plan,
        model=Model(
            name=options.model,
            version="unspecified",
            provider=options.provider or agent.provider,
            reasoning=options.reasoning,
        ),
        arms=tuple(_drafted(source, mention=options.mention) for source in sources),
        tasks=tasks,
        repetitions=options.repetitions,
        wall_clock_s=options.wall_clock_s,
        turns=options.turns,
        max_cost_usd=options.max_cost_usd,
        prices=prices,
        seed=options.seed,
    )
    _refuse_other_study(draft_of(request), workspace)
    return Prepared(request, agent, sources, missing)


def _drafted(source: ArmSource, *, mention: bool) -> DraftArm:
    return DraftArm(
        id=source.id, bundle=f"../arms/{source.id}", install=Install(mention_in_instructions=mention)
    )


def _missing_images(agent: ActingAgent | None, workspace: Workspace, engine: Engine) -> tuple[str, ...]:
    definition = read_definition(workspace.runner)
    wanted = [definition.reference(kind) for kind in (ImageKind.AGENT, ImageKind.GRADER)]
    if agent is not None and agent.image_of is not None:
        wanted.append(agent_image_reference(definition, agent.image_of))
    return tuple(reference for reference in wanted if not _is_built(reference, engine))


def _is_built(reference: str, engine: Engine) -> bool:
    try:
        engine.image_digest(reference)
    except ImageMissing:
        return False
    return True


def draft_path(study_id: str, workspace: Workspace) -> Path:
    """Where a comparison's draft lies."""
    return workspace.manifests / f"{study_id}.draft.json"


def sealed_path(study_id: str, workspace: Workspace) -> Path:
    """Where its sealed manifest lies."""
    return workspace.manifests / f"{study_id}.json"


def _refuse_other_study(draft: Draft, workspace: Workspace) -> None:
    """A study of that id goes on if its draft is the same one; no other file is overwritten.

    Raises:
        InputRefused: there is another draft, or a manifest without one.
    """
    path, sealed = draft_path(draft.study_id, workspace), sealed_path(draft.study_id, workspace)
    if path.is_file():
        differ = different_keys(read_record(path, Draft), draft)
        if not differ:
            return
        found = f"another one: {', '.join(differ)} differ"
    elif sealed.exists():
        path, found = sealed, "a manifest whose draft is not there"
    else:
        return
    goes_on = f"esac-ag run {sealed} goes on with the sealed one" if sealed.exists() else f"remove {path}"
    raise InputRefused(
        f"There is another study {draft.study_id}.",
        where=str(path),
        expected="no draft, or the same one",
        found=found,
        remedy=f"choose another --study-id, or leave it out; {goes_on}",
    )


def seal_comparison(
    prepared: Prepared,
    *,
    workspace: Workspace,
    engine: Engine,
    repeats: int,
    build: Callable[[tuple[str, ...]], None],
    tell: Tell,
) -> Path:
    """Copy the bundles, build what is not built, write the draft, freeze it; the sealed manifest's path.

    A study that was sealed from the same draft before is taken as it is.

    Args:
        prepared: the comparison.
        workspace: where all of it goes.
        engine: where tasks are proved and the isolation is probed.
        repeats: how often each task's proof is repeated.
        build: builds images; is given the command-line agents whose images are needed.
        tell: is told each step.

    Raises:
        InputRefused: a bundle, a task's proof or the isolation does not hold.
        InfrastructureFailure: the engine failed, or an image cannot be built.
    """
    draft = draft_of(prepared.request)
    sealed = sealed_path(draft.study_id, workspace)
    if sealed.exists():
        tell(f"{sealed} is sealed already, from the same draft")
        return sealed
    for source in prepared.sources:
        if warning := listing_warning(bundle_to_freeze(source.path)):
            tell(f"warning: arm {source.id}: {warning}")
        if source.path.resolve() != (workspace.arms / source.id).resolve():
            frozen = freeze_arm(source.path, source.id, workspace=workspace)
            tell(f"arm {source.id}: {'copied to' if frozen.copied else 'the same as in'} {frozen.folder}")
    if prepared.missing_images:
        tell(f"not built yet, so built now: {', '.join(prepared.missing_images)}")
        build(() if prepared.agent.image_of is None else (prepared.agent.image_of.file.name,))
    path = draft_path(draft.study_id, workspace)
    write_atomic(path, (json.dumps(draft.model_dump(mode="json"), indent=2) + "\n").encode())
    tell(f"draft: {path}")
    freeze_draft(path, sealed, workspace=workspace, engine=engine, repeats=repeats, tell=tell)
    return sealed


def _refuse_unplannable(options: CompareOptions) -> None:
    """Refuse what no draft can hold, before one is written.

    Raises:
        UsageError: the model has no name, or the time of a run no end.
    """
    if not options.model.strip():
        raise UsageError("The model has no name.", where="-m/--model", expected="its name at its provider")
    if options.wall_clock_s is not None and not math.isfinite(options.wall_clock_s):
        raise UsageError(
            "A run has to end.", where="--max-run-s", expected="seconds", found=str(options.wall_clock_s)
        )
