"""Time and memory of publishing and verifying a study, by its size: audit, search, rows, lineage, archive.

A small study runs once on the in-memory engine; its attempts are then copied to as many repetitions as are
asked for, with records, digests and a ledger of their own. Times are the processor's. Patches and transcripts
are in the bundle.

usage: python -m benchmarks.publishing [--sizes 800 4000]; 8000 at most
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from esac_ag.artifacts import StudyFolder
from esac_ag.attempt import AttemptRecord, Cell, Grading
from esac_ag.attempt.events import AttemptEnded, AttemptGraded, AttemptStarted, Body, StudyState
from esac_ag.canonical import canonical_json, loads_strict, sha256_of, sha256_of_bytes
from esac_ag.conduct.publication_check import verify_publication
from esac_ag.conduct.reporting import write_report
from esac_ag.ledger import read_lines
from esac_ag.schedule import make_schedule, schedule_bytes, schedule_sha256
from tests.builders_many import write_ledger
from tests.builders_publish import a_finished_study, published

SMALL = 8
"""Attempts of the study that is copied: four tasks, two arms."""
MOST_MS = 12.0
"""Processor time of publishing and verifying one attempt, patches and transcripts included."""
MOST_GROWTH = 1.3
"""Time per attempt at one size over that at the size before."""


def enlarged(study: Path, repetitions: int) -> None:
    """Give every cell of a finished study so many repetitions, each with a copy of its attempt."""
    folder = StudyFolder(study)
    lines, _ = read_lines(folder.ledger)
    bodies = [line.body for line in lines]
    manifest = json.loads(folder.manifest.read_text())
    design = (
        manifest["schedule"]["seed"],
        [task["id"] for task in manifest["tasks"]],
        [arm["id"] for arm in manifest["arms"]],
        repetitions,
    )
    manifest |= {"repetitions": repetitions}
    manifest["schedule"]["sha256"] = schedule_sha256(*design)
    folder.manifest.write_text(json.dumps(manifest))
    folder.schedule.write_bytes(schedule_bytes(*design))
    plan = sha256_of(loads_strict(folder.manifest.read_bytes()))
    originals = {(one.cell.task, one.cell.arm): one for one in StudyState.of(bodies).attempts.values()}
    copies: list[Body] = []
    for number, cell in enumerate(make_schedule(*design)):
        original = originals[cell.task, cell.arm]
        copies += _copied(folder, original.attempt_id, original.artifacts, f"{number:016x}", cell, plan)
    for one in originals.values():
        shutil.rmtree(folder.attempt(one.attempt_id).path)
    opened = {"manifest_sha256": plan, "schedule_sha256": schedule_sha256(*design)}
    write_ledger(folder.ledger, [bodies[0].model_copy(update=opened), bodies[1], *copies, bodies[-1]])


def _copied(
    folder: StudyFolder, old: str, artifacts: Mapping[str, str], new: str, cell: Cell, plan: str
) -> Iterator[Body]:
    shutil.copytree(folder.attempt(old).path, folder.attempt(new).path)
    ended, graded = dict[str, str](), dict[str, str]()
    for name, digest in artifacts.items():
        path = folder.attempt(new).path / name
        changes: dict[str, Any] = {"attempt_id": new, "manifest_sha256": plan}
        if name == "attempt.json":
            record = AttemptRecord.model_validate_json(path.read_bytes())
            path.write_bytes(canonical_json(record.model_copy(update=changes | {"cell": cell})) + b"\n")
        elif name == "grading/result.json":
            grading = Grading.model_validate_json(path.read_bytes())
            path.write_bytes(canonical_json(grading.model_copy(update=changes)) + b"\n")
        changed = name in {"attempt.json", "grading/result.json"}
        found = sha256_of_bytes(path.read_bytes()) if changed else digest
        (graded if name.startswith("grading/") else ended)[name] = found
    record = AttemptRecord.model_validate_json((folder.attempt(new).path / "attempt.json").read_bytes())
    grading = Grading.model_validate_json((folder.attempt(new).path / "grading/result.json").read_bytes())
    yield AttemptStarted(attempt_id=new, cell=cell, ordinal=1)
    yield AttemptEnded(attempt_id=new, outcome=record.outcome, reason=record.reason, artifacts=ended)
    yield AttemptGraded(attempt_id=new, status=grading.status, artifacts=graded)


def timed(action: Callable[[], object]) -> float:
    """Seconds of processor time."""
    started = time.process_time()
    action()
    return time.process_time() - started


def measure(size: int, place: Path) -> float:
    """Publish and verify a study of about as many attempts; milliseconds per attempt."""
    study = a_finished_study(place / "workspace")
    repetitions = max(1, size // SMALL)
    enlarged(study, repetitions)
    attempts = repetitions * SMALL
    written = timed(lambda: write_report(study))
    bundle = place / "bundle"
    core = timed(lambda: published(study, place / "core.tar.gz"))
    whole = timed(lambda: published(study, bundle, "patches", "transcripts", "arms", "tasks"))
    checked = timed(lambda: print_check(bundle))
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size_mb = sum(path.stat().st_size for path in bundle.rglob("*") if path.is_file()) / 1e6
    print(
        f"{attempts} attempts: report {written:.1f} s; published {core:.1f} s as .tar.gz, {whole:.1f} s with "
        f"patches and transcripts ({size_mb:.1f} MB); verified {checked:.1f} s; peak {peak_mib:.0f} MiB"
    )
    return 1000 * (whole + checked) / attempts


def print_check(bundle: Path) -> None:
    """Verify; a bundle that does not hold is no measure."""
    findings = verify_publication(bundle).findings
    assert findings == (), findings[:3]


def main() -> int:
    """Measure every size; 1 if a bound is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[800, 4000])
    sizes = parser.parse_args().sizes
    found: list[float] = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as place:
            found.append(measure(size, Path(place)))
    growth = max((after / before for before, after in pairwise(found)), default=1.0)
    print(f"{max(found):.2f} ms per attempt (limit {MOST_MS}), growth {growth:.2f} (limit {MOST_GROWTH})")
    return int(max(found) > MOST_MS or growth > MOST_GROWTH)


if __name__ == "__main__":
    sys.exit(main())
