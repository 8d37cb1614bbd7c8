"""What launches have in common, whatever is measured: what an agent is given, and what is kept of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from esac_ag import clock
from esac_ag.agents.contract import AgentEnd, ArmBundle, Assignment
from esac_ag.artifacts import AttemptFolder, digests
from esac_ag.attempt import AttemptRecord, Cell, Outcome, Submission, UsageRecord
from esac_ag.canonical import canonical_json
from esac_ag.clock import Deadline, Seeds
from esac_ag.conduct.context import Site
from esac_ag.conduct.work import Launched
from esac_ag.errors import HarnessError, InfrastructureFailure
from esac_ag.patch import diff_statistics, unified_diff
from esac_ag.transcript import Entry
from esac_ag.tree import FileTree

ARTIFACTS = (
    "agent.log",
    "commands.jsonl",
    "loaded-instructions.json",
    "model/bodies.tar",
    "model/calls.jsonl",
    "patch.diff",
    "submission.tar.zst",
    "transcript.jsonl",
    "usage.json",
)


@contextmanager
def assigned(
    site: Site,
    cell: Cell,
    request: str,
    seeds: Seeds,
    bundles: dict[str, ArmBundle | None],
    folder: AttemptFolder,
    started_s: float,
    snapshot: FileTree | None = None,
) -> Iterator[Assignment]:
    """What an agent is given, with the files open that grow while it acts."""
    limits = site.manifest.limits
    cap = limits.output_bytes
    with (
        folder.stream("transcript.jsonl", site.redactor, limit_bytes=8 * cap) as transcript,
        folder.stream("agent.log", site.redactor, limit_bytes=cap) as log,
        folder.stream("commands.jsonl", site.redactor, limit_bytes=cap) as commands,
    ):

        def record(entry: Entry) -> None:
            transcript(canonical_json(entry) + b"\n")

        def command(facts: dict[str, object]) -> None:
            labelled = facts | {"agent_kind": site.manifest.agent.kind.value}
            commands(json.dumps(labelled, ensure_ascii=True, sort_keys=True).encode() + b"\n")

        yield Assignment(
            cell=cell,
            request=request,
            bundle=bundles[cell.arm],
            limits=limits,
            deadline=Deadline.after_s(limits.wall_clock_s),
            seeds=seeds,
            record=record,
            log=log,
            command=command,
            elapsed_s=lambda: clock.monotonic_s() - started_s,
            bundles=tuple(bundle for bundle in bundles.values() if bundle is not None),
            cancelled=lambda: site.stop.wished,
            snapshot=snapshot or FileTree(),
        )


def ended_by(site: Site, error: HarnessError) -> AgentEnd:
    """The end of a launch that an error ended: a person's doing, or the infrastructure's.

    Raises:
        HarnessError: the error, when it is neither.
    """
    # A container that was taken away fails in many ways; none of them is anybody's fault then.
    if site.stop.wished:
        return AgentEnd(outcome=Outcome.CANCELLED, reason=site.stop.why)
    if isinstance(error, InfrastructureFailure):
        return AgentEnd(outcome=Outcome.INFRA, reason=error.in_short())
    raise error


def archived(
    site: Site,
    folder: AttemptFolder,
    end: AgentEnd,
    tree: FileTree,
    *,
    patch_of: tuple[FileTree, FileTree],
    findings: tuple[str, ...] = (),
) -> tuple[Submission, AgentEnd]:
    """Archive a submission and its patch, from one tree to another; the changes join the agent's costs."""
    statistics = diff_statistics(*patch_of)
    submission = Submission(
        tree_sha256=tree.exact_sha256(),
        archive_sha256=folder.write_submission(tree),
        patch_sha256=folder.write_bytes("patch.diff", unified_diff(*patch_of), site.redactor),
        files=len(tree.files()),
        size_bytes=tree.size_bytes(),
        findings=findings,
    )
    costs = end.costs.model_copy(
        update={
            "changed_lines": statistics.changed_lines,
            "touched_files": statistics.touched_files,
            "dependencies_added": statistics.dependencies_added,
        }
    )
    return submission, end.model_copy(update={"costs": costs})


def written(
    site: Site,
    folder: AttemptFolder,
    end: AgentEnd,
    submission: Submission | None,
    *,
    cell: Cell,
    attempt_id: str,
    ordinal: int,
    agent_label: str,
    bundle: ArmBundle | None,
    started_at: str,
) -> Launched:
    """Write the records of a launch that ended now."""
    record = AttemptRecord(
        attempt_id=attempt_id,
        manifest_sha256=site.manifest_sha256,
        cell=cell,
        ordinal=ordinal,
        agent_kind=site.manifest.agent.kind,
        agent_label=agent_label,
        arm_sha256=None if bundle is None else bundle.files.sha256(),
        started_at=started_at,
        ended_at=clock.now(),
        outcome=end.outcome,
        reason=site.redactor.text(end.reason),
        limit=end.limit,
        exit_code=end.exit_code,
        costs=end.costs,
        submission=submission,
        output_truncated=end.output_truncated,
    )
    if end.loaded is not None:
        labelled = end.loaded.model_copy(update={"agent_kind": record.agent_kind})
        folder.write_record("loaded-instructions.json", labelled, site.redactor)
    usage = UsageRecord(agent_kind=record.agent_kind, agent_label=record.agent_label, costs=record.costs)
    folder.write_record("usage.json", usage, site.redactor)
    sha256 = folder.write_record("attempt.json", record, site.redactor)
    artifacts = {"attempt.json": sha256} | digests(folder, ARTIFACTS)
    return Launched(record, artifacts, is_lasting=end.is_lasting)
