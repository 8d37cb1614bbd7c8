"""Fixtures of the tests on the real engine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from esac_ag.sandbox.contract import Sandbox
from esac_ag.sandbox.docker import DockerEngine
from tests.builders_sandbox import a_spec

MakeSandbox = Callable[..., AbstractContextManager[Sandbox]]


@pytest.fixture
def make_sandbox(docker_engine: DockerEngine, agent_image: str) -> MakeSandbox:
    """Makes a sandbox of the agent image; arguments change the builder's spec."""

    def make(**changes: object) -> AbstractContextManager[Sandbox]:
        return docker_engine.create(a_spec(agent_image, **changes))

    return make
