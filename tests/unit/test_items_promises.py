"""What holds for every item of the bank: it cannot be changed, explored whole, or come out as other bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from esac_ag.suite.bank import bank
from esac_ag.suite.constitution import Category
from esac_ag.suite.contract import Item, RunEnd
from esac_ag.suite.own_programs import run_own
from esac_ag.suite.play import Programs, play
from tests.builders_items import instances, public, whole_digest

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parents[1] / "golden" / "suite_instances.json"
EXPLORED = [item for item in bank() if item.category not in (Category.TOOL_CALL, Category.AMBIGUITY)]
"""Items with a budget for looking: a first call has none, and an unclear request has little to see."""

each_item = pytest.mark.parametrize("item", bank(), ids=lambda item: item.id)

SCRIPT = """
import json
from esac_ag.suite.bank import bank
from tests.builders_items import instances, public, whole_digest
print(json.dumps([[whole_digest(one) for one in (public(item), *instances(item, 5))] for item in bank()]))
"""
SURROUNDINGS = {
    "another hash seed": ((), {"PYTHONHASHSEED": "1"}),
    "optimised, far east, in Turkish": (
        ("-OO",),
        {
            "PYTHONHASHSEED": "4242",
            "TZ": "Pacific/Kiritimati",
            "LANG": "tr_TR.UTF-8",
            "LC_ALL": "tr_TR.UTF-8",
        },
    ),
    "plain ASCII, far west": (
        ("-X", "utf8=0"),
        {"PYTHONHASHSEED": "0", "TZ": "Etc/GMT+12", "LANG": "C", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"},
    ),
}


@each_item
@pytest.mark.parametrize(
    "name",
    [
        "id",
        "category",
        "title",
        "measures",
        "weight",
        "turns",
        "output_tokens",
        "efficiency",
        "rubric",
        "more",
    ],
)
def test_nothing_of_an_item_can_be_set(item: Item, name: str) -> None:
    """Neither a member of the protocol nor anything new, whatever the value."""
    with pytest.raises((AttributeError, TypeError)):
        setattr(item, name, getattr(item, name, None))


@pytest.mark.parametrize("item", EXPLORED, ids=lambda item: item.id)
def test_who_looks_at_everything_has_no_turns_left(item: Item) -> None:
    """The policy that reads all there is before it does the work is cut off by the item's cap."""
    programs = Programs(run_own, lambda _instance, _files: ())
    names = ("explore-everything", "read-everything")
    (looking,) = (cut.policy for cut in item.shortcuts() if cut.name in names)
    for instance in (public(item), *instances(item, 10)):
        assert play(item, instance, looking(instance), programs).end is RunEnd.TURN_LIMIT


@each_item
def test_the_public_instance_is_what_it_was(item: Item) -> None:
    """Prompt, tools, world, files, hidden tests and expected values; only a new version may change them."""
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert whole_digest(public(item)) == golden[item.id]


@pytest.mark.parametrize(("options", "environment"), SURROUNDINGS.values(), ids=SURROUNDINGS)
def test_instances_are_the_same_bytes_whatever_the_surroundings(
    options: tuple[str, ...], environment: dict[str, str]
) -> None:
    """The order of sets, the time zone, the locale and the optimiser have no part in an instance."""
    here = [[whole_digest(one) for one in (public(item), *instances(item, 5))] for item in bank()]
    done = subprocess.run(
        [sys.executable, *options, "-c", SCRIPT],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == here
