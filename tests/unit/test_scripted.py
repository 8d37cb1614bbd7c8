"""The scripted agent: books are read strictly, plays are drawn by seed, and all it does is recorded."""

from __future__ import annotations

import base64
import json
from collections import Counter
from typing import Any

import pytest

from esac_ag.agents.contract import AGENT_WORKSPACE, AgentEnd
from esac_ag.agents.script_book import ScriptBook, ScriptedSettings, load_script_book
from esac_ag.agents.scripted import LABEL, ScriptedAgent, drawn_play
from esac_ag.attempt import LimitKind, Outcome, Usage
from esac_ag.clock import Deadline, Seeds
from esac_ag.errors import InputRefused, SubstitutionRefused
from esac_ag.manifest.plan import Limits
from esac_ag.sandbox.contract import Termination, TreeLimits
from esac_ag.sandbox.memory import InMemoryEngine
from esac_ag.transcript import EntryKind
from esac_ag.tree import FileTree
from tests.builders_agents import (
    AGENT_PROGRAMS,
    AnsweringSandbox,
    Written,
    a_bundle,
    an_agent_spec,
    an_assignment,
    exited,
    set_up,
)

PATCH = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"


def a_book(*actions: dict[str, Any], **script: Any) -> ScriptBook:  # noqa: ANN401
    """A book whose one play for any task has these actions, or whose script for any task is given."""
    body = script or {"plays": {"only": list(actions)}}
    return load_script_book(json.dumps({"format_version": 1, "tasks": {"*": body}}).encode())


def played(
    *actions: dict[str, Any],
    sandbox: AnsweringSandbox | None = None,
    limits: Limits | None = None,
    deadline: Deadline | None = None,
) -> tuple[AgentEnd, Written, AnsweringSandbox]:
    """Play some actions."""
    assignment, written = an_assignment(limits=limits, deadline=deadline)
    sandbox = sandbox or AnsweringSandbox()
    return ScriptedAgent(a_book(*actions)).act(sandbox, assignment), written, sandbox


def test_a_play_is_carried_out_in_order_by_commands_in_the_sandbox() -> None:
    """Files, commands, deletions and sleep are real commands; each is recorded."""
    end, written, sandbox = played(
        {"do": "say", "text": "I begin."},
        {"do": "write_file", "path": "a/b.py", "text": "x = 1\n"},
        {"do": "run", "argv": ["python3", "-m", "unittest"]},
        {"do": "delete", "path": "old.py"},
        {"do": "sleep", "duration_s": 0.5},
        {"do": "no-op"},
    )
    assert end.outcome is Outcome.COMPLETED
    assert sandbox.commands[0][4:] == ["a/b.py", base64.b64encode(b"x = 1\n").decode(), "new"]
    assert sandbox.commands[1:] == [
        ["python3", "-m", "unittest"],
        ["rm", "-r", "--", "old.py"],
        ["sleep", "0.500"],
    ]
    assert [line["tool"] for line in written.commands] == ["write_file", "run", "delete", "sleep"]
    assert [entry.text for entry in written.of_kind(EntryKind.MODEL)] == ["I begin."]
    assert len(written.of_kind(EntryKind.TOOL_CALL)) == len(written.of_kind(EntryKind.TOOL_RESULT)) == 4
    assert end.costs.tool_calls == 4


def test_every_output_says_that_no_model_acted() -> None:
    """The label, the reason and the transcript name the replay; tokens and turns are unknown, not zero."""
    end, written, _ = played({"do": "no-op"})
    assert ScriptedAgent(a_book({"do": "no-op"})).label == LABEL
    assert end.reason == "scripted replay (no model): only"
    assert "no model" in written.entries[0].text
    assert end.costs.usage == Usage()
    assert end.costs.turns is None
    assert end.costs.tool_calls == 0


def test_a_no_op_play_costs_no_command() -> None:
    """The overhead that benchmarks measure is the harness's own."""
    _, _, sandbox = played({"do": "no-op"})
    assert sandbox.commands == []


