"""A model server that plays the suite: each item's conversation is a policy, spoken over the real protocol.

The server sees what a provider of a model sees: the messages of a request. It finds the item by its prompt,
runs the policy that the test chose for it in a thread, and turns each of its calls into a reply. Failures of
the service can be put before any request. Requests of the judge are answered by fixed scores.
"""

from __future__ import annotations

import contextlib
import json
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

from esac_ag.suite.bank import bank
from esac_ag.suite.constitution import PUBLIC_SEED
from esac_ag.suite.contract import Instance, Item, Json, Policy, ToolSchema
from esac_ag.suite.pools import instance_of
from tests.model_server import ModelServer, Recorded, Scripted, calls, says

MODEL = "played/model"
"""The one model that the server lists."""


class _GoneError(Exception):
    """Nobody is there any more to answer a call."""


class Playing:
    """One conversation: a policy in a thread of its own that waits for the results of its calls."""

    def __init__(self, instance: Instance, policy: Policy) -> None:
        self._instance = instance
        self._replies: queue.Queue[Scripted | None] = queue.Queue()
        self._results: queue.Queue[str | None] = queue.Queue()
        self._thread = threading.Thread(target=self._play, args=(policy,), daemon=True)
        self._thread.start()

    @property
    def prompt(self) -> str:
        """The request."""
        return self._instance.prompt

    @property
    def tools(self) -> Sequence[ToolSchema]:
        """The tools on offer."""
        return self._instance.tools

    def call(self, tool: str, /, **arguments: Json) -> str:
        """Ask for a call; its result, when the next request brings it."""
        self._replies.put(calls((tool, arguments)))
        return self._result()

    def ask(self, question: str) -> str:
        """Ask the user; the answer."""
        self._replies.put(says(question))
        return self._result()

    def end(self) -> None:
        """Nobody asks for further replies."""
        self._results.put(None)

    def _result(self) -> str:
        result = self._results.get()
        if result is None:
            raise _GoneError
        return result

    def next(self, result: str | None) -> Scripted:
        """The next reply, after the result of what was asked for last."""
        if result is not None:
            self._results.put(result)
        return self._replies.get(timeout=60) or says("")

    def _play(self, policy: Policy) -> None:
        with contextlib.suppress(_GoneError):
            self._replies.put(says(policy(self)))


class PlayingServer(ModelServer):
    """Plays the items by chosen policies; one conversation at a time.

    Args:
        policies: by item id; the reference of every item that is not named.
        instead: by item id, for each of its runs in turn, the only reply; None for the policy.
        before: replies of a failing service, by the number of the request (from 1) that they are given to.
        score: the judge's score of every criterion, by item id.
        seed: dataset seed of the run.
    """

    def __init__(
        self,
        *,
        policies: Mapping[str, Callable[[Item, Instance], Policy]] | None = None,
        instead: Mapping[str, Sequence[Scripted | None]] | None = None,
        before: Mapping[int, Scripted] | None = None,
        score: Callable[[str], int] = lambda _: 4,
        seed: str = PUBLIC_SEED,
    ) -> None:
        super().__init__(())
        self._policies, self._before = policies or {}, dict(before or {})
        self._instead = {item: list(replies) for item, replies in (instead or {}).items()}
        self._score = score
        self._by_prompt = {
            instance.prompt: (item, instance) for item in bank() for instance in (instance_of(item, seed),)
        }
        self._playing: Playing | None = None
        self._mutex = threading.Lock()
        self.judged: list[str] = []
        """Item ids of the judge's requests, in order."""

    def _reply_to(self, request: Recorded) -> Scripted:
        with self._mutex:
            failing = self._before.pop(len(self.requests), None)
            if failing is not None:
                return failing
            if request.path.endswith("/models"):
                return Scripted(json.dumps({"data": [{"id": MODEL}]}).encode())
            body = request.json
            reply = self._judgment(body) if "response_format" in body else self._turn(body["messages"])
            return _from(body["model"], reply)

    def _turn(self, messages: list[dict[str, Any]]) -> Scripted:
        spoken = [message for message in messages if message["role"] != "system"]
        item, instance = self._by_prompt[spoken[0]["content"]]
        if len(spoken) == 1:
            waiting = self._instead.get(item.id)
            if waiting and (only := waiting.pop(0)) is not None:
                return only
            chosen = self._policies.get(item.id, reference)
            self._end_playing()
            self._playing = Playing(instance, chosen(item, instance))
            return self._playing.next(None)
        assert self._playing is not None
        return self._playing.next(spoken[-1]["content"])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        self._end_playing()

    def _end_playing(self) -> None:
        if self._playing is not None:
            self._playing.end()

    def _judgment(self, body: dict[str, Any]) -> Scripted:
        asked = "\n".join(message["content"] for message in body["messages"])
        item = next(item for prompt, (item, _) in self._by_prompt.items() if item.rubric and prompt in asked)
        self.judged.append(item.id)
        scores = {criterion.id: self._score(item.id) for criterion in item.rubric}
        return says(json.dumps({"reason": "by a fixed rule", "scores": scores}))


def _from(model: str, reply: Scripted) -> Scripted:
    """The reply of the model that was asked for."""
    return replace(reply, body=json.dumps({**json.loads(reply.body), "model": model}).encode())


def reference(item: Item, instance: Instance) -> Policy:
    """The policy that solves the item."""
    return item.reference(instance)


def shortcut(name: str) -> Callable[[Item, Instance], Policy]:
    """The item's shortcut of that name."""

    def chosen(item: Item, instance: Instance) -> Policy:
        return next(one.policy(instance) for one in item.shortcuts() if one.name == name)

    return chosen
