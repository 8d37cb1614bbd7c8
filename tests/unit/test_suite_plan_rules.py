"""Validation of a suite run's plan: each rule has its finding, and one pass tells them all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from esac_ag.cli import main
from esac_ag.cli.app import app
from esac_ag.conduct.opening import load_manifest
from esac_ag.conduct.suite_opening import load_suite_plan
from esac_ag.errors import InputRefused
from esac_ag.manifest.findings import Finding, Severity
from esac_ag.rooms.manifest_file import plans_a_suite_run
from esac_ag.rooms.validation import validate_manifest
from esac_ag.suite.plan import SuitePlan, schedule_of
from esac_ag.suite.pools import seed_fingerprint
from tests.builders_freeze import a_draft, workspace_of
from tests.builders_manifest import a_sealed_study, a_workspace
from tests.builders_suite_run import (
    HELD_OUT_SEED,
    JUDGED,
    QUICK,
    SealedRun,
    a_judge,
    a_sealed_run,
    held_out,
)

DIGEST = "ab" * 32
Change = Callable[[dict[str, Any]], None]


@pytest.fixture
def sealed(tmp_path: Path) -> SealedRun:
    """A sealed plan of four items, one of them judged, with one arm beside the control."""
    a_workspace(tmp_path)
    careful = tmp_path / "arms" / "careful"
    return a_sealed_run(tmp_path, *QUICK, JUDGED, judge=a_judge(), arms={"careful": careful})


def findings(run: SealedRun, *, strict: bool = True) -> list[Finding]:
    """Everything that validation tells, warnings of the checkout's own state apart."""
    report = validate_manifest(run.path, strict=strict, workspace=run.workspace)
    return [finding for finding in report.findings if finding.code != "revision"]


def told(run: SealedRun) -> set[tuple[str, str]]:
    """Code and place of each finding."""
    return {(finding.code, finding.pointer) for finding in findings(run)}


def rescheduled(data: dict[str, Any]) -> None:
    """Seal the schedule that follows from the items as they are now."""
    items = SuitePlan.model_validate_json(json.dumps(data)).items
    arms = [arm["id"] for arm in data["arms"]]
    data["schedule"]["sha256"] = schedule_of(data["schedule"]["seed"], items, arms).sha256


def changed(run: SealedRun, *changes: Change) -> SealedRun:
    """The run with another manifest."""
    data = run.data
    for change in changes:
        change(data)
    run.save(data)
    return run


def reversed_items(data: dict[str, Any]) -> None:
    """Another order."""
    data["items"].reverse()


def item_twice(data: dict[str, Any]) -> None:
    """An item more than once."""
    data["items"].append(data["items"][0])


def unknown_item(data: dict[str, Any]) -> None:
    """An item that no bank has."""
    data["items"][0]["id"] = "tool-call-nothing"


def other_runs(data: dict[str, Any]) -> None:
    """An item that is played too often."""
    data["items"][0]["runs"] = 3


def no_judge(data: dict[str, Any]) -> None:
    """A judged item without a judge."""
    data["judge"] = None


def other_schedule(data: dict[str, Any]) -> None:
    """A schedule that follows from nothing."""
    data["schedule"]["sha256"] = DIGEST


def other_seed_of_the_schedule(data: dict[str, Any]) -> None:
    """Another order of arms."""
    data["schedule"]["seed"] += "x"


def other_instance(data: dict[str, Any]) -> None:
    """An instance that the bank does not give."""
    data["items"][1]["instance_sha256"] = DIGEST


def other_fingerprint(data: dict[str, Any]) -> None:
    """A public pool of another seed."""
    data["seed_fingerprint"] = seed_fingerprint("another")


def other_version(data: dict[str, Any]) -> None:
    """Another version of the suite."""
    data["suite"]["version"] = "0.9"


