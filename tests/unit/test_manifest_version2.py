"""Format version 2: schema, meaning, digests and the probe, all findings in one pass."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from esac_ag.canonical import sha256_of
from esac_ag.manifest.findings import Severity, ValidationReport
from esac_ag.rooms.proofs import proof_path
from esac_ag.rooms.validation import validate_manifest
from tests.builders_manifest import Study, a_sealed_study, probed_routes, write
from tests.builders_manifest_changes import Change, drop, set_at


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """A sealed study."""
    return a_sealed_study(tmp_path)


def judged(study: Study, *, strict: bool = True) -> ValidationReport:
    """The report of a study as its data is now."""
    return validate_manifest(study.save(), strict=strict)


def errors(report: ValidationReport) -> list[tuple[str, str]]:
    """Code and pointer of each error."""
    return [(f.code, f.pointer) for f in report.findings if f.severity is Severity.ERROR]


def probe(study: Study, **change: object) -> None:
    """Change the probe's record, and seal the changed one."""
    path = study.folder / "study.probe.json"
    record = {**json.loads(path.read_text()), **change}
    path.write_text(json.dumps(record))
    study.data["isolation"]["probe"]["sha256"] = sha256_of(record)


def probe_found(study: Study, routes: list[JsonValue], **change: object) -> None:
    """Seal a record of other routes, whose digest fits."""
    probe(study, routes=routes, result_sha256=sha256_of(routes), **change)


@pytest.mark.parametrize(
    ("settings", "probed", "expected"),
    [
        ({}, "socket", []),
        ({}, "network", [("probe-stale", "/model_way")]),
        ({"model_way": "network"}, "network", []),
        ({"model_way": "network"}, "socket", [("probe-stale", "/model_way")]),
        (
            {"model_way": "network"},
            None,
            [("probe-inconsistent", "/model_way"), ("probe-stale", "/model_way")],
        ),
    ],
)
def test_a_probe_by_another_way_than_the_plans_backs_nothing(
    study: Study, settings: dict[str, JsonValue], probed: str | None, expected: list[tuple[str, str]]
) -> None:
    """A plan that names no way has the mounted socket."""
    study.data["agent"] = {"kind": "command", "version": "1", "settings": settings}
    study.data["network"] = "model-gateway"
    probe(study, network="model-gateway", model_way=probed)
    found = errors(judged(study))
    assert [error for error in found if error[1] == "/model_way"] == expected


def test_a_sealed_study_is_valid_without_a_word(study: Study) -> None:
    """The builder's study is what `freeze` would make."""
    assert judged(study).findings == ()


SCHEMA: dict[str, tuple[Change, str, str]] = {
    "a missing key": (drop("schedule", "seed"), "missing-key", "/schedule"),
    "an unknown key": (set_at("limits", "turn", value=3), "unknown-key", "/limits/turn"),
    "a wrong type": (set_at("repetitions", value="2"), "type", "/repetitions"),
    "a number that is a flag": (set_at("limits", "wall_clock_s", value=True), "type", "/limits/wall_clock_s"),
    "a number that is too small": (set_at("repetitions", value=0), "value", "/repetitions"),
    "an unknown word": (set_at("network", value="internet"), "value", "/network"),
    "a malformed digest": (
        set_at("images", "agent", "digest", value="sha256:zz"),
        "value",
        "/images/agent/digest",
    ),
    "an optional value of a wrong type": (set_at("limits", "turns", value="many"), "type", "/limits/turns"),
    "an optional value that is too small": (set_at("limits", "turns", value=0), "value", "/limits/turns"),
    "one arm": (drop("arms", 1), "value", "/arms"),
    "an integer that is a float": (set_at("repetitions", value=2.0), "value", "/repetitions"),
    "an id with a line end": (set_at("study_id", value="study-1\n"), "value", "/study_id"),
}


@pytest.mark.parametrize("name", SCHEMA)
def test_what_the_schema_refuses_is_told_with_its_place(study: Study, name: str) -> None:
    """A JSON pointer leads to every fault."""
    change, code, place = SCHEMA[name]
    change(study)
    report = judged(study, strict=False)
    assert (code, place) in errors(report), [f.line() for f in report.findings]


