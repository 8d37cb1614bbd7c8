"""Drafts, and the texts of findings: one fault hides no other, and one fault is one finding."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from esac_ag.manifest.draft_sections import DraftSections
from esac_ag.manifest.findings import Finding, Severity
from esac_ag.manifest.plan import Limits, Network
from esac_ag.rooms.validation import validate_manifest
from tests.builders_manifest import Study, a_sealed_study, file_hash, write

ONE_PER_PLACE = frozenset({"type", "value", "unknown-key", "status"})
"""Rules of which a value can break one only."""


@pytest.fixture
def sealed(tmp_path: Path) -> Study:
    """A sealed study."""
    return a_sealed_study(tmp_path)


@pytest.fixture
def draft(sealed: Study) -> Study:
    """A draft in the sealed study's workspace."""
    sealed.data = {
        "format_version": 2,
        "study_id": "study-2",
        "phase": "calibration",
        "status": "draft",
        "model": {"name": "m", "version": "1", "provider": "p"},
        "agent": {"kind": "chat", "version": "1"},
        "network": "none",
        "repetitions": 2,
        "arms": [{"id": "neutral"}, {"id": "careful", "bundle": "../arms/careful"}],
        "tasks": [{"id": f"task-{number}"} for number in range(1, 5)],
    }
    return sealed


def findings(study: Study, *, strict: bool = False) -> tuple[Finding, ...]:
    """The findings of a study as its data is now."""
    return validate_manifest(study.save(), strict=strict).findings


def errors(study: Study) -> set[tuple[str, str]]:
    """Code and pointer of each error."""
    return {(f.code, f.pointer) for f in findings(study) if f.severity is Severity.ERROR}


def test_a_draft_without_most_keys_is_judged_in_all_that_it_has(draft: Study) -> None:
    """Arms, bundles, packages and placeholders are told beside the missing keys."""
    draft.data = {
        "format_version": 2,
        "study_id": "x",
        "status": "draft",
        "arms": [{"id": "a", "bundle": "nope"}],
        "tasks": [{"id": "nope"}],
        "model": {"name": "replace-me"},
    }
    told = Counter((f.code, f.pointer) for f in findings(draft))
    assert told == {
        ("status", "/status"): 1,  # a warning: drafts are drafts
        ("missing-key", ""): 3,
        ("missing-key", "/model"): 2,
        ("placeholder", "/model/name"): 1,
        ("value", "/arms"): 1,
        ("no-neutral", "/arms"): 1,
        ("bundle-unusable", "/arms/0/bundle"): 1,
        ("task-unusable", "/tasks/0"): 2,
    }


def test_a_malformed_arm_is_looked_at_in_what_can_be_read(draft: Study) -> None:
    """An unknown key does not hide that the bundle is not there; a malformed bundle is not a missing one."""
    draft.data["arms"] = [
        {"id": "neutral"},
        {"id": "bold", "bundle": "../arms/bold", "kind": "skill"},
        {"id": "odd", "bundle": 7},
        "mild",
    ]
    assert errors(draft) == {
        ("unknown-key", "/arms/1/kind"),
        ("bundle-unusable", "/arms/1/bundle"),
        ("type", "/arms/2/bundle"),
        ("type", "/arms/3"),
    }


def test_what_a_draft_leaves_out_has_its_default() -> None:
    """A default is judged like a written value; what is malformed is not taken for the default."""
    assert DraftSections.of({}).limits == Limits()
    assert DraftSections.of({}).network is Network.NONE
    assert DraftSections.of({}).phase is None
    assert DraftSections.of({"network": "internet"}).network is None


def test_a_draft_whose_task_json_names_other_files_is_told_how_to_seal_it(draft: Study) -> None:
    """Snapshot and grader are compared with what task.json says, for every task."""
    root = draft.folder.parent
    write(root / "tasks" / "task-1" / "public" / "shop.py", "NAME = 'edited'\n")
    write(root / "graders" / "task-2" / "checks.py", "# weaker\n")
    unsealed = {f.pointer: f for f in findings(draft) if f.code == "task-unsealed"}
    assert {place: f.what.split("`")[1] for place, f in unsealed.items()} == {
        "/tasks/0": "public_tree_sha256",
        "/tasks/1": "private_grader_id",
    }
    assert unsealed["/tasks/1"].remedy == "If the files are right: esac-ag task seal task-2"


