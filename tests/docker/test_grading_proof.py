"""Proving a task, and running its public command, on a real engine."""

from __future__ import annotations

import pytest

from esac_ag.grading import ProofRecord, prove, run_public_command
from esac_ag.manifest.package import GraderPackage, TaskPackage
from esac_ag.patch import unified_diff
from tests.builders_grading import (
    CHECKS,
    LIMITS,
    SNAPSHOT,
    a_package,
    a_submission,
    a_task,
    docker_judge,
    private_files,
)

pytestmark = pytest.mark.docker

RIGHT_PATCH = unified_diff(SNAPSHOT, a_submission()).decode()
WRONG_PATCH = unified_diff(
    SNAPSHOT, a_submission({"prices/total.py": "def total(quantity, price):\n    return 15\n"})
).decode()


def a_proof(
    *,
    right: str = RIGHT_PATCH,
    wrong: str = WRONG_PATCH,
    checks: str = CHECKS,
    task: TaskPackage | None = None,
) -> ProofRecord:
    """The tiny task's proof, with two repetitions."""
    judge = docker_judge()
    package: GraderPackage = a_package()
    return prove(
        judge.engine,
        image=judge.image,
        image_digest=judge.digest,
        limits=LIMITS,
        task=task or a_task(),
        snapshot=SNAPSHOT,
        package=package,
        private=private_files(checks, references_right=right, decoys_wrong=wrong),
        repeats=2,
        study="tests",
        log=lambda _: None,
    )


def faults(proof: ProofRecord) -> list[str]:
    """Faults of the trials: the tiny task has too few checks on purpose."""
    return [fault for fault in proof.faults if "are needed" not in fault]


def test_a_task_whose_checks_tell_right_from_wrong_is_proved() -> None:
    """The record lists every trial of every variant, each with inputs of its own."""
    proof = a_proof()
    assert faults(proof) == []
    assert [(v.kind, v.id, len(v.trials), len(v.public)) for v in proof.variants] == [
        ("baseline", "untouched", 2, 2),
        ("reference", "right", 2, 2),
        ("decoy", "wrong", 2, 0),
    ]
    assert len(set(proof.seeds)) == 2
    assert proof.public_tree_sha256 == SNAPSHOT.sha256()
    assert ProofRecord.model_validate_json(proof.model_dump_json()) == proof
    assert docker_judge().leftovers() == []


def test_a_wrong_reference_and_a_right_decoy_are_told() -> None:
    """Patches that were swapped prove nothing."""
    told = faults(a_proof(right=WRONG_PATCH, wrong=RIGHT_PATCH))
    assert any(fault.startswith("reference right: it fails") for fault in told)
    assert any(fault.startswith("reference right: the public command has to pass") for fault in told)
    assert "decoy wrong: it passes multiplies, which it has to fail" in told


def test_a_patch_that_does_not_apply_and_another_failing_test_are_told() -> None:
    """The proof goes on, so that all faults are seen at once."""
    told = faults(a_proof(wrong="nothing\n", task=a_task(baseline_expected_failure="tests/x.py::y")))
    assert any("decoys/wrong.patch does not apply" in fault for fault in told)
    assert any("has to fail at tests/x.py::y alone" in fault for fault in told)


def test_the_public_command_runs_as_a_user_without_rights() -> None:
    """It sees the tree, fails at the named test, and is no root."""
    judge = docker_judge()
    for command, code in (("python3 -m pytest -q -p no:cacheprovider", 1), ("test $(id -u) = 10003", 0)):
        run = run_public_command(
            judge.engine, image=judge.image, limits=LIMITS, tree=SNAPSHOT, command=command
        )
        assert run.exit_code == code, run.output
        assert run.failed == (("tests/test_total.py::test_many",) if code else ())


def test_a_public_command_that_hangs_is_ended() -> None:
    """Its time is the grader's wall clock; there is no exit code then."""
    judge = docker_judge()
    limits = LIMITS.model_copy(update={"wall_clock_s": 1.0})
    run = run_public_command(
        judge.engine, image=judge.image, limits=limits, tree=SNAPSHOT, command="sleep 600"
    )
    assert run.exit_code is None
    assert not run.succeeded
    assert judge.leftovers() == []


def test_a_check_that_breaks_on_a_reference_is_told_with_its_exception() -> None:
    """What no solution can pass proves nothing, and the record says what the check broke on."""
    heading = "def command(subject: Subject) -> None:\n"
    checks = CHECKS.replace(heading, heading + "    {}['x']\n")
    proof = a_proof(checks=checks)
    told = "the check could not make sense of the submission: KeyError at line"
    assert any(f.startswith("reference right: it fails command: " + told) for f in faults(proof))
    assert all(trial.reasons["command"].startswith(told) for v in proof.variants for trial in v.trials)
