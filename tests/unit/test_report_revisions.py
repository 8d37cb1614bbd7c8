"""Corrections of a report never overwrite: each is a numbered revision, and earlier ones stay."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from esac_ag.artifacts import StudyFolder, file_digest
from esac_ag.attempt.events import ReportRevised, StudyState
from esac_ag.cli.app import app
from esac_ag.conduct import reporting
from esac_ag.conduct.audit import audit
from esac_ag.conduct.report_revisions import revise_report
from esac_ag.conduct.reporting import write_report
from esac_ag.errors import InputRefused, UsageError
from esac_ag.ledger import read_state
from esac_ag.report.evidence import EVIDENCE
from esac_ag.report.view import ReportView
from tests.builders_conduct import a_runnable_study, folder_of, run

WHY = "A grader's weight was misread."


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    """A finished study, which tests copy."""
    study = a_runnable_study(tmp_path_factory.mktemp("study"))
    run(study)
    return folder_of(study)


@pytest.fixture
def folder(finished: StudyFolder, tmp_path: Path) -> StudyFolder:
    """A finished study with its first report."""
    path = Path(shutil.copytree(finished.path, tmp_path / "study"))
    write_report(path)
    return StudyFolder(path)


def digests(folder: StudyFolder) -> dict[str, str]:
    """Every file of every report."""
    paths = (path for path in folder.report.rglob("*") if path.is_file())
    return {path.relative_to(folder.path).as_posix(): file_digest(path) for path in paths}


def test_a_revision_is_added_and_the_first_report_stays_byte_for_byte(folder: StudyFolder) -> None:
    """The ledger names both, with the reason; the audit covers both."""
    first = digests(folder)
    view, where = revise_report(folder.path, f"  {WHY}\n")
    assert where == folder.report / "revision-2"
    after = digests(folder)
    assert {name: after[name] for name in first} == first
    event = read_state(folder.ledger).revisions[0]
    assert event.reason == WHY
    assert event.earlier == first
    assert event.files == {name: digest for name, digest in after.items() if name not in first}
    assert view.revision is not None
    assert (view.revision.number, view.revision.reason) == (2, WHY)
    assert audit(folder.path).clean


def test_evidence_lies_where_each_report_says(folder: StudyFolder) -> None:
    """From the first report and from a revision a folder further down; every attempt has its five files."""
    revise_report(folder.path, WHY)
    for place in (folder.report, folder.report / "revision-2"):
        page = (place / "report.html").read_text()
        linked = set(re.findall(r'href="(\.\.[^"]+)"', page))
        assert len(linked) == len(EVIDENCE) * len(read_state(folder.ledger).attempts)
        assert all((place / address).is_file() for address in linked)
    assert (folder.hidden_checks).read_text().startswith("task,check,id,")


def test_the_newest_report_says_which_it_is_why_and_what_came_before(folder: StudyFolder) -> None:
    """Markdown and JSON alike; the first one says nothing of it."""
    assert "Revision" not in (folder.report / "report.md").read_text()
    revise_report(folder.path, WHY)
    revise_report(folder.path, "Once more.")
    newest = folder.report / "revision-3"
    text = (newest / "report.md").read_text()
    assert "> **Revision 3 of " in text
    assert "Once more." in text
    assert "Report 1" in text
    assert f"Report 2, of {read_state(folder.ledger).revisions[0].at}: {WHY}" in text
    view = ReportView.model_validate_json((newest / "report.json").read_bytes())
    assert view.revision is not None
    assert [item.number for item in view.revision.earlier] == [1, 2]
    assert view.revision.earlier[1].files == read_state(folder.ledger).revisions[0].files
    assert audit(folder.path).clean


def test_a_revised_report_is_not_rewritten(folder: StudyFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same records show the newest one again; other ones are refused and leave everything."""
    revise_report(folder.path, WHY)
    before = digests(folder)
    _, where = write_report(folder.path)
    assert where == folder.report / "revision-2"
    assert digests(folder) == before
    monkeypatch.setattr(reporting, "report_files", lambda _view: {"report.md": b"other"})
    with pytest.raises(InputRefused, match="is not rewritten") as refusal:
        write_report(folder.path)
    assert "report revise" in refusal.value.remedy
    assert digests(folder) == before


@pytest.mark.parametrize("name", ["report/report.md", "report/revision-2/report.json"])
@pytest.mark.parametrize("gone", [True, False])
def test_an_earlier_report_that_was_changed_or_removed_is_found(
    folder: StudyFolder, name: str, *, gone: bool
) -> None:
    """And nothing is revised on top of it."""
    revise_report(folder.path, WHY)
    revise_report(folder.path, WHY)
    path = folder.path / name
    if gone:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes() + b" ")
    assert [finding.where for finding in audit(folder.path).findings] == [name]
    with pytest.raises(InputRefused, match="nothing was revised"):
        revise_report(folder.path, WHY)


def test_an_edited_newest_revision_is_found(folder: StudyFolder) -> None:
    """It is neither what the ledger names nor what the records give."""
    revise_report(folder.path, WHY)
    path = folder.report / "revision-2" / "report.json"
    data = json.loads(path.read_text())
    data["answer"] = "It is better."
    path.write_text(json.dumps(data))
    where = {finding.where for finding in audit(folder.path).findings}
    assert where == {"report/revision-2/report.json"}


def test_what_a_crash_left_of_a_revision_is_told_and_replaced(folder: StudyFolder) -> None:
    """Files without a line in the ledger are no revision."""
    revise_report(folder.path, WHY)
    stray = folder.report / "revision-3"
    stray.mkdir()
    (stray / "report.md").write_text("half")
    found = audit(folder.path)
    assert found.clean
    assert [note.where for note in found.notes] == ["report/revision-3"]
    revise_report(folder.path, WHY)
    assert (stray / "report.md").read_text() != "half"
    assert audit(folder.path).clean


def test_there_is_nothing_to_revise_without_a_report_and_nothing_without_a_reason(
    folder: StudyFolder,
) -> None:
    """Neither leaves an event."""
    with pytest.raises(UsageError, match="needs a reason"):
        revise_report(folder.path, " \n ")
    for path in folder.report.iterdir():
        path.unlink()
    with pytest.raises(InputRefused, match="no report to revise"):
        revise_report(folder.path, WHY)
    assert read_state(folder.ledger).revisions == []


def test_revisions_are_numbered_without_a_gap() -> None:
    """A ledger that skips one contradicts itself."""
    event = ReportRevised(number=3, at="now", reason=WHY, files={}, earlier={})
    with pytest.raises(ValueError, match="does not follow"):
        StudyState().apply(event)


def test_a_revision_is_asked_for_by_its_own_word(folder: StudyFolder) -> None:
    """It needs a reason; `report STUDY` and `report write STUDY` write none, wherever options stand."""
    study = str(folder.path)
    assert CliRunner().invoke(app, ["report", "revise", study]).exit_code == 2
    for arguments in (["report", study, "-q"], ["report", "-q", study], ["report", "write", study, "-q"]):
        written = CliRunner().invoke(app, arguments)
        assert written.exit_code == 0, written.output
        assert written.output == f"report: {folder.report / 'report.html'}\n"
    told = CliRunner().invoke(app, ["report", "revise", study, "--reason", WHY, "-q"])
    assert told.exit_code == 0, told.output
    assert "revision-2" in told.output