MEANING: dict[str, tuple[Change, str, str]] = {
    "two arms of one id": (
        lambda s: s.data["arms"].append(s.data["arms"][1]),
        "duplicate-arm",
        "/arms/2/id",
    ),
    "no control": (set_at("arms", 0, "id", value="control"), "no-neutral", "/arms"),
    "a control with a bundle": (
        set_at("arms", 0, "bundle", value="../arms/careful"),
        "neutral-bundle",
        "/arms/0/bundle",
    ),
    "an arm without a bundle": (set_at("arms", 1, "bundle", value=None), "no-bundle", "/arms/1/bundle"),
    "an arm without files": (set_at("arms", 1, "files", value=[]), "no-inventory", "/arms/1/files"),
    "a skill without SKILL.md": (drop("arms", 1, "files", 0), "kind", "/arms/1/files"),
    "an absolute bundle": (set_at("arms", 1, "bundle", value="/etc"), "absolute-path", "/arms/1/bundle"),
    "two tasks of one id": (
        lambda s: s.data["tasks"].append(s.data["tasks"][0]),
        "duplicate-task",
        "/tasks/4/id",
    ),
    "a comparison with nobody": (
        set_at("analysis", "primary_comparison", "arm", value="bold"),
        "comparison",
        "/analysis/primary_comparison/arm",
    ),
    "a comparison with itself": (
        set_at("analysis", "primary_comparison", value={"arm": "careful", "control": "careful"}),
        "comparison",
        "/analysis/primary_comparison",
    ),
    "another schedule": (set_at("schedule", "seed", value="t"), "schedule", "/schedule/sha256"),
    "a cost limit without prices": (set_at("limits", "cost_usd", value=1), "cost-limit", "/limits/cost_usd"),
    "a command-line agent without network": (
        set_at("agent", value={"kind": "command", "version": "1"}),
        "network",
        "/network",
    ),
    "a grader with less room than the agent": (
        set_at("limits", "workspace_mib", value=4096),
        "grader-limits",
        "/limits/grader/workspace_mib",
    ),
    "a price table of no day": (
        set_at(
            "prices",
            value={"source": "s", "currency": "USD", "date": "2026-02-31", "version": "1", "per_million": {}},
        ),
        "date",
        "/prices/date",
    ),
}


@pytest.mark.parametrize("name", MEANING)
def test_what_the_plan_may_not_say_is_an_error(study: Study, name: str) -> None:
    """Rules beyond the schema hold with and without `--strict`."""
    change, code, place = MEANING[name]
    change(study)
    report = judged(study, strict=False)
    assert (code, place) in errors(report), [f.line() for f in report.findings]


