"""Keys and seeds of a suite run: they are in no file, no archive and no request to the judge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from esac_ag.artifacts.redaction import Redactor, forms_of
from esac_ag.conduct.audit import audit
from esac_ag.conduct.context import Stop
from esac_ag.conduct.opening import open_study
from esac_ag.conduct.study import run_study
from esac_ag.conduct.suite_results import write_suite_reports
from esac_ag.errors import UsageError
from esac_ag.rooms.workspace import Workspace
from esac_ag.suite.bank import item_named
from esac_ag.suite.constitution import PUBLIC_SEED
from esac_ag.suite.contract import Instance, Item, Policy
from esac_ag.suite.pools import instance_of
from esac_ag.tree import RegularFile
from tests.builders_conduct import Told, a_runnable_study, an_engine
from tests.builders_suite_run import (
    HELD_OUT_SEED,
    JUDGE_KEY,
    JUDGED,
    MODEL_KEY,
    NO_ENDPOINT,
    PROGRAM,
    QUICK,
    SealedRun,
    a_chat_agent,
    a_judge,
    a_sealed_run,
    held_out,
)
from tests.model_server import says
from tests.playing_server import PlayingServer

REFUND = QUICK[0]
SECRETS = (MODEL_KEY, JUDGE_KEY, HELD_OUT_SEED)
QUOTED = " and ".join(SECRETS)


def quoting(item: Item, instance: Instance) -> Policy:
    """A model, or an endpoint, that puts keys and seed wherever something can be put."""

    def play(view: Any) -> str:  # noqa: ANN401
        tool = view.tools[0].name
        view.call(tool, **{f"key {QUOTED}": QUOTED, "nested": [{"more": QUOTED}]})
        view.call(f"tool_{MODEL_KEY}", x=QUOTED)
        if instance.hidden_tests:
            view.call("write_file", path=f"{MODEL_KEY}.py", content=f"# {QUOTED}\nprint({QUOTED!r})\n")
            view.call("submit")
        if item.rubric:
            view.ask(f"May I write {QUOTED}?")
        return f"I was given {QUOTED}."

    return play


def archived(run: SealedRun) -> Iterator[bytes]:
    """Every path and every byte of every archive of a run, unpacked."""
    for attempt_id in run.records().attempts:
        for path, node in run.folder.attempt(attempt_id).read_submission().items():
            yield path
            if isinstance(node, RegularFile):
                yield node.data


@pytest.mark.parametrize("where", ["elsewhere", "at the model's endpoint"])
def test_quoted_keys_are_in_no_file_no_archive_and_no_request_to_the_judge(
    tmp_path: Path, where: str
) -> None:
    """In text, questions, tool names, arguments, files and their paths."""
    names = (REFUND, PROGRAM, JUDGED)
    policies = dict.fromkeys(names, quoting)
    with (
        PlayingServer(policies=policies, seed=HELD_OUT_SEED) as server,
        PlayingServer(seed=HELD_OUT_SEED) as other,
    ):
        judge = other if where == "elsewhere" else server
        run = a_sealed_run(
            tmp_path,
            *names,
            agent=a_chat_agent(server.base_url),
            judge=a_judge(judge.base_url),
            dataset=held_out(),
        )
        run.run()
        asked = [request for request in judge.requests if "response_format" in request.json]
    write_suite_reports(run.folder.path)
    unpacked = b"\n".join(archived(run)).decode()
    assert len(asked) == 4
    for text in (run.written(), unpacked, "\n".join(str(request.json) for request in asked)):
        assert "[redacted]" in text
        assert [secret for secret in SECRETS if secret in text] == []
    assert audit(run.folder.path, lambda _: run.dataset).findings == ()


@pytest.mark.parametrize("agent", ["chat", "scripted"])
def test_keys_that_the_plan_does_not_use_are_redacted_too(tmp_path: Path, agent: str) -> None:
    """The judge's where nothing is judged, and the model's where no model acts."""
    with PlayingServer(policies={REFUND: quoting}) as server:
        plan = a_chat_agent(server.base_url) if agent == "chat" else None
        run = a_sealed_run(tmp_path, REFUND, agent=plan)
        redactor = run.opened().site.redactor
        run.run()
    assert redactor.text(f"{MODEL_KEY} {JUDGE_KEY}") == "[redacted] [redacted]"
    assert not [key for key in (MODEL_KEY, JUDGE_KEY) if key in run.written()]
    assert not [key for key in (MODEL_KEY, JUDGE_KEY) if key.encode() in b"\n".join(archived(run))]


@pytest.mark.parametrize(
    "word", ["completed", "planning-stock", "manifest_sha256", "infrastructure", REFUND, "payments_refund"]
)
@pytest.mark.parametrize("place", ["OPENAI_API_KEY", "ESAC_AG_JUDGE_API_KEY", "seed"])
def test_a_secret_that_is_a_word_of_the_records_is_refused(tmp_path: Path, place: str, word: str) -> None:
    """Replaced everywhere, it would leave records that nobody can read or score; no message shows it."""
    dataset = held_out(word if place == "seed" else HELD_OUT_SEED)
    run = a_sealed_run(tmp_path, REFUND, dataset=dataset)
    with pytest.raises(UsageError) as caught:
        run.opened(environ={} if place == "seed" else {place: word})
    assert place in caught.value.where
    assert word not in str(caught.value)
    assert not run.folder.schedule.exists()


def test_a_secret_that_stands_in_an_instance_is_refused(tmp_path: Path) -> None:
    """An answer, say: its checks would come out wrong."""
    item = item_named(REFUND)
    prompt = instance_of(item, PUBLIC_SEED).prompt
    run = a_sealed_run(tmp_path, REFUND)
    with pytest.raises(UsageError, match="a word that the records themselves need"):
        run.opened(environ={"OPENAI_API_KEY": prompt.split(".")[0][-16:].strip()})


def test_place_holders_of_local_servers_are_no_secrets(tmp_path: Path) -> None:
    """They are shorter than eight characters, and words of ours among them harm nothing."""
    run = a_sealed_run(tmp_path, REFUND)
    environ = {"OPENAI_API_KEY": "none", "ESAC_AG_JUDGE_API_KEY": "EMPTY"}
    run_study(run.opened(environ=environ), concurrency=1, watcher=Told())
    assert audit(run.folder.path).clean


def test_a_word_of_ours_is_no_key_of_a_study_either(tmp_path: Path) -> None:
    """Its attempts' records would be unreadable as well."""
    agent = {"kind": "chat", "version": "1", "settings": {"base_url": NO_ENDPOINT}}
    study = a_runnable_study(tmp_path, agent=agent)
    workspace = Workspace(tmp_path)
    with pytest.raises(UsageError, match="a word that the records themselves need"):
        open_study(
            study.path,
            workspace=workspace,
            engine=an_engine(),
            results=workspace.results,
            environ={"OPENAI_API_KEY": "completed"},
            stop=Stop(),
        )
    assert not workspace.results.exists()


def test_every_form_that_a_secret_takes_in_json_is_redacted() -> None:
    """Also of one that holds quotes beside letters beyond ASCII."""
    text = 'sch"lüssel\\1'
    assert len(forms_of(text)) == 3
    redactor = Redactor([text])
    for form in (b'sch"l\xc3\xbcssel\\1', b'sch\\"l\\u00fcssel\\\\1', b'sch\\"l\xc3\xbcssel\\\\1'):
        assert redactor.whole(form) == b"[redacted]"


def test_an_answer_with_a_key_is_still_graded(tmp_path: Path) -> None:
    """What was archived is what is judged and scored."""
    with PlayingServer(instead={JUDGED: [says(f"Done. {MODEL_KEY}")] * 2}) as server:
        run = a_sealed_run(
            tmp_path, JUDGED, agent=a_chat_agent(server.base_url), judge=a_judge(server.base_url)
        )
        run.run()
    assert {grading.result.trace.final_text for grading in run.gradings} == {"Done. [redacted]"}
