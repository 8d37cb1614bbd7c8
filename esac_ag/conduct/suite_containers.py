"""The suite's own policies played as a model would be: through real containers.

Worlds and programs are in containers of the agent image, hidden tests in containers of the grader image. The
policies of one item share a container, one after the other; each gets a fresh world, and each program a fresh
copy of its files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Final, TypeVar

from esac_ag.agents.world_session import ANSWER_S, WORLD_FOLDER, open_world
from esac_ag.clock import Deadline, opaque_id
from esac_ag.conduct.context import Stop
from esac_ag.conduct.launch import agent_spec
from esac_ag.conduct.suite_programs import GRADER_LIMITS, SandboxPrograms, code_results, grade_program
from esac_ag.errors import HarnessError, InfrastructureFailure, Interrupted
from esac_ag.manifest.plan import GraderLimits, Limits
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.contract import Engine, Role, Sandbox, Termination
from esac_ag.sandbox.images import agent_reference, grader_reference
from esac_ag.suite.bank import bank
from esac_ag.suite.constitution import Category
from esac_ag.suite.contract import CodeResult, Instance, Item
from esac_ag.suite.oracle import RULES, Helpers, oracle_result
from esac_ag.suite.own_programs import GRADING_SEED
from esac_ag.suite.play import PlayedWorld, Programs
from esac_ag.suite.pools import DatasetSeed, instance_of, seed_fingerprint
from esac_ag.suite.replication import ItemResult
from esac_ag.suite.selftest import ItemSelftest, Place, SuiteSelftest, item_selftest, whole_selftest

STUDY: Final = "suite-selftest"

Tell = Callable[[str], None]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class SuiteBench:
    """What the suite's policies are played on."""

    engine: Engine
    agent_image: str
    grader_image: str
    grader_digest: str
    limits: Limits = field(default_factory=Limits)
    grader_limits: GraderLimits = GRADER_LIMITS
    stop: Stop = field(default_factory=Stop)

    @classmethod
    def of(cls, workspace: Workspace, engine: Engine, stop: Stop) -> SuiteBench:
        """The bench with the images that a workspace calls for.

        Raises:
            EngineUnavailable: no engine answers.
            ImageMissing: they have not been built.
        """
        agent, grader = agent_reference(workspace.runner), grader_reference(workspace.runner)
        return cls(
            engine=engine,
            agent_image=engine.image_id(agent),
            grader_image=engine.image_id(grader),
            grader_digest=engine.image_digest(grader),
            stop=stop,
        )

    def agent_container(self, attempt: str) -> AbstractContextManager[Sandbox]:
        """A container of the agent image, not yet started."""
        spec = agent_spec(
            image=self.agent_image,
            limits=self.limits,
            study=STUDY,
            attempt=attempt,
            role=Role.AGENT,
            environment=(),
        )
        return self.stop.sandbox(self.engine, spec)


def selftest_in_containers(
    bench: SuiteBench, dataset: DatasetSeed, *, concurrency: int, tell: Tell, items: Sequence[Item] = ()
) -> SuiteSelftest:
    """Play all policies on all items, or on some.

    Args:
        bench: where.
        dataset: pool and seed.
        concurrency: how many items at the same time.
        tell: gets a line for each item that is done.
        items: by default the whole bank.

    Raises:
        InfrastructureFailure: the engine or a container failed.
        Interrupted: somebody wished to stop.
    """

    def tested(item: Item) -> ItemSelftest:
        with container_helpers(bench, item) as helpers:
            return item_selftest(item, instance_of(item, dataset.seed), helpers)

    done = _each(bench, items or bank(), tested, concurrency, tell)
    fingerprint = seed_fingerprint(dataset.seed)
    return whole_selftest(done, Place.CONTAINERS, pool=dataset.pool, seed_fingerprint=fingerprint)


