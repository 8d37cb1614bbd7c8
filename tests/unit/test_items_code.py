"""The items of code generation: right programs, wrong programs, and what hidden tests tell of them."""

from __future__ import annotations

from functools import cache

import pytest

from esac_ag.suite.constitution import CATEGORIES, Category
from esac_ag.suite.contract import CodeResult, Instance, RunEnd
from esac_ag.suite.efficiency import check_scale
from esac_ag.suite.items import code_bookings, code_log, code_table
from esac_ag.suite.items.code import ITEMS as EXPORTED
from esac_ag.suite.items.code_bookings_oracle import solve_bookings
from esac_ag.suite.items.code_desk import Desk
from esac_ag.suite.items.code_log_oracle import solve_log
from esac_ag.suite.items.code_program import ProgramItem
from esac_ag.suite.items.code_source import example_inputs
from esac_ag.suite.items.code_table_oracle import solve_table
from esac_ag.suite.items.code_tools import CODE_TOOLS, FILES_MOST, RUNS_MOST, is_workspace_path
from esac_ag.suite.own_programs import grade_own, run_own
from esac_ag.suite.scoring import MOST_TURNS
from tests.builders_code_items import grade_really, play_code, run_by_python
from tests.builders_items import (
    action_level,
    content,
    content_digest,
    fraction,
    instances,
    public,
    token_level,
)

ITEMS = (code_log.ITEM, code_bookings.ITEM, code_table.ITEM)
SEEDS = 50
SOLVERS = {
    "code-log-report": solve_log,
    "code-room-bookings": solve_bookings,
    "code-table-import": solve_table,
}

every_item = pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)


@cache
def many(item_id: str) -> tuple[Instance, ...]:
    """A thousand instances of an item."""
    return tuple(instances(next(item for item in ITEMS if item.id == item_id), 1000))


def earned(item: ProgramItem, instance: Instance, name: str) -> float:
    """The fraction of a shortcut."""
    policy = next(shortcut for shortcut in item.shortcuts() if shortcut.name == name).policy(instance)
    return fraction(item, instance, play_code(item, instance, policy))


def test_the_category_has_its_three_items() -> None:
    """Three items of the category, with different ids and a cap of turns within the constitution's."""
    assert EXPORTED == ITEMS
    assert len({item.id for item in ITEMS}) == CATEGORIES[Category.CODE].items
    assert all(item.category is Category.CODE and 10 <= item.turns <= MOST_TURNS for item in ITEMS)


@every_item
def test_a_thousand_seeds_give_many_instances_and_none_is_the_public_one(item: ProgramItem) -> None:
    """At least 200 of 1,000 instances differ, and the public one is not among them."""
    found = {content_digest(instance) for instance in many(item.id)}
    assert len(found) >= 200
    assert content_digest(public(item)) not in found


@every_item
def test_requests_differ_in_substance(item: ProgramItem) -> None:
    """Not only constants vary: nearly every request has a wording of its own once its numbers are blanked."""
    blanked = {"".join("0" if sign.isdigit() else sign for sign in i.prompt) for i in many(item.id)}
    assert len(blanked) > 700


@every_item
def test_an_instance_is_the_same_bytes_twice(item: ProgramItem) -> None:
    """Everything of the public instance, its hidden tests too, is generated twice alike."""
    one, two = public(item), public(item)
    assert content(one) == content(two)
    assert one.hidden_tests == two.hidden_tests
    assert dict(one.files) == dict(two.files)


@every_item
def test_no_input_holds_a_program_or_an_expected_call(item: ProgramItem) -> None:
    """Prompt, tools and files hold no line of the solution that is longer than a few words."""
    for instance in many(item.id)[:100]:
        shown = "\n".join([instance.prompt, *(tool.model_dump_json() for tool in instance.tools)])
        shown += "\n".join(instance.files.values())
        lines = item.solution(instance)[item.program].split("\n")
        assert not [line for line in lines if len(line.strip()) > 25 and line.strip() in shown]


@every_item
def test_the_reference_solves_every_instance_at_level_six(item: ProgramItem) -> None:
    """The reference earns everything through the tools, in actions and in tokens."""
    for instance in (public(item), *many(item.id)[:SEEDS]):
        trace = play_code(item, instance, item.reference(instance))
        assert fraction(item, instance, trace) == 1.0
        assert (action_level(item, trace), token_level(item, instance, trace)) == (6, 6)


