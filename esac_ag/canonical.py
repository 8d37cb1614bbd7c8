"""Digests, and the strict reading of JSON.

Records are digested over their RFC 8785 canonical form. Files and trees are digested as format
version 1 of the run manifest says: text is hashed after CRLF and CR became LF; a tree is hashed over
`path NUL file-hash` records joined by LF, sorted by path components.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import rfc8785
from pydantic import BaseModel, JsonValue
from pydantic_core import from_json, to_json

IGNORED_FOLDERS = frozenset({".git", ".pytest_cache", "__pycache__", "node_modules", "test-results"})
IGNORED_SUFFIXES = (".pyc", ".pyo")


class HashRule(StrEnum):
    """Which bytes of a file were hashed."""

    TEXT_LF = "text-lf"
    """UTF-8 text without NUL, after CRLF and CR became LF."""
    RAW = "raw"
    """The bytes as they are: not UTF-8, or holding NUL."""


class JsonRefused(ValueError):
    """JSON that is legal for lenient readers but ambiguous: duplicate keys, NaN, Infinity."""


def sha256_of_bytes(data: bytes) -> str:
    """SHA-256 of bytes as 64 lower-case hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def sha256_of(value: BaseModel | JsonValue) -> str:
    """SHA-256 over the RFC 8785 canonical form of a record or a JSON value."""
    return sha256_of_bytes(canonical_json(value))


def canonical_json(value: BaseModel | JsonValue) -> bytes:
    """The RFC 8785 canonical form of a record or a JSON value."""
    plain: Any = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    # The library writes value by value in Python. A large report takes a sixth of the time where the
    # standard library's encoder writes the same bytes, which is nearly everywhere.
    try:
        return _ENCODER.encode(_ordinary(plain)).encode()
    except (_Unusual, UnicodeEncodeError):
        return rfc8785.dumps(plain)


class _Unusual(Exception):
    """A value that the standard library's encoder may write otherwise than RFC 8785 asks for."""


_ENCODER = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, sort_keys=True, separators=(",", ":")
)
_WHOLE = float(2**53)
"""Whole numbers below are exact as floats, and are written without a point."""
_PLAIN_FROM = 1e-4
"""Python writes fractions from here on as ECMAScript does, without an exponent."""


def _ordinary(value: Any) -> Any:  # noqa: ANN401  (whatever a caller passes)
    """The value with whole floats as integers.

    Raises:
        _Unusual: some part of it needs the rules of RFC 8785.
    """
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value
    if kind is dict:
        return {_ordinary_key(key): _ordinary(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [_ordinary(item) for item in value]
    if kind is int and -_WHOLE < value < _WHOLE:
        return value
    if kind is float:
        size = abs(value)
        if size < _WHOLE and value.is_integer():
            return int(value)
        if _PLAIN_FROM <= size < _WHOLE:
            return value
    raise _Unusual


def _ordinary_key(key: Any) -> str:  # noqa: ANN401
    """A key that sorts by code points as it does by UTF-16 units."""
    if type(key) is str and key.isascii():
        return key
    raise _Unusual


def hash_rule(data: bytes) -> HashRule:
    """Text when the bytes are UTF-8 without NUL, raw otherwise."""
    if b"\0" in data:
        return HashRule.RAW
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return HashRule.RAW
    return HashRule.TEXT_LF


def file_sha256(data: bytes) -> str:
    """Hash of a file's content, the same on every checkout platform (manifest version 1)."""
    if hash_rule(data) is HashRule.TEXT_LF:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return sha256_of_bytes(data)


def is_ignored(path: str) -> bool:
    """Whether a POSIX path is left out of tree hashes (caches, version control, byte code)."""
    parts = path.split("/")
    return bool(IGNORED_FOLDERS.intersection(parts)) or path.endswith(IGNORED_SUFFIXES)


def tree_sha256(files: Iterable[tuple[str, str]]) -> str:
    """Hash of a tree from pairs of POSIX path and file hash; ignored paths are left out.

    Paths are sorted by their components, as Python sorts `Path` objects (manifest version 1).
    """
    kept = sorted((path.split("/"), digest) for path, digest in files if not is_ignored(path))
    records = ["/".join(parts) + "\0" + digest for parts, digest in kept]
    # Names that are not Unicode arrive with surrogate escapes and are hashed as their bytes.
    return sha256_of_bytes("\n".join(records).encode("utf-8", "surrogateescape"))


def refuse_ambiguous(data: bytes) -> None:
    """Refuse the JSON that `loads_strict` refuses, without its values: much faster where it is compact.

    Raises:
        JsonRefused, ValueError, RecursionError: as `loads_strict`.
    """
    try:
        # A key that is there twice is written once, so that the bytes are no longer the same.
        if to_json(from_json(data, allow_inf_nan=False)) == data:
            return
    except ValueError:
        pass
    loads_strict(data)


def loads_strict(text: str | bytes) -> JsonValue:
    """Parse JSON; refuse duplicate keys, NaN and infinities.

    Raises:
        JsonRefused: for what is legal for lenient readers but ambiguous.
        ValueError, RecursionError: for what is not JSON, or nested too deeply.
    """

    def no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            seen: set[str] = set()
            twice = sorted({key for key, _ in pairs if key in seen or seen.add(key)})  # type: ignore[func-returns-value]
            raise JsonRefused(f"duplicate key {', '.join(map(repr, twice))}")
        return result

    def no_constant(name: str) -> JsonValue:
        raise JsonRefused(f"{name} is not a JSON number")

    parsed: JsonValue = json.loads(text, object_pairs_hook=no_duplicates, parse_constant=no_constant)
    return parsed
