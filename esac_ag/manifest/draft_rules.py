"""Judging a draft of a version 2 manifest: everything that freezing it will need, told at once.

Parts that are well formed are judged even when others are missing or malformed.
"""

from __future__ import annotations

from pydantic import JsonValue

from esac_ag.manifest.agent_rules import judge_network, judge_tool_calls
from esac_ag.manifest.collector import Collector, report_placeholders
from esac_ag.manifest.draft import Draft, DraftArm
from esac_ag.manifest.draft_sections import DraftSections
from esac_ag.manifest.draft_tasks import default_task_path, judge_draft_tasks
from esac_ag.manifest.findings import Finding, PathPart
from esac_ag.manifest.plan import NEUTRAL, Status
from esac_ag.manifest.prices_rules import judge_prices
from esac_ag.manifest.schema import report_schema_faults, schema_of
from esac_ag.manifest.sections import is_suite_plan
from esac_ag.manifest.soundness import report_unsound
from esac_ag.manifest.version1_files import Fault
from esac_ag.manifest.version2 import report_record_faults
from esac_ag.manifest.version2_files import Version2Files

__all__ = ["default_task_path", "is_draft", "judge_draft"]

SEALED_KEYS = frozenset({"harness", "images", "schedule"})
"""Keys that only freezing writes; a manifest that has one is judged as a sealed one."""

EDIT = "Correct the draft."


def is_draft(data: dict[str, JsonValue]) -> bool:
    """Whether a version 2 manifest is one that a person wrote and nobody froze."""
    return not SEALED_KEYS.intersection(data)


def judge_draft(
    data: dict[str, JsonValue], files: Version2Files, *, file: str, strict: bool
) -> list[Finding]:
    """All findings of a draft; under `strict` being a draft is one of them."""
    out = Collector(file, strict)
    if report_unsound(data, out):
        return out.findings
    if not report_schema_faults(data, schema_of(Draft, "draft-v2"), out):
        report_record_faults(data, Draft, out, EDIT)
    report_placeholders(data, out)
    if data.get("status") == Status.DRAFT:
        remedy = "Freeze it: esac-ag freeze DRAFT -o FROZEN"
        out.unready(("status",), "status", "The plan is a draft.", '"frozen"', '"draft"', remedy)
    if is_suite_plan(data):
        what = "A suite run is planned and sealed by the suite itself."
        out.error(("suite", "name"), "suite", what, '"study"', '"esac-ag"', "Use: esac-ag suite run")
    parts = DraftSections.of(data)
    if parts.agent is not None and parts.network is not None:
        judge_network(parts.agent.kind, parts.network, out)
    if parts.agent is not None and parts.limits is not None:
        judge_tool_calls(parts.agent.kind, parts.limits, out)
    judge_prices(parts, out)
    if parts.arms is not None:
        _judge_arms(parts.arms, files, out)
        _judge_comparison(parts, [arm.id for arm in parts.arms if arm], out)
    judge_draft_tasks(parts, files, out)
    return out.findings


def _judge_arms(arms: tuple[DraftArm | None, ...], files: Version2Files, out: Collector) -> None:
    ids = [arm.id if arm else None for arm in arms]
    for index, arm in enumerate(arms):
        if arm is None:
            continue
        at: tuple[PathPart, ...] = ("arms", index, "bundle")
        if arm.id in ids[:index]:
            place = ("arms", index, "id")
            out.error(place, "duplicate-arm", "Two arms have one id.", "unique ids", arm.id, EDIT)
        if arm.id == NEUTRAL:
            if arm.bundle is not None:
                what = "The control arm must have no bundle."
                out.error(at, "neutral-bundle", what, "null", arm.bundle, EDIT)
        elif arm.bundle is None:
            remedy = "Freeze one: esac-ag arm freeze DIR --id ID"
            out.error(at, "no-bundle", "The arm names no bundle.", "a folder", "null", remedy)
        elif isinstance(facts := files.bundle(arm.bundle), Fault):
            what = f"The bundle cannot be read: {facts.reason}."
            out.error(at, f"bundle-{facts.code}", what, "a folder", arm.bundle, EDIT)
        else:
            out.findings.extend(facts.findings)
    if NEUTRAL not in ids:
        what = "The control arm is missing."
        found = ", ".join(arm.id for arm in arms if arm) or "none"
        out.error(("arms",), "no-neutral", what, f"an arm `{NEUTRAL}`", found, EDIT)


def _judge_comparison(parts: DraftSections, ids: list[str], out: Collector) -> None:
    pair = parts.analysis.primary_comparison if parts.analysis else None
    if pair is None:
        return
    at = ("analysis", "primary_comparison")
    for arm_id in (pair.arm, pair.control):
        if arm_id not in ids:
            what = "The primary comparison names an arm that is not there."
            out.error(at, "comparison", what, "one of " + ", ".join(ids), arm_id, EDIT)
    if pair.arm == pair.control:
        what = "The primary comparison compares an arm with itself."
        out.error(at, "comparison", what, "two arms", pair.arm, EDIT)
