"""The rules that prove a task."""

from __future__ import annotations

import pytest

from esac_ag.grading.proof_record import PublicOutcome, Trial, Variant, VariantKind
from esac_ag.grading.proof_rules import faults_of
from esac_ag.manifest.package import GraderPackage
from tests.builders_grading import a_package, a_task

EXPECTED = "tests/test_total.py::test_many"


def a_full_package() -> GraderPackage:
    """A package with as many checks, references and decoys as a task needs."""
    check = {"title": "t", "dimension": "behaviour", "weight": 1}
    checks = [{"id": "new", "kind": "must-now-work", **check}]
    checks += [{"id": f"old{n}", "kind": "must-still-work", **check} for n in range(7)]
    references = [{"id": f"r{n}", "patch": "p", "why": "w"} for n in range(2)]
    decoys = [{"id": f"d{n}", "patch": "p", "fails": ["new", "old0"], "why": "w"} for n in range(3)]
    return a_package(checks=checks, references=references, decoys=decoys)


def a_trial(*failed: str, invalid: str | None = None) -> Trial:
    """One grading with these failed checks."""
    return Trial(
        seed="s",
        valid=invalid is None,
        invalid_reason=invalid,
        failed=failed,
        reasons=dict.fromkeys(failed, "because"),
        duration_s=1.0,
    )


def a_variant(
    kind: VariantKind, *trials: Trial, id_: str = "x", code: int | None = 0, failed: tuple[str, ...] = ()
) -> Variant:
    """A tried variant with one public run."""
    public = () if kind is VariantKind.DECOY else (PublicOutcome(exit_code=code, failed=failed, passed=1),)
    return Variant(kind=kind, id=id_, trials=trials, public=public)


GOOD = (
    a_variant(VariantKind.BASELINE, a_trial("new"), a_trial("new"), code=1, failed=(EXPECTED,)),
    a_variant(VariantKind.REFERENCE, a_trial(), a_trial()),
    a_variant(VariantKind.DECOY, a_trial("new", "old0", "old1"), id_="d0"),
)

BAD = {
    "a no-op passes": (
        a_variant(VariantKind.BASELINE, a_trial(), code=1, failed=(EXPECTED,)),
        "doing nothing would do",
    ),
    "the baseline breaks a guard": (
        a_variant(VariantKind.BASELINE, a_trial("new", "old3"), code=1, failed=(EXPECTED,)),
        "old3 fails, though it is of kind must-still-work",
    ),
    "the public command passes at first": (
        a_variant(VariantKind.BASELINE, a_trial("new")),
        f"has to fail at {EXPECTED} alone",
    ),
    "another public test fails too": (
        a_variant(VariantKind.BASELINE, a_trial("new"), code=1, failed=(EXPECTED, "tests/x.py::y")),
        "tests/x.py::y",
    ),
    "the public command hangs": (
        a_variant(VariantKind.BASELINE, a_trial("new"), code=None, failed=(EXPECTED,)),
        "its time was up",
    ),
    "a reference fails a check": (
        a_variant(VariantKind.REFERENCE, a_trial("old1")),
        "it fails old1: because",
    ),
    "a reference fails public tests": (
        a_variant(VariantKind.REFERENCE, a_trial(), code=1, failed=("t",)),
        "has to pass",
    ),
    "a decoy passes": (a_variant(VariantKind.DECOY, a_trial("new"), id_="d0"), "it passes old0"),
    "repetitions disagree": (
        a_variant(VariantKind.REFERENCE, a_trial(), a_trial("new")),
        "the repetitions disagree",
    ),
    "a grading is invalid": (
        a_variant(VariantKind.REFERENCE, a_trial(), a_trial(invalid="broken")),
        "invalid are 1 of 2 gradings: broken",
    ),
}


def test_a_task_that_meets_every_rule_has_no_faults() -> None:
    """Fails as named at first, passes with references, catches decoys."""
    assert faults_of(a_task(), a_full_package(), GOOD) == ()


@pytest.mark.parametrize("case", BAD)
def test_a_broken_rule_is_told(case: str) -> None:
    """Each fault names the variant and what is wrong."""
    variant, told = BAD[case]
    faults = faults_of(a_task(), a_full_package(), (variant,))
    assert any(told in fault for fault in faults), faults
    assert all(fault.startswith(f"{variant.kind.value} {variant.id}: ") for fault in faults)


def test_a_small_package_is_no_proof() -> None:
    """Eight checks, two references and three decoys are the least."""
    faults = faults_of(a_task(), a_package(), ())
    assert faults == (
        "5 checks, at least 8 are needed",
        "1 references, at least 2 are needed",
        "1 decoys, at least 3 are needed",
    )


def test_ids_that_are_used_twice_or_name_nothing_are_told() -> None:
    """A decoy that is to fail an undeclared check proves nothing."""
    decoys = [{"id": "d", "patch": "p", "fails": ["nothing"], "why": "w"}] * 3
    faults = faults_of(a_task(), a_package(decoys=decoys), ())
    assert "two decoys are called d" in faults
    assert "decoy d is to fail nothing, which is no check" in faults
