"""Requests are read back from a lane's folder, and one that is missing is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from esac_ag.agents.loaded import loaded_instructions
from esac_ag.agents.wire_requests import offered_tools, seen_requests, texts_of
from esac_ag.artifacts.redaction import Redactor
from esac_ag.canonical import sha256_of_bytes
from esac_ag.gateway.bodies import Bodies
from esac_ag.gateway.calls import CallOutcome, CallRecord
from esac_ag.gateway.protocols import Protocol

TOLD: dict[str, JsonValue] = {
    "system": [{"type": "text", "text": 'Say "hello"\n\tü'}],
    "messages": [{"role": "tool", "content": json.dumps({"output": "line\none\t<b>", "exit": 0})}],
    "tools": [{"name": "Read", "description": "Reads a file."}],
}


def a_call(number: int, body: bytes | None, outcome: CallOutcome = CallOutcome.ANSWERED) -> CallRecord:
    """A call as the gateway records it."""
    return CallRecord(
        number=number,
        time="2026-11-30T10:00:00.000Z",
        method="POST",
        path="/v1/messages",
        protocol=Protocol.MESSAGES,
        outcome=outcome,
        latency_s=0.1,
        request_sha256=None if body is None else sha256_of_bytes(body),
        request_file=None if body is None else f"{number:05d}-request.zst",
    )


def kept(folder: Path, *bodies: bytes, limit_bytes: int = 1_000_000) -> list[CallRecord]:
    """Calls whose bodies lie in the folder as far as the limit allows."""
    lane = Bodies(folder, Redactor(()), limit_bytes=limit_bytes)
    calls = []
    for number, data in enumerate(bodies, start=1):
        body = lane.begin(f"{number:05d}-request")
        if body is not None:
            body.feed(data)
            body.close()
        calls.append(a_call(number, data))
    lane.close()
    return calls


def test_a_request_has_every_string_of_its_body_unescaped(tmp_path: Path) -> None:
    """System, tools and results, and the strings in a result that is JSON itself."""
    body = json.dumps(TOLD).encode()
    (request,) = seen_requests(tmp_path, kept(tmp_path, body))
    assert request.whole
    assert (request.number, request.sha256, request.tools) == (1, sha256_of_bytes(body), ("Read",))
    assert {'Say "hello"\n\tü', "Reads a file.", "line\none\t<b>"} <= set(request.texts)
    assert 'Say "hello"\n\tü' in request.text


def test_requests_come_by_number_and_refused_ones_are_left_out(tmp_path: Path) -> None:
    """Calls are recorded in the order of their ends; a refused one reached no model."""
    calls = kept(tmp_path, b"{}", b"{}", b"{}")
    refused = a_call(4, b"{}", CallOutcome.REFUSED)
    unsent = a_call(5, None, CallOutcome.CLOSED)
    failed = calls[1].model_copy(update={"outcome": CallOutcome.SERVICE_FAILED})
    found = seen_requests(tmp_path, [calls[2], refused, unsent, failed, calls[0]])
    assert [request.number for request in found] == [1, 2, 3]


def test_a_body_that_is_missing_cut_or_no_object_is_told(tmp_path: Path) -> None:
    """Each comes as a request without text that is not whole, and the proof is not complete."""
    body = json.dumps(TOLD).encode()
    calls = kept(tmp_path, body, body, b"[1]", body, b"not JSON", body, limit_bytes=5 * len(body))
    (tmp_path / "00002-request.zst").unlink()
    packed = (tmp_path / "00004-request.zst").read_bytes()
    (tmp_path / "00004-request.zst").write_bytes(packed[: len(packed) // 2])
    calls[5] = calls[5].model_copy(update={"request_file": None})
    found = list(seen_requests(tmp_path, calls))
    assert [request.whole for request in found] == [True, False, False, False, False, False]
    record = loaded_instructions("a", None, placed={}, present={}, others={}, requests=found)
    assert (record.requests, record.complete) == (6, False)


def test_a_body_beyond_the_lanes_cap_is_told(tmp_path: Path) -> None:
    """The gateway kept nothing of it."""
    body = json.dumps(TOLD).encode()
    found = seen_requests(tmp_path, kept(tmp_path, body, body, limit_bytes=len(body) + 10))
    assert [request.whole for request in found] == [True, False]


@pytest.mark.parametrize(
    ("tools", "names"),
    [
        ([{"name": "Bash"}, {"name": "Read"}], ("Bash", "Read")),
        ([{"type": "function", "function": {"name": "bash"}}], ("bash",)),
        (
            [{"type": "function", "name": "exec_command"}, {"type": "view_image"}],
            ("exec_command", "view_image"),
        ),
        ([{}, "x"], ("?", "?")),
        (None, ()),
    ],
)
def test_tools_are_named_by_every_protocol(tools: JsonValue, names: tuple[str, ...]) -> None:
    """Messages, chat completions and responses; what has no name is counted all the same."""
    assert offered_tools({"tools": tools}) == names


def test_a_body_nested_as_deep_as_parsers_take_is_looked_through() -> None:
    """The gateway forwards what it can parse, and what it forwards may not end the harness afterwards."""
    value: JsonValue = "the bottom"
    for _ in range(50_000):
        value = [value, {"key": value}] if isinstance(value, str) else [value]
    assert list(texts_of(value)) == ["the bottom", "the bottom"]
    assert list(texts_of([json.dumps({"a": ["b"]}), "c"])) == ['{"a": ["b"]}', "a", "b", "c"]
