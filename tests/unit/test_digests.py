"""Digests in little memory tell what a plain mapping tells."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esac_ag.attempt.digests import NONE, Digests

DIGEST = st.binary(min_size=32, max_size=32).map(bytes.hex)
DIGESTS = st.dictionaries(st.sampled_from(["attempt.json", "usage.json", "agent.log", "patch.diff"]), DIGEST)


@given(DIGESTS, DIGESTS)
def test_they_are_a_mapping_that_grows(first: dict[str, str], second: dict[str, str]) -> None:
    """In the same order, with later ones in the place of earlier ones of the same name."""
    found = Digests(first).updated(second)
    assert dict(found) == first | second
    assert list(found) == list(first | second)
    assert found == Digests(dict(reversed((first | second).items())))
    assert hash(found) == hash(Digests(dict(reversed((first | second).items()))))
    assert len(found) == len(first | second)


def test_what_is_not_there_is_not_told() -> None:
    """As of any mapping; nothing is there at first."""
    assert NONE.get("attempt.json") is None
    assert "attempt.json" not in NONE
    with pytest.raises(KeyError):
        NONE["attempt.json"]


@pytest.mark.parametrize("digest", ["", "ab", "zz" * 32, "ab" * 33])
def test_what_is_no_sha256_is_refused(digest: str) -> None:
    """Nothing is cut or filled up."""
    with pytest.raises(ValueError, match=r"no SHA-256|hexadecimal"):
        Digests({"attempt.json": digest})


def test_names_are_shared_and_digests_small() -> None:
    """Ten files take a third of what a dictionary of texts takes."""
    first, second = (Digests({f"file-{n}": f"{n + k:02x}" * 32 for n in range(10)}) for k in range(2))
    assert first._names is second._names
    plain = dict(first)
    taken = sys.getsizeof(plain) + sum(map(sys.getsizeof, plain.values()))
    assert 3 * (sys.getsizeof(first) + sys.getsizeof(first._packed)) < taken
