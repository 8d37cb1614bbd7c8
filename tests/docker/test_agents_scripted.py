"""The scripted agent in a real container."""

from __future__ import annotations

import json
from typing import Any

import pytest

from esac_ag.agents.contract import AGENT_WORKSPACE, AgentEnd
from esac_ag.agents.script_book import load_script_book
from esac_ag.agents.scripted import ScriptedAgent
from esac_ag.attempt import LimitKind, Outcome
from esac_ag.clock import Deadline
from esac_ag.sandbox.contract import TreeLimits
from esac_ag.sandbox.docker import DockerEngine
from esac_ag.transcript import EntryKind
from esac_ag.tree import FileTree
from tests.builders_agents import OBEDIENT, Written, an_agent_spec, an_assignment, set_up

pytestmark = pytest.mark.docker

SNAPSHOT = FileTree.of_text({"calc.py": "def add(a, b):\n    return a - b\n", "old.txt": "old\n"})
PATCH = """\
--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,2 @@
 def add(a, b):
-    return a - b
+    return a + b
"""
BIG_FILE = "".join(f"line {number}\n" for number in range(30_000))
BIG_PATCH = "--- /dev/null\n+++ b/big.txt\n@@ -0,0 +1,30000 @@\n" + "".join(
    f"+{line}" for line in BIG_FILE.splitlines(keepends=True)
)


def played(
    engine: DockerEngine, image: str, *actions: dict[str, Any], deadline: Deadline | None = None
) -> tuple[AgentEnd, Written, dict[str, str]]:
    """Play actions in a container; gives the files that are left, too."""
    book = load_script_book(
        json.dumps({"format_version": 1, "tasks": {"*": {"plays": {"p": actions}}}}).encode()
    )
    assignment, written = an_assignment(deadline=deadline)
    with engine.create(an_agent_spec(image, argv=OBEDIENT)) as sandbox:
        set_up(sandbox, SNAPSHOT)
        end = ScriptedAgent(book).act(sandbox, assignment)
        tree = sandbox.get(AGENT_WORKSPACE, TreeLimits()).tree
    return end, written, {path.decode(): node.data.decode() for path, node in tree.files().items()}


def test_a_play_changes_the_workspace_by_real_commands(docker_engine: DockerEngine, agent_image: str) -> None:
    """A patch is applied by Git, files are written and deleted, a command's output is recorded."""
    end, written, files = played(
        docker_engine,
        agent_image,
        {"do": "apply_patch", "patch": PATCH},
        {"do": "apply_patch", "patch": BIG_PATCH},
        {"do": "write_file", "path": "docs/it's new.md", "text": "Größe\n"},
        {"do": "delete", "path": "old.txt"},
        {"do": "run", "argv": ["python3", "-Bc", "import calc; print(calc.add(2, 3)); raise SystemExit(4)"]},
        {"do": "sleep", "duration_s": 0.01},
    )
    assert end.outcome is Outcome.COMPLETED, written.everything()[-2000:]
    assert files.pop("calc.py") == SNAPSHOT.files()[b"calc.py"].data.decode().replace("-", "+")
    assert files.pop("big.txt") == BIG_FILE
    assert files == {"docs/it's new.md": "Größe\n"}
    results = written.of_kind(EntryKind.TOOL_RESULT)
    assert (results[4].text, results[4].exit_code) == ("5\n", 4)
    assert end.costs.tool_calls == 6


def test_a_patch_that_does_not_fit_ends_the_play(docker_engine: DockerEngine, agent_image: str) -> None:
    """Git's refusal is the agent's error, and the workspace stays as it was."""
    end, _, files = played(
        docker_engine,
        agent_image,
        {"do": "apply_patch", "patch": PATCH.replace("return a - b", "return 0")},
        {"do": "delete", "path": "old.txt"},
    )
    assert end.outcome is Outcome.AGENT_ERROR
    assert files == {path.decode(): node.data.decode() for path, node in SNAPSHOT.files().items()}


def test_work_that_was_done_before_the_deadline_can_still_be_taken_out(
    docker_engine: DockerEngine, agent_image: str
) -> None:
    """A play that runs out of time ends as a limit, and what it had written is graded."""
    end, _, files = played(
        docker_engine,
        agent_image,
        {"do": "write_file", "path": "done.txt", "text": "done\n"},
        {"do": "sleep", "duration_s": 600},
        deadline=Deadline.after_s(3),
    )
    assert (end.outcome, end.limit) == (Outcome.LIMIT, LimitKind.WALL_CLOCK)
    assert files["done.txt"] == "done\n"


def test_a_play_that_ends_its_container_is_the_agents_doing(
    docker_engine: DockerEngine, agent_image: str
) -> None:
    """Killing the first process from inside is scored as an error of the agent."""
    end, _, _ = played(
        docker_engine,
        agent_image,
        {"do": "run", "argv": ["bash", "-c", "kill -TERM 1; sleep 60"]},
        {"do": "run", "argv": ["true"]},
    )
    assert end.outcome is Outcome.AGENT_ERROR
