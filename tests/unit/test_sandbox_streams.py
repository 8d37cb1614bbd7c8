"""Streams of output: frames, caps, deadlines, and streams that never end."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esac_ag.clock import Deadline
from esac_ag.sandbox.streams import (
    CappedOutput,
    Frames,
    Outputs,
    OutputStream,
    StreamEnd,
    follow,
    outputs_of,
    poll_until,
)


def _frame(payload: bytes, stream: int = 1) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(payload).to_bytes(4, "big") + payload


@given(st.lists(st.binary(max_size=40), max_size=6), st.integers(min_value=1, max_value=60))
def test_payloads_do_not_depend_on_how_bytes_arrive(payloads: list[bytes], chunk_bytes: int) -> None:
    """Frames are cut alike whether they come at once or byte by byte."""
    stream = b"".join(map(_frame, payloads))
    frames = Frames()
    pieces = [
        bytes(piece)
        for at in range(0, len(stream), chunk_bytes)
        for piece in frames.payloads(stream[at : at + chunk_bytes])
    ]
    assert b"".join(pieces) == b"".join(payloads)


@given(st.lists(st.binary(max_size=20), max_size=8), st.integers(min_value=0, max_value=60))
def test_a_cap_keeps_the_beginning(pieces: list[bytes], limit_bytes: int) -> None:
    """What is kept is a prefix of at most the limit, the sink sees the same, and a cut is told."""
    seen: list[bytes] = []
    output = CappedOutput(limit_bytes, seen.append)
    for piece in pieces:
        output.add(piece)
    whole = b"".join(pieces)
    assert output.kept() == b"".join(seen) == whole[:limit_bytes]
    assert output.truncated == (len(whole) > limit_bytes)


def test_output_need_not_be_kept() -> None:
    """A sink alone takes output of any size without memory."""
    seen: list[bytes] = []
    output = CappedOutput(10, seen.append, keep=False)
    output.add(b"abc")
    assert (output.kept(), seen) == (b"", [b"abc"])


@contextmanager
def _stream(head: bytes = b"") -> Iterator[tuple[socket.socket, OutputStream]]:
    writer, reader = socket.socketpair()
    with writer, reader:
        yield writer, OutputStream(reader, head, reader.close)


def test_a_stream_that_ends_is_followed_to_its_end() -> None:
    """All that was sent arrives, what HTTP had read ahead of it comes first."""
    output = CappedOutput(100, None)
    with _stream(_frame(b"first ")) as (writer, stream):
        writer.sendall(_frame(b"second", stream=2))
        writer.close()
        end = follow(stream, Outputs(output, output), Deadline.after_s(30), lambda: False)
    assert (end, output.kept()) == (StreamEnd.CLOSED, b"first second")


def test_a_silent_stream_ends_at_the_deadline() -> None:
    """Nothing arrives, nothing ends, and the deadline passes."""
    with _stream() as (_, stream):
        end = follow(stream, outputs_of(1, None, None), Deadline.after_s(0.05), lambda: False)
    assert end is StreamEnd.TIMED_OUT


def test_a_deadline_that_has_passed_reads_nothing() -> None:
    """Even output that is there does not outlast a deadline."""
    output = CappedOutput(100, None)
    with _stream(_frame(b"late")) as (_, stream):
        end = follow(stream, Outputs(output, output), Deadline.after_s(0), lambda: True)
    assert (end, output.kept()) == (StreamEnd.TIMED_OUT, b"")


def test_a_stream_held_open_ends_with_its_process() -> None:
    """When the engine says that the process ended, what has arrived is taken and no more waited for."""
    output = CappedOutput(100, None)
    with _stream() as (writer, stream):
        writer.sendall(_frame(b"said"))
        end = follow(stream, Outputs(output, output), Deadline.after_s(30), lambda: True)
    assert (end, output.kept()) == (StreamEnd.HELD_OPEN, b"said")


def test_a_peer_that_resets_ends_the_stream() -> None:
    """A connection that breaks is an end; what happened is asked of the engine."""
    with _stream() as (writer, stream):
        writer.close()
        assert stream.read(1.0) == b""


def test_a_closed_stream_can_be_closed_again() -> None:
    """Closing is for clean-up and never fails."""
    with _stream() as (_, stream):
        stream.close()
        stream.close()


def test_a_question_is_asked_until_it_is_answered() -> None:
    """Polling ends with the first answer."""
    answers: Iterator[int | None] = iter([None, None, 5])
    assert poll_until(Deadline.after_s(30), lambda: next(answers)) == 5


def test_a_question_without_answer_ends_at_the_deadline() -> None:
    """No answer is told apart from an answer."""
    assert poll_until(Deadline.after_s(0.02), lambda: None) is None


@pytest.mark.parametrize("answer", [0, False, ""])
def test_a_falsy_answer_is_an_answer(answer: object) -> None:
    """Exit code 0 is not the lack of an exit code."""
    assert poll_until(Deadline.after_s(30), lambda: answer) == answer
