"""`esac-ag publish`: what is in a bundle, what keeps one from being written, and that no half is left."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from esac_ag.attempt import Cell
from esac_ag.attempt.events import AttemptStarted, ShadowNoted, StudyFinished
from esac_ag.canonical import sha256_of_bytes
from esac_ag.cli.app import app
from esac_ag.conduct import publishing
from esac_ag.conduct.publication_check import verify_publication
from esac_ag.conduct.publishing_files import PublicFile, bundle_files
from esac_ag.conduct.report_revisions import revise_report
from esac_ag.conduct.reporting import write_report
from esac_ag.conduct.review_prepare import prepare_review
from esac_ag.conduct.shadow import add_shadow
from esac_ag.errors import DisclosureRefused, InputRefused, StudyBusy, SubstitutionRefused, UsageError
from esac_ag.ledger import alone, open_ledger, read_state
from esac_ag.owner import this_process
from esac_ag.study.disclosure import DisclosureKind, Writer
from tests.builders_conduct import a_runnable_study, folder_of, run
from tests.builders_publish import (
    HIDDEN,
    KEY,
    PHRASE,
    REQUEST,
    SECRET,
    a_book,
    a_finished_study,
    files_of,
    published,
    workspace_of,
)

CORE = {
    *(
        "README.md",
        "SHA256SUMS",
        "study.json",
        "manifest.json",
        "schedule.json",
        "tasks.json",
        "ledger.jsonl",
    ),
    *("attempts.json", "attempts.csv", "lineage.json", "corrections.json"),
}
ENVIRON = {"OPENAI_API_KEY": SECRET}


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished study; tests that change it work on copies."""
    return a_finished_study(tmp_path_factory.mktemp("published") / "workspace")


@pytest.fixture
def study(once: Path, tmp_path: Path) -> Path:
    """A copy of the study, in a workspace of its own."""
    shutil.copytree(workspace_of(once).root, tmp_path / "workspace", symlinks=True)
    return tmp_path / "workspace" / once.relative_to(workspace_of(once).root)


def left_behind(folder: Path) -> list[str]:
    """What lies beside an output that was not written."""
    return sorted(path.name for path in folder.iterdir() if path.name != "workspace")


def test_a_bundle_has_the_evidence_and_nothing_private(once: Path, tmp_path: Path) -> None:
    """Digests, rows, lineage, report and corrections; no text of bundle, task, grader or transcript."""
    made = published(once, tmp_path / "bundle")
    assert made.findings == ()
    files = files_of(tmp_path / "bundle")
    report = {name for name in files if name.startswith("report/")}
    assert set(files) == CORE | report
    assert {f"report/{path.name}" for path in (once / "report").iterdir()} == report
    for name in ("manifest.json", "schedule.json", "tasks.json", "ledger.jsonl", *report):
        assert files[name] == (once / name).read_bytes(), name
    everything = b"\n".join(files.values()).lower()
    for private in ("invariant the ledger", "the total is wrong", "nothing was fixed", "cent less than"):
        assert private.encode() not in everything
    assert made.bundle_sha256 == sha256_of_bytes(files["SHA256SUMS"])
    assert made.files == {name: len(data) for name, data in files.items()}


def test_rows_tell_outcome_score_and_digests(once: Path, tmp_path: Path) -> None:
    """The same as JSON and CSV; digests are the ledger's."""
    published(once, tmp_path / "bundle")
    rows = json.loads((tmp_path / "bundle" / "attempts.json").read_bytes())
    state = read_state(once / "ledger.jsonl")
    assert {row["attempt_id"] for row in rows} == set(state.attempts)
    table = list(csv.DictReader(io.StringIO((tmp_path / "bundle" / "attempts.csv").read_text())))
    for row, shown in zip(rows, table, strict=True):
        assert row["artifacts"] == state.attempts[row["attempt_id"]].artifacts
        assert (row["outcome"], row["state"], row["score"]) == ("completed", "graded", 100.0)
        assert shown["sha256_patch.diff"] == row["artifacts"]["patch.diff"]
        assert (shown["score"], shown["counts"], shown["cost"]) == ("100", "yes", "")


