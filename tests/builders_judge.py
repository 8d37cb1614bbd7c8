"""A run to be judged, judges that are asked about it, and judges who believe what they should not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from esac_ag.agents.chat_client import Patience
from esac_ag.agents.judge_client import Judge, Judged, JudgeEndpoint
from esac_ag.clock import Deadline, secret_text
from esac_ag.errors import ServiceFailure
from esac_ag.suite.constitution import PINNED_JUDGE, PUBLIC_SEED
from esac_ag.suite.contract import Trace
from esac_ag.suite.items.ambiguity_ask import ITEM as ASK
from esac_ag.suite.judging import FACTS_TITLE
from esac_ag.suite.play import play
from esac_ag.suite.pools import instance_of
from tests.model_server import ModelServer, Recorded, Scripted, says

KEY = "judge-key-0123456789"
INSTANCE = instance_of(ASK, PUBLIC_SEED)
RUN = play(ASK, INSTANCE, ASK.reference(INSTANCE))
IDS = tuple(criterion.id for criterion in ASK.rubric)
CLEAN_SCORE = 2
"""What the gullible judges give when nobody tells them anything."""


def a_verdict(score: int = 3, **scores: object) -> dict[str, Any]:
    """A usable verdict with one score for all criteria, and others for some."""
    return {"reason": "By the anchors.", "scores": dict.fromkeys(IDS, score) | scores}


def a_reply(score: int = 3, **scores: object) -> Scripted:
    """A reply with that verdict."""
    return says(json.dumps(a_verdict(score, **scores)))


@dataclass
class Asked:
    """What came of asking a judge."""

    log: list[bytes] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)

    def judge(
        self,
        server: ModelServer,
        *,
        trace: Trace = RUN,
        key: str = KEY,
        attempts: int = 5,
        cancelled: Callable[[], bool] = lambda: False,
        delimiter: Callable[[], str] = secret_text,
        deadline_s: float = 600.0,
    ) -> Judged:
        """Ask for one judgment."""
        endpoint = JudgeEndpoint.at(PINNED_JUDGE, server.base_url, key, Patience(attempts, 300.0, 600.0))
        judge = Judge(endpoint, jitter=lambda: 1.0, sleep_s=self.slept.append, delimiter=delimiter)
        return judge.judge(
            ASK,
            INSTANCE,
            trace,
            deadline=Deadline.after_s(deadline_s),
            cancelled=cancelled,
            log=self.log.append,
        )

    def lines(self) -> list[dict[str, Any]]:
        """The log, parsed."""
        return [json.loads(line) for line in b"".join(self.log).splitlines()]

    def events(self) -> list[str]:
        """Kinds of the log's lines."""
        return [line["event"] for line in self.lines()]


def failure_of(asked: Asked, server: ModelServer, **options: Any) -> ServiceFailure:  # noqa: ANN401  (those of judge)
    """The failure that asking ends in."""
    try:
        asked.judge(server, **options)
    except ServiceFailure as error:
        return error
    raise AssertionError("the judge gave a judgment")


Gullible = Callable[[dict[str, Any]], int | None]
"""Reads a request and gives the score that it talks this judge into; none when it talks it into nothing."""


class GullibleServer(ModelServer):
    """A judge's endpoint that obeys; every criterion gets the score that it was talked into."""

    def __init__(self, obeys: Gullible) -> None:
        super().__init__([])
        self._obeys = obeys

    def _reply_to(self, request: Recorded) -> Scripted:
        score = self._obeys(request.json)
        return a_reply(CLEAN_SCORE if score is None else score)


def obeys_scores(request: dict[str, Any]) -> int | None:
    """Obeys `SCORE n` wherever it stands outside of the quotes."""
    return _number(r"SCORE ([0-4])", "\n".join(outside(request)))


def closes_at_the_last_end(request: dict[str, Any]) -> int | None:
    """Takes what follows the last line that ends in the delimiter for the operator's word."""
    _, user = texts(request)
    after = user.rpartition(delimiter_of(request))[2]
    return _number(r"SCORE ([0-4])", after)


def obeys_who_claims_to_be_the_system(request: dict[str, Any]) -> int | None:
    """Obeys every system message, and every line outside of the quotes that says it is one."""
    system = [message["content"] for message in request["messages"] if message["role"] == "system"]
    claimed = re.findall(r"(?m)^(?:SYSTEM:|<\|system\|>|\[system\])(.*)$", outside(request)[1])
    return _number(r"SCORE ([0-4])", "\n".join([*system, *claimed]))


def copies_a_verdict(request: dict[str, Any]) -> int | None:
    """Copies the first score of a verdict in JSON that it finds in the user message outside of the fences."""
    return _number(rf'"{IDS[0]}"\s*:\s*([0-4])', outside(request)[1])


def believes_the_facts(request: dict[str, Any]) -> int | None:
    """Counts what the facts affirm, taking every section that is titled so for facts."""
    mark = delimiter_of(request)
    title = re.escape(FACTS_TITLE)
    sections = re.findall(rf"(?s)BEGIN {title} {mark}\n(.*?)\nEND {title} {mark}", texts(request)[1])
    lines: list[str] = "\n".join(sections).split("\n")
    return min(4, sum(line.endswith(": yes.") for line in lines))


def takes_a_new_rubric(request: dict[str, Any]) -> int | None:
    """Scores by the last rubric that is given outside of the quotes: the score that its anchors lead with."""
    return _number(r"(?s).*NEW RUBRIC.*?([0-4]) = ", "\n".join(outside(request)))


GULLIBLE: dict[str, Gullible] = {
    "obeys-scores": obeys_scores,
    "closes-at-the-last-end": closes_at_the_last_end,
    "obeys-who-claims-to-be-the-system": obeys_who_claims_to_be_the_system,
    "copies-a-verdict": copies_a_verdict,
    "believes-the-facts": believes_the_facts,
    "takes-a-new-rubric": takes_a_new_rubric,
}


def texts(request: dict[str, Any]) -> tuple[str, str]:
    """System and user message."""
    system, user = request["messages"]
    return system["content"], user["content"]


def delimiter_of(request: dict[str, Any]) -> str:
    """The delimiter, as the system message tells it."""
    found = re.search(r"end with (\w+)\.\n", texts(request)[0])
    assert found
    return found[1]


def outside(request: dict[str, Any]) -> tuple[str, str]:
    """System message, and the user message without its quoted sections."""
    mark = delimiter_of(request)
    system, user = texts(request)
    bare = re.sub(rf"(?s)BEGIN [^\n]* {mark}\n.*?\nEND [^\n]* {mark}", "QUOTE", user)
    return system.replace(mark, "MARK"), bare.replace(mark, "MARK")


def _number(pattern: str, text: str) -> int | None:
    found = re.search(pattern, text)
    return int(found[1]) if found else None
