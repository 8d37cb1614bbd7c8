"""Files of a study: whole or not there, redacted, capped."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esac_ag.artifacts import AttemptFolder, StudyFolder, file_digest, write_atomic
from esac_ag.artifacts.redaction import MARK, Redactor
from esac_ag.canonical import sha256_of_bytes
from esac_ag.errors import InputRefused
from esac_ag.tree import Directory, FileTree, Link, RegularFile

SECRET = "sk-live-0123456789"  # noqa: S105  (made up)


def test_a_file_is_written_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    """The temporary file becomes the file."""
    path = tmp_path / "deep" / "record.json"
    digest = write_atomic(path, b"content")
    assert path.read_bytes() == b"content"
    assert digest == sha256_of_bytes(b"content") == file_digest(path)
    assert [item.name for item in path.parent.iterdir()] == ["record.json"]


def test_a_submission_survives_its_archive(tmp_path: Path) -> None:
    """Bytes, execute bits, links and empty folders come back, and the archive is deterministic."""
    tree = FileTree(
        {
            b"a.py": RegularFile(b"x = 1\r\n"),
            b"run.sh": RegularFile(b"#!/bin/sh\n", executable=True),
            b"empty": Directory(),
            b"link": Link(b"../outside"),
            b"caf\xe9": RegularFile(b"\x00\xff"),
        }
    )
    folder = StudyFolder(tmp_path).attempt("a1")
    first = folder.write_submission(tree)
    assert folder.read_submission().exact_sha256() == tree.exact_sha256()
    assert folder.write_submission(FileTree(dict(reversed(list(tree.items()))))) == first


def test_a_damaged_archive_is_refused_with_its_path(tmp_path: Path) -> None:
    """A truncated archive is not read as a smaller submission."""
    folder = StudyFolder(tmp_path).attempt("a1")
    folder.write_submission(FileTree.of_text({"a.py": "x" * 10_000}))
    path = folder.path / "submission.tar.zst"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputRefused) as caught:
        folder.read_submission()
    assert caught.value.where == str(path)


def test_a_results_folder_of_another_plan_is_refused(tmp_path: Path) -> None:
    """One folder holds one sealed plan."""
    folder = StudyFolder(tmp_path)
    folder.seal(b"manifest", b"schedule", b"tasks")
    folder.seal(b"manifest", b"schedule", b"tasks")
    with pytest.raises(InputRefused) as caught:
        folder.seal(b"manifest", b"another", b"tasks")
    assert caught.value.where.endswith("schedule.json")
    assert folder.schedule.read_bytes() == b"schedule"


@given(cuts=st.lists(st.integers(min_value=0, max_value=60), max_size=5))
def test_a_secret_is_redacted_wherever_a_stream_is_cut(cuts: list[int]) -> None:
    """No cut of a stream lets a secret or the longer part of it through."""
    data = b"head " + SECRET.encode() + b" middle " + SECRET.encode() + b" tail"
    pieces = Redactor([SECRET]).incremental()
    written = b""
    position = 0
    for cut in sorted(cut % len(data) for cut in cuts):
        written += pieces.feed(data[position:cut])
        position = cut
    written += pieces.feed(data[position:]) + pieces.flush()
    assert written == data.replace(SECRET.encode(), MARK)


def test_a_stream_is_not_held_back_for_a_secret_that_has_not_begun() -> None:
    """Only an end that a secret may begin with waits for more."""
    pieces = Redactor([SECRET]).incremental()
    assert pieces.feed(b"a word and ") == b"a word and "
    assert pieces.feed(b"more " + SECRET[:3].encode()) == b"more "
    assert pieces.feed(b"!") == SECRET[:3].encode() + b"!"


def test_redactors_join() -> None:
    """What either redacts, both do."""
    joined = Redactor([SECRET]).joined(["another-secret"])
    assert joined.whole(SECRET.encode() + b" another-secret") == MARK + b" " + MARK


def test_the_json_form_of_a_secret_is_redacted_too() -> None:
    """Most of what is written is JSON, where quotes and backslashes are escaped."""
    redactor = Redactor(['pass"word\\1'])
    assert redactor.whole(b'{"key": "pass\\"word\\\\1"}') == b'{"key": "' + MARK + b'"}'


def test_a_stream_stops_at_its_limit_and_says_so(tmp_path: Path) -> None:
    """Output beyond the cap is dropped, not written."""
    folder = StudyFolder(tmp_path).attempt("a1")
    with folder.stream("agent.log", Redactor(), limit_bytes=10) as stream:
        stream(b"123456")
        stream(b"7890123")
        assert stream.truncated
    assert (folder.path / "agent.log").read_bytes() == b"1234567890"


def test_a_tree_with_its_folders_is_what_its_archive_gives_back(tmp_path: Path) -> None:
    """Trees read from disk name no folders, archives name all: a digest has to be of one of them."""
    folder = AttemptFolder(tmp_path)
    plain = FileTree.of_text({"a/b/c.txt": "c", "d.txt": "d"})
    whole = plain.with_folders()
    folder.write_submission(whole)
    assert folder.read_submission().exact_sha256() == whole.exact_sha256()
    assert whole.exact_sha256() != plain.exact_sha256()
    assert whole.with_folders() == whole