def oracle_in_containers(
    bench: SuiteBench, dataset: DatasetSeed, *, concurrency: int, tell: Tell
) -> tuple[ItemResult, ...]:
    """Results of all reference policies, by the replication protocol.

    Raises:
        InfrastructureFailure, Interrupted: as `selftest_in_containers`.
    """

    def measured(item: Item) -> ItemResult | None:
        with container_helpers(bench, item) as helpers:
            return oracle_result(item, instance_of(item, dataset.seed), helpers)

    done = _each(bench, bank(), measured, concurrency, tell)
    return tuple(result for result in done if result is not None)


@contextmanager
def container_helpers(bench: SuiteBench, item: Item) -> Iterator[Helpers]:
    """Helpers for one item, used by one thread; containers are made when they are first needed."""
    attempt = f"{item.id}-{opaque_id()}"

    def containers() -> AbstractContextManager[Sandbox]:
        return bench.agent_container(attempt)

    programs = SandboxPrograms(containers)
    with ExitStack() as stack:
        worlds = _ContainerWorlds(containers, stack)

        def grade(instance: Instance, files: Mapping[str, str]) -> tuple[CodeResult, ...]:
            return _graded(bench, item, instance, files, attempt)

        yield Helpers(programs=Programs(run=programs.run, grade=grade), judge=RULES, worlds=worlds.fresh)


def _graded(
    bench: SuiteBench, item: Item, instance: Instance, files: Mapping[str, str], attempt: str
) -> tuple[CodeResult, ...]:
    if bench.stop.wished:
        raise Interrupted("the self-test is ending")
    grading = grade_program(
        bench.engine,
        image=bench.grader_image,
        image_digest=bench.grader_digest,
        limits=bench.grader_limits,
        item=item,
        instance=instance,
        files=files,
        attempt_id=attempt,
        seed=GRADING_SEED,
        study=STUDY,
        log=lambda _: None,
    )
    return code_results(grading)


class _ContainerWorlds:
    """Worlds one after the other in one container, which lives as long as the stack."""

    def __init__(self, containers: Callable[[], AbstractContextManager[Sandbox]], stack: ExitStack) -> None:
        self._containers = containers
        self._stack = stack
        self._sandbox: Sandbox | None = None

    @contextmanager
    def fresh(self, instance: Instance) -> Iterator[PlayedWorld]:
        """A fresh world of an instance."""
        if self._sandbox is None:
            self._sandbox = self._stack.enter_context(self._containers())
            self._sandbox.start()
        else:
            _clear(self._sandbox)
        with open_world(self._sandbox, instance) as session:
            yield session


def _clear(sandbox: Sandbox) -> None:
    """Remove what the last world's server was given and wrote."""
    done = sandbox.execute(
        ["rm", "-rf", WORLD_FOLDER],
        deadline=Deadline.after_s(ANSWER_S),
        output_bytes=1000,
        working_dir="/",
    )
    if done.termination is not Termination.EXITED or done.exit_code != 0:
        raise InfrastructureFailure(
            "A container cannot be used again.",
            where=WORLD_FOLDER,
            found=f"{done.termination}, exit code {done.exit_code}: {done.output!r}",
        )


def _each(
    bench: SuiteBench, items: Sequence[Item], work: Callable[[Item], Result], concurrency: int, tell: Tell
) -> list[Result]:
    """Work on all items, several at the same time and the costliest first; results in the items' order."""
    with ThreadPoolExecutor(max_workers=concurrency) as pool:
        started = {pool.submit(work, item): item for item in sorted(items, key=_is_cheap)}
        try:
            for number, future in enumerate(as_completed(started), start=1):
                future.result()
                tell(f"{number}/{len(items)} {started[future].id}")
        except HarnessError as error:
            # The other containers need not be waited for.
            pool.shutdown(wait=False, cancel_futures=True)
            stopped = bench.stop.wished
            bench.stop.wish()
            if stopped:
                raise Interrupted("the self-test was stopped", remedy="run the same command again") from error
            raise
    results = {item.id: future.result() for future, item in started.items()}
    return [results[item.id] for item in items]


def _is_cheap(item: Item) -> bool:
    return item.category not in (Category.CODE, Category.RECOVERY)
