"""The published JSON Schemas (`manifests/schema/`): generated from the records, never edited."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from esac_ag.attempt import AttemptRecord, Grading
from esac_ag.manifest.agent_file import AgentFile
from esac_ag.manifest.draft import Draft
from esac_ag.manifest.findings import ValidationReport
from esac_ag.manifest.package import GraderPackage, TaskPackage
from esac_ag.manifest.plan import Manifest
from esac_ag.manifest.probe import ProbeRecord
from esac_ag.manifest.schema import schema_of
from esac_ag.report.suite_arms import SuiteArms
from esac_ag.report.suite_view import SuiteView
from esac_ag.report.view import ReportView
from esac_ag.rooms.reading import CannotRead, read_bounded
from esac_ag.rooms.workspace import Workspace
from esac_ag.study.forms import FormSet
from esac_ag.study.packets import PacketBook
from esac_ag.study.scores import ReviewScores
from esac_ag.suite.plan import SuitePlan
from esac_ag.suite.records import ItemGrading

RECORDS: Mapping[str, type[BaseModel]] = {
    "agent-v1": AgentFile,
    "attempt-v1": AttemptRecord,
    "draft-v2": Draft,
    "grader-v1": GraderPackage,
    "grading-v1": Grading,
    "manifest-v2": Manifest,
    "probe-v2": ProbeRecord,
    "report-v1": ReportView,
    "review-forms-v1": FormSet,
    "review-packets-v1": PacketBook,
    "review-scores-v1": ReviewScores,
    "suite-arms-v1": SuiteArms,
    "suite-grading-v1": ItemGrading,
    "suite-manifest-v2": SuitePlan,
    "suite-report-v1": SuiteView,
    "task-v1": TaskPackage,
    "validation-v1": ValidationReport,
}
SUFFIX = ".schema.json"
SCHEMA_CAP_BYTES = 5_000_000


@dataclass(frozen=True, slots=True)
class SchemaDrift:
    """Names of schema files that are not what the records say; in order."""

    changed: tuple[str, ...]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    """Files that no record stands behind."""

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(sorted({*self.changed, *self.missing, *self.unknown}))


def schema_folder(workspace: Workspace) -> Path:
    """Where the published schemas lie."""
    return workspace.manifests / "schema"


def generated_schemas() -> dict[str, bytes]:
    """File name and bytes of every published schema, in order."""
    return {
        f"{name}{SUFFIX}": json.dumps(schema_of(record, name), indent=2, sort_keys=True).encode() + b"\n"
        for name, record in RECORDS.items()
    }


def schema_drift(folder: Path) -> SchemaDrift:
    """How the schemas in a folder differ from the generated ones; line ends do not count."""
    expected = generated_schemas()
    present = {path.name: _content(path) for path in folder.glob(f"*{SUFFIX}")}
    return SchemaDrift(
        changed=tuple(sorted(n for n in expected.keys() & present.keys() if expected[n] != present[n])),
        missing=tuple(sorted(expected.keys() - present.keys())),
        unknown=tuple(sorted(present.keys() - expected.keys())),
    )


def write_schemas(folder: Path) -> SchemaDrift:
    """Make a folder's schemas the generated ones; what had to be changed."""
    drift = schema_drift(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in generated_schemas().items():
        if name in {*drift.changed, *drift.missing}:
            (folder / name).write_bytes(data)
    for name in drift.unknown:
        (folder / name).unlink()
    return drift


def _content(path: Path) -> bytes | None:
    try:
        return read_bounded(path, cap_bytes=SCHEMA_CAP_BYTES).replace(b"\r\n", b"\n")
    except CannotRead:
        return None