def test_the_same_study_gives_the_same_bytes(once: Path, tmp_path: Path) -> None:
    """As a folder and as either archive, whatever the environment; archives hold what folders hold."""
    folders = [tmp_path / name for name in ("a", "b")]
    for folder, environ in zip(folders, ({}, ENVIRON), strict=True):
        published(once, folder, "patches", "tasks", environ=environ)
    assert files_of(folders[0]) == files_of(folders[1])
    for suffix in (".tar.gz", ".zip"):
        archives = [tmp_path / f"{name}{suffix}" for name in ("a", "b")]
        for archive in archives:
            published(once, archive, "patches", "tasks")
        assert archives[0].read_bytes() == archives[1].read_bytes()
        shutil.unpack_archive(archives[0], tmp_path / suffix)
        assert files_of(tmp_path / suffix / "study-1") == files_of(folders[0])
    assert left_behind(tmp_path) == sorted(
        [".tar.gz", ".zip", *(f"{n}{s}" for n in "ab" for s in ("", ".tar.gz", ".zip"))]
    )


def test_the_digests_are_those_of_another_tool(once: Path, tmp_path: Path) -> None:
    """`sha256sum -c` of coreutils reads the list."""
    published(once, tmp_path / "bundle")
    subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=tmp_path / "bundle", check=True)


def test_parts_are_published_on_request(once: Path, tmp_path: Path) -> None:
    """Patches, transcripts, bundles and tasks, as ledger and manifest name them."""
    published(once, tmp_path / "bundle", "patches", "transcripts", "arms", "tasks")
    files = files_of(tmp_path / "bundle")
    attempts = read_state(once / "ledger.jsonl").attempts
    names = ("patch.diff", "transcript.jsonl", "commands.jsonl")
    of_attempts = {f"attempts/{one}/{name}" for one in attempts for name in names}
    trees = {"arms/careful.tar", *(f"tasks/task-{number}.tar" for number in range(1, 5))}
    report = {name for name in files if name.startswith("report/")}
    assert set(files) == CORE | report | of_attempts | trees
    for one in attempts:
        assert files[f"attempts/{one}/patch.diff"] == (once / "attempts" / one / "patch.diff").read_bytes()
    with tarfile.open(tmp_path / "bundle" / "arms" / "careful.tar") as archive:
        assert {member.name for member in archive if member.isfile()} == {"SKILL.md", "references/more.md"}
    assert verify_publication(tmp_path / "bundle").findings == ()


def test_what_is_left_out_is_told(once: Path, tmp_path: Path) -> None:
    """A whole attempt or a file of it; a name of nothing is a slip that would publish what was meant."""
    first, second = list(read_state(once / "ledger.jsonl").attempts)[:2]
    out = [f"attempts/{first}/", f"attempts/{second}/transcript.jsonl"]
    published(once, tmp_path / "bundle", "patches", "transcripts", "arms", left_out=out)
    files = files_of(tmp_path / "bundle")
    assert not any(name.startswith(f"attempts/{first}/") for name in files)
    assert f"attempts/{second}/patch.diff" in files
    assert f"attempts/{second}/transcript.jsonl" not in files
    told = json.loads(files["study.json"])["left_out"]
    assert told == sorted([f"attempts/{first}", f"attempts/{second}/transcript.jsonl"])
    assert verify_publication(tmp_path / "bundle").findings == ()
    with pytest.raises(UsageError, match="nothing of that name"):
        published(once, tmp_path / "other", "patches", left_out=["attempts/unknown"])


PLANTED: dict[str, list[dict[str, object]]] = {
    "task-1": [
        {"do": "write_file", "path": f"notes/{KEY}.txt", "text": "a name"},
        {"do": "write_file", "path": "config.py", "text": f"TOKEN = '{KEY}'\n"},
        {"do": "say", "text": "all done"},
    ],
    "task-2": [
        {"do": "say", "text": json.dumps({"inner": json.dumps({"value": f"{SECRET}\n"})})},
        {"do": "write_file", "path": "tests/test_it.py", "text": HIDDEN},
    ],
    "task-3": [{"do": "say", "text": f"I was told: {PHRASE}."}],
    "task-4": [{"do": "say", "text": REQUEST}, {"do": "run", "argv": ["touch", "fixed.txt"]}],
}


