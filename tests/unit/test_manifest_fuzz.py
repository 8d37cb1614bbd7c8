"""Validators meet arbitrary JSON: findings or silence, never an exception."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from esac_ag.manifest.findings import Severity
from esac_ag.rooms.validation import validate_manifest
from tests.builders_manifest import Study, a_sealed_study, a_version1_study

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(st.characters(), max_size=12),
    st.sampled_from(
        ["neutral", "..", "/", "a\\b", "\0", "\ud800", "replace-x", "frozen", "primary", "ab" * 32]
    ),
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = (
    "format_version",
    "arms",
    "tasks",
    "phase",
    "isolation",
    "status",
    "analysis",
    "limits",
    "harness",
    "images",
)
LOOSE = st.dictionaries(st.sampled_from(KEYS), JSON, max_size=10)
FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401  (JSON)
    """The path of every value inside a JSON value."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        yield from places(child, (*path, key))


@st.composite
def changed(draw: st.DrawFn, data: dict[str, Any]) -> dict[str, Any]:
    """The manifest with one to three values replaced, removed or doubled."""
    data = copy.deepcopy(data)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(places(data))))
        target: Any = data
        for key in path[:-1]:
            target = target[key]
        match draw(st.sampled_from(["replace", "remove", "double"])):
            case "replace":
                target[path[-1]] = draw(JSON)
            case "remove":
                del target[path[-1]]
            case "double" if isinstance(target, list):
                target.append(copy.deepcopy(target[path[-1]]))
            case _:
                target["extra"] = draw(JSON)
        if not data:
            return data
    return data


@FUZZ
@given(data=LOOSE, version=st.sampled_from([1, 2, None]), strict=st.booleans())
def test_any_json_gets_a_report(
    tmp_path: Path, data: dict[str, Any], version: int | None, *, strict: bool
) -> None:
    """Arbitrary values at every key, as version 1, version 2 and neither: each is refused in words."""
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({"format_version": version, **data} if version else data))
    report = validate_manifest(path, strict=strict)
    assert report.valid == (not [f for f in report.findings if f.severity is Severity.ERROR])
    assert not report.valid


@pytest.fixture(scope="module")
def version1(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A complete study of format version 1."""
    return a_version1_study(tmp_path_factory.mktemp("version1"))


@pytest.fixture(scope="module")
def version2(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A sealed study of format version 2."""
    return a_sealed_study(tmp_path_factory.mktemp("version2"))


@pytest.mark.parametrize("version", [1, 2])
@FUZZ
@given(draw=st.data(), strict=st.booleans())
def test_a_valid_manifest_changed_anywhere_gets_a_report(
    version1: Study, version2: Study, version: int, draw: st.DataObject, *, strict: bool
) -> None:
    """Mutations reach deeper than arbitrary JSON does; strictness only ever adds errors."""
    study = version1 if version == 1 else version2
    path = study.path.with_name("changed.json")
    path.write_text(json.dumps(draw.draw(changed(study.data))))
    report = validate_manifest(path, strict=strict)
    assert report.errors + report.warnings == len(report.findings)
    assert all(f.what and f.code for f in report.findings)
    assert report.valid or not validate_manifest(path, strict=True).valid
