"""The self-test through real containers: the same result as in memory."""

from __future__ import annotations

import pytest

from esac_ag.conduct.context import Stop
from esac_ag.conduct.suite_containers import SuiteBench, container_helpers, selftest_in_containers
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.docker import DockerEngine
from esac_ag.suite.bank import bank
from esac_ag.suite.constitution import Category, Pool
from esac_ag.suite.contract import Item
from esac_ag.suite.oracle import IN_MEMORY, run_result
from esac_ag.suite.pools import instance_of, resolve_seed, seed_fingerprint
from esac_ag.suite.selftest import Place, selftest
from tests.builders_docker import REPOSITORY

pytestmark = pytest.mark.docker

PUBLIC = resolve_seed(Pool.PUBLIC, flag=None, environment=None, file=None)
ONE_OF_EACH = tuple(next(item for item in bank() if item.category is category) for category in Category)


@pytest.fixture(scope="module")
def suite_bench(docker_engine: DockerEngine, agent_image: str) -> SuiteBench:
    """The real engine with today's images."""
    return SuiteBench.of(Workspace(REPOSITORY), docker_engine, Stop())


@pytest.mark.parametrize("item", ONE_OF_EACH, ids=lambda item: item.id)
def test_a_reference_leaves_the_same_run_as_in_memory(item: Item, suite_bench: SuiteBench) -> None:
    """Every call with its reply and digests, the final state, hidden tests, checks, facts, judgments."""
    instance = instance_of(item, PUBLIC.seed)
    with container_helpers(suite_bench, item) as helpers:
        ran = run_result(item, instance, item.reference(instance), helpers)
    assert ran == run_result(item, instance, item.reference(instance), IN_MEMORY)


@pytest.mark.slow
def test_every_policy_of_an_item_of_each_category_earns_what_it_does_in_memory(
    suite_bench: SuiteBench,
) -> None:
    """The whole result is equal but for the place, and nothing is left behind."""
    found = selftest_in_containers(suite_bench, PUBLIC, concurrency=2, tell=lambda _: None, items=ONE_OF_EACH)
    fingerprint = seed_fingerprint(PUBLIC.seed)
    expected = selftest(ONE_OF_EACH, PUBLIC.seed, IN_MEMORY, pool=Pool.PUBLIC, seed_fingerprint=fingerprint)
    assert found == expected.model_copy(update={"place": Place.CONTAINERS})