def test_a_task_that_names_the_package_of_another_is_told(draft: Study) -> None:
    """The id of the draft has to be the package's own."""
    draft.data["tasks"][0]["manifest"] = "../tasks/task-2/task.json"
    assert ("task-id", "/tasks/0") in errors(draft)


@pytest.mark.parametrize("strict", [True, False])
def test_one_fault_of_a_value_is_one_finding(draft: Study, tmp_path: Path, *, strict: bool) -> None:
    """Whatever a value is replaced by, and wherever a key is added, each place is told of once."""
    for base in (a_sealed_study(tmp_path / "other").data, draft.data):
        for changed in changes(base):
            draft.data = changed
            found = [(f.file, f.pointer) for f in findings(draft, strict=strict) if f.code in ONE_PER_PLACE]
            assert len(found) == len(set(found)), found


def changes(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The data with one unknown key, one unknown word or one value of another type, at every place."""
    for path, value in places(data, ()):
        if isinstance(value, dict):
            yield at(data, (*path, "surprise"), 1)
        if path and not isinstance(value, dict | list):
            yield at(data, path, "surprise")
            yield at(data, path, [])


def places(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:  # noqa: ANN401
    """Every place, but only the first of similar items."""
    yield path, value
    items = (
        value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    )
    for key, child in items:
        yield from places(child, (*path, key))


def at(data: dict[str, Any], path: tuple[Any, ...], value: object) -> dict[str, Any]:
    """A copy with another value at a place."""
    result = copy.deepcopy(data)
    target: Any = result
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return result


def test_a_word_that_is_no_status_is_told_as_such(draft: Study) -> None:
    """A status that is unknown is not also called a draft's."""
    draft.data["status"] = "ready"
    assert [(f.code, f.pointer, f.found) for f in findings(draft, strict=True) if "status" in f.pointer] == [
        ("value", "/status", '"ready"')
    ]


def test_a_file_that_is_too_large_is_not_called_a_matter_of_permissions(tmp_path: Path) -> None:
    """The remedy fits the fault."""
    path = tmp_path / "manifest.json"
    with path.open("wb") as file:
        file.truncate(100_000_000)
    (finding,) = validate_manifest(path, strict=False).findings
    assert "permissions" not in finding.remedy
    assert "a few megabytes at most" in finding.remedy
    assert "100000000 bytes" in finding.found
    (missing,) = validate_manifest(tmp_path / "absent.json", strict=False).findings
    assert missing.remedy == "Check the path and its permissions."


def test_an_edited_file_is_told_with_both_hashes(sealed: Study) -> None:
    """A reader can tell which edit it is."""
    path = write(sealed.folder / "../arms/careful/SKILL.md", "# other\n")
    (finding,) = findings(sealed)
    entry = next(file for file in sealed.data["arms"][1]["files"] if file["path"] == "SKILL.md")
    assert (finding.code, finding.expected, finding.found) == (
        "edited-file",
        entry["sha256"],
        file_hash(path),
    )


def test_a_file_that_was_hashed_by_another_rule_is_told_with_the_rules(sealed: Study) -> None:
    """Equal hashes are not shown as if they differed."""
    sealed.data["arms"][1]["files"][0]["rule"] = "raw"
    (finding,) = findings(sealed)
    assert finding.expected.endswith("(raw)")
    assert finding.found.endswith("(text-lf)")


def test_a_network_that_no_container_will_have_is_an_error_in_a_sealed_manifest_too(sealed: Study) -> None:
    """What the plan says of the network has to be what a run does."""
    sealed.data["network"] = "model-gateway"
    assert ("network", "/network") in errors(sealed)


def test_the_findings_of_a_draft_are_json(draft: Study) -> None:
    """Every finding can be printed for programs."""
    draft.data["agent"] = {"kind": "command", "version": "1"}
    report = validate_manifest(draft.save(), strict=False)
    assert json.loads(report.model_dump_json())["errors"] == 2