def test_what_agents_wrote_is_searched_before_it_is_published(tmp_path: Path) -> None:
    """Keys in files, names and words, bundles, requests, hidden checks; then nothing is left."""
    study = a_finished_study(tmp_path / "workspace", a_book(PLANTED))
    made = published(study, None, "patches", "transcripts", environ=ENVIRON)
    cells = {one.attempt_id: one.cell.task for one in read_state(study / "ledger.jsonl").attempts.values()}
    found = {
        (cells[finding.path.split("/")[1]], finding.path.rpartition("/")[2], finding.kind)
        for finding in made.findings
    }
    assert found == {
        ("task-1", "patch.diff", DisclosureKind.KEY_FORMAT),
        ("task-1", "commands.jsonl", DisclosureKind.KEY_FORMAT),
        ("task-1", "transcript.jsonl", DisclosureKind.KEY_FORMAT),
        ("task-2", "patch.diff", DisclosureKind.HELD_OUT),
        ("task-2", "commands.jsonl", DisclosureKind.HELD_OUT),
        ("task-2", "transcript.jsonl", DisclosureKind.HELD_OUT),
        ("task-2", "transcript.jsonl", DisclosureKind.SECRET),
        ("task-3", "transcript.jsonl", DisclosureKind.PRIVATE_PROMPT),
        ("task-4", "transcript.jsonl", DisclosureKind.PRIVATE_PROMPT),
    }
    with pytest.raises(DisclosureRefused) as refused:
        published(study, tmp_path / "bundle.zip", "patches", environ=ENVIRON)
    assert refused.value.exit_code == 4
    assert KEY not in str(refused.value)
    assert left_behind(tmp_path) == []
    assert published(study, tmp_path / "bundle", environ=ENVIRON).findings == ()


def test_what_stands_in_the_records_themselves_is_found(tmp_path: Path) -> None:
    """A name of a play that reaches reasons, a source of prices, a reason of a revision."""
    play = "sk-0123456789abcdef01234567"
    book = {"format_version": 1, "tasks": {"*": {"plays": {play: [{"do": "no-op"}]}}}}
    prices = {
        "source": f"see {KEY}",
        "currency": "USD",
        "date": "2026-01-01",
        "version": "1",
        "per_million": {},
    }
    study = a_finished_study(tmp_path / "workspace", book, prices=prices)
    revise_report(study, f"as seen at {tmp_path}/workspace/results, by {SECRET}")
    found = published(study, None, environ=ENVIRON).findings
    places = {kind: {one.path for one in found if one.kind is kind} for kind in DisclosureKind}
    assert {"manifest.json", "ledger.jsonl", "attempts.json", "attempts.csv", "lineage.json"} <= places[
        DisclosureKind.KEY_FORMAT
    ]
    revision = {"ledger.jsonl", "corrections.json", "study.json", "report/revision-2/report.json"}
    assert revision <= places[DisclosureKind.SECRET]
    assert revision <= places[DisclosureKind.LOCAL]


def test_values_of_variables_that_sound_secret_are_looked_for(study: Path, tmp_path: Path) -> None:
    """Those with a slash in them, too; the path of a file and a word of ours are none."""
    value = "wJalrXUtnFEMI/K7MDENG+bPxRfiCY"
    revise_report(study, f"seen: {value}; {tmp_path.name}; completed")
    environ = {"AWS_SECRET_ACCESS_KEY": value, "SSH_KEY_FILE": str(tmp_path), "TOKEN_STATE": "completed"}
    told = {finding.what for finding in published(study, None, environ=environ).findings}
    assert told == {"the value of the environment variable AWS_SECRET_ACCESS_KEY"}


