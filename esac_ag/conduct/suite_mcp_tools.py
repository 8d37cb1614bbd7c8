"""Where an item's own tools are carried out for an MCP client: in its world, or at the desk of its programs.

Containers are those of a run: the client's programs and world in the agent's, hidden tests in the grader's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from esac_ag.agents.world_session import WorldSession, open_world
from esac_ag.attempt import Grading
from esac_ag.clock import opaque_id, secret_text
from esac_ag.conduct.context import Stop
from esac_ag.conduct.launch import agent_spec
from esac_ag.conduct.suite_programs import GRADER_LIMITS, SandboxPrograms, grade_program
from esac_ag.manifest.plan import Limits
from esac_ag.sandbox.contract import Engine, Role, Sandbox
from esac_ag.suite.contract import Instance, Item, Json, ToolCall
from esac_ag.suite.items.code_desk import Desk
from esac_ag.suite.play import is_program_item

STUDY: Final = "suite-mcp"
"""What containers are labelled with, beside the workspace."""


@dataclass(frozen=True, slots=True)
class McpBench:
    """What items are served from."""

    engine: Engine
    agent_image: str
    """Reference."""
    grader_image: str
    """Reference; needed for items with programs only."""
    stop: Stop
    """Taken by whoever ends the process."""


class ItemTools(Protocol):
    """Where an item's own tools are carried out."""

    def call(self, tool: str, arguments: Json) -> str:
        """The reply; malformed calls are answered too."""

    def log(self) -> tuple[ToolCall, ...]:
        """All calls so far."""

    def snapshot(self) -> dict[str, Json]:
        """The state after them."""

    def grading(self) -> Grading | None:
        """The hidden tests' verdicts on what was handed in; none where nothing was."""


@contextmanager
def item_tools(bench: McpBench, item: Item, instance: Instance) -> Iterator[ItemTools]:
    """The tools of one run; leaving the block removes the containers.

    Raises:
        ImageMissing: the images have not been built.
        InfrastructureFailure: the engine, a container or the mock environment failed.
    """
    attempt = opaque_id()
    spec = agent_spec(
        image=bench.engine.image_id(bench.agent_image),
        limits=Limits(),
        study=STUDY,
        attempt=attempt,
        role=Role.AGENT,
        environment=(),
    )

    def container() -> AbstractContextManager[Sandbox]:
        return bench.stop.sandbox(bench.engine, spec)

    if is_program_item(instance):
        with _program_tools(bench, item, instance, container, attempt) as programs:
            yield programs
    else:
        with container() as sandbox:
            sandbox.start()
            with open_world(sandbox, instance) as session:
                yield WorldTools(session)


@contextmanager
def _program_tools(
    bench: McpBench,
    item: Item,
    instance: Instance,
    container: Callable[[], AbstractContextManager[Sandbox]],
    attempt: str,
) -> Iterator[ProgramTools]:
    # Looked up now: a client is not to work for nothing.
    image, digest = bench.engine.image_id(bench.grader_image), bench.engine.image_digest(bench.grader_image)
    programs = SandboxPrograms(container)

    def grade(files: Mapping[str, str]) -> Grading:
        return grade_program(
            bench.engine,
            image=image,
            image_digest=digest,
            limits=GRADER_LIMITS,
            item=item,
            instance=instance,
            files=files,
            attempt_id=attempt,
            seed=secret_text(),
            study=STUDY,
            log=lambda _: None,
        )

    yield ProgramTools(Desk(instance.files, programs.run), grade)


@dataclass(frozen=True, slots=True)
class WorldTools:
    """The world in a container; nothing is handed in to it."""

    session: WorldSession

    def call(self, tool: str, arguments: Json) -> str:
        """The verified reply."""
        return self.session.call(tool, arguments)

    def log(self) -> tuple[ToolCall, ...]:
        """All verified calls."""
        return self.session.log()

    def snapshot(self) -> dict[str, Json]:
        """The state after them."""
        return self.session.snapshot()

    def grading(self) -> None:
        """None."""


class ProgramTools:
    """The desk of an item's programs; what is handed in is graded before `submit` is answered.

    A client waits for this reply. Once it is gone, it may leave no time: the official client, for one, ends
    its server two seconds after it has closed the connection.
    """

    def __init__(self, desk: Desk, grade: Callable[[Mapping[str, str]], Grading]) -> None:
        self._desk = desk
        self._grade = grade
        self._grading: Grading | None = None

    def call(self, tool: str, arguments: Json) -> str:
        """The desk's reply."""
        reply = self._desk.call(tool, arguments)
        if self._desk.submitted and self._grading is None:
            self._grading = self._grade(self._desk.files)
        return reply

    def log(self) -> tuple[ToolCall, ...]:
        """All calls."""
        return self._desk.log

    def snapshot(self) -> dict[str, Json]:
        """The workspace, and whether it was handed in."""
        return self._desk.snapshot()

    def grading(self) -> Grading | None:
        """The verdicts on the workspace that was handed in."""
        return self._grading
