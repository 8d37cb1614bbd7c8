"""Validating a manifest of either version: read the file, judge it with what it names, report all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from esac_ag.errors import UsageError
from esac_ag.manifest.collector import Collector
from esac_ag.manifest.draft_rules import is_draft, judge_draft
from esac_ag.manifest.findings import Finding, ValidationReport, report_of
from esac_ag.manifest.sections import is_suite_plan
from esac_ag.manifest.version1 import judge_version1
from esac_ag.manifest.version2 import judge_version2
from esac_ag.rooms.manifest_file import parse_json, read_json
from esac_ag.rooms.version1_disk import Version1Disk
from esac_ag.rooms.version2_disk import BeforeSealing, Version2Disk
from esac_ag.rooms.workspace import Workspace
from esac_ag.schedule import schedule_sha256

VERSIONS = (1, 2)


def validate_manifest(path: Path, *, strict: bool, workspace: Workspace | None = None) -> ValidationReport:
    """Every finding of a manifest and of the files that it names, in one pass; raises for nothing in them.

    Args:
        path: the manifest; it may be anything at all.
        strict: whether what is not ready for a scored run is an error; a warning otherwise.
        workspace: where graders and the runner are; by default the nearest one upward from the
            manifest, else from the current folder. Version 1 needs none.
    """
    out = Collector(str(path), strict)
    read = read_json(path, out)
    findings = list(out.findings)
    if read.readable:
        findings += _judge(read.value, path, strict=strict, workspace=workspace)
    return report_of(findings, manifest=str(path), format_version=_version(read.value), strict=strict)


def validate_before_sealing(
    path: Path,
    manifest: bytes,
    *,
    workspace: Workspace,
    records: Mapping[str, bytes],
    proofs: Mapping[str, bytes],
) -> ValidationReport:
    """The strict report that a manifest will get once it lies at `path`; nothing is written.

    Args:
        path: where it is going to lie.
        manifest: its bytes.
        workspace: where graders and the runner are.
        records: bytes of the records that will lie beside it, by the path that the manifest names.
        proofs: bytes of the tasks' proofs, by task id.
    """
    out = Collector(str(path), strict=True)
    data = parse_json(manifest, out).value
    findings = list(out.findings)
    if isinstance(data, dict):
        files = BeforeSealing(path, workspace, records=records, proofs=proofs)
        findings += _judge_sealed(data, files, str(path), strict=True)
    return report_of(findings, manifest=str(path), format_version=_version(data), strict=True)


def _judge(data: JsonValue, path: Path, *, strict: bool, workspace: Workspace | None) -> list[Finding]:
    file = str(path)
    if not (isinstance(data, dict) and _version(data) == 2):  # noqa: PLR2004  (the format's number)
        return judge_version1(data, Version1Disk(path.resolve().parent), file=file, strict=strict)
    files = Version2Disk(path, workspace or _workspace_of(path))
    if is_draft(data):
        return judge_draft(data, files, file=file, strict=strict)
    return _judge_sealed(data, files, file, strict=strict)


def _judge_sealed(
    data: dict[str, JsonValue], files: Version2Disk, file: str, *, strict: bool
) -> list[Finding]:
    if is_suite_plan(data):
        # The bank costs a quarter of a second that studies need not pay.
        from esac_ag.suite.plan_rules import judge_suite_plan  # noqa: PLC0415

        return judge_suite_plan(data, files, file=file, strict=strict)
    return judge_version2(data, files, schedule_sha256, file=file, strict=strict)


def _version(data: JsonValue) -> int | None:
    version = data.get("format_version") if isinstance(data, dict) else None
    return next((known for known in VERSIONS if version == known), None)


def _workspace_of(path: Path) -> Workspace | None:
    for start in (path.resolve().parent, None):
        try:
            return Workspace.find(start=start)
        except (UsageError, FileNotFoundError):  # none there, or the current folder itself is gone
            continue
    return None
