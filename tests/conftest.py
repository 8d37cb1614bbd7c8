"""Fixtures of all tests: the real engine, the image that agents run in, a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from esac_ag.clock import opaque_id
from esac_ag.errors import EngineUnavailable
from esac_ag.sandbox.docker import DockerEngine, ImageStore, connect
from esac_ag.sandbox.image_definition import ImageKind
from esac_ag.sandbox.images import build_images
from tests.builders_browser import running_browser

RUNNER = Path(__file__).resolve().parent.parent / "runner"


@pytest.fixture(scope="session")
def docker_workspace() -> str:
    """The label of all that this test session makes."""
    return f"tests-{opaque_id()}"


@pytest.fixture(scope="session")
def docker_engine(docker_workspace: str) -> Iterator[DockerEngine]:
    """The real engine; a missing one is a failure. Nothing may be left behind at the end."""
    try:
        client = connect()
    except EngineUnavailable as error:
        pytest.fail(f"Docker tests need an engine, and none answers: {error}")
    engine = DockerEngine(docker_workspace, client=client)
    yield engine
    left = engine.clean(docker_workspace)
    engine.close()
    assert left == ()


@pytest.fixture(scope="session")
def agent_image(docker_engine: DockerEngine) -> str:
    """Reference of the agent image that today's `runner/` calls for, built if it is missing."""
    store = ImageStore()
    try:
        report = build_images(store, docker_engine, RUNNER, progress=lambda _: None)
    finally:
        store.close()
    return report.of(ImageKind.AGENT).reference


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The installed browser, for the tests of one module; a missing one is a failure.

    Not for the session: while it runs, its thread refuses `asyncio.run`, which tests of other modules call.
    """
    with running_browser() as running:
        yield running
