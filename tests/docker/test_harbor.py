"""Harbor tasks imported by the command line, and a task begun from the example, in real containers."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from esac_ag.conduct.layout import lay_out
from esac_ag.report.escaping import markdown
from esac_ag.tree import FileTree
from tests.builders_commands import command
from tests.builders_grading import SNAPSHOT, a_package_of, docker_judge, verdicts
from tests.builders_harbor import GREETING, PARTS, REPAIR, a_harbor_task

pytestmark = pytest.mark.docker

HALF = {
    "task.toml": GREETING["task.toml"].replace("Hello_World", "half"),
    "tests/test.sh": "cat /app/hello.txt && echo 0.5 > /logs/verifier/reward.txt\n",
    "solution/solve.sh": "echo x > hello.txt; exit 4\n",
}
"""An oracle that reaches half of a reward, and fails itself."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A workspace into which four tasks were imported by one command."""

    root: Path
    done: subprocess.CompletedProcess[str]
    report: Any

    def items(self, task: str) -> dict[str, tuple[str, str]]:
        """Fate and reason of each thing of a task."""
        record = next(record for record in self.report["imports"] if record["id"] == task)
        return {item["what"]: (item["fate"], item["why"]) for item in record["items"]}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A laid-out workspace."""
    root = tmp_path_factory.mktemp("harbor") / "space"
    lay_out(root)
    docker_judge()
    return root


@pytest.fixture(scope="module")
def imported(workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> Imported:
    """The three tasks that hold and one that does not."""
    tasks = tmp_path_factory.mktemp("tasks")
    for name, files in (("greeting", GREETING), ("repair", REPAIR), ("parts", PARTS)):
        a_harbor_task(tasks / name, files)
    a_harbor_task(tasks / "half", GREETING, HALF)
    done = command("task", "import", "harbor", tasks, "--repeats", "1", "--json", folder=workspace)
    return Imported(workspace, done, json.loads(done.stdout))


def test_oracles_pass_and_doing_nothing_fails(imported: Imported) -> None:
    """A file to be made, a bug to be repaired, two numbers; the untouched snapshot fails each."""
    assert imported.done.returncode == 1, imported.done.stderr
    proofs = {proof["task_id"]: proof for proof in imported.report["proofs"]}
    for task in ("hello-world", "mean-repair", "parts"):
        assert proofs[task]["holds"], proofs[task]["faults"]
        baseline, reference = proofs[task]["variants"]
        assert (baseline["kind"], baseline["trials"][0]["failed"]) == ("baseline", ["verifier"])
        assert (reference["id"], reference["trials"][0]["failed"]) == ("oracle", [])
        assert proofs[task]["trust"] == "shared-process"
    reasons = proofs["parts"]["variants"][0]["trials"][0]["reasons"]
    assert "count 0, sorted 0" in reasons["verifier"]


def test_an_oracle_that_does_not_pass_is_imported_and_told(imported: Imported) -> None:
    """With exit code 1, the reward, and how its solve.sh ended."""
    proof = next(proof for proof in imported.report["proofs"] if proof["task_id"] == "half")
    assert not proof["holds"]
    assert any("the reward is less than 1: reward 0.5" in fault for fault in proof["faults"])
    record = json.loads((imported.root / "graders" / "half" / "import.json").read_text())
    assert record["oracle"] == "solve.sh ended with exit code 4"
    assert (imported.root / "tasks" / "half" / "task.json").exists()


def test_what_was_not_kept_is_told_item_by_item(imported: Imported) -> None:
    """Printed, in the private package, and for commands that were run with how they ended."""
    items = imported.items("mean-repair")
    assert (
        items["Dockerfile:8: RUN mkdir -p made && python3 -c \"print('1 2 3')\" > made/more.txt"][0] == "kept"
    )
    fate, why = items["Dockerfile:10: RUN touch /opt/outside"]
    assert (fate, "Read-only file system" in why) == ("not-kept", True)
    assert items["environment.env.TOKEN"][0] == "not-kept"
    assert items["agent.timeout_sec"][0] == "not-kept"
    assert items["tests/test.sh"][0] == "changed"
    assert "stand-in" in imported.items("hello-world")["tests/test.sh: uvx"][1]
    text = (imported.root / "graders" / "mean-repair" / "oracle.md").read_text()
    assert all(markdown(what, 2000) in text for what in items)


def test_an_agent_gets_the_files_and_the_request_and_no_test(imported: Imported) -> None:
    """The snapshot is what the Dockerfile makes; tests and solution are private."""
    task = imported.root / "tasks" / "mean-repair"
    public = {
        path.relative_to(task / "public").as_posix()
        for path in (task / "public").rglob("*")
        if path.is_file()
    }
    assert public == {"stats/__init__.py", "stats/core.py", "data/numbers.txt", "made/more.txt"}
    assert (task / "request.md").read_text() == REPAIR["instruction.md"]
    greeting = (imported.root / "tasks" / "hello-world" / "request.md").read_text()
    assert greeting.startswith("The working directory is /agent/workspace:")
    assert greeting.endswith(GREETING["instruction.md"])


def test_lists_and_proofs_say_how_far_a_verdict_can_be_trusted(imported: Imported) -> None:
    """Wherever an imported task is shown."""
    listed = command("task", "list", folder=imported.root).stdout
    checked = command("task", "check", "parts", "--repeats", "1", "-q", folder=imported.root)
    assert checked.returncode == 0, checked.stderr
    for text in (listed, checked.stdout):
        assert "trust: shared-process: a hostile submission could forge the verdict" in text


def test_a_new_task_proves_itself_as_it_is(workspace: Path) -> None:
    """What an author edits begins with something that works."""
    begun = command("task", "new", "my-task", folder=workspace)
    assert begun.returncode == 0, begun.stderr
    assert "esac-ag task check my-task" in begun.stdout
    checked = command("task", "check", "my-task", "--repeats", "1", "--json", folder=workspace)
    assert checked.returncode == 0, checked.stdout
    assert json.loads(checked.stdout)["proofs"][0]["faults"] == []


FOLDERS = """
import os
from esac_checks import check, require, require_equal

@check("first")
def first(subject):
    done = subject.run(["/bin/sh", "-c", "echo x > /app/x && mkdir -m 0 /app/d"])
    require_equal(done.exit_code, 0, "writing")

@check("second")
def second(subject):
    done = subject.run(["/bin/ls", "-A", "/app"])
    require_equal((done.exit_code, done.stdout), (0, b""), "what the check before left")
    path = os.path.join(os.path.dirname(__file__), "files", "x")
    require(not subject.run(["/bin/cat", path]).exit_code == 0, "the subject reads a private file")
"""


def test_a_folder_of_the_subjects_own_is_emptied_after_each_check() -> None:
    """Whatever was closed in it; and the judge's folder stays closed to the subject."""
    package = a_package_of("first", "second").model_copy(update={"folders": ("/app",)})
    grading = docker_judge().grade(FileTree(SNAPSHOT), checks=FOLDERS, package=package)
    assert verdicts(grading) == {"first": "pass", "second": "pass"}
