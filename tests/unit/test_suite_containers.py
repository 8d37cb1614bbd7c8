"""The self-test through a sandbox engine: the same result as in memory, and an orderly end."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from esac_ag.agents.world_session import SERVER_ARGV
from esac_ag.conduct.context import Stop
from esac_ag.conduct.suite_containers import (
    SuiteBench,
    container_helpers,
    oracle_in_containers,
    selftest_in_containers,
)
from esac_ag.conduct.suite_programs import RUNNER
from esac_ag.errors import InfrastructureFailure, Interrupted, SandboxLost
from esac_ag.sandbox.contract import Role
from esac_ag.sandbox.memory import InMemoryEngine
from esac_ag.sandbox.memory_process import FakeProcess, Program
from esac_ag.suite.bank import bank, item_named
from esac_ag.suite.constitution import Category, Pool
from esac_ag.suite.contract import Instance, Item
from esac_ag.suite.oracle import IN_MEMORY, oracle_results, run_result
from esac_ag.suite.own_programs import GRADING_SEED, grade_own, run_own
from esac_ag.suite.pools import instance_of, resolve_seed, seed_fingerprint
from esac_ag.suite.selftest import Place, selftest
from tests.builders_world_server import world_program

PUBLIC = resolve_seed(Pool.PUBLIC, flag=None, environment=None, file=None)
ONE_OF_EACH = tuple(next(item for item in bank() if item.category is category) for category in Category)
WORLDS = tuple(item for item in ONE_OF_EACH if item.category not in (Category.CODE, Category.RECOVERY))
"""Items that several threads can play here: programs share this process's standard output."""
BY_TESTS: dict[tuple[str, ...], Instance] = {
    tuple(test.id for test in instance.hidden_tests): instance
    for instance in (instance_of(item, PUBLIC.seed) for item in bank())
    if instance.hidden_tests
}


def texts_of(process: FakeProcess, folder: str) -> dict[str, str]:
    """Text files below a folder of the fake."""
    tree = process.files.tree(folder)
    assert tree is not None
    return {path.decode(): node.data.decode() for path, node in tree.files().items()}


def runner(process: FakeProcess) -> int:
    """Stands for the runner of programs: our own ones run in this process."""
    staged, path = process.argv[len(RUNNER)], process.argv[-1]
    given = texts_of(process, staged)
    ran = run_own({name.removeprefix("files/"): text for name, text in given.items()}, path, given["stdin"])
    process.files.remove(staged)
    process.write(
        json.dumps({"exit_code": ran.exit_code, "stdout": ran.stdout, "stderr": ran.stderr}).encode()
    )
    return 0


def judge(process: FakeProcess) -> int:
    """Stands for the judge: hidden tests run in this process."""
    given = texts_of(process, "/grade")
    plan = json.loads(given["judge.json"])
    assert plan["seed"] == GRADING_SEED
    ids = tuple(check["id"] for check in plan["checks"])
    assert re.findall(r"@check\('([^']+)'\)", given["private/checks.py"]) == list(ids)
    files = {
        name.removeprefix("submission/"): text
        for name, text in given.items()
        if name.startswith("submission/")
    }
    results = grade_own(BY_TESTS[ids], files, plan["seed"])
    lines = [
        {
            "id": result.test_id,
            "verdict": "pass" if result.passed else "fail",
            "reason": result.detail,
            "duration_s": 0.0,
        }
        for result in results
    ]
    told = {"format_version": 1, "status": "graded", "invalid_reason": None, "checks": lines}
    process.files.write("/grade/out/result.json", json.dumps(told).encode())
    return 0


PROGRAMS: dict[tuple[str, ...], Program] = {
    SERVER_ARGV: world_program,
    RUNNER: runner,
    ("python3", "-I", "-S", "-B", "/esac/judge.py"): judge,
}


def a_bench() -> SuiteBench:
    """A bench on the in-memory engine."""
    return SuiteBench(
        engine=InMemoryEngine(PROGRAMS),
        agent_image="agent",
        grader_image="grader",
        grader_digest="sha256:" + "0" * 64,
        stop=Stop(),
    )


def leftovers(bench: SuiteBench) -> list[str]:
    """What containers are still there."""
    return list(bench.engine.leftovers("memory"))


@pytest.mark.parametrize(("items", "concurrency"), [(ONE_OF_EACH, 1), (WORLDS, 3)])
def test_every_policy_of_an_item_of_each_category_earns_what_it_does_in_memory(
    items: tuple[Item, ...], concurrency: int
) -> None:
    """The whole result is equal but for the place, in the bank's order, and nothing is left behind."""
    bench, told = a_bench(), list[str]()
    found = selftest_in_containers(bench, PUBLIC, concurrency=concurrency, tell=told.append, items=items)
    expected = selftest(
        items, PUBLIC.seed, IN_MEMORY, pool=Pool.PUBLIC, seed_fingerprint=seed_fingerprint(PUBLIC.seed)
    )
    assert found == expected.model_copy(update={"place": Place.CONTAINERS})
    assert len(told) == len(items)
    assert leftovers(bench) == []


def test_the_oracles_results_are_the_same() -> None:
    """All 23 references: traces, checks, facts and judgments."""
    bench = a_bench()
    results = oracle_in_containers(bench, PUBLIC, concurrency=1, tell=lambda _: None)
    assert results == oracle_results(bank(), PUBLIC.seed)


@pytest.mark.parametrize(("item_id", "containers"), [("planning-day", 1), ("code-log-report", 3)])
def test_policies_of_an_item_share_the_container_of_its_worlds(item_id: str, containers: int) -> None:
    """Each is as fresh as the first; each run of a program has a container of its own."""
    bench, item = a_bench(), item_named(item_id)
    instance = instance_of(item, PUBLIC.seed)
    with container_helpers(bench, item) as helpers:
        runs = [run_result(item, instance, item.reference(instance), helpers) for _ in range(3)]
    assert runs[0] == runs[1] == runs[2]
    engine = bench.engine
    assert isinstance(engine, InMemoryEngine)
    assert [spec.role for spec in engine.specs].count(Role.AGENT) == containers


def test_a_failure_of_the_engine_ends_the_test_and_leaves_nothing() -> None:
    """It is infrastructure, not a missed policy."""
    bench = a_bench()
    assert isinstance(bench.engine, InMemoryEngine)
    bench.engine.fail_next("put", SandboxLost("gone"))
    with pytest.raises(InfrastructureFailure):
        selftest_in_containers(bench, PUBLIC, concurrency=2, tell=lambda _: None, items=WORLDS)
    assert leftovers(bench) == []


def interrupting(stop: Stop) -> Callable[[str], None]:
    """Wishes for the end as soon as one item is done."""
    return lambda _: stop.wish()


def test_a_wish_to_stop_ends_the_test_in_order() -> None:
    """Containers are gone, and the end is called what it is."""
    bench = a_bench()
    with pytest.raises(Interrupted):
        selftest_in_containers(bench, PUBLIC, concurrency=2, tell=interrupting(bench.stop), items=WORLDS)
    assert leftovers(bench) == []
