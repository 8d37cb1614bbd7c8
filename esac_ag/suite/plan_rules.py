"""Judging the manifest of a suite run: schema, then meaning, then digests; all findings in one pass."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pydantic import JsonValue, ValidationError

from esac_ag.manifest.agent_rules import judge_network
from esac_ag.manifest.arms_rules import judge_arms
from esac_ag.manifest.collector import Collector, report_placeholders
from esac_ag.manifest.findings import Finding
from esac_ag.manifest.prices_rules import judge_prices
from esac_ag.manifest.probe_rules import judge_isolation
from esac_ag.manifest.schema import report_schema_faults, schema_of
from esac_ag.manifest.sections import Sections
from esac_ag.manifest.soundness import report_unsound
from esac_ag.manifest.version2 import judge_revision, report_record_faults
from esac_ag.manifest.version2_digests import judge_digests
from esac_ag.manifest.version2_files import Version2Files
from esac_ag.suite.bank import bank
from esac_ag.suite.constitution import PUBLIC_SEED, Pool
from esac_ag.suite.contract import Item
from esac_ag.suite.plan import (
    PLAN_VERSION,
    ItemReference,
    SuitePlan,
    play_order,
    schedule_of,
    sealed_instance,
)
from esac_ag.suite.pools import instance_of, seed_fingerprint
from esac_ag.suite.replication import runs_of

RUN = "Let `esac-ag suite run` write and seal a new plan."


def judge_suite_plan(
    data: dict[str, JsonValue], files: Version2Files, *, file: str, strict: bool
) -> list[Finding]:
    """All findings of a sealed plan of a suite run, and of what it sealed."""
    out = Collector(file, strict)
    if report_unsound(data, out):
        return out.findings
    if not report_schema_faults(data, schema_of(SuitePlan, "suite-manifest-v2"), out):
        report_record_faults(data, SuitePlan, out, RUN)
    parts = Sections.of(data)
    report_placeholders(data, out)
    if isinstance(data.get("arms"), list):
        judge_arms(parts.arms, out, alone=True)
    if parts.agent is not None and parts.network is not None:
        judge_network(parts.agent.kind, parts.network, out)
    judge_revision(parts, out)
    judge_prices(parts, out)
    judge_isolation(parts, files, out)
    judge_digests(parts, files, out)
    try:
        plan = SuitePlan.model_validate_json(json.dumps(data))
    except ValidationError:
        return out.findings
    _judge_items(plan, out)
    return out.findings


def _judge_items(plan: SuitePlan, out: Collector) -> None:
    """Items, their order and replication, the schedule, and of the public pool the instances too."""
    if plan.suite.version != PLAN_VERSION:
        what = "The plan is of another version of the suite."
        out.error(("suite", "version"), "suite-version", what, PLAN_VERSION, plan.suite.version, RUN)
        return
    items = {item.id: item for item in bank()}
    unknown = [reference.id for reference in plan.items if reference.id not in items]
    if unknown:
        what = "The suite has no such item."
        out.error(("items",), "unknown-item", what, "items of the bank", ", ".join(unknown), RUN)
        return
    ordered = [item.id for item in play_order([items[name] for name in dict.fromkeys(plan.item_ids)])]
    if ordered != list(plan.item_ids):
        what = "The items are not in the order of the algorithm, each once."
        out.error(("items",), "item-order", what, ", ".join(ordered), ", ".join(plan.item_ids), RUN)
    _judge_replication(plan.items, items, out)
    _judge_judge(plan, items, out)
    derived = schedule_of(plan.schedule.seed, plan.items, plan.arm_ids).sha256
    if derived != plan.schedule.sha256:
        what = "The schedule that follows from the seed is another one."
        out.error(("schedule", "sha256"), "schedule", what, plan.schedule.sha256, derived, RUN)
    if plan.pool is Pool.PUBLIC:
        _judge_instances(plan, items, out)


def _judge_replication(
    references: Sequence[ItemReference], items: Mapping[str, Item], out: Collector
) -> None:
    for index, reference in enumerate(references):
        runs = runs_of(items[reference.id])
        if reference.runs != runs:
            what = f"{reference.id} is played another number of times than the suite says."
            out.error(("items", index, "runs"), "replication", what, str(runs), str(reference.runs), RUN)


def _judge_judge(plan: SuitePlan, items: Mapping[str, Item], out: Collector) -> None:
    judged = [name for name in plan.item_ids if items[name].rubric]
    if judged and plan.judge is None:
        what = "Judged items have no judge."
        out.error(("judge",), "no-judge", what, "a judge", f"null, with {', '.join(judged)}", RUN)


def _judge_instances(plan: SuitePlan, items: Mapping[str, Item], out: Collector) -> None:
    """The public seed is disclosed, so that anybody can draw the sealed instances again."""
    fingerprint = seed_fingerprint(PUBLIC_SEED)
    if plan.seed_fingerprint != fingerprint:
        what = "The seed of the public pool is another one."
        out.error(("seed_fingerprint",), "seed", what, fingerprint, plan.seed_fingerprint, RUN)
        return
    for index, reference in enumerate(plan.items):
        sha256 = sealed_instance(PUBLIC_SEED, instance_of(items[reference.id], PUBLIC_SEED))
        if sha256 != reference.instance_sha256:
            what = f"The instance of {reference.id} is not the sealed one: the bank changed."
            at = ("items", index, "instance_sha256")
            out.unready(at, "instance-changed", what, reference.instance_sha256, sha256, RUN)
