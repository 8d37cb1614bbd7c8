"""What judging a version 2 manifest needs to know of the files that it names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pydantic import JsonValue

from esac_ag.manifest.findings import Finding
from esac_ag.manifest.package import GraderPackage, TaskPackage
from esac_ag.manifest.plan import BundleFile
from esac_ag.manifest.version1_files import Fault


@dataclass(frozen=True, slots=True)
class BundleFacts:
    """A bundle at hand."""

    files: tuple[BundleFile, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """A task package at hand."""

    name: str
    """Path of its `task.json` as findings show it."""
    package: TaskPackage
    snapshot_sha256: str
    request_sha256: str


@dataclass(frozen=True, slots=True)
class GraderFacts:
    """A grader package at hand."""

    package: GraderPackage
    tree_sha256: str


class Version2Files(Protocol):
    """The files around a version 2 manifest; every path is one that the manifest holds, unchecked."""

    def bundle(self, path: str) -> BundleFacts | Fault:
        """A bundle."""

    def task(self, manifest: str) -> TaskFacts | Fault:
        """A task package."""

    def grader(self, task_id: str) -> GraderFacts | Fault:
        """A grader package."""

    def grader_revision(self, task_ids: tuple[str, ...]) -> str | Fault:
        """Tree hash of `graders/`, these tasks only."""

    def probe(self, path: str) -> JsonValue | Fault:
        """A probe's record."""

    def proof(self, task_id: str) -> JsonValue | Fault:
        """The record that proved a task at freeze."""

    def runner_sha256(self) -> str | Fault:
        """Tree hash of `runner/`."""
