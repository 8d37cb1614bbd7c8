"""One item of the suite for any MCP client: the item's tools, and two more for what a chat does by text.

The client is whoever acts; it may be an agent that knows nothing of this suite. What it does is checked as in
a run, but nothing was sealed, and what else the client could see is unknown: it is no official score.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from esac_ag import __version__
from esac_ag.attempt import Grading
from esac_ag.conduct.suite_mcp_tools import ItemTools, McpBench, item_tools
from esac_ag.conduct.suite_programs import code_results
from esac_ag.errors import InputRefused
from esac_ag.record import Record, Sha256
from esac_ag.rooms.heldout import write_private
from esac_ag.suite.constitution import VERSION, Pool
from esac_ag.suite.contract import (
    CheckResult,
    Fraction,
    Instance,
    Item,
    Json,
    RunEnd,
    ToolSchema,
    Trace,
)
from esac_ag.suite.play import OutOfTurnsError, View
from esac_ag.suite.pools import DatasetSeed, instance_of, seed_fingerprint
from esac_ag.suite.scoring import item_fraction
from esac_ag.suite.world.arguments import checked, readable_name
from esac_ag.suite.world.refusal import Refused
from esac_ag.suite.world.schema import text, tool

UNOFFICIAL: Final = "taken outside of a sealed run: no official score"
MOST_ANSWER: Final = 100_000
"""Characters of a question or a final answer."""

FINAL_ANSWER: Final = ToolSchema.model_validate(
    tool(
        "final_answer",
        "Give the user your final answer, and end the task with it.",
        {"text": text("The whole answer.", most=MOST_ANSWER, least=0)},
    )[1]
)
ASK_USER: Final = ToolSchema.model_validate(
    tool(
        "ask_user",
        "Ask the user a question, and get the user's answer.",
        {"question": text("The question.", most=MOST_ANSWER)},
    )[1]
)


class McpRun(Record):
    """What a client left of one item."""

    format_version: Literal[1]
    note: str
    """That it is no official score."""
    suite_version: str
    harness_version: str
    item_id: str
    pool: Pool
    seed_fingerprint: Sha256
    agent_image: str
    """Content digest."""
    program: Grading | None
    """How the hidden tests judged the files that were handed in, their seed and the grader image; null where
    none were."""
    trace: Trace
    checks: tuple[CheckResult, ...]
    fraction: Fraction | None
    """Null for a judged item: no judge is asked here."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call is answered with."""

    text: str
    ok: bool


class Episode:
    """One run of an instance, driven by calls alone.

    Args:
        instance: what is played.
        turns: the item's cap; a call of one of its tools, or a question, is a turn.
        place: carries the item's tools out.
        ended: told the trace, once.
    """

    def __init__(
        self, instance: Instance, turns: int, place: ItemTools, ended: Callable[[Trace], None]
    ) -> None:
        self._instance = instance
        self._place = place
        self._ended = ended
        self._is_over = False
        self._view = View(instance, turns, place.call)
        own = (ASK_USER, FINAL_ANSWER) if instance.questions else (FINAL_ANSWER,)
        self._own = {schema.name: schema for schema in own}

    @property
    def prompt(self) -> str:
        """The item's request."""
        return self._instance.prompt

    @property
    def tools(self) -> tuple[ToolSchema, ...]:
        """The item's tools, and those that a chat would not need."""
        return (*self._instance.tools, *self._own.values())

    def call(self, name: object, arguments: Json) -> Answer:
        """Answer any call, malformed ones and those after the end too.

        Raises:
            InfrastructureFailure: what carries the tools out, or the grader, has failed.
        """
        if self._is_over:
            return Answer("The task has ended. Nothing more is carried out.", ok=False)
        if isinstance(name, str) and name in self._own:
            return self._call_own(name, arguments)
        try:
            reply = self._view.send(readable_name(name), arguments)
        except OutOfTurnsError:
            return self._out_of_turns()
        return Answer(reply, ok=self._place.log()[-1].ok)

    def close(self) -> None:
        """The client went away; without a final answer the run was empty."""
        if not self._is_over:
            self._end("", RunEnd.EMPTY)

    def _call_own(self, name: str, arguments: Json) -> Answer:
        try:
            given: dict[str, Any] = checked(name, self._own[name].parameters, arguments)
            if name == FINAL_ANSWER.name:
                return self._final(given["text"])
            return Answer(self._view.ask(given["question"]), ok=True)
        except Refused as refused:
            return Answer(f"error {refused.code}: {refused.message}", ok=False)
        except OutOfTurnsError:
            return self._out_of_turns()

    def _final(self, words: str) -> Answer:
        self._end(words, RunEnd.ANSWERED if words.strip() else RunEnd.EMPTY)
        return Answer("The task has ended.", ok=True)

    def _out_of_turns(self) -> Answer:
        self._end("", RunEnd.TURN_LIMIT)
        return Answer("No turns are left. The task has ended.", ok=False)

    def _end(self, words: str, end: RunEnd) -> None:
        self._is_over = True
        self._view.close(words)
        grading = self._place.grading()
        self._ended(
            Trace(
                calls=self._place.log(),
                turns=tuple(self._view.turns),
                final_text=words,
                final_state=self._place.snapshot(),
                end=end,
                code=() if grading is None else code_results(grading),
            )
        )


def refuse_output(output: Path | None) -> None:
    """See that a client's work would not be for nothing, before anything is started.

    Raises:
        InputRefused: there is a file where the result is to go.
    """
    if output is not None and os.path.lexists(output):
        raise InputRefused(
            "The result is written to a new file only.",
            where=str(output),
            found="something of that name is there",
            remedy="Name another file, or move that one away.",
        )


def save(run: McpRun, output: Path | None) -> None:
    """Keep a result, if somebody wants it, in a file that its owner alone may read.

    Raises:
        InputRefused: there is something of that name by now.
    """
    if output is not None:
        write_private(output, run.model_dump_json(indent=2).encode() + b"\n", what="The result")


def play_over_mcp(
    item: Item,
    dataset: DatasetSeed,
    *,
    bench: McpBench,
    serve: Callable[[Episode], None],
    ended: Callable[[McpRun], None],
) -> None:
    """Make the item's containers, let a client play, and tell what it left.

    Args:
        item: the item.
        dataset: which instance.
        bench: makes the containers.
        serve: speaks with the client until it goes away.
        ended: told the result as soon as the run has ended, which may be before the client goes away.

    Raises:
        ImageMissing: the images have not been built.
        InfrastructureFailure: a container, the mock environment or the grader failed.
    """
    instance = instance_of(item, dataset.seed)
    digest = bench.engine.image_digest(bench.agent_image)
    with item_tools(bench, item, instance) as tools:

        def finish(trace: Trace) -> None:
            checks = item.check(instance, trace)
            ended(
                McpRun(
                    format_version=1,
                    note=UNOFFICIAL,
                    suite_version=VERSION,
                    harness_version=__version__,
                    item_id=item.id,
                    pool=dataset.pool,
                    seed_fingerprint=seed_fingerprint(dataset.seed),
                    agent_image=digest,
                    program=tools.grading(),
                    trace=trace,
                    checks=checks,
                    fraction=None if item.rubric else item_fraction(checks),
                )
            )

        episode = Episode(instance, item.turns, tools, finish)
        serve(episode)
        episode.close()
