"""Finished studies with things in them that must not be published, and bundles to be tampered with."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from esac_ag.conduct.publishing import Publication, PublishRequest, publish
from esac_ag.conduct.reporting import write_report
from esac_ag.rooms.workspace import Workspace
from tests.builders_agents import AGENT_PROGRAMS
from tests.builders_conduct import PROGRAMS, a_runnable_study, an_engine, folder_of, run
from tests.builders_manifest import listed, write

KEY = "sk-ant-api03-" + "a1B2c3D4" * 5
"""In the form of a provider's key; nobody's."""
SECRET = "correct-horse-battery-4711"  # noqa: S105  (made up)
"""A value of the environment that has no form."""
SKILL = """\
---
name: careful
description: Look at every caller before you touch a shared function of the shop.
---

# Ask what the numbers mean to the people who read them

Write down which invariant the ledger of orders keeps, then change one place only and say why.
"""
PHRASE = "Which invariant the ledger of orders keeps, then change one place"
"""Of the bundle, in other letters and with other marks."""
HIDDEN = """\
from esac_ag_checks import Subject, check, require


@check("rounding-of-half-cents")
def rounding(subject: Subject) -> None:
    answer = subject.call("shop.orders:total", [{"price": "0.125", "count": 3}])
    require(answer == "0.38", "half cents are rounded up only once, at the very end of the sum")
"""
REQUEST = "The monthly statement shows one cent less than all invoices together, please repair it.\n"


def a_book(plays: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """A script book with one play for each task, whichever the arm."""
    right = [{"do": "run", "argv": ["touch", "fixed.txt"]}]
    tasks = {task: {"plays": {"only": actions}} for task, actions in plays.items()}
    return {"format_version": 1, "tasks": {"*": {"plays": {"right": right}}, **tasks}}


def a_finished_study(root: Path, book: dict[str, Any] | None = None, **changes: Any) -> Path:  # noqa: ANN401
    """A study of four tasks, two arms and one repetition that ran to its end and has a report; its folder.

    Its workspace has a task and a grader that are of no study, which nothing of may be published.
    """
    study = a_runnable_study(root, book=book or a_book({}), **({"repetitions": 1} | changes))
    write(root / "arms" / "careful" / "SKILL.md", SKILL)
    study.data["arms"][1]["files"] = listed(root / "arms" / "careful")
    study.save()
    a_held_out_task(root)
    writes = {key: program for key, program in AGENT_PROGRAMS.items() if key[0] == "bash"}
    run(study, an_engine(programs={**PROGRAMS, **writes}))
    path = folder_of(study).path
    write_report(path)
    return path


def a_held_out_task(root: Path) -> None:
    """Another task of the workspace, with its grader."""
    task, grader = root / "tasks" / "statement", root / "graders" / "statement"
    package = json.loads((root / "tasks" / "task-1" / "task.json").read_text()) | {"task_id": "statement"}
    write(task / "task.json", json.dumps(package))
    write(task / "request.md", REQUEST)
    write(task / "public" / "shop.py", "def total(order):\n    return order\n")
    checks = json.loads((root / "graders" / "task-1" / "grader.json").read_text()) | {"task_id": "statement"}
    checks["checks"][0] |= {"id": "rounding-of-half-cents", "title": "Half cents are rounded once"}
    write(grader / "grader.json", json.dumps(checks))
    write(grader / "checks.py", HIDDEN)


def workspace_of(study: Path) -> Workspace:
    """The workspace of a study's folder."""
    return Workspace(study.parent.parent)


def published(
    study: Path,
    output: Path | None,
    *parts: str,
    environ: dict[str, str] | None = None,
    **request: Any,  # noqa: ANN401
) -> Publication:
    """Publish a study with these parts."""
    return publish(
        study,
        output,
        PublishRequest.model_validate_json(json.dumps({"parts": parts, **request})),
        workspace=workspace_of(study),
        environ=environ or {},
    )


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def listed_again(bundle: Path) -> None:
    """Write `SHA256SUMS` anew, as somebody does who wants a change not to show there."""
    sums = bundle / "SHA256SUMS"
    digests = {
        name: hashlib.sha256(data).hexdigest() for name, data in files_of(bundle).items() if name != sums.name
    }
    sums.write_text("".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items())))
