"""The world in a container, seen from the host: the same run as in memory, and nothing taken on trust."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from esac_ag.agents.contract import AGENT_ROOT
from esac_ag.agents.world_session import SERVER_ARGV, WORLD_FOLDER, WorldSession, open_world
from esac_ag.archive import TreeLimits
from esac_ag.errors import InfrastructureFailure
from esac_ag.sandbox.contract import Sandbox
from esac_ag.suite.bank import item_named
from esac_ag.suite.constitution import PUBLIC_SEED
from esac_ag.suite.contract import Json
from esac_ag.suite.play import play, world_of
from esac_ag.suite.pools import instance_of
from tests.builders_sandbox import a_memory_volume
from tests.contract.conftest import Bench

ITEM = item_named("state-stock-count")
INSTANCE = instance_of(ITEM, PUBLIC_SEED)
MALFORMED: tuple[Json, ...] = (
    None,
    "{broken",
    7,
    [],
    {"sku": 7},
    {"sku": "\ud800"},
    {"sku": float("inf")},
    {"more": {}},
)


@contextmanager
def a_container(bench: Bench) -> Iterator[Sandbox]:
    """A running container with the agent's volume."""
    with bench.engine.create(bench.spec(volumes=(a_memory_volume(AGENT_ROOT),))) as sandbox:
        sandbox.start()
        yield sandbox


@contextmanager
def a_world(bench: Bench) -> Iterator[WorldSession]:
    """The instance's world in a container of its own."""
    with a_container(bench) as sandbox, open_world(sandbox, INSTANCE) as world:
        yield world


def test_the_reference_plays_the_same_run_in_a_container(bench: Bench) -> None:
    """Replies, log and final state are those of the world in memory."""
    trace = play(ITEM, INSTANCE, ITEM.reference(INSTANCE))
    with a_world(bench) as world:
        replies = [world.call(call.tool, call.arguments) for call in trace.calls]
        assert replies == [call.reply for call in trace.calls]
        assert world.log() == trace.calls
        assert world.snapshot() == trace.final_state


def test_malformed_calls_reach_the_world_as_they_are(bench: Bench) -> None:
    """Text that is no JSON, text that is no Unicode, and tools that are not there."""
    here = world_of(INSTANCE)
    with a_world(bench) as world:
        for arguments in MALFORMED:
            replies = [world.call(tool, arguments) for tool in ("inventory_get", "no_such_tool")]
            expected = [here.call(tool, arguments).text for tool in ("inventory_get", "no_such_tool")]
            assert replies == expected
        assert [call.model_dump() for call in world.log()] == here.log


def test_arguments_beyond_all_measure_are_refused_and_are_no_failure(bench: Bench) -> None:
    """Whatever a model writes is its own doing: deeper than an encoder goes, longer than a line may be."""
    deep: list[Json] = []
    for _ in range(100_000):
        deep = [deep]
    with a_world(bench) as world:
        world.call("inventory_get", {"sku": deep})
        world.call("inventory_get", {"sku": ["x" * 1000] * 20_000})
        assert [call.error for call in world.log()] == ["too-large", "invalid-arguments"]
    while deep:  # an interpreter may not be able to forget it in one go
        deep = deep[0]  # type: ignore[assignment]


def test_the_container_holds_the_public_part_and_the_log(bench: Bench) -> None:
    """Nothing of the secret: the server's folder has the initial state, the tools, and what was called."""
    with a_container(bench) as sandbox:
        with open_world(sandbox, INSTANCE) as world:
            world.call("inventory_get", "{broken")
        sandbox.freeze()
        files = sandbox.get(WORLD_FOLDER, TreeLimits(max_members=9, max_bytes=1_000_000)).tree.files()
    assert set(files) == {b"instance.json", b"log.jsonl"}
    assert files[b"log.jsonl"].data.count(b"\n") == 1
    assert b'"{broken"' in files[b"log.jsonl"].data
    assert b"secret" not in files[b"instance.json"].data


def test_a_second_world_in_one_container_is_refused(bench: Bench) -> None:
    """A world that could be started anew would have its calls undone."""
    with a_container(bench) as sandbox:
        with open_world(sandbox, INSTANCE) as world:
            world.call("inventory_get", {})
        with pytest.raises(InfrastructureFailure), open_world(sandbox, INSTANCE):
            pass


def test_the_server_s_program_is_where_the_image_holds_it() -> None:
    """The path is written down twice: here and in the image's definition."""
    from esac_ag.sandbox.image_definition import GUEST_FOLDERS, ImageKind  # noqa: PLC0415

    assert SERVER_ARGV[2] == f"/{GUEST_FOLDERS[ImageKind.AGENT]}/world_server.py"
