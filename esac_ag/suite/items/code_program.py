"""Items whose work is a program: what is common to the categories code and recovery."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from esac_ag.clock import Seeds
from esac_ag.suite.constitution import PUBLIC_SEED, Category
from esac_ag.suite.contract import (
    AgentView,
    CheckResult,
    Efficiency,
    Envelope,
    HiddenTest,
    Instance,
    Json,
    Policy,
    RubricCriterion,
    Shortcut,
    Trace,
)
from esac_ag.suite.items.code_tools import CODE_TOOLS
from esac_ag.suite.items.state_basics import REHEARSAL_SEED
from esac_ag.suite.pools import instance_of

Files = Mapping[str, str]

CODE_EFFICIENCY: Final = Efficiency(
    actions=Envelope(levels=(4, 7, 10, 12, 14)),
    tokens=Envelope(levels=(16_000, 26_000, 40_000, 60_000, 90_000)),
)
"""Level 6: read the examples, write, run once, hand in. Another version costs a write, a run, and that it
overwrites the one before."""
RECOVERY_EFFICIENCY: Final = Efficiency(
    actions=Envelope(levels=(7, 10, 13, 15, 17)),
    tokens=Envelope(levels=(20_000, 32_000, 48_000, 70_000, 100_000)),
)
"""Level 6: read the trace, the script and what it failed on, write, run once, hand in."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a family draws for one seed."""

    prompt: str
    files: Files
    rules: Mapping[str, Json]
    hidden_tests: tuple[HiddenTest, ...]


@dataclass(frozen=True, slots=True)
class WrongProgram:
    """A tempting wrong submission and the item fraction that it gets at most."""

    name: str
    files: Callable[[Instance], Files]
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramItem:
    """An item that is solved by writing a program; hidden tests decide."""

    id: str
    category: Category
    title: str
    measures: str
    assign: Callable[[Seeds], Assignment]
    solution: Callable[[Instance], Files]
    """Files of a right submission."""
    wrong: tuple[WrongProgram, ...]
    reads: tuple[str, ...]
    """Files that the reference policy reads first."""
    program: str
    """The program's path."""
    trial: Callable[[Instance], str]
    """What the reference policy runs its program on."""
    efficiency: Efficiency | None
    weight: float = 1.0
    turns: int = 12
    output_tokens: int = 8_000
    rubric: tuple[RubricCriterion, ...] = field(default=())

    def generate(self, seeds: Seeds) -> Instance:
        """The instance of a seed."""
        drawn = self.assign(seeds)
        return Instance(
            item_id=self.id,
            prompt=drawn.prompt,
            tools=CODE_TOOLS,
            initial_state={"files": {**dict(sorted(drawn.files.items()))}, "submitted": False},
            secret=drawn.rules,
            files=drawn.files,
            hidden_tests=drawn.hidden_tests,
        )

    def check(self, instance: Instance, trace: Trace) -> tuple[CheckResult, ...]:
        """One check per hidden test; without a submission none is passed."""
        handed_in = any(call.tool == "submit" and call.ok for call in trace.calls)
        results = {result.test_id: result for result in trace.code}
        checks = []
        for test in instance.hidden_tests:
            result = results.get(test.id)
            passed = handed_in and result is not None and result.passed
            if not handed_in:
                why = "nothing was handed in"
            elif result is None:
                why = "the test was not run"
            else:
                why = "passed" if passed else f"failed: {result.detail}"
            checks.append(CheckResult(id=test.id, weight=test.weight, fraction=float(passed), why=why))
        return tuple(checks)

    def goal_reached(self, instance: Instance, state: Mapping[str, Json]) -> bool:  # noqa: ARG002 the protocol
        """Never: whether a program is right is known only after the run."""
        return False

    def reference(self, instance: Instance) -> Policy:
        """Read what is there, write the program, try it once, hand it in."""
        return self._submitting(instance, self.solution(instance), reads=self.reads)

    def shortcuts(self) -> tuple[Shortcut, ...]:
        """Nothing at all, reading on and on, handing in what was there, and the family's own."""
        return (
            Shortcut("null", lambda _: _say_nothing, 0.0),
            Shortcut("refuse", lambda _: _refuse, 0.0),
            Shortcut("explore-everything", self._explorer, 0.0),
            Shortcut("unchanged", self._policy_of(lambda _: {}), 0.0),
            Shortcut("public-example", self._policy_of(self._remembered), 0.3),
            *(Shortcut(wrong.name, self._policy_of(wrong.files), wrong.most) for wrong in self.wrong),
        )

    def _explorer(self, instance: Instance) -> Policy:
        """Looks at every file there is, and only then does what the reference does."""
        everything = tuple(sorted(instance.files))
        return self._submitting(instance, self.solution(instance), reads=everything)

    def _remembered(self, instance: Instance) -> Files:
        """What is right for the public instance."""
        known = instance_of(self, PUBLIC_SEED)
        if known.files == instance.files:
            # Under the public seed the same habit is tried with another instance.
            known = instance_of(self, REHEARSAL_SEED)
        return self.solution(known)

    def _policy_of(self, files: Callable[[Instance], Files]) -> Callable[[Instance], Policy]:
        return lambda instance: self._submitting(instance, files(instance), reads=())

    def _submitting(self, instance: Instance, files: Files, *, reads: Sequence[str]) -> Policy:
        def policy(view: AgentView) -> str:
            for path in reads:
                view.call("read_file", path=path)
            for path, text in files.items():
                view.call("write_file", path=path, content=text)
            if reads:
                view.call("run_python", path=self.program, stdin=self.trial(instance))
            view.call("submit", summary=f"{self.program} is written and was tried on the given input.")
            return f"{self.program} is handed in."

        return policy


def _say_nothing(_: AgentView) -> str:
    return ""


def _refuse(_: AgentView) -> str:
    return "I am sorry, I cannot help with that."
