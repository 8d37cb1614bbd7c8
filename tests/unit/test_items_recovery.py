"""The items of error recovery: real traces, real faults, and repairs that only look like some."""

from __future__ import annotations

import json
from functools import cache

import pytest

from esac_ag.suite.constitution import CATEGORIES, Category
from esac_ag.suite.contract import Instance
from esac_ag.suite.efficiency import check_scale
from esac_ag.suite.items import (
    recovery_ledger,
    recovery_ledger_text,
    recovery_store,
    recovery_store_text,
)
from esac_ag.suite.items.code_program import Files, ProgramItem
from esac_ag.suite.items.recovery import ITEMS as EXPORTED
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

ITEMS = (recovery_ledger.ITEM, recovery_store.ITEM)
SEEDS = 50
PROGRAMS = {
    "recovery-statement": recovery_ledger_text.program_of,
    "recovery-replay": recovery_store_text.program_of,
}

every_item = pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)


@cache
def many(item_id: str) -> tuple[Instance, ...]:
    """A thousand instances of an item."""
    return tuple(instances(next(item for item in ITEMS if item.id == item_id), 1000))


def faults_of(instance: Instance) -> list[str]:
    """Ids of an instance's faults, the traced one first."""
    faults = instance.secret["faults"]
    assert isinstance(faults, list)
    return [str(fault) for fault in faults]


def test_the_category_has_its_two_items() -> None:
    """Two items of the category, with different ids and a cap of turns within the constitution's."""
    assert EXPORTED == ITEMS
    assert len({item.id for item in ITEMS}) == CATEGORIES[Category.RECOVERY].items
    assert all(item.category is Category.RECOVERY and 10 <= item.turns <= MOST_TURNS for item in ITEMS)


@every_item
def test_a_thousand_seeds_give_many_instances_and_none_is_the_public_one(item: ProgramItem) -> None:
    """At least 200 of 1,000 instances differ, and the public one is not among them."""
    found = {content_digest(instance) for instance in many(item.id)}
    assert len(found) >= 200
    assert content_digest(public(item)) not in found


@every_item
def test_scripts_and_faults_differ_in_substance(item: ProgramItem) -> None:
    """There are many scripts and many sets of faults, beyond different names and numbers."""
    scripts = {"".join(s for s in i.files[item.program] if not s.isdigit()) for i in many(item.id)}
    assert len(scripts) > 200
    assert len({tuple(faults_of(instance)) for instance in many(item.id)}) > 50


@every_item
def test_an_instance_is_the_same_bytes_twice(item: ProgramItem) -> None:
    """Everything of the public instance, its hidden tests too, is generated twice alike."""
    one, two = public(item), public(item)
    assert content(one) == content(two)
    assert one.hidden_tests == two.hidden_tests


@every_item
def test_the_trace_is_what_python_really_writes(item: ProgramItem) -> None:
    """Run on the failing input, the script really fails, with exactly the trace that it comes with."""
    for instance in (public(item), *many(item.id)[:30]):
        ran = run_by_python(instance.files, item.program, instance.files["failing_input.txt"])
        assert (ran.exit_code, ran.stderr) == (1, instance.files["trace.txt"])


@every_item
def test_every_script_really_fails_as_its_trace_says(item: ProgramItem) -> None:
    """On every instance the failing input ends the script in the error that the trace ends in."""
    for instance in many(item.id)[:500]:
        ran = run_own(instance.files, item.program, instance.files["failing_input.txt"])
        assert (ran.exit_code, ran.stderr.rstrip("\n")) == (1, instance.files["trace.txt"].splitlines()[-1])


@every_item
def test_every_fault_by_itself_fails_the_test_of_its_name(item: ProgramItem) -> None:
    """No fault is idle: a script with it alone fails the test of its name."""
    program_of = PROGRAMS[item.id]
    seen: set[str] = set()
    for instance in many(item.id)[:40]:
        for fault in set(faults_of(instance)) - seen:
            files = {item.program: program_of(instance.secret, [fault])}
            results = {result.test_id: result.passed for result in grade_own(instance, files)}
            assert not results[fault]
            seen.add(fault)
    assert len(seen) >= 8


