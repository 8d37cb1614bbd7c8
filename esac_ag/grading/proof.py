"""Proves a task: what the public tests and the hidden checks say about solutions that are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from esac_ag.attempt import CheckVerdict, Grading, GradingStatus
from esac_ag.clock import opaque_id
from esac_ag.errors import InputRefused
from esac_ag.grading.grade import grade
from esac_ag.grading.patching import apply_patch
from esac_ag.grading.proof_record import ProofRecord, PublicOutcome, Trial, Variant, VariantKind
from esac_ag.grading.proof_rules import faults_of
from esac_ag.grading.public import run_public_command
from esac_ag.manifest.package import GraderPackage, TaskPackage
from esac_ag.manifest.plan import GraderLimits
from esac_ag.sandbox.contract import Engine, OutputSink
from esac_ag.tree import FileTree, RegularFile

UNTOUCHED = "untouched"
"""Id of the snapshot itself among the variants."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where variants are tried."""

    engine: Engine
    image: str
    image_digest: str
    limits: GraderLimits
    study: str
    log: OutputSink


@dataclass(slots=True)
class _Planned:
    """A variant that can be tried, and its trials under way."""

    kind: VariantKind
    id: str
    tree: FileTree
    gradings: list[Future[Grading]] = field(default_factory=list)
    public: list[Future[PublicOutcome]] = field(default_factory=list)


def prove(
    engine: Engine,
    *,
    image: str,
    image_digest: str,
    limits: GraderLimits,
    task: TaskPackage,
    snapshot: FileTree,
    package: GraderPackage,
    private: FileTree,
    repeats: int,
    study: str,
    log: OutputSink,
    concurrency: int = 2,
    progress: Callable[[str], None] = lambda _: None,
) -> ProofRecord:
    """Try the untouched snapshot, every reference and every decoy, `repeats` times each.

    The rules are those of docs/graders.md ("esac-ag task check"); what breaks one is told in `faults`.

    Args:
        engine: makes the containers.
        image: the grader image, by reference or engine id.
        image_digest: its content digest, for the record.
        limits: of the grader's containers.
        task: tells the public command and the test that fails at first.
        snapshot: the frozen snapshot.
        package: the declared checks, references and decoys.
        private: the private package's files.
        repeats: trials of each variant, at least 1, each with inputs drawn anew.
        study: label of the containers.
        log: receives the graders' logs.
        concurrency: containers at a time.
        progress: told about each variant that is done, in one line.

    Raises:
        SandboxLost, EngineUnavailable, ImageMissing: the machine's fault.
    """
    bench = Bench(engine, image, image_digest, limits, study, log)
    seeds = tuple(opaque_id() for _ in range(repeats))
    planned, refused = _variants(snapshot, package, private)
    with ThreadPoolExecutor(max_workers=concurrency, thread_name_prefix="proof") as pool:
        for variant in planned:
            _submit(pool, bench, variant, task, snapshot, package, private, seeds)
        try:
            tried = tuple(_outcome(variant, progress) for variant in planned)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    faults = (*refused, *faults_of(task, package, tried))
    return ProofRecord(
        format_version=1,
        task_id=package.task_id,
        public_tree_sha256=snapshot.sha256(),
        grader_tree_sha256=private.sha256(),
        grader_image_digest=image_digest,
        repeats=repeats,
        seeds=seeds,
        variants=tried,
        trust=package.trust,
        holds=not faults,
        faults=faults,
    )


def _variants(
    snapshot: FileTree, package: GraderPackage, private: FileTree
) -> tuple[list[_Planned], list[str]]:
    """All variants whose patch applies, and a sentence for each whose patch does not."""
    planned, refused = [_Planned(VariantKind.BASELINE, UNTOUCHED, snapshot)], []
    for kind, id_, patch in _patches(package):
        node = private.get(patch.encode())
        if not isinstance(node, RegularFile):
            refused.append(f"{kind.value} {id_}: there is no patch {patch}")
            continue
        try:
            planned.append(_Planned(kind, id_, apply_patch(snapshot, node.data)))
        except InputRefused as error:
            refused.append(f"{kind.value} {id_}: {patch} does not apply: {error.found}")
    return planned, refused


def _patches(package: GraderPackage) -> Iterator[tuple[VariantKind, str, str]]:
    for reference in package.references:
        yield VariantKind.REFERENCE, reference.id, reference.patch
    for decoy in package.decoys:
        yield VariantKind.DECOY, decoy.id, decoy.patch


def _submit(
    pool: ThreadPoolExecutor,
    bench: Bench,
    variant: _Planned,
    task: TaskPackage,
    snapshot: FileTree,
    package: GraderPackage,
    private: FileTree,
    seeds: tuple[str, ...],
) -> None:
    for seed in seeds:
        variant.gradings.append(pool.submit(_grade, bench, variant, snapshot, package, private, seed))
        # Public tests say nothing about decoys: a good decoy passes them.
        if task.public_command and variant.kind is not VariantKind.DECOY:
            variant.public.append(pool.submit(_run_public, bench, variant, task))


def _grade(
    bench: Bench,
    variant: _Planned,
    snapshot: FileTree,
    package: GraderPackage,
    private: FileTree,
    seed: str,
) -> Grading:
    return grade(
        bench.engine,
        image=bench.image,
        image_digest=bench.image_digest,
        limits=bench.limits,
        package=package,
        private=private,
        snapshot=snapshot,
        submission=variant.tree,
        attempt_id=f"proof-{opaque_id()}",
        task_id=package.task_id,
        private_grader_id=package.task_id,
        submission_tree_sha256=variant.tree.exact_sha256(),
        manifest_sha256=None,
        seed=seed,
        study=bench.study,
        log=bench.log,
    )


def _run_public(bench: Bench, variant: _Planned, task: TaskPackage) -> PublicOutcome:
    run = run_public_command(
        bench.engine,
        image=bench.image,
        limits=bench.limits,
        tree=variant.tree,
        command=task.public_command,
        study=bench.study,
        attempt=f"proof-{opaque_id()}",
    )
    return PublicOutcome(exit_code=run.exit_code, failed=run.failed, passed=run.passed)


def _outcome(variant: _Planned, progress: Callable[[str], None]) -> Variant:
    trials = tuple(_trial(grading.result()) for grading in variant.gradings)
    public = tuple(run.result() for run in variant.public)
    progress(f"{variant.kind.value} {variant.id}")
    return Variant(kind=variant.kind, id=variant.id, trials=trials, public=public)


def _trial(grading: Grading) -> Trial:
    failed = tuple(check.id for check in grading.checks if check.verdict is CheckVerdict.FAIL)
    return Trial(
        seed=grading.seed,
        valid=grading.status is GradingStatus.GRADED,
        invalid_reason=grading.invalid_reason,
        failed=failed,
        reasons={check.id: check.reason for check in grading.checks if check.id in failed},
        duration_s=grading.duration_s,
    )