def control_with_bundle(data: dict[str, Any]) -> None:
    """A control that is none."""
    data["arms"][0] |= {name: data["arms"][1][name] for name in ("kind", "bundle", "files")}


def two_ids(data: dict[str, Any]) -> None:
    """Two arms of one id."""
    data["arms"].append(data["arms"][1])


def no_control(data: dict[str, Any]) -> None:
    """No control at all."""
    del data["arms"][0]


def unknown_key(data: dict[str, Any]) -> None:
    """A key that the format has not."""
    data["seed"] = HELD_OUT_SEED


def absolute_bundle(data: dict[str, Any]) -> None:
    """A bundle that lies on one machine only."""
    data["arms"][1]["bundle"] = "/tmp/careful"


def test_a_plan_that_was_just_sealed_holds(sealed: SealedRun) -> None:
    """Strictly, and without any finding."""
    assert findings(sealed) == []
    assert load_suite_plan(sealed.path, workspace=sealed.workspace) == sealed.plan


@pytest.mark.parametrize(
    ("change", "code", "pointer"),
    [
        (reversed_items, "item-order", "/items"),
        (item_twice, "item-order", "/items"),
        (unknown_item, "unknown-item", "/items"),
        (other_runs, "replication", "/items/0/runs"),
        (no_judge, "no-judge", "/judge"),
        (other_schedule, "schedule", "/schedule/sha256"),
        (other_seed_of_the_schedule, "schedule", "/schedule/sha256"),
        (other_instance, "instance-changed", "/items/1/instance_sha256"),
        (other_fingerprint, "seed", "/seed_fingerprint"),
        (other_version, "suite-version", "/suite/version"),
        (control_with_bundle, "neutral-bundle", "/arms/0/bundle"),
        (two_ids, "duplicate-arm", "/arms/2/id"),
        (no_control, "no-neutral", "/arms"),
        (absolute_bundle, "absolute-path", "/arms/1/bundle"),
    ],
)
def test_each_rule_has_its_finding(sealed: SealedRun, change: Change, code: str, pointer: str) -> None:
    """An error with the place, and a remedy; the run refuses the plan."""
    found = [one for one in findings(changed(sealed, change)) if (one.code, one.pointer) == (code, pointer)]
    assert [one.severity for one in found] == [Severity.ERROR]
    assert found[0].remedy
    with pytest.raises(InputRefused):
        sealed.opened()
    assert not sealed.folder.ledger.exists()


def test_an_unknown_key_is_refused(sealed: SealedRun) -> None:
    """There is no place in a plan where a seed could be written down."""
    (finding,) = findings(changed(sealed, unknown_key))
    assert "seed" in finding.what + finding.found + finding.pointer
    assert HELD_OUT_SEED not in finding.line()


def test_an_edited_file_of_a_bundle_is_named(sealed: SealedRun) -> None:
    """And so are files that came or went."""
    bundle = sealed.folder.path / "arms" / "careful"
    (bundle / "SKILL.md").write_text("# Else\n")
    assert {code for code, _ in told(sealed)} == {"edited-file"}
    (bundle / "more.md").write_text("more\n")
    (bundle / "references" / "more.md").unlink()
    assert {code for code, _ in told(sealed)} == {"edited-file", "added-file", "missing-file"}


def test_the_bundle_that_was_copied_from_is_no_part_of_the_plan(sealed: SealedRun) -> None:
    """The folder of the run is whole by itself."""
    (sealed.workspace.arms / "careful" / "SKILL.md").write_text("# Else\n")
    assert findings(sealed) == []


def test_one_pass_tells_all(sealed: SealedRun) -> None:
    """Arms, files, order, replication, judge, schedule and instances, whatever else is wrong."""
    (sealed.folder.path / "arms" / "careful" / "SKILL.md").write_text("# Else\n")
    changed(sealed, reversed_items, other_runs, no_judge, other_schedule, other_instance, two_ids)
    assert {code for code, _ in told(sealed)} >= {
        "item-order",
        "replication",
        "no-judge",
        "schedule",
        "instance-changed",
        "duplicate-arm",
        "edited-file",
    }


