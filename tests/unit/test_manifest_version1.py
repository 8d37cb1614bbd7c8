"""Format version 1: the verdict of each rule that the written format names, one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from esac_ag.manifest.findings import Severity, ValidationReport
from esac_ag.rooms.validation import validate_manifest
from tests.builders_manifest import Study, a_version1_study, a_version1_task, listed, tree_hash, write
from tests.builders_manifest_changes import ALWAYS, LEGAL, UNDER_STRICT, both, bundle_file


def judged(study: Study, *, strict: bool) -> ValidationReport:
    """The report of a study as its data is now."""
    return validate_manifest(study.save(), strict=strict)


def codes(report: ValidationReport, severity: Severity = Severity.ERROR) -> list[str]:
    """Codes of the findings of one severity, in order."""
    return [finding.code for finding in report.findings if finding.severity is severity]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """A complete study that somebody else laid out."""
    return a_version1_study(tmp_path)


@pytest.mark.parametrize("strict", [True, False])
def test_a_complete_study_of_somebody_else_is_valid_without_a_word(study: Study, *, strict: bool) -> None:
    """Unknown keys, `../` bundles and foreign layouts are legal."""
    report = judged(study, strict=strict)
    assert (report.valid, report.findings, report.format_version) == (True, (), 1)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", ALWAYS)
def test_a_structural_fault_is_an_error_with_and_without_strict(
    study: Study, name: str, *, strict: bool
) -> None:
    """Each fault is told with its rule, its place and a remedy."""
    change, code, place = ALWAYS[name]
    change(study)
    report = judged(study, strict=strict)
    assert not report.valid
    found = [f for f in report.findings if (f.code, f.pointer, f.severity) == (code, place, Severity.ERROR)]
    assert found, [finding.line() for finding in report.findings]
    assert all(finding.expected and finding.found and finding.remedy for finding in found)


@pytest.mark.parametrize("name", UNDER_STRICT)
def test_what_is_not_ready_for_a_scored_run_is_an_error_under_strict_only(study: Study, name: str) -> None:
    """The same finding is a warning without `--strict`, and the manifest stays valid."""
    change, code, place = UNDER_STRICT[name]
    change(study)
    strict, lenient = judged(study, strict=True), judged(study, strict=False)
    assert (code, place) in [(f.code, f.pointer) for f in strict.findings if f.severity is Severity.ERROR]
    assert (code, place) in [(f.code, f.pointer) for f in lenient.findings if f.severity is Severity.WARNING]
    assert (strict.valid, lenient.valid) == (False, True)


@pytest.mark.parametrize("name", LEGAL)
def test_what_the_other_validator_accepts_is_never_refused(study: Study, name: str) -> None:
    """Lenient exactly where the format is; at most a warning is added."""
    LEGAL[name](study)
    report = judged(study, strict=True)
    assert report.valid, [finding.line() for finding in report.findings]


def test_every_fault_is_told_in_one_pass(study: Study) -> None:
    """A fault does not hide those that come after it."""
    for name in ("an unknown phase", "a control with files", "an edited file", "a draft"):
        change = {**ALWAYS, **UNDER_STRICT}.get(name, (bundle_file("SKILL.md", "x\n"), "", ""))[0]
        change(study)
    report = judged(study, strict=True)
    assert {"phase", "neutral-bundle", "hash-mismatch", "status"} <= set(codes(report))


def test_errors_come_first_and_in_the_order_of_the_manifest(study: Study) -> None:
    """Reports of one manifest are the same, whatever order the disk lists things in."""
    for number in range(12):
        study.data["arms"].insert(
            3, {"id": f"more-{number}", "bundle": f"../arms/none-{number}", "files": [1]}
        )
    pointers = [f.pointer for f in judged(study, strict=True).findings if f.code == "bundle-missing"]
    assert pointers == [f"/arms/{index}/bundle" for index in range(3, 15)]


def test_windows_line_ends_change_no_hash(study: Study) -> None:
    """A checkout with CRLF, the manifest's own file included, is the same study."""
    for path in [*study.folder.parent.rglob("*.md"), *study.folder.rglob("*.py")]:
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    path = study.save()
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert validate_manifest(path, strict=True).findings == ()


def test_text_with_a_nul_is_hashed_as_text(study: Study) -> None:
    """Version 1 knows text only; NUL is legal UTF-8."""
    bundle = study.folder / "../arms/current-restraint"
    (bundle / "SKILL.md").write_bytes(b"a\0b\r\n")
    study.data["arms"][1]["files"] = listed(bundle)
    assert judged(study, strict=True).valid


@pytest.mark.parametrize("place", ["../arms/current-restraint/SKILL.md", "tasks/task-1/public/README.md"])
def test_a_file_that_is_not_utf8_cannot_be_hashed(study: Study, place: str) -> None:
    """Version 1 defines no hash for it, so it refuses, and says so."""
    (study.folder / place).write_bytes(b"\xff\xfe\x00")
    report = judged(study, strict=False)
    assert not report.valid
    assert any(code.endswith("not-text") for code in codes(report))


def test_a_link_inside_the_bundle_counts_as_the_file(study: Study) -> None:
    """`Path.is_file` follows links, so version 1 does."""
    bundle = study.folder / "../arms/current-restraint"
    (bundle / "README.md").symlink_to("SKILL.md")
    assert codes(judged(study, strict=True)) == ["unlisted-file"]
    study.data["arms"][1]["files"] = listed(bundle)
    assert judged(study, strict=True).findings == ()


def test_a_link_out_of_the_bundle_is_refused(study: Study) -> None:
    """What lies outside is no part of a bundle, listed or not."""
    bundle = study.folder / "../arms/current-restraint"
    (bundle / "other.md").symlink_to("../urteilskraft/SKILL.md")
    assert codes(judged(study, strict=True)) == ["unlisted-file"]
    study.data["arms"][1]["files"] = listed(bundle)
    assert codes(judged(study, strict=True)) == ["file-escapes"]


def test_more_than_the_format_asks_for_is_a_warning(study: Study) -> None:
    """Names that collide elsewhere are worth a word and no refusal."""
    folder = study.folder / "tasks/task-1/public"
    write(folder / "readme.md", "the other case\n")
    both("public_tree_sha256", tree_hash(folder))(study)
    report = judged(study, strict=True)
    assert (codes(report), codes(report, Severity.WARNING)) == ([], ["name-collision"])


def test_twelve_tasks_are_enough_for_a_primary_study(study: Study) -> None:
    """The largest minimum is reachable."""
    study.data["phase"] = "primary"
    study.data["tasks"] += [a_version1_task(study.folder, f"task-{number}") for number in range(5, 13)]
    assert judged(study, strict=True).findings == ()
