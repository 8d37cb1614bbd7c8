"""The rules that a task's trials have to meet. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from esac_ag.grading.proof_record import PublicOutcome, Variant, VariantKind
from esac_ag.manifest.package import CheckKind, GraderPackage, TaskPackage, Trust
from esac_ag.plural import plural

MIN_CHECKS = 8
MIN_REFERENCES = 2
MIN_DECOYS = 3
MINIMA = {
    Trust.SEPARATE: (MIN_CHECKS, MIN_REFERENCES, MIN_DECOYS),
    # What comes from elsewhere has the one verdict and the one solution that it came with.
    Trust.SHARED_PROCESS: (1, 1, 0),
}
"""Checks, references and decoys that a package has at least."""


def faults_of(task: TaskPackage, package: GraderPackage, variants: tuple[Variant, ...]) -> tuple[str, ...]:
    """One sentence for each rule that is broken; empty when the task is proved."""
    return tuple(_of_package(package)) + tuple(
        f"{variant.kind.value} {variant.id}: {fault}"
        for variant in variants
        for fault in _of_variant(variant, task, package)
    )


def _of_package(package: GraderPackage) -> Iterator[str]:
    checks, references, decoys = MINIMA[package.trust]
    counts = (
        ("checks", len(package.checks), checks),
        ("references", len(package.references), references),
        ("decoys", len(package.decoys), decoys),
    )
    yield from (
        f"{found} {what}, at least {least} are needed" for what, found, least in counts if found < least
    )
    groups = (
        ("check", [check.id for check in package.checks]),
        ("reference", [reference.id for reference in package.references]),
        ("decoy", [decoy.id for decoy in package.decoys]),
    )
    for what, ids in groups:
        yield from (f"two {what}s are called {id_}" for id_ in sorted({i for i in ids if ids.count(i) > 1}))
    declared = {check.id for check in package.checks}
    for decoy in package.decoys:
        unknown = sorted(set(decoy.fails) - declared)
        yield from (f"decoy {decoy.id} is to fail {id_}, which is no check" for id_ in unknown)


def _of_variant(variant: Variant, task: TaskPackage, package: GraderPackage) -> Iterator[str]:
    invalid = [trial.invalid_reason for trial in variant.trials if not trial.valid]
    if invalid:
        yield f"invalid are {len(invalid)} of {plural(len(variant.trials), 'grading')}: {invalid[0]}"
        return
    outcomes = {trial.failed for trial in variant.trials}
    if len(outcomes) > 1:
        listed = " / ".join(sorted(_named(failed) for failed in outcomes))
        yield f"the repetitions disagree about what fails: {listed}"
    for failed in sorted(outcomes):
        yield from _of_failures(variant, set(failed), package)
    yield from dict.fromkeys(_of_public(variant, task))


def _of_failures(variant: Variant, failed: set[str], package: GraderPackage) -> Iterator[str]:
    match variant.kind:
        case VariantKind.BASELINE:
            kinds = {check.id: check.kind for check in package.checks}
            if not any(kinds[id_] is CheckKind.MUST_NOW_WORK for id_ in failed):
                yield "no check of kind must-now-work fails, so doing nothing would do"
            for id_ in sorted(failed):
                if kinds[id_] is not CheckKind.MUST_NOW_WORK:
                    yield f"{id_} fails, though it is of kind {kinds[id_].value}"
        case VariantKind.REFERENCE:
            if failed:
                yield f"it fails {_named(tuple(sorted(failed)))}: {_reason(variant)}"
        case VariantKind.DECOY:
            wanted = {id_ for decoy in package.decoys if decoy.id == variant.id for id_ in decoy.fails}
            for id_ in sorted(wanted - failed):
                yield f"it passes {id_}, which it has to fail"
        case _:
            assert_never(variant.kind)


def _of_public(variant: Variant, task: TaskPackage) -> Iterator[str]:
    for run in variant.public:
        match variant.kind:
            case VariantKind.BASELINE:
                expected = task.baseline_expected_failure
                if run.exit_code in (0, None) or run.failed != (expected,):
                    yield f"the public command has to fail at {expected} alone, but {_told(run)}"
            case VariantKind.REFERENCE:
                if run.exit_code != 0 or run.failed:
                    yield f"the public command has to pass, but {_told(run)}"
            case VariantKind.DECOY:
                continue
            case _:
                assert_never(variant.kind)


def _told(run: PublicOutcome) -> str:
    ended = "its time was up" if run.exit_code is None else f"it ended with exit code {run.exit_code}"
    return f"{ended} and failed {_named(run.failed)}"


def _named(ids: tuple[str, ...]) -> str:
    return ", ".join(ids) or "nothing"


def _reason(variant: Variant) -> str:
    return next((reason for trial in variant.trials for reason in trial.reasons.values()), "")[:300]
