"""What every step of the work on a sealed plan has at hand, and the wish to end it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from esac_ag.agents.contract import Agent, ArmBundle
from esac_ag.artifacts import StudyFolder
from esac_ag.artifacts.redaction import Redactor
from esac_ag.attempt import Cell
from esac_ag.clock import Seeds
from esac_ag.errors import HarnessError, Interrupted
from esac_ag.manifest.plan import Manifest, Plan
from esac_ag.rooms.bundles import load_arm
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.contract import Engine, Sandbox, SandboxSpec

BY_A_PERSON = "stopped by a person"


class Stop:
    """A wish to end: running containers are taken away, and what ran in them counts as cancelled."""

    def __init__(self) -> None:
        self._wished = threading.Event()
        self._mutex = threading.Lock()
        self._running: set[Sandbox] = set()
        self.why = BY_A_PERSON
        """Why the work ends, once it does; for records."""

    @property
    def wished(self) -> bool:
        """Whether somebody wants the work to end."""
        return self._wished.is_set()

    def wish(self, why: str = BY_A_PERSON) -> None:
        """Ask all work to end; safe to call from a signal handler's thread, more than once.

        Args:
            why: for records; the first reason stays.
        """
        if not self.wished:
            self.why = why
        self._wished.set()
        with self._mutex:
            running = tuple(self._running)
        for sandbox in running:
            # Its worker may be removing it at this moment; whatever stays is removed by the next command.
            with suppress(HarnessError):
                sandbox.remove()

    def wait_s(self, duration_s: float) -> None:
        """Sleep, but not beyond the wish to end."""
        self._wished.wait(duration_s)

    def _refuse_if_wished(self) -> None:
        if self.wished:
            raise Interrupted("the study is ending", remedy="run the same command to go on")

    @contextmanager
    def sandbox(self, engine: Engine, spec: SandboxSpec) -> Iterator[Sandbox]:
        """A container that is taken away when the end is wished for.

        Raises:
            Interrupted: the end was wished for already.
        """
        self._refuse_if_wished()
        with engine.create(spec) as sandbox:
            with self._mutex:
                self._running.add(sandbox)
            try:
                # The wish may have come while the container was being made, and not have seen it.
                self._refuse_if_wished()
                yield sandbox
            finally:
                with self._mutex:
                    self._running.discard(sandbox)


@dataclass(frozen=True, slots=True)
class Site:
    """Where the work on a sealed plan happens, whatever the plan measures."""

    manifest: Plan
    manifest_sha256: str
    manifest_folder: Path
    """Where the sealed manifest lies: its paths are relative to this folder."""
    workspace: Workspace
    folder: StudyFolder
    engine: Engine
    grader_image: str
    """The engine's id of the sealed grader image: a tag may be moved, an id cannot."""
    redactor: Redactor = field(default_factory=Redactor)
    stop: Stop = field(default_factory=Stop)

    def bundles(self) -> dict[str, ArmBundle | None]:
        """The verified bytes of every arm, read now; none for the control.

        Raises:
            SubstitutionRefused: some are not the sealed ones.
        """
        return bundles_of(self.manifest, self.manifest_folder)


@dataclass(frozen=True, slots=True)
class Bench(Site):
    """What grading the attempts of a study works with; no agent is needed for it."""

    manifest: Manifest


@dataclass(frozen=True, slots=True)
class StudyContext(Bench):
    """One sealed study at work."""

    agent: Agent = field(kw_only=True)
    agent_image: str = field(kw_only=True)
    """The engine's id of the sealed agent image."""


def cell_seeds(schedule_seed: str, cell: Cell) -> Seeds:
    """Random streams of a cell: the same in every launch of it."""
    return Seeds(f"{schedule_seed}/{cell.task}/{cell.arm}/{cell.repetition}")


def bundles_of(manifest: Plan, folder: Path) -> dict[str, ArmBundle | None]:
    """The verified bytes of every arm of a manifest in a folder; none for the control.

    Raises:
        SubstitutionRefused: some are not the sealed ones.
    """
    return {
        arm.id: None
        if arm.bundle is None
        else ArmBundle(arm.id, arm.kind.value, load_arm(folder, arm), arm.install.mention_in_instructions)
        for arm in manifest.arms
    }