READINESS: dict[str, tuple[Change, str, str]] = {
    "too few tasks": (set_at("phase", value="holdout"), "too-few-tasks", "/tasks"),
    "a flag that is false": (
        set_at("isolation", "isolation_probe_passed", value=False),
        "isolation",
        "/isolation/isolation_probe_passed",
    ),
    "a draft's status": (set_at("status", value="draft"), "status", "/status"),
    "a placeholder": (set_at("model", "version", value="record-later"), "placeholder", "/model/version"),
    "no probe": (set_at("isolation", "probe", value=None), "no-probe", "/isolation/probe"),
    "a probe record that is missing": (
        lambda s: (s.folder / "study.probe.json").unlink(),
        "probe-unusable",
        "/isolation/probe/record",
    ),
    "another probe record": (
        set_at("isolation", "probe", "sha256", value="00" * 32),
        "probe-digest",
        "/isolation/probe/sha256",
    ),
    "a probe of other images": (
        lambda s: probe(s, images={"agent": "sha256:" + "33" * 32, "grader": "sha256:" + "22" * 32}),
        "probe-stale",
        "/images/agent",
    ),
    "a probe of another runner": (
        lambda s: probe(s, runner_sha256="00" * 32),
        "probe-stale",
        "/runner_sha256",
    ),
    "a probe of other limits": (lambda s: probe(s, limits_sha256="00" * 32), "probe-stale", "/limits_sha256"),
    "a probe on another network": (lambda s: probe(s, network="model-gateway"), "probe-stale", "/network"),
    "a probe of another harness": (
        lambda s: probe(s, harness_version="0.0"),
        "probe-stale",
        "/harness_version",
    ),
    "a probe that failed": (lambda s: probe(s, passed=False), "probe-failed", "/passed"),
    "a probe of another study": (lambda s: probe(s, study_id="study-2"), "probe-stale", "/study_id"),
    "a former kind of probe": (lambda s: probe(s, format_version=1), "probe-stale", "/format_version"),
    "a probe that reached something": (
        lambda s: probe_found(s, probed_routes(reached=True), passed=False),
        "probe-reached",
        "/routes/0/reached",
    ),
    "a probe that reached something and says it passed": (
        lambda s: probe_found(s, probed_routes(reached=True)),
        "probe-inconsistent",
        "/passed",
    ),
    "a probe that tried nothing by one route": (
        lambda s: probe_found(s, probed_routes(tried=0)),
        "probe-untried",
        "/routes",
    ),
    "a probe that left a route out": (
        lambda s: probe_found(s, probed_routes()[1:]),
        "probe-untried",
        "/routes",
    ),
    "a probe that did not ask the gateway": (
        lambda s: probe(s, network="model-gateway", model_way="socket"),
        "probe-untried",
        "/routes",
    ),
    "a probe without the way to the gateway": (
        lambda s: probe(s, network="model-gateway"),
        "probe-inconsistent",
        "/model_way",
    ),
    "routes that are not the ones that were probed": (
        lambda s: probe(s, routes=probed_routes(tried=7)),
        "probe-inconsistent",
        "/result_sha256",
    ),
    "a runner that changed": (
        lambda s: write(s.folder / "../runner/guest/hello.py", "print('other')\n"),
        "harness-changed",
        "/harness/runner_sha256",
    ),
    "a proof that is missing": (
        lambda s: proof_path(s.path, "task-1").unlink(),
        "proof-unusable",
        "/tasks/0/proof_sha256",
    ),
}


@pytest.mark.parametrize("name", READINESS)
def test_what_is_not_ready_is_an_error_under_strict_and_a_warning_without(study: Study, name: str) -> None:
    """A stale, foreign, failed or missing probe refuses a scored run, nothing less."""
    change, code, place = READINESS[name]
    change(study)
    strict, lenient = judged(study), judged(study, strict=False)
    assert (code, place) in errors(strict), [f.line() for f in strict.findings]
    assert (code, place) in [(f.code, f.pointer) for f in lenient.findings if f.severity is Severity.WARNING]


DIGESTS: dict[str, tuple[Change, str, str]] = {
    "an edited file": (
        lambda s: write(s.folder / "../arms/careful/SKILL.md", "# other\n"),
        "edited-file",
        "/arms/1/files/0/sha256",
    ),
    "a removed file": (
        lambda s: (s.folder / "../arms/careful/SKILL.md").unlink(),
        "missing-file",
        "/arms/1/files/0/path",
    ),
    "an added file": (
        lambda s: write(s.folder / "../arms/careful/new.md", "new\n"),
        "added-file",
        "/arms/1/files",
    ),
    "a bundle that is gone": (
        lambda s: (s.folder / "../arms/careful").rename(s.folder / "../arms/gone"),
        "bundle-unusable",
        "/arms/1/bundle",
    ),
    "a link in the bundle": (
        lambda s: (s.folder / "../arms/careful/out.md").symlink_to("/etc/hostname"),
        "symlink-leaves",
        "",
    ),
    "an edited snapshot": (
        lambda s: write(s.folder / "../tasks/task-2/public/shop.py", "x = 1\n"),
        "task-changed",
        "/tasks/1/public_tree_sha256",
    ),
    "an edited request": (
        lambda s: write(s.folder / "../tasks/task-2/request.md", "Other.\n"),
        "task-changed",
        "/tasks/1/request_sha256",
    ),
    "an edited grader": (
        lambda s: write(s.folder / "../graders/task-2/checks.py", "# weaker\n"),
        "grader-changed",
        "/tasks/1/private_grader_id",
    ),
    "a task that is gone": (
        lambda s: (s.folder / "../tasks/task-2/task.json").unlink(),
        "task-unusable",
        "/tasks/1/manifest",
    ),
    "an edited proof": (
        lambda s: write(proof_path(s.path, "task-2"), '{"task": "task-2", "holds": false}'),
        "proof-changed",
        "/tasks/1/proof_sha256",
    ),
}