def test_a_review_that_is_still_blind_is_not_published(study: Path, tmp_path: Path) -> None:
    """What is published would tell the arms of what reviewers have before them."""
    prepare_review(study, workspace=workspace_of(study), reviewers=["ada", "ben"])
    with pytest.raises(UsageError, match="not unblinded"):
        published(study, tmp_path / "bundle", incomplete=True)
    assert left_behind(tmp_path) == []


def test_an_unfinished_study_is_published_on_request_only(tmp_path: Path) -> None:
    """The bundle says that it is unfinished, and lineage shows what is missing."""
    study = a_runnable_study(tmp_path / "workspace", repetitions=1)
    run(study, limit=3)
    path = folder_of(study).path
    write_report(path)
    with pytest.raises(InputRefused, match="not finished"):
        published(path, tmp_path / "bundle")
    published(path, tmp_path / "bundle", incomplete=True)
    files = files_of(tmp_path / "bundle")
    assert b"**Unfinished" in files["README.md"]
    lineage = json.loads(files["lineage.json"])
    assert sorted(cell["state"] for cell in lineage) == ["graded"] * 3 + ["missing"] * 5
    checked = verify_publication(tmp_path / "bundle")
    assert checked.findings == ()
    assert "the study was not finished when it was published" in checked.notes


def test_lineage_tells_what_became_of_every_launch(tmp_path: Path) -> None:
    """A launch that a crash cut off is told with what followed it."""
    sealed = a_runnable_study(tmp_path / "workspace", repetitions=1)
    run(sealed, limit=1)
    folder = folder_of(sealed)
    cell = Cell(**json.loads(folder.schedule.read_text())["cells"][1])
    with open_ledger(folder.ledger) as ledger:
        ledger.append(AttemptStarted(attempt_id="cutoff", cell=cell, ordinal=1))
    run(sealed)
    write_report(folder.path)
    published(folder.path, tmp_path / "bundle")
    lineage = json.loads((tmp_path / "bundle" / "lineage.json").read_bytes())
    (own,) = [one for one in lineage if (one["task"], one["arm"]) == (cell.task, cell.arm)]
    first, second = own["attempts"]
    assert (first["attempt_id"], first["outcome"], first["counts"]) == ("cutoff", "cancelled", False)
    assert "launched again" in first["then"]
    assert second["then"] == "it counts"
    assert own["counting"] == second["attempt_id"]
    assert verify_publication(tmp_path / "bundle").findings == ()


def test_revisions_are_all_there_with_their_reasons(study: Path, tmp_path: Path) -> None:
    """Every report byte for byte, and what was corrected."""
    revise_report(study, "a price was wrong")
    published(study, tmp_path / "bundle")
    files = files_of(tmp_path / "bundle")
    for path in (study / "report").rglob("*.*"):
        assert files[path.relative_to(study).as_posix()] == path.read_bytes()
    (told,) = json.loads(files["corrections.json"])["revisions"]
    assert (told["number"], told["reason"]) == (2, "a price was wrong")
    reports = json.loads(files["study.json"])["reports"]
    assert [(one["number"], one["reason"]) for one in reports] == [(1, ""), (2, "a price was wrong")]
    assert verify_publication(tmp_path / "bundle").findings == ()


def test_real_tasks_of_shadow_mode_stay_private(study: Path, tmp_path: Path) -> None:
    """Who noted it, on which ticket and what was missed is withheld; the chain goes on."""
    note = ShadowNoted(
        date="2026-01-02",
        task="SHOP-4711",
        arm="careful",
        rework_minutes=5.0,
        missed=("the refund",),
        by="Ada",
    )
    add_shadow(study, note)
    write_report(study)
    published(study, tmp_path / "bundle")
    ledger = (tmp_path / "bundle" / "ledger.jsonl").read_text()
    for private in ("SHOP-4711", "the refund", "Ada"):
        assert private not in ledger
    line = json.loads(ledger.splitlines()[-1])
    assert line["withheld"] == ["/body/task", "/body/by", "/body/missed"]
    assert line["sha256"] == sha256_of_bytes((study / "ledger.jsonl").read_bytes().splitlines()[-1])
    assert line["body"]["rework_minutes"] == 5
    checked = verify_publication(tmp_path / "bundle")
    assert checked.findings == ()
    assert checked.withheld_lines == 1


