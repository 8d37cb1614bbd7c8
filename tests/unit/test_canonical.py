"""Digests: the same everywhere, different for different things."""

from __future__ import annotations

import hashlib
import json

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from esac_ag.canonical import (
    HashRule,
    JsonRefused,
    canonical_json,
    file_sha256,
    hash_rule,
    loads_strict,
    refuse_ambiguous,
    sha256_of,
    tree_sha256,
)
from esac_ag.tree import FileTree, RegularFile

NUMBERS = st.one_of(
    st.integers(1 - 2**53, 2**53 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-200, 200).map(lambda number: round(number, 9)),
    st.sampled_from([-0.0, 1e-4, 9.999e-5, 1e-7, 2.0**53, 2.0**53 - 1, 2**53 - 1, 1e16, 1e21, 0.1]),
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def test_line_ends_of_text_do_not_change_its_hash() -> None:
    """A checkout on another platform hashes the same."""
    assert (
        file_sha256(b"a\r\nb\rc\n") == file_sha256(b"a\nb\nc\n") == hashlib.sha256(b"a\nb\nc\n").hexdigest()
    )


@pytest.mark.parametrize("data", [b"\xff\xfe\r\n", b"a\x00b\r\n"])
def test_bytes_that_are_no_text_hash_raw(data: bytes) -> None:
    """Not UTF-8, or holding NUL: line ends are data."""
    assert hash_rule(data) is HashRule.RAW
    assert file_sha256(data) == hashlib.sha256(data).hexdigest()


def test_the_tree_hash_is_the_one_of_version_one() -> None:
    """Records are path NUL hash, joined by LF, sorted by the components of the path."""
    one, two = file_sha256(b"1"), file_sha256(b"2")
    expected = hashlib.sha256(f"a/b\0{one}\na.b\0{two}".encode()).hexdigest()
    assert tree_sha256([("a.b", two), ("a/b", one)]) == expected


def test_caches_are_no_part_of_a_tree() -> None:
    """Running the tests does not change a snapshot's hash."""
    clean = FileTree.of_text({"a.py": "1"})
    dirty = clean.merged(
        FileTree(
            {
                b"__pycache__/a.pyc": RegularFile(b"x"),
                b"sub/.pytest_cache/v": RegularFile(b"x"),
                b"b.pyo": RegularFile(b"x"),
            }
        )
    )
    assert clean.sha256() == dirty.sha256()
    assert clean.exact_sha256() != dirty.exact_sha256()
    assert dict(dirty.without_ignored()) == dict(clean)


@given(st.dictionaries(st.text("ab/c", min_size=1), st.binary(max_size=8), max_size=6))
def test_the_order_of_files_does_not_change_a_hash(files: dict[str, bytes]) -> None:
    """Directories list in any order."""
    nodes = {path.encode(): RegularFile(data) for path, data in files.items()}
    reversed_nodes = dict(reversed(list(nodes.items())))
    assert FileTree(nodes).sha256() == FileTree(reversed_nodes).sha256()
    assert FileTree(nodes).exact_sha256() == FileTree(reversed_nodes).exact_sha256()


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '{"b": {"a": 1, "a": 2}}', "[NaN]", "[Infinity]"])
def test_ambiguous_json_is_refused(text: str) -> None:
    """What lenient readers read differently is not read at all."""
    with pytest.raises(JsonRefused):
        loads_strict(text)
    with pytest.raises(JsonRefused):
        refuse_ambiguous(text.encode())


@given(VALUES)
def test_what_is_written_canonically_is_not_ambiguous(value: JsonValue) -> None:
    """Whatever it holds; and so is the same with white space."""
    refuse_ambiguous(canonical_json(value))
    refuse_ambiguous(json.dumps(value, indent=1).encode())


def test_a_digest_does_not_depend_on_the_order_of_keys() -> None:
    """RFC 8785 sorts them."""
    assert sha256_of({"b": 1, "a": [1.0, "ä"]}) == sha256_of({"a": [1, "ä"], "b": 1})
    assert canonical_json({"b": 1, "a": 2.5}) == b'{"a":2.5,"b":1}'


@given(VALUES)
def test_every_value_is_written_as_the_library_for_rfc_8785_writes_it(value: JsonValue) -> None:
    """The faster way gives the same bytes, or refuses the same."""
    try:
        expected = rfc8785.dumps(value)
    except rfc8785.CanonicalizationError:
        with pytest.raises(rfc8785.CanonicalizationError):
            canonical_json(value)
    else:
        assert canonical_json(value) == expected


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53, "\ud800", {"\ud800": 1}])
def test_what_has_no_canonical_form_is_refused(value: JsonValue) -> None:
    """Not a number, beyond exact integers, or not Unicode."""
    with pytest.raises((rfc8785.CanonicalizationError, UnicodeEncodeError)):
        canonical_json(value)


def test_keys_sort_by_utf_16_units() -> None:
    """A character beyond the first plane sorts before one at the end of it, in spite of its code point."""
    assert canonical_json({"\ufb33": 1, "\U0001f600": 2}) == '{"\U0001f600":2,"\ufb33":1}'.encode()
