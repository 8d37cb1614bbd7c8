"""Builders for tests of grading: a tiny task with its grader, packages, results, guest modules."""

from __future__ import annotations

import importlib
import json
import os
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from esac_ag.attempt import Grading
from esac_ag.grading import grade
from esac_ag.manifest.package import GraderPackage, TaskPackage
from esac_ag.manifest.plan import GraderLimits
from esac_ag.sandbox.contract import OutputSink
from esac_ag.sandbox.docker import DockerEngine, ImageStore
from esac_ag.sandbox.image_definition import ImageKind
from esac_ag.sandbox.images import build_images
from esac_ag.tree import FileTree, RegularFile

WORKSPACE = f"tests-grading-{os.getpid()}"
"""Label of what these tests make."""

GUEST_FOLDER = Path(__file__).parent.parent / "runner" / "guest"

LIMITS = GraderLimits(wall_clock_s=60.0, memory_mib=256, pids=64, workspace_mib=32)

SNAPSHOT = FileTree.of_text(
    {
        "README.md": "# prices\n",
        "prices/__init__.py": "",
        "prices/total.py": "def total(quantity, price):\n    return price\n",
        "prices/__main__.py": (
            "import sys\nfrom prices.total import total\nprint(total(int(sys.argv[1]), int(sys.argv[2])))\n"
        ),
        "tests/test_total.py": (
            "from prices.total import total\n\n\n"
            "def test_one():\n    assert total(1, 5) == 5\n\n\n"
            "def test_many():\n    assert total(3, 5) == 15\n"
        ),
    }
)
"""A package whose total forgets the quantity."""

RIGHT = "def total(quantity, price):\n    return quantity * price\n"

CHECKS = """
from esac_checks import Subject, check, require, require_equal, require_raises


@check("multiplies")
def multiplies(subject: Subject) -> None:
    quantity, price = subject.random.randint(2, 99), subject.random.randint(2, 99)
    require_equal(subject.call("prices.total:total", quantity, price), quantity * price, "the total")


@check("command")
def command(subject: Subject) -> None:
    quantity, price = subject.random.randint(2, 99), subject.random.randint(2, 99)
    done = subject.run(["python3", "-m", "prices", str(quantity), str(price)])
    require_equal(done.exit_code, 0, "exit code")
    require_equal(done.stdout, f"{quantity * price}\\n".encode(), "what is printed")


@check("driven")
def driven(subject: Subject) -> None:
    source = '''
def main(args):
    from prices.total import total
    return [total(q, p) for q, p in args]
'''
    pairs = [[subject.random.randint(2, 99), subject.random.randint(2, 99)] for _ in range(5)]
    require_equal(subject.drive(source, pairs), [q * p for q, p in pairs], "totals")


@check("single")
def single(subject: Subject) -> None:
    price = subject.random.randint(2, 99)
    require_equal(subject.call("prices.total:total", 1, price), price, "the total of one")


@check("readme-kept")
def readme_kept(subject: Subject) -> None:
    require_equal(subject.read("README.md"), subject.snapshot_read("README.md"), "the README")
"""
"""Hidden checks of the package; `single` and `readme-kept` hold on the snapshot too."""


def a_package(**changes: object) -> GraderPackage:
    """The grader package of the tiny task."""
    kinds = {
        "multiplies": "must-now-work",
        "command": "must-now-work",
        "driven": "must-now-work",
        "single": "must-still-work",
        "readme-kept": "guard",
    }
    content: dict[str, object] = {
        "format_version": 1,
        "task_id": "prices",
        "restore": ["tests"],
        "checks": [
            {
                "id": id_,
                "title": id_,
                "kind": kind,
                "dimension": "behaviour",
                "weight": 1,
                "critical": "missing-central-requirement" if id_ == "multiplies" else None,
                "timeout_s": 8,
            }
            for id_, kind in kinds.items()
        ],
        "references": [{"id": "right", "patch": "references/right.patch", "why": "multiplies"}],
        "decoys": [{"id": "wrong", "patch": "decoys/wrong.patch", "fails": ["multiplies"], "why": "adds"}],
    }
    return GraderPackage.model_validate_json(json.dumps(content | changes))