def test_records_that_do_not_verify_are_not_published(study: Path, tmp_path: Path) -> None:
    """The audit comes first: an edited record, a stranger, an outdated report."""
    first = next(iter(read_state(study / "ledger.jsonl").attempts))
    patch = study / "attempts" / first / "patch.diff"
    kept = patch.read_bytes()
    patch.write_bytes(kept + b"+ more\n")
    with pytest.raises(InputRefused, match="do not verify"):
        published(study, tmp_path / "bundle", "patches")
    patch.unlink()
    patch.symlink_to(tmp_path / "workspace" / "arms" / "careful" / "SKILL.md")
    with pytest.raises(InputRefused, match="do not verify"):
        published(study, tmp_path / "bundle", "patches")
    patch.unlink()
    patch.write_bytes(kept)
    published(study, tmp_path / "bundle", "patches")
    (study / "report" / "report.md").write_text("all is well\n")
    with pytest.raises(InputRefused, match="do not verify"):
        published(study, tmp_path / "other")


def test_only_files_that_records_name_are_published(study: Path, tmp_path: Path) -> None:
    """Whatever else lies in the folder stays there, links too."""
    (study / "notes.md").write_text("mine\n")
    (study / "report" / "draft.md").write_text("mine\n")
    (study / "report" / "link").symlink_to("/etc/hostname")
    (study / "a\nname").write_bytes(b"\xff\xfe")
    published(study, tmp_path / "bundle")
    names = set(files_of(tmp_path / "bundle"))
    assert not names & {"notes.md", "report/draft.md", "report/link", "a\nname"}


@pytest.mark.parametrize("name", ["report.md", "report.json", "report.csv"])
def test_a_study_without_its_whole_report_is_refused(study: Path, tmp_path: Path, name: str) -> None:
    """A bundle without the report's every form would be no evidence of it."""
    (study / "report" / name).unlink()
    with pytest.raises(InputRefused, match="no whole report"):
        published(study, tmp_path / "bundle")
    assert left_behind(tmp_path) == []


def test_private_material_that_is_not_at_hand_cannot_be_searched_for(study: Path, tmp_path: Path) -> None:
    """Without the sealed bundle or grader nothing could be found by it."""
    root = workspace_of(study).root
    shutil.move(root / "arms" / "careful", tmp_path / "workspace" / "kept")
    with pytest.raises(SubstitutionRefused, match="bundle of arm careful"):
        published(study, tmp_path / "bundle")
    shutil.move(tmp_path / "workspace" / "kept", root / "arms" / "careful")
    (root / "graders" / "task-1" / "checks.py").write_text("other\n")
    with pytest.raises(SubstitutionRefused, match="grader of task task-1"):
        published(study, tmp_path / "bundle")
    assert left_behind(tmp_path) == []


def test_nothing_is_ever_replaced(once: Path, tmp_path: Path) -> None:
    """A file, a folder, a dangling link at the output; a place that is not there; the study's own folder."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("file", "folder", "link", "missing/bundle"):
        with pytest.raises(UsageError):
            published(once, tmp_path / name)
    with pytest.raises(UsageError, match="study's own folder"):
        published(once, once / "bundle")
    assert left_behind(tmp_path) == ["file", "folder", "link"]


def test_a_study_at_work_is_not_published(study: Path, tmp_path: Path) -> None:
    """What is read while it is written would be neither here nor there."""
    with alone(study / "ledger.lock", what="the test"), pytest.raises(StudyBusy):
        published(study, tmp_path / "bundle")


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, MemoryError])
def test_an_interruption_leaves_nothing(
    once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    """Whatever stops the writing, no part of a bundle lies anywhere."""

    def interrupted(*args: Any) -> Iterator[PublicFile]:  # noqa: ANN401
        for number, file in enumerate(bundle_files(*args)):
            yield file
            if number == 5:
                raise error

    monkeypatch.setattr(publishing, "bundle_files", interrupted)
    with pytest.raises(error):
        published(once, tmp_path / "bundle.tar.gz")
    assert left_behind(tmp_path) == []


def test_a_finding_in_the_last_file_leaves_nothing(
    once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files before it were written already, beside the output's name."""

    def with_more(*args: Any) -> Iterator[PublicFile]:  # noqa: ANN401
        yield from bundle_files(*args)
        yield PublicFile("zz.txt", KEY.encode(), Writer.AGENT)

    monkeypatch.setattr(publishing, "bundle_files", with_more)
    with pytest.raises(DisclosureRefused):
        published(once, tmp_path / "bundle")
    assert left_behind(tmp_path) == []