def test_a_patch_enters_as_text_and_is_applied_by_git() -> None:
    """One command decodes it, applies it and removes it."""
    _, _, sandbox = played({"do": "apply_patch", "patch": PATCH})
    assert len(sandbox.commands) == 1
    assert "git apply" in sandbox.commands[0][2]
    assert base64.b64decode(sandbox.commands[0][5]).decode() == PATCH


def test_a_large_patch_enters_in_chunks_that_fit_a_command_line() -> None:
    """No argument is longer than Linux takes, and the chunks add up to the patch."""
    patch = PATCH + "x" * 200_000
    _, _, sandbox = played({"do": "apply_patch", "patch": patch})
    assert max(len(argument) for command in sandbox.commands for argument in command) < 128 * 1024
    assert "".join(base64.b64decode(c[5]).decode() for c in sandbox.commands[:-1]) == patch
    assert [command[6] for command in sandbox.commands[:-1]] == ["new", "more", "more", "more"]
    assert sandbox.commands[-1][5] == ""


def test_a_patch_that_does_not_apply_is_the_agents_error() -> None:
    """The play ends there; nothing after it is done."""
    sandbox = AnsweringSandbox(lambda _argv: exited(1, b"error: patch failed"))
    end, _, _ = played({"do": "apply_patch", "patch": PATCH}, {"do": "run", "argv": ["x"]}, sandbox=sandbox)
    assert (end.outcome, end.exit_code) == (Outcome.AGENT_ERROR, 1)
    assert len(sandbox.commands) == 1


def test_a_command_that_fails_does_not_end_the_play() -> None:
    """Its exit code is recorded; an agent's tests may well fail."""
    sandbox = AnsweringSandbox(lambda _argv: exited(3))
    end, written, _ = played({"do": "run", "argv": ["a"]}, {"do": "run", "argv": ["b"]}, sandbox=sandbox)
    assert end.outcome is Outcome.COMPLETED
    assert [line["exit_code"] for line in written.commands] == [3, 3]


def test_fail_ends_as_an_agent_error_with_its_exit_code() -> None:
    """An abnormal end is scored."""
    end, _, sandbox = played({"do": "fail", "exit_code": 7}, {"do": "run", "argv": ["a"]})
    assert (end.outcome, end.exit_code) == (Outcome.AGENT_ERROR, 7)
    assert sandbox.commands == []


def test_the_tool_call_budget_holds_for_scripts() -> None:
    """The third command of a budget of two is not run."""
    end, _, sandbox = played(*[{"do": "run", "argv": ["a"]}] * 3, limits=Limits(tool_calls=2))
    assert (end.outcome, end.limit) == (Outcome.LIMIT, LimitKind.TOOL_CALLS)
    assert len(sandbox.commands) == 2


def test_a_deadline_ends_a_play_as_out_of_time() -> None:
    """Passed before an action, nothing is run."""
    end, _, sandbox = played({"do": "run", "argv": ["a"]}, deadline=Deadline.after_s(-1))
    assert (end.outcome, end.limit) == (Outcome.LIMIT, LimitKind.WALL_CLOCK)
    assert sandbox.commands == []


@pytest.mark.parametrize(
    ("termination", "kind"),
    [
        (Termination.OUT_OF_MEMORY, LimitKind.MEMORY),
        (Termination.TIMED_OUT, LimitKind.WALL_CLOCK),
        (Termination.CONTAINER_ENDED, None),
    ],
)
def test_a_killed_command_ends_a_play(termination: Termination, kind: LimitKind | None) -> None:
    """A script cannot react, so what killed its command ends it: as a limit, or as its own doing."""
    sandbox = AnsweringSandbox(lambda _argv: exited(None, termination=termination))
    end, _, _ = played({"do": "run", "argv": ["a"]}, {"do": "run", "argv": ["b"]}, sandbox=sandbox)
    assert (end.outcome, end.limit) == (Outcome.LIMIT if kind else Outcome.AGENT_ERROR, kind)
    assert len(sandbox.commands) == 1