@every_item
def test_programs_written_apart_agree_on_the_visible_examples(item: ProgramItem) -> None:
    """The solution prints for each visible input what the examples file and the oracle say."""
    for instance in many(item.id)[:SEEDS]:
        examples = instance.files[item.reads[0]]
        for text in example_inputs(examples):
            printed = run_own(item.solution(instance), item.program, text).stdout
            assert printed in examples
            assert printed.rstrip("\n").split("\n") == SOLVERS[item.id](text, dict(instance.secret))


@pytest.mark.parametrize(
    ("item", "name"),
    [
        pytest.param(item, shortcut.name, id=f"{item.id}-{shortcut.name}")
        for item in ITEMS
        for shortcut in item.shortcuts()
    ],
)
def test_a_shortcut_earns_no_more_than_its_author_said(item: ProgramItem, name: str) -> None:
    """Every wrong policy stays within its predeclared fraction, below 60 %, on every instance."""
    shortcut = next(shortcut for shortcut in item.shortcuts() if shortcut.name == name)
    assert shortcut.most < 0.6
    for instance in (public(item), *many(item.id)[:SEEDS]):
        assert earned(item, instance, name) <= shortcut.most + 1e-9


@every_item
def test_old_examples_are_more_than_a_run_can_read_and_mislead(item: ProgramItem) -> None:
    """They have the right form, follow other rules, and the request says that they hold no longer."""
    for instance in many(item.id)[:SEEDS]:
        old = [text for path, text in instance.files.items() if path.startswith("old/")]
        assert len(old) >= item.turns
        assert "hold no longer" in instance.prompt
        solution = item.solution(instance)
        right = [run_own(solution, item.program, example_inputs(text)[0]).stdout in text for text in old]
        assert not all(right)


@every_item
def test_a_remembered_program_never_passes(item: ProgramItem) -> None:
    """What is right for the public instance reaches 60 % nowhere else."""
    remembered = item.solution(public(item))
    for instance in many(item.id)[:200]:
        results = {result.test_id: result.passed for result in grade_own(instance, remembered)}
        weights = {test.id: test.weight for test in instance.hidden_tests}
        assert sum(weights[name] for name, passed in results.items() if passed) < 0.6 * sum(weights.values())


@every_item
def test_visible_examples_do_not_suffice(item: ProgramItem) -> None:
    """A program that ignores rules can be right on all visible examples and still fails hidden tests."""
    right = 0
    for instance in many(item.id)[:SEEDS]:
        wrong = next(wrong for wrong in item.wrong if wrong.name == "skimmed").files(instance)
        examples = instance.files[item.reads[0]]
        texts = example_inputs(examples)
        right += all(run_own(wrong, item.program, text).stdout in examples for text in texts)
    assert right >= 5


@every_item
def test_hidden_inputs_are_drawn_anew_at_grading_time(item: ProgramItem) -> None:
    """The solution passes under every grading's own seed, and no expected output stands in a test."""
    instance = many(item.id)[3]
    for seed in ("one", "two", "three"):
        assert all(result.passed for result in grade_own(instance, item.solution(instance), seed))
    assert all("subject.random" in test.source for test in instance.hidden_tests)


@every_item
def test_the_real_judge_agrees_with_the_fast_one(item: ProgramItem) -> None:
    """A right and a wrong program get the same verdicts in real processes as in this one."""
    instance = many(item.id)[0]
    wrong = next(wrong for wrong in item.wrong if wrong.name == "skimmed").files(instance)
    right = grade_really(instance, item.solution(instance))
    assert [result.passed for result in right] == [True] * len(instance.hidden_tests)
    found = {result.test_id: result.passed for result in grade_really(instance, wrong)}
    assert found == {result.test_id: result.passed for result in grade_own(instance, wrong)}


@every_item
def test_what_is_not_handed_in_earns_nothing(item: ProgramItem) -> None:
    """Passed tests count only with a submit in the log."""
    instance = public(item)
    trace = play_code(item, instance, item.reference(instance))
    unsubmitted = trace.model_copy(update={"calls": trace.calls[:-1]})
    assert fraction(item, instance, unsubmitted) == 0.0