@pytest.mark.parametrize("name", DIGESTS)
def test_what_changed_since_sealing_is_an_error(study: Study, name: str) -> None:
    """Every sealed byte is compared, with and without `--strict`."""
    change, code, place = DIGESTS[name]
    change(study)
    report = judged(study, strict=False)
    assert (code, place) in errors(report), [f.line() for f in report.findings]


def test_one_fault_hides_no_other(study: Study) -> None:
    """Schema, meaning, probe and digests are all told, although the first of them failed."""
    set_at("repetitions", value=0)(study)
    set_at("arms", 0, "bundle", value="x")(study)
    probe(study, passed=False)
    write(study.folder / "../tasks/task-2/request.md", "Other.\n")
    codes = {code for code, _ in errors(judged(study))}
    assert {"value", "neutral-bundle", "probe-failed", "task-changed"} <= codes


def test_a_harness_without_revision_is_a_warning(study: Study) -> None:
    """An installed harness has no commit; its code's digest tells which it was."""
    study.data["harness"] |= {"revision": "unversioned", "dirty": True}
    report = judged(study)
    assert (report.errors, [f.code for f in report.findings]) == (0, ["revision", "revision"])


def test_a_model_without_price_is_told_of_and_not_refused(study: Study) -> None:
    """Its cost will be unavailable, never zero."""
    study.data["agent"]["kind"] = "chat"
    report = judged(study)
    assert (report.errors, [f.code for f in report.findings]) == (0, ["no-price"])


def test_a_manifest_outside_any_workspace_cannot_be_compared(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be looked at is never taken for unchanged."""
    (study.folder.parent / "runner").rename(tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path)
    codes = {code for code, _ in errors(judged(study))}
    assert {"grader-missing", "harness-missing"} <= codes


def a_draft(study: Study) -> dict[str, object]:
    """A draft for the study's workspace."""
    return {
        "format_version": 2,
        "study_id": "study-2",
        "phase": "calibration",
        "status": "draft",
        "model": study.data["model"],
        "agent": study.data["agent"],
        "repetitions": 2,
        "arms": [{"id": "neutral"}, {"id": "careful", "bundle": "../arms/careful"}],
        "tasks": [{"id": f"task-{number}"} for number in range(1, 5)],
    }


def test_a_draft_is_valid_until_strictness_asks_for_a_seal(study: Study) -> None:
    """Being a draft is all that is wrong with a good one."""
    study.data = a_draft(study)
    assert judged(study, strict=False).valid
    assert errors(judged(study)) == [("status", "/status")]


def test_a_draft_is_told_all_that_freezing_will_miss(study: Study) -> None:
    """Bundles, tasks and graders are looked for before anything is proved."""
    study.data = a_draft(study)
    study.data["arms"] = [{"id": "bold", "bundle": "../arms/bold"}, {"id": "mild"}]
    study.data["tasks"] = [{"id": "task-1"}, {"id": "task-9"}]
    study.data["analysis"] = {"primary_comparison": {"arm": "careful"}}
    assert errors(judged(study, strict=False)) == [
        ("comparison", "/analysis/primary_comparison"),
        ("comparison", "/analysis/primary_comparison"),
        ("no-neutral", "/arms"),
        ("bundle-unusable", "/arms/0/bundle"),
        ("no-bundle", "/arms/1/bundle"),
        ("task-unusable", "/tasks/1"),
        ("task-unusable", "/tasks/1"),
    ]