def test_a_changed_bank_is_an_error_only_where_the_plan_is_to_run(sealed: SealedRun) -> None:
    """Without `--strict` it is a warning: the record of an old run stays readable."""
    changed(sealed, other_instance)
    assert [one.severity for one in findings(sealed, strict=False)] == [Severity.WARNING]
    assert [one.severity for one in findings(sealed)] == [Severity.ERROR]


def test_a_plan_whose_runs_and_schedule_were_both_changed_is_still_refused(sealed: SealedRun) -> None:
    """A schedule that fits does not excuse what it was made from."""
    changed(sealed, other_runs, rescheduled)
    assert told(sealed) == {("replication", "/items/0/runs")}


def test_held_out_instances_are_not_drawn_for_validation(tmp_path: Path) -> None:
    """Whoever validates needs no seed; opening the run compares the instances."""
    run = a_sealed_run(tmp_path, dataset=held_out())
    changed(run, other_instance)
    assert findings(run) == []
    with pytest.raises(InputRefused, match="instances"):
        run.opened()


def test_a_plan_of_a_study_is_no_suite_run(tmp_path: Path) -> None:
    """`suite run --manifest` names the other command."""
    study = a_sealed_study(tmp_path)
    with pytest.raises(InputRefused, match="plans a study") as caught:
        load_suite_plan(study.path, workspace=workspace_of(study))
    assert caught.value.remedy == f"esac-ag run {study.path}"


def test_a_plan_of_a_suite_run_is_no_study(sealed: SealedRun) -> None:
    """`run` names the other command."""
    with pytest.raises(InputRefused, match="plans a suite run") as caught:
        load_manifest(sealed.path, workspace=sealed.workspace)
    assert caught.value.remedy == f"esac-ag suite run --manifest {sealed.path}"


def test_both_commands_refuse_the_others_plan(
    sealed: SealedRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the command line, as a refused input, with the right command."""
    root = str(sealed.workspace.root)
    assert main(["run", str(sealed.path), "--root", root]) == InputRefused.exit_code
    assert f"esac-ag suite run --manifest {sealed.path}" in capsys.readouterr().err
    study = a_sealed_study(tmp_path / "other")
    other = str(tmp_path / "other")
    assert main(["suite", "run", "--manifest", str(study.path), "--root", other]) == InputRefused.exit_code
    assert f"esac-ag run {study.path}" in capsys.readouterr().err


def test_a_draft_of_a_suite_run_is_refused(tmp_path: Path) -> None:
    """The suite seals its own plans."""
    draft = a_draft(tmp_path, suite={"name": "esac-ag", "version": "1"})
    report = validate_manifest(draft.path, strict=False, workspace=workspace_of(draft))
    assert ("suite", "/suite/name") in {(finding.code, finding.pointer) for finding in report.findings}
    assert not report.valid


def test_validate_takes_suite_plans_too(sealed: SealedRun) -> None:
    """The command says the same as the functions behind it."""
    argv = ["validate", str(sealed.path), "--strict", "--json"]
    assert CliRunner().invoke(app, argv).exit_code == 0
    changed(sealed, no_judge)
    done = CliRunner().invoke(app, argv)
    assert done.exit_code == 1
    assert "no-judge" in {finding["code"] for finding in json.loads(done.stdout)["findings"]}


@pytest.mark.parametrize(
    "text", ["", "[", "[]", "7", '{"suite": 7}', '{"suite": {"name": ["esac-ag"]}}', "\udcff"]
)
def test_whatever_cannot_be_read_plans_no_suite_run(tmp_path: Path, text: str) -> None:
    """Files of any content, and none at all."""
    path = tmp_path / "manifest.json"
    assert not plans_a_suite_run(path)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert not plans_a_suite_run(path)
