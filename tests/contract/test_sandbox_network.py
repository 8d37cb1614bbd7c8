"""The sandbox contract: a network of one attempt, and the way to a model over it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pydantic import ValidationError

from esac_ag.clock import Deadline
from esac_ag.errors import InfrastructureFailure, UsageError
from esac_ag.manifest.plan import ModelWayKind
from esac_ag.owner import temporary_folder
from esac_ag.sandbox.contract import Role
from esac_ag.sandbox.model_way import ModelWay, model_way, relay_spec
from tests.builders_relay import a_server
from tests.builders_sandbox import run
from tests.contract.conftest import Bench

START_S = 60
OF = {"study": "sandbox-tests", "attempt": "0123456789abcdef"}


def left(bench: Bench) -> list[str]:
    """What exists of the bench's workspace."""
    return list(bench.engine.leftovers(bench.workspace))


@pytest.fixture
def gateway() -> Iterator[socket.socket]:
    """A socket that is listened on, in a private folder."""
    with temporary_folder("tests") as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "gateway"))
        listener.listen()
        listener.settimeout(START_S)
        yield listener


@pytest.fixture(params=ModelWayKind)
def way(request: pytest.FixtureRequest, bench: Bench, gateway: socket.socket) -> Iterator[ModelWay]:
    """A way of each kind."""
    path, until = Path(gateway.getsockname()), Deadline.after_s(START_S)
    with model_way(request.param, path, bench.engine, image=bench.image, deadline=until, **OF) as made:
        yield made


def test_either_way_is_tried_before_the_agent_starts(
    bench: Bench, way: ModelWay, gateway: socket.socket
) -> None:
    """The gateway has seen a connection that says nothing; commands run beside the relay."""
    with bench.engine.create(way.placed(bench.spec())) as sandbox:
        sandbox.start()
        with way.relayed(sandbox, Deadline.after_s(START_S)):
            with gateway.accept()[0] as first:
                assert first.recv(1) == b""
            assert run(sandbox, "echo", "beside").output == b"beside\n"
        assert run(sandbox, "echo", "after").output == b"after\n"


def test_a_network_is_there_for_its_block_and_its_description_tells_whose_it_is(bench: Bench) -> None:
    """It is labelled as everything else is; an interrupted block removes it, too."""
    with (  # noqa: PT012
        pytest.raises(KeyboardInterrupt),
        bench.engine.network(study="my-study", attempt="fedcba98"),
    ):
        (line,) = left(bench)
        assert line.startswith("network ")
        assert line.endswith("(role relay, study my-study, attempt fedcba98)")
        assert bench.engine.studies(bench.workspace) == ("my-study",)
        assert list(bench.engine.leftovers(bench.workspace, "another")) == []
        raise KeyboardInterrupt
    assert left(bench) == []


def test_clean_removes_relay_and_network_together(bench: Bench) -> None:
    """Containers first, or the network could not go; the block's own removal finds nothing to do."""
    with bench.engine.network(**OF) as network:
        with bench.engine.create(relay_spec(bench.image, network=network, **OF)) as relay:
            relay.start()
            assert bench.engine.clean("another-workspace") == ()
            removed = bench.engine.clean(bench.workspace)
            assert [line.split()[0] for line in removed] == ["container", "network"]
            assert left(bench) == []
        assert left(bench) == []


def test_a_network_takes_one_relay_and_one_other_container(bench: Bench) -> None:
    """A second one of either is refused before anything is made; a place that was left can be taken again."""
    with bench.engine.network(**OF) as network:
        relay, agent = relay_spec(bench.image, network=network, **OF), bench.spec(peer_network=network)
        with ExitStack() as members:
            members.enter_context(bench.engine.create(relay))
            members.enter_context(bench.engine.create(agent))
            for spec in (relay, agent):
                with pytest.raises(UsageError) as refusal, bench.engine.create(spec):
                    pass
                assert refusal.value.found == "another container in its place"
        with bench.engine.create(agent) as again:
            again.start()
            assert run(again, "true").exit_code == 0
    assert left(bench) == []


def test_a_network_that_is_gone_or_somebody_elses_cannot_be_joined(bench: Bench) -> None:
    """A name alone opens nothing."""
    with bench.engine.network(**OF) as network:
        pass
    with pytest.raises(UsageError) as refusal, bench.engine.create(bench.spec(peer_network=network)):
        pass
    assert refusal.value.found == "no such network"
    with pytest.raises(ValidationError):
        bench.spec(peer_network="bridge")


def test_a_grader_joins_no_network_and_a_relay_nothing_else(bench: Bench) -> None:
    """Nor does anybody have two ways."""
    name = "esac-ag-net-0123456789abcdef"
    for changes in (
        {"role": Role.GRADER, "peer_network": name},
        {"role": Role.RELAY},
        {"role": Role.RELAY, "peer_network": name, "model_socket": "/run/x"},
        {"peer_network": name, "model_socket": "/run/x"},
    ):
        with pytest.raises(ValidationError):
            bench.spec(**changes)


def test_a_relay_that_is_lost_meanwhile_is_the_machines_fault(bench: Bench) -> None:
    """The agent's own work may be through, and is not to be trusted."""
    with a_server() as (path, _):
        until = Deadline.after_s(START_S)
        with (
            model_way(
                ModelWayKind.NETWORK, path, bench.engine, image=bench.image, deadline=until, **OF
            ) as way,
            bench.engine.create(way.placed(bench.spec())) as sandbox,
        ):
            sandbox.start()
            with pytest.raises(InfrastructureFailure), way.relayed(sandbox, until):
                bench.engine.clean(bench.workspace)
    assert left(bench) == []


def test_a_missing_gateway_is_told_before_anything_is_made(bench: Bench, tmp_path: Path) -> None:
    """As with a mounted socket."""
    for kind in ModelWayKind:
        with (
            pytest.raises(UsageError),
            model_way(
                kind,
                tmp_path / "none",
                bench.engine,
                image=bench.image,
                deadline=Deadline.after_s(START_S),
                **OF,
            ),
        ):
            pass
    assert left(bench) == []