def test_output_is_kept_up_to_the_budget_and_then_ends_the_play() -> None:
    """Each command may keep only what is left of the budget."""
    sandbox = AnsweringSandbox(lambda _argv: exited(0, b"x" * 60, truncated=True))
    end, _, _ = played(*[{"do": "run", "argv": ["a"]}] * 3, sandbox=sandbox, limits=Limits(output_bytes=100))
    assert sandbox.caps_bytes == [100, 40]
    assert (end.outcome, end.limit, end.output_truncated) == (Outcome.LIMIT, LimitKind.OUTPUT, True)


def test_a_cancelled_study_ends_a_play_as_cancelled() -> None:
    """It is asked before each action."""
    assignment, _ = an_assignment(cancelled=lambda: True)
    end = ScriptedAgent(a_book({"do": "run", "argv": ["a"]})).act(AnsweringSandbox(), assignment)
    assert end.outcome is Outcome.CANCELLED


def test_the_bundle_enters_though_no_model_reads_it() -> None:
    """The same bytes go in as for any agent, and the record says that no request was seen."""
    bundle = a_bundle(SKILL__md="---\nname: x\n---\n")
    agent = ScriptedAgent(a_book({"do": "no-op"}))
    assignment, _ = an_assignment(arm="some-arm", bundle=bundle)
    end = agent.act(AnsweringSandbox(), assignment)
    assert agent.equip(bundle).loaded == ("/agent/home/skills/some-arm/SKILL.md",)
    assert end.loaded is not None
    assert end.loaded.requests is None
    assert [file.in_full_in for file in end.loaded.files] == [None]


def test_plays_are_drawn_by_seed_and_weight() -> None:
    """The same seed draws the same; weights shape what many cells draw; weight nought is never drawn."""
    weights = {"often": 8.0, "seldom": 2.0, "never": 0.0}
    draws = [drawn_play(Seeds("s"), weights, "t", "a", n) for n in range(1, 501)]
    backwards = dict(reversed(weights.items()))
    assert draws == [drawn_play(Seeds("s"), backwards, "t", "a", n) for n in range(1, 501)]
    assert draws != [drawn_play(Seeds("s"), weights, "t", "b", n) for n in range(1, 501)]
    count = Counter(draws)
    assert count["never"] == 0
    assert 350 < count["often"] < 450


def test_arms_may_have_weights_of_their_own() -> None:
    """An arm's weights take the place of the general ones, which hold for all others."""
    book = a_book(plays={"a": [], "b": []}, weights={"a": 1}, arms={"x": {"b": 1}})
    script = book.script_for("whatever")
    assert script.weights_for("x") == {"b": 1.0}
    assert script.weights_for("y") == {"a": 1.0}
    assert a_book(plays={"a": [], "b": []}).script_for("t").weights_for("y") == {"a": 1.0, "b": 1.0}


def test_patches_are_read_when_the_book_is_loaded() -> None:
    """The loaded book holds the text, and its digest changes with it."""
    data = json.dumps(
        {
            "format_version": 1,
            "tasks": {"t": {"plays": {"p": [{"do": "apply_patch", "patch_file": "graders/t/x.patch"}]}}},
        }
    ).encode()
    asked: list[str] = []

    def read(path: str) -> bytes:
        asked.append(path)
        return PATCH.encode()

    book = load_script_book(data, read_file=read)
    other = load_script_book(data, read_file=lambda _path: b"other")
    assert asked == ["graders/t/x.patch"]
    assert book.tasks["t"].plays["p"][0].model_dump()["patch"] == PATCH
    assert book.sha256() != other.sha256()