@every_item
def test_no_input_holds_the_right_lines(item: ProgramItem) -> None:
    """What a repair has to write at a fault stands in no file, prompt or tool."""
    for instance in many(item.id)[:100]:
        shown = "\n".join([instance.prompt, *(tool.model_dump_json() for tool in instance.tools)])
        shown += "\n".join(instance.files.values())
        right = item.solution(instance)[item.program].split("\n")
        faulty = set(instance.files[item.program].split("\n"))
        new = [line.strip() for line in right if line not in faulty]
        assert new or "unfinished" in faults_of(instance)
        assert not [line for line in new if len(line) > 25 and line in shown]


@every_item
def test_the_reference_solves_every_instance_at_level_six(item: ProgramItem) -> None:
    """The reference earns everything through the tools, in actions and in tokens."""
    for instance in (public(item), *many(item.id)[:SEEDS]):
        trace = play_code(item, instance, item.reference(instance))
        assert fraction(item, instance, trace) == 1.0
        assert (action_level(item, trace), token_level(item, instance, trace)) == (6, 6)


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
        trace = play_code(item, instance, shortcut.policy(instance))
        assert fraction(item, instance, trace) <= shortcut.most + 1e-9


@every_item
def test_a_repair_of_the_traced_fault_runs_through_on_the_failing_input(item: ProgramItem) -> None:
    """The tempting repair is tempting: the script no longer fails on the input of the trace."""
    wrong = next(wrong for wrong in item.wrong if wrong.name == "traced-fault-only")
    quiet = [
        run_own(wrong.files(instance), item.program, instance.files["failing_input.txt"]).exit_code == 0
        for instance in many(item.id)[:SEEDS]
    ]
    assert sum(quiet) > SEEDS * 0.7


@every_item
def test_looking_at_everything_does_not_fit_into_the_turns(item: ProgramItem) -> None:
    """There are more files than turns."""
    assert all(len(instance.files) > item.turns for instance in many(item.id)[:50])


@every_item
def test_the_real_judge_agrees_with_the_fast_one(item: ProgramItem) -> None:
    """A right and a wrong repair get the same verdicts in real processes as in this one."""
    instance = many(item.id)[0]
    wrong = next(wrong for wrong in item.wrong if wrong.name == "crashes-only").files(instance)
    right = grade_really(instance, item.solution(instance))
    assert [result.passed for result in right] == [True] * len(instance.hidden_tests)
    found = {result.test_id: result.passed for result in grade_really(instance, wrong)}
    assert found == {result.test_id: result.passed for result in grade_own(instance, wrong)}


@every_item
def test_more_actions_or_tokens_never_earn_a_higher_level(item: ProgramItem) -> None:
    """The item's own scale ascends."""
    assert item.efficiency is not None
    check_scale(item.id, item.efficiency)


def earned_by(instance: Instance, files: Files) -> float:
    """The fraction of a submission."""
    passed = {result.test_id for result in grade_own(instance, files) if result.passed}
    weights = {test.id: test.weight for test in instance.hidden_tests}
    return sum(weights[test_id] for test_id in passed) / sum(weights.values())


@every_item
def test_a_remembered_repair_never_passes(item: ProgramItem) -> None:
    """No script that was repaired for the public instance or another seed reaches 60 % anywhere else."""
    elsewhere = many(item.id)[:200]
    assert max(earned_by(instance, item.solution(public(item))) for instance in elsewhere) < 0.6
    for other in instances(item, 5, "remembered"):
        assert max(earned_by(instance, item.solution(other)) for instance in elsewhere[:60]) < 0.6


@every_item
def test_what_a_script_reads_and_prints_is_drawn(item: ProgramItem) -> None:
    """Hardly two of a thousand scripts agree in the words and forms that every test depends on."""
    drawn = [
        json.dumps(
            {key: value for key, value in instance.secret.items() if key not in ("people", "keys", "faults")}
        )
        for instance in many(item.id)
    ]
    assert len(set(drawn)) > 990
