"""`esac-ag validate`, `arm` and `schema`: what a user sees, and the exit code."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from esac_ag.cli.app import app
from esac_ag.rooms.schemas import RECORDS, generated_schemas, schema_drift, schema_folder
from esac_ag.rooms.validation import validate_manifest
from esac_ag.rooms.workspace import Workspace
from tests.builders_manifest import (
    SKILL_TEXT,
    Study,
    a_sealed_study,
    a_version1_study,
    a_workspace,
    write,
)
from tests.builders_manifest_changes import set_at

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
REPOSITORY = Workspace.find(start=Path(__file__))


def golden(name: str, found: str) -> str:
    """The committed text of that name; written anew when `ESAC_AG_REFRESH_GOLDEN=1` asks for it."""
    path = GOLDEN / name
    if os.environ.get("ESAC_AG_REFRESH_GOLDEN") == "1":
        path.write_bytes(found.encode())
    return path.read_bytes().decode()


def run(*argv: str) -> tuple[int, str]:
    """Exit code and standard output of a command."""
    result = CliRunner().invoke(app, list(argv))
    return result.exit_code, result.stdout


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    """A version 1 study with faults of each sort, looked at from its own folder."""
    study = a_version1_study(tmp_path)
    set_at("phase", value="pilot")(study)
    set_at("status", value="draft")(study)
    set_at("model", "name", value="replace-\x1b[31mme")(study)
    study.data.pop("policies")
    write(study.folder / "../arms/urteilskraft/SKILL.md", "# edited\n")
    write(study.folder / "tasks/task-3/public/README.md", "# edited\n")
    study.save()
    monkeypatch.chdir(study.folder)
    return study


@pytest.mark.usefixtures("broken")
def test_the_text_for_people_equals_its_golden_file() -> None:
    """Place, fault, expectation, remedy, and a verdict at the end."""
    code, text = run("validate", "manifest.json", "--strict")
    assert (code, text) == (1, golden("validate-version1.txt", text))


@pytest.mark.usefixtures("broken")
def test_the_text_for_machines_equals_its_golden_file_and_follows_its_schema() -> None:
    """Severities differ without `--strict`."""
    code, text = run("validate", "manifest.json", "--json")
    assert (code, text) == (1, golden("validate-version1.json", text))
    schema = json.loads(generated_schemas()["validation-v1.schema.json"])
    Draft202012Validator(schema).validate(json.loads(text))


def test_a_valid_manifest_exits_with_0(tmp_path: Path) -> None:
    """For both versions, strict or not."""
    for study in (a_version1_study(tmp_path / "one"), a_sealed_study(tmp_path / "two")):
        for flags in ((), ("--strict",)):
            code, text = run("validate", str(study.path), *flags)
            assert (code, text.count("\n"), "valid" in text) == (0, 1, True)


def test_what_is_no_manifest_exits_with_1_and_prints_json_when_asked(tmp_path: Path) -> None:
    """A machine reader gets its JSON in every case."""
    code, text = run("validate", str(tmp_path), "--json")
    report = json.loads(text)
    assert (code, report["valid"], report["format_version"]) == (1, False, None)


def test_a_root_can_be_named(tmp_path: Path) -> None:
    """Graders are then looked for there, and nowhere else."""
    study = a_sealed_study(tmp_path / "one")
    other = a_workspace(tmp_path / "other")
    write(other.graders / "task-1/checks.py", "# other\n")
    code, text = run("validate", str(study.path), "--root", str(other.root))
    assert (code, "[grader-changed]" in text) == (1, True)


def test_freezing_an_arm_prints_the_entry_of_a_draft(tmp_path: Path) -> None:
    """On standard output, ready to be pasted."""
    root = str(a_workspace(tmp_path / "space").root)
    write(tmp_path / "skill" / "SKILL.md", SKILL_TEXT)
    code, text = run("arm", "freeze", str(tmp_path / "skill"), "--id", "mine", "--root", root)
    assert (code, json.loads(text)["bundle"]) == (0, "../arms/mine")
    code, text = run("arm", "freeze", str(tmp_path / "skill"), "--id", "mine", "--root", root, "--json")
    assert (code, json.loads(text)["files"][0]["path"]) == (0, "SKILL.md")
    code, text = run("arm", "list", "--root", root)
    assert [line.split(":")[0] for line in text.splitlines()] == ["neutral", "careful", "mine"]


def test_the_published_schemas_are_the_generated_ones() -> None:
    """A change of a record without `esac-ag schema --write` fails here."""
    assert schema_drift(schema_folder(REPOSITORY)).names == ()


def test_every_published_schema_is_a_valid_schema() -> None:
    """Of the 2020-12 dialect, under its own name."""
    for name, data in generated_schemas().items():
        schema = json.loads(data)
        Draft202012Validator.check_schema(schema)
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert schema["$id"].rsplit(":", 1)[1] == name.removesuffix(".schema.json")
    assert len(generated_schemas()) == len(RECORDS)


def test_drift_is_told_by_file_name_and_mended_by_writing(tmp_path: Path) -> None:
    """Changed, missing and unknown files alike; writing makes the check pass."""
    workspace = a_workspace(tmp_path)
    folder = schema_folder(workspace)
    root = str(workspace.root)
    assert run("schema", "--write", "--root", root)[0] == 0
    assert run("schema", "--check", "--root", root) == (0, "")
    write(folder / "manifest-v2.schema.json", "{}")
    write(folder / "old-v1.schema.json", "{}")
    (folder / "probe-v2.schema.json").unlink()
    drifted = "manifest-v2.schema.json\nold-v1.schema.json\nprobe-v2.schema.json\n"
    assert run("schema", "--check", "--root", root) == (1, drifted)
    assert run("schema", "--write", "--root", root) == (0, drifted)
    assert run("schema", "--check", "--root", root) == (0, "")


def test_a_plan_of_a_billion_runs_is_a_finding_and_not_computed(tmp_path: Path) -> None:
    """A schedule that only uses up the reader's machine is refused before it is derived."""
    study = a_sealed_study(tmp_path)
    study.data["repetitions"] = 1_000_000_000
    study.save()
    report = validate_manifest(study.path, strict=True)
    assert not report.valid
    assert any(finding.pointer == "/repetitions" for finding in report.findings)


def test_a_null_character_in_a_path_is_a_finding(tmp_path: Path) -> None:
    """No path of a manifest makes the validator fail."""
    study = a_sealed_study(tmp_path)
    study.data["arms"][1]["bundle"] = "a\x00b"
    study.save()
    report = validate_manifest(study.path, strict=True)
    assert any(finding.pointer == "/arms/1/bundle" for finding in report.findings)
