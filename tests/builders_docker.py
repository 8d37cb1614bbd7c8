"""The small sealed study of `builders_conduct`, for the real engine and images."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from esac_ag.canonical import sha256_of
from esac_ag.conduct.context import Stop
from esac_ag.conduct.opening import open_study
from esac_ag.conduct.revision import runner_sha256
from esac_ag.conduct.tasks import load_pair, task_ids
from esac_ag.conduct.work import OpenPlan
from esac_ag.grading.proof_record import ProofRecord
from esac_ag.manifest.plan import GraderLimits
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.docker import DockerEngine, ImageStore
from esac_ag.sandbox.image_definition import ImageKind
from esac_ag.sandbox.images import build_images, grader_reference
from tests.builders_conduct import a_runnable_study
from tests.builders_manifest import Study, write

REPOSITORY = Path(__file__).parent.parent


def an_engine_for(study_root: Path) -> DockerEngine:
    """An engine that labels what it makes as this workspace's."""
    return DockerEngine(Workspace(study_root).label)


def a_docker_study(folder: Path, **changes: Any) -> Study:  # noqa: ANN401
    """A sealed study whose images are the built ones; keyword arguments as for `a_runnable_study`."""
    engine, store = DockerEngine("builders"), ImageStore()
    built = build_images(store, engine, REPOSITORY / "runner", progress=lambda _: None)
    references = {kind.value: built.of(kind).reference for kind in (ImageKind.AGENT, ImageKind.GRADER)}
    digests = {name: engine.image_digest(reference) for name, reference in references.items()}
    store.close()
    engine.close()
    study = a_runnable_study(folder, **changes)
    shutil.copytree(
        REPOSITORY / "runner",
        folder / "runner",
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    runner = runner_sha256(Workspace(folder))
    record = study.folder / "study.probe.json"
    probe = json.loads(record.read_text()) | {"images": digests, "runner_sha256": runner}
    record.write_text(json.dumps(probe))
    study.data["images"] = {
        name: {"reference": references[name], "digest": digests[name]} for name in references
    }
    study.data["harness"]["runner_sha256"] = runner
    study.data["isolation"]["probe"]["sha256"] = sha256_of(probe)
    study.save()
    return study


def opened_in_docker(root: Path, engine: DockerEngine, *, stop: Stop | None = None) -> OpenPlan:
    """Open the study that `a_docker_study` made in a folder, perhaps in another process."""
    workspace = Workspace(root)
    return open_study(
        root / "manifests" / "study.json",
        workspace=workspace,
        engine=engine,
        results=workspace.results,
        environ={},
        stop=stop or Stop(),
    )


def keep_proofs(workspace: Workspace, engine: DockerEngine, limits: GraderLimits) -> None:
    """Let the shipped tasks count as proved before; other tests prove them."""
    digest = engine.image_digest(grader_reference(workspace.runner))
    for task_id in task_ids(workspace):
        task, grader = load_pair(workspace, task_id)
        facts: dict[str, JsonValue] = {
            "task": task.snapshot_sha256,
            "command": task.package.public_command,
            "baseline": task.package.baseline_expected_failure,
            "grader": grader.tree_sha256,
            "image": digest,
            "runner": runner_sha256(workspace),
            "limits": limits.model_dump(mode="json"),
        }
        proof = ProofRecord(
            format_version=1,
            task_id=task_id,
            public_tree_sha256=task.snapshot_sha256,
            grader_tree_sha256=grader.tree_sha256,
            grader_image_digest=digest,
            repeats=1,
            seeds=("s",),
            variants=(),
            holds=True,
            faults=(),
        )
        name = f"{task_id}-{sha256_of(facts)[:32]}.json"
        write(workspace.root / ".esac-ag" / "proofs" / name, proof.model_dump_json())
