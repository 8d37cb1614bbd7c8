"""One run of one item: a fresh container, the agent's turn, what it handed in, and its grading.

What is handed in is the trace, and for program items the files, in one archive; grading reads this archive
and nothing else. Checks are pure functions over it; hidden tests run in the grader's container, and the
judge is asked over the network. Neither can be reached from the run's container, which is gone by then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic import ValidationError

from esac_ag import clock
from esac_ag.agents.contract import AgentEnd, Assignment
from esac_ag.agents.item_agent import ItemAgent, ItemEnd
from esac_ag.agents.judge_client import Judge
from esac_ag.agents.world_session import open_world
from esac_ag.archive import folders_of
from esac_ag.artifacts import AttemptFolder, digests
from esac_ag.attempt import GRADED_OUTCOMES, Cell, Grading, GradingStatus, Submission
from esac_ag.canonical import canonical_json
from esac_ag.clock import Seeds
from esac_ag.conduct.context import Site, cell_seeds
from esac_ag.conduct.launch import agent_spec
from esac_ag.conduct.launch_records import archived, assigned, ended_by, written
from esac_ag.conduct.suite_judging import JudgedRun
from esac_ag.conduct.suite_programs import SandboxPrograms, code_results, grade_program, tree_of
from esac_ag.conduct.work import Kept, Launched
from esac_ag.errors import HarnessError, InputRefused
from esac_ag.manifest.plan import AgentKind
from esac_ag.sandbox.contract import OutputSink, Role
from esac_ag.suite.contract import CodeResult, Instance, Item, Json, ToolCall, Trace
from esac_ag.suite.items.code_desk import Desk
from esac_ag.suite.judging import judgment_checks
from esac_ag.suite.plan import SuitePlan
from esac_ag.suite.play import is_program_item, measured
from esac_ag.suite.records import RUN_FILE, ItemGrading, RunRecord
from esac_ag.suite.replication import RunResult
from esac_ag.tree import Directory, FileTree, RegularFile

FILES = b"files"
"""Folder of the archive that holds a program's files."""
GRADER_LOG = "grading/grader.log"
GRADER_LOG_BYTES = 2_000_000


@dataclass(frozen=True, slots=True)
class SuiteContext(Site):
    """One sealed suite run at work."""

    manifest: SuitePlan
    agent: ItemAgent = field(kw_only=True)
    agent_image: str = field(kw_only=True)
    """The engine's id of the sealed agent image."""
    judge: Judge | None = field(kw_only=True)
    """None when no item of the run is judged."""
    graded: Callable[[ItemGrading], None] = field(kw_only=True)
    """Is told every grading, for the tally."""


_Taken = tuple[ItemEnd, RunRecord | None, dict[str, str]]
"""How the agent ended, what is handed in, and a program's files."""


