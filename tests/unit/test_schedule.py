"""The schedule is complete, balanced, and the same bytes everywhere."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esac_ag.attempt import Cell
from esac_ag.canonical import sha256_of_bytes
from esac_ag.errors import InputRefused
from esac_ag.schedule import make_schedule, schedule_bytes, schedule_document, schedule_sha256

IDS = st.lists(st.from_regex(r"[a-z0-9][a-z0-9-]{0,8}", fullmatch=True), min_size=1, max_size=6, unique=True)
SEEDS = st.text(max_size=12)
REPETITIONS = st.integers(min_value=1, max_value=4)


@given(SEEDS, IDS, IDS, REPETITIONS)
def test_every_cell_is_scheduled_exactly_once(
    seed: str, tasks: list[str], arms: list[str], repetitions: int
) -> None:
    """The schedule holds the full product of tasks, arms and repetitions, nothing twice."""
    expected = {
        Cell(task=task, arm=arm, repetition=number)
        for task in tasks
        for arm in arms
        for number in range(1, repetitions + 1)
    }
    cells = make_schedule(seed, tasks, arms, repetitions)
    assert len(cells) == len(expected)
    assert set(cells) == expected


@given(SEEDS, IDS, IDS, REPETITIONS)
def test_every_block_holds_each_arm_once(
    seed: str, tasks: list[str], arms: list[str], repetitions: int
) -> None:
    """Consecutive cells, as many as there are arms, are one repetition of one task under every arm."""
    cells = make_schedule(seed, tasks, arms, repetitions)
    for start in range(0, len(cells), len(arms)):
        block = cells[start : start + len(arms)]
        assert len({(cell.task, cell.repetition) for cell in block}) == 1
        assert sorted(cell.arm for cell in block) == sorted(arms)


@given(SEEDS, IDS, IDS, REPETITIONS)
def test_the_order_in_which_ids_are_listed_changes_nothing(
    seed: str, tasks: list[str], arms: list[str], repetitions: int
) -> None:
    """Permuting tasks and arms of a manifest gives the same bytes."""
    assert schedule_bytes(seed, tasks[::-1], sorted(arms), repetitions) == schedule_bytes(
        seed, sorted(tasks), arms[::-1], repetitions
    )


def test_the_schedule_has_the_same_bytes_for_ever() -> None:
    """A change of these bytes would break every sealed study: it needs a new algorithm name."""
    found = schedule_bytes("2026", ["pay", "ship"], ["neutral", "skill"], 2)
    assert found == (
        b'{"algorithm":"randomised-complete-blocks/1","cells":['
        b'{"arm":"neutral","repetition":2,"task":"pay"},'
        b'{"arm":"skill","repetition":2,"task":"pay"},'
        b'{"arm":"neutral","repetition":2,"task":"ship"},'
        b'{"arm":"skill","repetition":2,"task":"ship"},'
        b'{"arm":"skill","repetition":1,"task":"ship"},'
        b'{"arm":"neutral","repetition":1,"task":"ship"},'
        b'{"arm":"skill","repetition":1,"task":"pay"},'
        b'{"arm":"neutral","repetition":1,"task":"pay"}'
        b'],"seed":"2026"}'
    )
    assert schedule_sha256("2026", ["pay", "ship"], ["neutral", "skill"], 2) == sha256_of_bytes(found)


def test_a_study_of_the_protocols_size_has_the_same_digest_for_ever() -> None:
    """12 tasks, 3 arms and 3 repetitions are 108 runs in an order that never changes."""
    tasks = [f"task-{number}" for number in range(12)]
    arms = ["neutral", "current-restraint", "markskill"]
    assert len(make_schedule("pilot", tasks, arms, 3)) == 108
    assert (
        schedule_sha256("pilot", tasks, arms, 3)
        == "8f760e69a90549f6885b623085805858a8b2d0ea18b204314ae9a396a24c0ddb"
    )


def test_another_seed_gives_another_order() -> None:
    """The order depends on the seed."""
    tasks, arms = [f"task-{number}" for number in range(6)], ["a", "b", "c"]
    assert make_schedule("1", tasks, arms, 2) != make_schedule("2", tasks, arms, 2)


def test_a_further_task_leaves_the_order_within_other_blocks_alone() -> None:
    """Each block draws from a stream of its own name."""
    arms = ["a", "b", "c", "d"]

    def order(tasks: list[str]) -> list[str]:
        return [cell.arm for cell in make_schedule("1", tasks, arms, 1) if cell.task == "pay"]

    assert order(["pay", "ship"]) == order(["pay", "ship", "refund"])


def test_over_many_blocks_no_arm_is_favoured_at_any_place() -> None:
    """Each of three arms runs first in about a third of 600 blocks (six standard deviations wide)."""
    cells = make_schedule("balance", [f"task-{number}" for number in range(200)], ["a", "b", "c"], 3)
    for place in range(3):
        counts = Counter(cell.arm for cell in cells[place::3])
        assert all(130 < counts[arm] < 270 for arm in "abc")


def test_blocks_of_one_task_are_spread_over_the_study() -> None:
    """Repetitions of a task do not run one after the other: the blocks are shuffled."""
    cells = make_schedule("spread", [f"task-{number}" for number in range(8)], ["a", "b"], 3)
    order = [cell.task for cell in cells[::2]]
    assert sum(first == second for first, second in itertools.pairwise(order)) < 8


def test_the_document_names_algorithm_seed_and_cells_in_order() -> None:
    """`schedule.json` is enough to tell how it came about and to follow it."""
    document = schedule_document("7", ["pay"], ["a", "b"], 1)
    assert document["algorithm"] == "randomised-complete-blocks/1"
    assert document["seed"] == "7"
    assert document["cells"] == [cell.model_dump() for cell in make_schedule("7", ["pay"], ["a", "b"], 1)]


@pytest.mark.parametrize(
    ("tasks", "arms", "repetitions"),
    [([], ["a"], 1), (["t"], [], 1), (["t", "t"], ["a"], 1), (["t"], ["a", "a"], 1), (["t"], ["a"], 0)],
)
def test_an_impossible_design_is_refused(tasks: list[str], arms: list[str], repetitions: int) -> None:
    """No ids, an id twice, or no repetition: an error that tells the remedy."""
    with pytest.raises(InputRefused) as caught:
        make_schedule("1", tasks, arms, repetitions)
    assert caught.value.remedy