@every_item
def test_partial_credit_is_by_test(item: ProgramItem) -> None:
    """One passed test earns its share of the weights; a test without a result earns nothing."""
    instance = public(item)
    trace = play_code(item, instance, item.reference(instance))
    first = instance.hidden_tests[0]
    some = trace.model_copy(update={"code": (CodeResult(test_id=first.id, passed=True),)})
    total = sum(test.weight for test in instance.hidden_tests)
    assert fraction(item, instance, some) == pytest.approx(first.weight / total)


@every_item
def test_more_actions_or_tokens_never_earn_a_higher_level(item: ProgramItem) -> None:
    """The item's own scale ascends."""
    assert item.efficiency is not None
    check_scale(item.id, item.efficiency)


def test_the_desk_answers_malformed_calls_and_logs_them() -> None:
    """Unknown tools, bad arguments and bad paths get an error reply and change nothing."""
    desk = Desk({"a.py": "print(1)\n"}, run_own)
    calls: list[tuple[object, object]] = [
        ("bash", {}),
        ("read_file", {"path": "b.py"}),
        ("read_file", "a.py"),
        ("write_file", {"path": "../b.py", "content": ""}),
        ("write_file", {"path": "a.py/b", "content": ""}),
        ("write_file", {"path": "b.py"}),
        (None, None),
    ]
    for tool, arguments in calls:
        assert desk.call(tool, arguments).startswith("error ")
    assert [call.error for call in desk.log] == [
        "unknown-tool",
        "not-found",
        "invalid-arguments",
        "invalid-arguments",
        "invalid-arguments",
        "invalid-arguments",
        "unknown-tool",
    ]
    assert not any(call.changed_state for call in desk.log)


def test_runs_are_limited_and_change_nothing() -> None:
    """After the last run the tool refuses; running leaves the state as it was."""
    desk = Desk({"a.py": "print(input())\n"}, run_own)
    for _ in range(RUNS_MOST):
        assert (
            desk.call("run_python", {"path": "a.py", "stdin": "hello"})
            == "exit code 0\nstdout:\nhello\n\nstderr:\n"
        )
    assert desk.call("run_python", {"path": "a.py"}).startswith("error runs-used-up")
    assert not any(call.changed_state for call in desk.log)


def test_nothing_can_be_done_after_handing_in() -> None:
    """The submission is what the workspace held at submit."""
    desk = Desk({}, run_own)
    desk.call("write_file", {"path": "a.py", "content": "1\n"})
    desk.call("submit", {"summary": "done"})
    assert desk.call("write_file", {"path": "a.py", "content": "2\n"}).startswith("error ended")
    assert (desk.files, desk.submitted) == ({"a.py": "1\n"}, True)


def test_a_workspace_does_not_grow_without_bound() -> None:
    """One file too many is refused; existing ones can still be written."""
    desk = Desk({}, run_own)
    for number in range(FILES_MOST):
        desk.call("write_file", {"path": f"f{number}", "content": ""})
    assert desk.call("write_file", {"path": "more", "content": ""}).startswith("error too-large")
    assert desk.call("write_file", {"path": "f0", "content": "x"}) == "wrote 1 bytes to f0"


@pytest.mark.parametrize("path", ["/a", "a/../b", "../a", "a//b", "-a", ".a", "a/b/c/d/e", "a b", "", "a\nb"])
def test_only_plain_relative_paths_are_in_the_workspace(path: str) -> None:
    """Whatever could lead out of the workspace or be read as an option is none."""
    assert not is_workspace_path(path)
    assert is_workspace_path("notes/a-1.txt")


def test_a_program_runs_the_same_in_a_real_process() -> None:
    """The stand-in runner and real Python end a program alike."""
    files = {"a.py": "import sys\nprint(sys.stdin.read().upper())\nsys.exit(3)\n"}
    one, two = run_own(files, "a.py", "hi"), run_by_python(files, "a.py", "hi")
    assert (one.exit_code, one.stdout) == (two.exit_code, two.stdout) == (3, "HI\n")


def test_exploring_ends_at_the_turn_limit() -> None:
    """Who reads all that there is has no turn left for the work, though it knows the solution."""
    for item in ITEMS:
        instance = public(item)
        explore = next(shortcut for shortcut in item.shortcuts() if shortcut.name == "explore-everything")
        trace = play_code(item, instance, explore.policy(instance))
        assert (len(trace.calls), trace.end) == (item.turns, RunEnd.TURN_LIMIT)
        assert {call.tool for call in trace.calls} == {"read_file"}
    assert [tool.name for tool in CODE_TOOLS] == ["read_file", "write_file", "run_python", "submit"]