@dataclass(frozen=True, slots=True)
class ItemCell:
    """The work on one run of an item under one arm."""

    suite: SuiteContext
    cell: Cell
    item: Item
    instance: Instance
    instance_sha256: str

    def launch(self, attempt_id: str, ordinal: int) -> Launched:
        """Let the agent take the item in a container of its own; every end is a record.

        Raises:
            SubstitutionRefused: an arm at hand is not the sealed one.
        """
        suite, cell = self.suite, self.cell
        bundles = suite.bundles()
        folder = suite.folder.attempt(attempt_id)
        started_at, started_s = clock.now(), clock.monotonic_s()
        seeds = cell_seeds(suite.manifest.schedule.seed, cell)
        end: AgentEnd
        try:
            with assigned(suite, cell, self.instance.prompt, seeds, bundles, folder, started_s) as assignment:
                end, run, files = self._take(assignment, attempt_id)
        except HarnessError as error:
            end, run, files = ended_by(suite, error), None, {}
        submission, end = self._keep(folder, end, run, files)
        return written(
            suite,
            folder,
            end,
            submission,
            cell=cell,
            attempt_id=attempt_id,
            ordinal=ordinal,
            agent_label=suite.agent.label,
            bundle=bundles[cell.arm],
            started_at=started_at,
        )

    def grade(self, attempt_id: str, kept: Kept) -> tuple[GradingStatus, dict[str, str]]:
        """Grade what was handed in: hidden tests, checks, and where a rubric decides, two judgments.

        Raises:
            InputRefused: the archive is damaged.
            InfrastructureFailure: the grader's container, the engine or the judge failed; try again.
        """
        suite, folder = self.suite, self.suite.folder.attempt(attempt_id)
        tree = folder.read_submission()
        run = run_of(tree, str(folder.path))
        log_name = folder.free_name(GRADER_LOG)
        with folder.stream(log_name, suite.redactor, limit_bytes=GRADER_LOG_BYTES) as log:
            program, code = self._hidden_tests(run, tree, attempt_id, log)
        trace = run.trace.model_copy(update={"code": code})
        judged = JudgedRun(self.item, self.instance, trace, folder, kept, suite.redactor, suite.stop)
        judgments = judged.judgments(suite.judge)
        retries = run.retries + sum(judgment.retries for judgment in judgments)
        grading = ItemGrading(
            attempt_id=attempt_id,
            cell=self.cell,
            agent_kind=suite.manifest.agent.kind,
            manifest_sha256=suite.manifest_sha256,
            instance_sha256=self.instance_sha256,
            submission_tree_sha256=tree.exact_sha256(),
            result=RunResult(
                trace=trace,
                checks=self.item.check(self.instance, trace),
                facts=measured(self.item, self.instance, trace),
                judgments=tuple(
                    judgment_checks(self.item.rubric, judgment.judgment) for judgment in judgments
                ),
            ),
            judgments=judgments,
            program=program,
            retries=retries,
            tokens_estimated=run.tokens_estimated,
        )
        sha256 = folder.write_record("grading/result.json", grading, suite.redactor)
        suite.graded(grading)
        logs = digests(folder, folder.names("grading/*.log"))
        return GradingStatus.GRADED, {"grading/result.json": sha256} | logs

    def _hidden_tests(
        self, run: RunRecord, tree: FileTree, attempt_id: str, log: OutputSink
    ) -> tuple[Grading | None, tuple[CodeResult, ...]]:
        """The grader container's verdicts on the files that were handed in; none where none were."""
        if not run.submitted:
            return None, ()
        suite = self.suite
        # The attempt's id is random, so no submission can know the inputs that are drawn; and it is the same
        # in every grading of the attempt, so that one which is cut off and done again draws the same inputs.
        seed = f"{Seeds(suite.manifest.schedule.seed).number('grading', attempt_id):064x}"
        grading = grade_program(
            suite.engine,
            image=suite.grader_image,
            image_digest=suite.manifest.images.grader.digest,
            limits=suite.manifest.limits.grader,
            item=self.item,
            instance=self.instance,
            files=_files_of(tree),
            attempt_id=attempt_id,
            seed=seed,
            study=suite.manifest.study_id,
            log=log,
        ).model_copy(
            update={"manifest_sha256": suite.manifest_sha256, "agent_kind": suite.manifest.agent.kind}
        )
        return grading, code_results(grading)

    def _take(self, assignment: Assignment, attempt_id: str) -> _Taken:
        """The container's whole life; it is gone, and confirmed gone, when this returns."""
        suite = self.suite
        equipment = suite.agent.equip(assignment.bundle)
        spec = agent_spec(
            image=suite.agent_image,
            limits=suite.manifest.limits,
            study=suite.manifest.study_id,
            attempt=attempt_id,
            role=Role.AGENT,
            environment=equipment.environment,
        )
        if is_program_item(self.instance):
            programs = SandboxPrograms(lambda: suite.stop.sandbox(suite.engine, spec))
            desk = Desk(self.instance.files, programs.run)
            end = suite.agent.take(self.item, self.instance, desk, assignment)
            run = self._run(end, desk.log, desk.snapshot(), submitted=desk.submitted)
            return end, run, desk.files
        with suite.stop.sandbox(suite.engine, spec) as sandbox:
            sandbox.start()
            with open_world(sandbox, self.instance) as session:
                end = suite.agent.take(self.item, self.instance, session, assignment)
        return end, self._run(end, session.log(), session.snapshot(), submitted=False), {}

    def _run(
        self, end: ItemEnd, calls: tuple[ToolCall, ...], state: dict[str, Json], *, submitted: bool
    ) -> RunRecord | None:
        """What is handed in; nothing of a run that is not scored."""
        if end.end is None:
            return None
        return RunRecord(
            item_id=self.item.id,
            trace=Trace(
                calls=calls,
                turns=end.turns,
                final_text=end.final_text,
                final_state=state,
                end=end.end,
                tokens=end.tokens,
            ),
            submitted=submitted,
            retries=end.retries,
            tokens_estimated=self.suite.agent.kind is AgentKind.SCRIPTED,
        )

    def _keep(
        self, folder: AttemptFolder, end: AgentEnd, run: RunRecord | None, files: dict[str, str]
    ) -> tuple[Submission | None, AgentEnd]:
        """Archive what was handed in; nothing of a launch that does not count."""
        if run is None or end.outcome not in GRADED_OUTCOMES:
            return None, end
        clean = self.suite.redactor.text
        before = tree_of(self.instance.files)
        after = tree_of({clean(path): clean(text) for path, text in files.items()})
        files_tree = after.under(FILES)
        # Named folders too: an archive that is read again has them.
        folders = {path: Directory() for path in folders_of(files_tree)}
        # The trace is the host's, and an endpoint may quote a key: nothing of it goes on with a secret in it.
        handed_in = {RUN_FILE.encode(): RegularFile(self.suite.redactor.whole(canonical_json(run)))}
        tree = FileTree(handed_in).merged(folders).merged(files_tree)
        return archived(self.suite, folder, end, tree, patch_of=(before, after))


def _files_of(tree: FileTree) -> dict[str, str]:
    """The program's files of an archive, by their paths in the workspace."""
    prefix = FILES + b"/"
    return {
        path.removeprefix(prefix).decode(): node.data.decode()
        for path, node in tree.files().items()
        if path.startswith(prefix) and isinstance(node, RegularFile)
    }


def run_of(tree: FileTree, where: str) -> RunRecord:
    """The archived run.

    Raises:
        InputRefused: the archive holds none, or a damaged one.
    """
    node = tree.get(RUN_FILE.encode())
    try:
        return RunRecord.model_validate_json(node.data if isinstance(node, RegularFile) else b"")
    except ValidationError as error:
        raise InputRefused(
            "an archived run of an item cannot be read",
            where=where,
            expected=RUN_FILE,
            found=error.errors()[0]["msg"],
            remedy="run `esac-ag audit` to see what else changed; restore the folder from a copy",
        ) from error
