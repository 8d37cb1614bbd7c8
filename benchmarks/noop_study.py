"""A study whose scripted agent does nothing, and what a bare script needs to make the same two containers."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import JsonValue

from esac_ag import clock
from esac_ag.archive import pack
from esac_ag.attempt import Cell
from esac_ag.attempt.events import AttemptEnded, AttemptGraded, AttemptStarted
from esac_ag.conduct.context import StudyContext
from esac_ag.conduct.judging import judge
from esac_ag.conduct.launch import agent_spec, launch
from esac_ag.grading.assembly import grader_contents, judged_tree
from esac_ag.grading.container import GRADER_GID, GRADER_UID, grader_spec
from esac_ag.ledger import open_ledger
from esac_ag.rooms.graders import load_grader
from esac_ag.rooms.tasks import load_sealed_task
from esac_ag.sandbox.contract import Role
from esac_ag.sandbox.options import container_request
from tests.builders_docker import a_docker_study, an_engine_for, opened_in_docker

NO_OP = {"format_version": 1, "tasks": {"*": {"plays": {"nothing": [{"do": "no-op"}]}}}}


class NoOpStudy:
    """Whole runs without an agent's work: what remains is the harness and the containers."""

    def __init__(self, folder: Path) -> None:
        """Lay the study out in an empty folder and open it."""
        a_docker_study(folder, book=NO_OP)
        self._engine = an_engine_for(folder)
        self._opened = opened_in_docker(folder, self._engine)
        site = self._opened.site
        assert isinstance(site, StudyContext)
        self._context = site
        self._reference = self._context.manifest.tasks[0]
        self._opening = open_ledger(self._context.folder.ledger)
        self._ledger = self._opening.__enter__()

    def __enter__(self) -> Self:
        """Ready to run."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the ledger and remove what is left."""
        self._opening.__exit__(kind, error, trace)
        self._engine.clean(self._label())
        self._engine.close()

    def _label(self) -> str:
        return self._context.workspace.label

    def cells(self, count: int, start: int = 0) -> list[Cell]:
        """As many cells, none of them twice."""
        return [Cell(task=self._reference.id, arm="careful", repetition=start + n + 1) for n in range(count)]

    def run(self, cell: Cell) -> None:
        """One whole run, as a session makes it."""
        attempt_id = clock.opaque_id()
        task = load_sealed_task(self._context.manifest_folder, self._reference)
        self._ledger.append(AttemptStarted(attempt_id=attempt_id, cell=cell, ordinal=1))
        launched = launch(self._context, task, cell, attempt_id, 1)
        self._ledger.append(
            AttemptEnded(
                attempt_id=attempt_id,
                outcome=launched.record.outcome,
                reason=launched.record.reason,
                artifacts=launched.artifacts,
            )
        )
        grading, artifacts = judge(self._context, self._reference, task, attempt_id)
        self._ledger.append(AttemptGraded(attempt_id=attempt_id, status=grading.status, artifacts=artifacts))
        if not grading.checks:
            raise RuntimeError(f"the judge did not judge: {grading.invalid_reason}")

    def container_requests(self) -> dict[str, dict[str, JsonValue]]:
        """The engine's requests for both containers, hardening and limits included."""
        limits = self._context.manifest.limits
        agent = agent_spec(
            image=self._context.agent_image,
            limits=limits,
            study="bare",
            attempt="bare",
            role=Role.AGENT,
            environment=(),
        )
        grader = grader_spec(
            image=self._context.grader_image, limits=limits.grader, study="bare", attempt="bare"
        )
        return {
            "agent": container_request(agent, self._label(), "bare-agent", None),
            "grader": container_request(grader, self._label(), "bare-grader", None),
        }

    def agent_files(self) -> dict[str, bytes]:
        """What a script would put into the agent's volume."""
        task = load_sealed_task(self._context.manifest_folder, self._reference)
        files = {f"workspace/{path.decode()}": node.data for path, node in task.snapshot.files().items()}
        bundle = self._context.bundles()["careful"]
        home = self._context.agent.equip(bundle).home.files()
        return files | {f"home/{path.decode()}": node.data for path, node in home.items()}

    def grader_archive(self) -> bytes:
        """What a script would put into the grader's volume."""
        task = load_sealed_task(self._context.manifest_folder, self._reference)
        grader = load_grader(self._context.workspace, self._reference.id)
        contents = grader_contents(
            grader.package,
            grader.files,
            judged_tree(task.snapshot, task.snapshot, ()),
            task.snapshot,
            seed="0",
            limits=self._context.manifest.limits.grader,
        )
        return pack(contents, uid=GRADER_UID, gid=GRADER_GID, root_mode=0o700)