def lenient(path: str) -> bytes:
    """A host that would give any file but one."""
    if path == "not-there":
        raise FileNotFoundError(path)
    return b"secret"


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "not-there"])
def test_a_patch_outside_the_workspace_or_missing_is_refused(path: str) -> None:
    """The finding names the path."""
    body = {"plays": {"p": [{"do": "apply_patch", "patch_file": path}]}}
    data = json.dumps({"format_version": 1, "tasks": {"t": body}}).encode()
    with pytest.raises(InputRefused) as caught:
        load_script_book(data, where="book.json", read_file=lenient)
    assert path in caught.value.found
    assert caught.value.where == "book.json"


@pytest.mark.parametrize(
    "body",
    [
        {"plays": {}},
        {"plays": {"p": [{"do": "dance"}]}},
        {"plays": {"p": [{"do": "run", "argv": []}]}},
        {"plays": {"p": [{"do": "run", "argv": ["a\0b"]}]}},
        {"plays": {"p": [{"do": "apply_patch"}]}},
        {"plays": {"p": [{"do": "apply_patch", "patch": "x", "patch_file": "y"}]}},
        {"plays": {"p": [{"do": "apply_patch", "patch_file": "y"}]}},
        {"plays": {"p": [{"do": "no-op", "more": 1}]}},
        {"plays": {"p": []}, "weights": {"q": 1}},
        {"plays": {"p": []}, "weights": {"p": 0}},
        {"plays": {"p": []}, "weights": {"p": -1}},
        {"plays": {"p": []}, "arms": {"x": {}}},
        {"plays": {"p": []}, "arms": {"x": {"q": 1}}},
    ],
)
def test_a_wrong_book_is_refused(body: dict[str, Any]) -> None:
    """Nothing is guessed."""
    with pytest.raises(InputRefused) as caught:
        load_script_book(json.dumps({"format_version": 1, "tasks": {"t": body}}).encode())
    assert caught.value.found


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[]",
        b"[" * 100_000,
        b'{"format_version": 2, "tasks": {"*": {"plays": {"p": []}}}}',
        b'{"format_version": 1, "format_version": 1, "tasks": {"*": {"plays": {"p": []}}}}',
        b'{"format_version": 1, "tasks": {"*": {"plays": {"p": []}, "weights": {"p": NaN}}}}',
    ],
)
def test_bytes_that_are_no_book_are_refused(data: bytes) -> None:
    """Never a traceback."""
    with pytest.raises(InputRefused):
        load_script_book(data)


def test_a_task_that_the_book_does_not_know_is_refused() -> None:
    """The finding names the task."""
    book = load_script_book(b'{"format_version": 1, "tasks": {"a": {"plays": {"p": []}}}}')
    with pytest.raises(InputRefused) as caught:
        book.script_for("b")
    assert caught.value.where == "/tasks/b"


def test_another_book_than_the_sealed_one_is_refused() -> None:
    """The manifest may seal the book's digest."""
    book = a_book({"do": "no-op"})
    sealed = ScriptedSettings(script="x.json", script_sha256=book.sha256())
    assert sealed.accept(book) is book
    with pytest.raises(SubstitutionRefused):
        sealed.accept(a_book({"do": "say", "text": "x"}))


def test_scripts_act_in_the_shipped_in_memory_engine() -> None:
    """What a play writes and patches is in the tree that is taken out afterwards."""
    engine = InMemoryEngine(AGENT_PROGRAMS)
    assignment, _ = an_assignment()
    book = a_book(
        {"do": "write_file", "path": "pkg/new.py", "text": "x = 1\n"},
        {"do": "apply_patch", "patch": PATCH},
        {"do": "delete", "path": "old.py"},
    )
    with engine.create(an_agent_spec()) as sandbox:
        set_up(sandbox, FileTree.of_text({"old.py": "y = 2\n"}))
        end = ScriptedAgent(book).act(sandbox, assignment)
        files = sandbox.get(AGENT_WORKSPACE, TreeLimits()).tree.files()
    assert end.outcome is Outcome.COMPLETED
    assert {path: node.data for path, node in files.items()} == {
        b"applied.patch": PATCH.encode(),
        b"pkg/new.py": b"x = 1\n",
    }
