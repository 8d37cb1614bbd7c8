"""The files around a version 2 manifest, read for validation."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from esac_ag.errors import HarnessError, InputRefused
from esac_ag.manifest.collector import Collector
from esac_ag.manifest.inventory import inventory_of
from esac_ag.manifest.version1_files import Fault
from esac_ag.manifest.version2_files import BundleFacts, GraderFacts, TaskFacts
from esac_ag.rooms.graders import LoadedGrader, graders_revision, load_grader
from esac_ag.rooms.manifest_file import parse_json, read_json
from esac_ag.rooms.proofs import proof_path
from esac_ag.rooms.tasks import load_task
from esac_ag.rooms.trees import read_tree
from esac_ag.rooms.workspace import Workspace

NO_WORKSPACE = Fault("missing", "there is no workspace here or above")


class Version2Disk:
    """Reads what lies around a manifest, and keeps graders for the duration of one validation."""

    def __init__(self, manifest: Path, workspace: Workspace | None) -> None:
        """The manifest, and where its graders and the runner are."""
        self._manifest = manifest
        self._folder = manifest.parent
        self._workspace = workspace
        self._graders: dict[str, LoadedGrader | Fault] = {}

    def bundle(self, path: str) -> BundleFacts | Fault:
        """A bundle."""
        try:
            read = read_tree(self._at(path))
        except InputRefused as error:
            return _fault(error)
        if not read.tree and not read.findings:
            return Fault("empty", "it holds no file")
        return BundleFacts(inventory_of(read.tree), read.findings)

    def task(self, manifest: str) -> TaskFacts | Fault:
        """A task package."""
        try:
            task = load_task(self._at(manifest))
        except InputRefused as error:
            return _fault(error)
        return TaskFacts(manifest, task.package, task.snapshot_sha256, task.request_sha256)

    def grader(self, task_id: str) -> GraderFacts | Fault:
        """A grader package."""
        grader = self._grader(task_id)
        return grader if isinstance(grader, Fault) else GraderFacts(grader.package, grader.tree_sha256)

    def grader_revision(self, task_ids: tuple[str, ...]) -> str | Fault:
        """Tree hash of `graders/`, these tasks only."""
        graders = [self._grader(task_id) for task_id in task_ids]
        known = [grader for grader in graders if isinstance(grader, LoadedGrader)]
        if len(known) < len(graders):
            return Fault("missing", "a grader package cannot be used")
        return graders_revision(known)

    def probe(self, path: str) -> JsonValue | Fault:
        """A probe's record."""
        return _record(self._at(path))

    def proof(self, task_id: str) -> JsonValue | Fault:
        """The record that proved a task at freeze."""
        return _record(proof_path(self._manifest, task_id))

    def runner_sha256(self) -> str | Fault:
        """Tree hash of `runner/`."""
        if self._workspace is None:
            return NO_WORKSPACE
        try:
            return read_tree(self._workspace.runner, skip_ignored=True).tree.sha256()
        except InputRefused as error:
            return _fault(error)

    def _at(self, path: str) -> Path:
        return self._folder / path

    def _grader(self, task_id: str) -> LoadedGrader | Fault:
        if self._workspace is None:
            return NO_WORKSPACE
        if task_id not in self._graders:
            try:
                self._graders[task_id] = load_grader(self._workspace, task_id)
            except InputRefused as error:
                self._graders[task_id] = _fault(error)
        return self._graders[task_id]


class BeforeSealing(Version2Disk):
    """As if the manifest lay at its place already, with the records that will lie beside it."""

    def __init__(
        self,
        manifest: Path,
        workspace: Workspace,
        *,
        records: Mapping[str, bytes],
        proofs: Mapping[str, bytes],
    ) -> None:
        """The records by the path that the manifest names, the proofs by task id."""
        super().__init__(Path(os.path.realpath(manifest)), workspace)
        self._records = records
        self._proofs = proofs

    def probe(self, path: str) -> JsonValue | Fault:
        """A probe's record."""
        return _of_bytes(self._records.get(path))

    def proof(self, task_id: str) -> JsonValue | Fault:
        """The record that proved a task."""
        return _of_bytes(self._proofs.get(task_id))

    def _at(self, path: str) -> Path:
        # By name, because the manifest's folder need not be there yet.
        return Path(os.path.normpath(self._folder / path))


def _of_bytes(data: bytes | None) -> JsonValue | Fault:
    if data is None:
        return Fault("missing", "there is none")
    out = Collector("", strict=True)
    read = parse_json(data, out)
    return read.value if read.readable else Fault("unusable", out.findings[-1].what.rstrip("."))


def _fault(error: HarnessError) -> Fault:
    return Fault("unusable", f"{error.what} {' '.join(error.found.split())}".strip())


def _record(path: Path) -> JsonValue | Fault:
    out = Collector(str(path), strict=True)
    read = read_json(path, out)
    return read.value if read.readable else Fault("unusable", out.findings[-1].what.rstrip("."))
