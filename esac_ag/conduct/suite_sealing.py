"""Writing and sealing the plan of a suite run, in the folder that the run's results go to.

The folder is whole by itself: bundles are copied into it, so that a resumed run needs nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from esac_ag import clock
from esac_ag.artifacts import StudyFolder, write_atomic
from esac_ag.canonical import sha256_of, sha256_of_bytes
from esac_ag.conduct.freeze import images_at_hand, refuse_leaks
from esac_ag.conduct.probe import probe
from esac_ag.conduct.revision import harness_of
from esac_ag.conduct.sealing import pretty, refuse_invalid_seal
from esac_ag.errors import InputRefused
from esac_ag.manifest.inventory import inventory_of
from esac_ag.manifest.plan import (
    NEUTRAL,
    AgentPlan,
    Arm,
    ArmKind,
    Harness,
    Images,
    Isolation,
    Limits,
    Model,
    Network,
    Policies,
    Prices,
    ProbeReference,
    Status,
    Suite,
    SuiteName,
)
from esac_ag.manifest.probe import ProbeRecord
from esac_ag.rooms.bundles import read_bundle
from esac_ag.rooms.freezing import freeze_arm, kind_of_bundle
from esac_ag.rooms.graders import graders_revision
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.contract import Engine
from esac_ag.suite.constitution import Pool
from esac_ag.suite.contract import Item
from esac_ag.suite.plan import PLAN_VERSION, JudgePlan, SuitePlan, references, schedule_of
from esac_ag.suite.pools import DatasetSeed, instance_of, seed_fingerprint

PROBE_NAME = "manifest.probe.json"


@dataclass(frozen=True, slots=True)
class SuiteRequest:
    """What somebody wants to measure."""

    study_id: str
    model: Model
    agent: AgentPlan
    dataset: DatasetSeed
    items: tuple[Item, ...]
    judge: JudgePlan | None
    limits: Limits
    policies: Policies
    prices: Prices | None
    arms: Mapping[str, Path]
    """Bundles by id; the control is always there."""


def seal_suite(
    request: SuiteRequest,
    folder: Path,
    *,
    workspace: Workspace,
    engine: Engine,
    tell: Callable[[str], None],
) -> Path:
    """Probe the isolation, write the plan into a new folder and seal it; the manifest's path.

    Raises:
        InputRefused: the folder holds a manifest already or cannot be written, a bundle cannot be sealed, the
            isolation does not hold, or the plan does not validate.
        ImageMissing: an image is not built.
        InfrastructureFailure: the engine failed.
    """
    output = StudyFolder(folder).manifest
    if os.path.lexists(output):
        raise InputRefused(
            "there is a run in this folder already",
            where=str(output),
            expected="a folder without a manifest",
            remedy=f"go on with it: esac-ag suite run --resume {quote(str(folder))}; "
            "or name another folder with -o",
        )
    _refuse_unwritable(folder)
    images, image_ids = images_at_hand(workspace, engine)
    tell("probing the isolation")
    record = probe(
        engine,
        workspace,
        study_id=request.study_id,
        images=images,
        image_ids=image_ids,
        limits=request.limits,
        network=Network.NONE,
        way=None,
        private_material=_private_hashes(request),
        manifest_sha256=None,
    )
    refuse_leaks(record, output)
    arms = (
        Arm(id=NEUTRAL, kind=ArmKind.NONE, bundle=None, files=()),
        *(_arm(arm_id, source, folder, workspace) for arm_id, source in request.arms.items()),
    )
    plan = _plan(request, arms, images, record, harness_of(workspace, graders_revision(())))
    data, probe_bytes = pretty(plan), pretty(record)
    refuse_invalid_seal(output, data, workspace=workspace, records={PROBE_NAME: probe_bytes}, proofs={})
    if request.dataset.pool is Pool.HELD_OUT:
        StudyFolder(folder).make_private()
    write_atomic(folder / PROBE_NAME, probe_bytes)
    write_atomic(output, data)
    return output


def _refuse_unwritable(folder: Path) -> None:
    """Refuse a folder that cannot be made or written, before anything takes time.

    Raises:
        InputRefused: a file is in the way, or the system permits no writing there.
    """
    nearest = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    trial = nearest / f".{clock.opaque_id()}"
    try:
        # Tried, for permissions alone do not tell: not of a read-only mount, and not to root.
        trial.mkdir()
        trial.rmdir()
    except OSError as error:
        raise InputRefused(
            "The run's folder cannot be written.",
            where=str(folder),
            expected="a folder, or a new path below one, in which files can be made",
            found=f"{nearest}: {error.strerror}",
            remedy="name another folder with -o",
        ) from error


def _plan(
    request: SuiteRequest, arms: tuple[Arm, ...], images: Images, probed: ProbeRecord, harness: Harness
) -> SuitePlan:
    items = references(request.items, request.dataset.seed)
    return SuitePlan(
        format_version=2,
        study_id=request.study_id,
        suite=Suite(name=SuiteName.ESAC_AG, version=PLAN_VERSION),
        status=Status.FROZEN,
        pool=request.dataset.pool,
        seed_fingerprint=seed_fingerprint(request.dataset.seed),
        seed_weak=request.dataset.weak,
        model=request.model,
        agent=request.agent,
        harness=harness,
        images=images,
        limits=request.limits,
        network=Network.NONE,
        isolation=Isolation(
            fresh_process_per_run=True,
            isolated_config_per_arm=True,
            private_material_unreadable=True,
            isolation_probe_passed=True,
            probe=ProbeReference(record=PROBE_NAME, sha256=sha256_of(probed)),
        ),
        arms=arms,
        items=items,
        judge=request.judge,
        schedule=schedule_of(clock.opaque_id(), items, [arm.id for arm in arms]),
        policies=request.policies,
        prices=request.prices,
    )


def _arm(arm_id: str, source: Path, folder: Path, workspace: Workspace) -> Arm:
    place = folder / "arms" / arm_id
    freeze_arm(source, arm_id, workspace=workspace, output=place)
    tree = read_bundle(place)
    return Arm(id=arm_id, kind=kind_of_bundle(tree), bundle=f"arms/{arm_id}", files=inventory_of(tree))


def _private_hashes(request: SuiteRequest) -> tuple[str, ...]:
    """Of the hidden tests: nothing in an agent's container may be one of them."""
    return tuple(
        sorted(
            sha256_of_bytes(test.source.encode())
            for item in request.items
            for test in instance_of(item, request.dataset.seed).hidden_tests
        )
    )