def a_package_of(*ids: str, **check: object) -> GraderPackage:
    """A grader package with checks of these ids, all alike."""
    declared = {"kind": "must-now-work", "dimension": "behaviour", "weight": 1, "timeout_s": 8, **check}
    return a_package(checks=[{"id": id_, "title": id_, **declared} for id_ in ids])


def a_task(**changes: object) -> TaskPackage:
    """The public package of the tiny task."""
    content: dict[str, object] = {
        "task_id": "prices",
        "family": "scope",
        "contrast": "restraint",
        "public_root": "public",
        "public_tree_sha256": SNAPSHOT.sha256(),
        "public_command": "python3 -m pytest -q -p no:cacheprovider",
        "baseline_expected_failure": "tests/test_total.py::test_many",
        "private_grader_id": "prices@" + "0" * 64,
    }
    return TaskPackage.model_validate_json(json.dumps(content | changes))


def private_files(checks: str = CHECKS, **patches: str) -> FileTree:
    """The private package's files; `references_right="..."` is `references/right.patch`."""
    files = {"checks.py": checks}
    files |= {name.replace("_", "/", 1) + ".patch": text for name, text in patches.items()}
    return FileTree.of_text(files)


def a_submission(changes: dict[str, str] | None = None, *, base: FileTree = SNAPSHOT) -> FileTree:
    """The snapshot with the right total, and files laid over it."""
    files = {"prices/total.py": RIGHT} | (changes or {})
    return base.merged({path.encode(): RegularFile(text.encode()) for path, text in files.items()})


def guest_module(name: str) -> ModuleType:
    """A module of the guest programs, which are no package."""
    folder = str(GUEST_FOLDER)
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(folder)


@dataclass(frozen=True, slots=True)
class Judge:
    """A real engine with today's grader image."""

    engine: DockerEngine
    image: str
    digest: str

    def grade(
        self,
        submission: FileTree,
        *,
        checks: str = CHECKS,
        package: GraderPackage | None = None,
        limits: GraderLimits = LIMITS,
        seed: str = "seed",
        log: OutputSink = lambda _: None,
    ) -> Grading:
        """Grade a submission of the tiny task."""
        return grade(
            self.engine,
            image=self.image,
            image_digest=self.digest,
            limits=limits,
            package=package or a_package(),
            private=private_files(checks),
            snapshot=SNAPSHOT,
            submission=submission,
            attempt_id="attempt",
            task_id="prices",
            private_grader_id="prices@" + "0" * 64,
            submission_tree_sha256=submission.exact_sha256(),
            manifest_sha256=None,
            seed=seed,
            study="tests",
            log=log,
        )

    def leftovers(self) -> list[str]:
        """What containers and volumes of these tests still exist."""
        return list(self.engine.leftovers(WORKSPACE))


@cache
def docker_judge() -> Judge:
    """The judge on the local engine; its image is built when it is not there."""
    engine = DockerEngine(WORKSPACE)
    report = build_images(ImageStore(), engine, GUEST_FOLDER.parent, progress=lambda _: None)
    image = next(image for image in report.images if image.kind is ImageKind.GRADER)
    return Judge(engine, image.reference, image.digest)


def verdicts(grading: Grading) -> dict[str, str]:
    """Verdicts by check id; the reason instead where the grading is invalid."""
    if grading.invalid_reason is not None:
        return {"invalid": grading.invalid_reason}
    return {check.id: check.verdict.value for check in grading.checks}


def reasons(grading: Grading) -> dict[str, str]:
    """Reasons of failed checks by id."""
    return {check.id: check.reason for check in grading.checks if check.reason}