def test_sigterm_removes_what_was_begun(once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Ctrl-C does."""

    def ended(*args: Any) -> Iterator[PublicFile]:  # noqa: ANN401
        yield next(iter(bundle_files(*args)))
        os.kill(os.getpid(), signal.SIGTERM)
        yield from bundle_files(*args)

    monkeypatch.setattr(publishing, "bundle_files", ended)
    before = signal.getsignal(signal.SIGTERM)
    root = ["--root", str(workspace_of(once).root)]
    result = CliRunner().invoke(app, ["publish", str(once), "-o", str(tmp_path / "bundle"), *root])
    assert result.exit_code != 0
    assert left_behind(tmp_path) == []
    assert signal.getsignal(signal.SIGTERM) == before


def test_what_a_killed_publication_left_is_cleared_up_by_the_next(once: Path, tmp_path: Path) -> None:
    """SIGKILL leaves a marked folder that is no bundle."""
    boot = this_process().partition(".")[0]
    (tmp_path / f"esac-ag-{boot}.4194999.1-publish-x" / "bundle").mkdir(parents=True)
    mine = tmp_path / f"esac-ag-{this_process()}-publish-y"
    mine.mkdir()
    published(once, tmp_path / "bundle")
    assert left_behind(tmp_path) == ["bundle", mine.name]


def test_the_command_lists_publishes_and_verifies(study: Path, tmp_path: Path) -> None:
    """`--dry-run` writes nothing; exit 4 for a finding; machine output on request."""
    root = ["--root", str(workspace_of(study).root)]
    runner = CliRunner()
    looked = runner.invoke(app, ["publish", str(study), "--dry-run", "--json", *root])
    assert looked.exit_code == 0, looked.output
    assert json.loads(looked.stdout)["output"] is None
    assert left_behind(tmp_path) == []
    made = runner.invoke(app, ["publish", str(study), "-o", str(tmp_path / "bundle.zip"), *root])
    assert made.exit_code == 0, made.output
    checked = runner.invoke(app, ["publish", "verify", str(tmp_path / "bundle.zip"), "--json"])
    assert checked.exit_code == 0, checked.output
    digest = json.loads(checked.stdout)["bundle_sha256"]
    assert digest in made.stdout
    for wrong in (["publish", str(study)], ["publish", str(study), "--dry-run", "-o", "x"]):
        assert isinstance(runner.invoke(app, [*wrong, *root]).exception, UsageError)
    unknown = runner.invoke(app, ["publish", str(study), "--dry-run", "--include", "graders", *root])
    assert isinstance(unknown.exception, UsageError)
    revise_report(study, f"because of {KEY}")
    refused = runner.invoke(app, ["publish", str(study), "--dry-run", *root])
    assert isinstance(refused.exception, DisclosureRefused)
    assert KEY not in refused.output + str(refused.exception)


def test_a_finished_line_without_its_cells_is_no_finished_study(tmp_path: Path) -> None:
    """What the ledger says of itself is held against the plan."""
    sealed = a_runnable_study(tmp_path / "workspace", repetitions=1)
    run(sealed, limit=2)
    path = folder_of(sealed).path
    with open_ledger(path / "ledger.jsonl") as ledger:
        ledger.append(StudyFinished())
    write_report(path)
    with pytest.raises(InputRefused, match="do not verify"):
        published(path, tmp_path / "bundle")
