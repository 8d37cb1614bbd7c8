"""`esac-ag publish verify`: whatever is changed in a bundle is told, though its digests were redone."""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from esac_ag.archive import pack
from esac_ag.canonical import canonical_json, sha256_of_bytes
from esac_ag.cli.app import app
from esac_ag.conduct.collect import read_study
from esac_ag.conduct.publication_check import verify_publication
from esac_ag.conduct.publishing import refuse_parts
from esac_ag.conduct.publishing_material import study_material
from esac_ag.conduct.report_revisions import revise_report
from esac_ag.conduct.reporting import write_report
from esac_ag.conduct.review_locking import adjudicate, lock_forms
from esac_ag.conduct.review_prepare import prepare_review
from esac_ag.conduct.review_unblinding import unblind
from esac_ag.errors import InputRefused, UsageError
from esac_ag.report.publication_readme import render_readme
from esac_ag.report.publication_view import Part, PublishedStudy
from esac_ag.tree import FileTree, RegularFile
from tests.builders_publish import a_finished_study, files_of, listed_again, published, workspace_of
from tests.builders_review import Reviewed, a_form

NAMES = ("mirabelle", "thaddeus", "wilhelmine")
"""Words that nothing of ours has: two reviewers and the adjudicator."""


def a_reviewed_study(root: Path) -> Path:
    """A study whose review is unblinded, with a disagreement, and whose report was revised after it."""
    study = a_finished_study(root)
    reviewed = Reviewed(study, workspace_of(study))
    prepare_review(study, workspace=reviewed.workspace, reviewers=NAMES[:2])
    for name, score in zip(NAMES, (4, 1), strict=False):
        reviewed.fill(name, lambda packet, score=score: a_form(packet.label, score))  # type: ignore[misc]
        lock_forms(study, name)
    adjudicate(study, NAMES[2])
    reviewed.fill(NAMES[2], lambda packet: a_form(packet.label, 2))
    lock_forms(study, NAMES[2])
    unblind(study)
    revise_report(study, "with the review's scores")
    return study


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study that is published here."""
    return a_reviewed_study(tmp_path_factory.mktemp("reviewed") / "workspace")


@pytest.fixture(scope="module")
def whole(reviewed: Path) -> Path:
    """Its bundle, with all that can be published."""
    bundle = workspace_of(reviewed).root.parent / "bundle"
    published(reviewed, bundle, "patches", "transcripts", "arms", "tasks", "rationales")
    return bundle


@pytest.fixture
def bundle(whole: Path, tmp_path: Path) -> Path:
    """A copy, to be tampered with."""
    shutil.copytree(whole, tmp_path / "bundle")
    return tmp_path / "bundle"


def told(bundle: Path) -> list[tuple[str, str]]:
    """Place and sentence of each finding."""
    return [(one.where, one.what) for one in verify_publication(bundle).findings]


def edit(path: Path, change: Callable[[Any], object]) -> None:
    """Change a record in place."""
    data = json.loads(path.read_bytes())
    change(data)
    path.write_bytes(json.dumps(data).encode())


def test_a_whole_bundle_holds(whole: Path) -> None:
    """Nothing is found, and what cannot be proved is told."""
    checked = verify_publication(whole)
    assert checked.findings == ()
    assert checked.files == len(files_of(whole))
    assert checked.withheld_lines == 5
    assert any("withheld" in note for note in checked.notes)


def test_reviewers_are_pseudonyms_everywhere(reviewed: Path, whole: Path, tmp_path: Path) -> None:
    """In ledger, scores, rationales and report; with their names on request, then by digest."""
    everything = b"\n".join([*files_of(whole).values(), *map(str.encode, files_of(whole))])
    assert not any(name.encode() in everything for name in NAMES)
    scores = json.loads((whole / "review" / "scores.json").read_bytes())
    assert [one["name"] for one in scores["participants"]] == ["reviewer-1", "reviewer-2", "adjudicator"]
    assert {path.stem for path in (whole / "review" / "rationales").iterdir()} == {
        *("reviewer-1", "reviewer-2", "adjudicator"),
    }
    assert not list(whole.rglob("*key*"))
    named = tmp_path / "named"
    published(reviewed, named, "rationales", name_reviewers=True)
    assert (named / "review" / "scores.json").read_bytes() == (
        reviewed / "review" / "scores.json"
    ).read_bytes()
    assert (named / "ledger.jsonl").read_bytes() == (reviewed / "ledger.jsonl").read_bytes()
    checked = verify_publication(named)
    assert (checked.findings, checked.withheld_lines) == ((), 0)
    edit(named / "review" / "scores.json", lambda data: data["scores"][0].update(total=99.0))
    listed_again(named)
    assert ("review/scores.json", "the scores are not the ones that the ledger names") in told(named)
    form = next((named / "review" / "rationales").iterdir())
    edit(form, lambda data: data["forms"][0].update(rationale="as I was told"))
    listed_again(named)
    where = form.relative_to(named).as_posix()
    assert (where, "the forms are not the ones that the ledger names") in told(named)


def test_every_single_file_is_covered(whole: Path, bundle: Path) -> None:
    """A byte more in any file, or any file missing, is told."""
    names = set(files_of(whole)) - {"SHA256SUMS"}
    for name in sorted(names):
        if name.startswith("attempts/"):
            continue
        original = (bundle / name).read_bytes()
        (bundle / name).write_bytes(original + b" ")
        assert (name, "a file is not the one that was published") in told_of_sums(bundle), name
        (bundle / name).write_bytes(original)
    assert verify_publication(bundle).findings == ()


def told_of_sums(bundle: Path) -> list[tuple[str, str]]:
    """Findings; a bundle whose own account is broken is refused, which is as good."""
    try:
        return told(bundle)
    except InputRefused as error:
        return [(error.where, "a file is not the one that was published")]


def test_a_stranger_a_gap_and_a_link_are_told(bundle: Path) -> None:
    """What the list does not name, what it names and is not there, and what is no file."""
    (bundle / "more.txt").write_text("x")
    (bundle / "report" / "report.md").unlink()
    (bundle / "report" / "link.md").symlink_to("/etc/hostname")
    assert {
        ("more.txt", "a file that SHA256SUMS does not name"),
        ("report/report.md", "a file is not the one that was published"),
        ("report/link.md", "neither a file nor a folder"),
    } <= set(told(bundle))


def test_a_name_that_is_no_text_is_told_as_json_too(bundle: Path) -> None:
    """Its bytes are escaped."""
    (bundle / os.fsdecode(b"odd-\xff")).write_text("x")
    result = CliRunner().invoke(app, ["publish", "verify", str(bundle), "--json"])
    assert result.exit_code == 1
    assert "odd-\\udcff" in {finding["where"] for finding in json.loads(result.stdout)["findings"]}


def a_row(bundle: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the first row of `attempts.json`."""
    edit(bundle / "attempts.json", lambda rows: change(rows[0]))


def without_a_line(bundle: Path, number: int) -> None:
    """Drop a line of the ledger."""
    path = bundle / "ledger.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:number] + lines[number + 1 :]))


def a_line(bundle: Path, event: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the first line of an event."""
    path = bundle / "ledger.jsonl"
    lines = path.read_bytes().splitlines()
    at = next(number for number, line in enumerate(lines) if f'"event":"{event}"'.encode() in line)
    data = json.loads(lines[at])
    change(data)
    lines[at] = canonical_json(data)
    path.write_bytes(b"\n".join(lines) + b"\n")


def told_otherwise(bundle: Path, **changes: Any) -> None:  # noqa: ANN401
    """Change what the bundle says of itself, and its page with it."""
    edit(bundle / "study.json", lambda data: data.update(changes))
    study = PublishedStudy.model_validate_json((bundle / "study.json").read_bytes())
    (bundle / "README.md").write_bytes(render_readme(study))


def a_withheld_reason(bundle: Path) -> None:
    """Give the end of an attempt another reason, and withhold the original as lines with names do."""
    path = bundle / "ledger.jsonl"
    original = next(line for line in path.read_bytes().splitlines() if b'"event":"attempt-ended"' in line)

    def withhold(line: dict[str, Any]) -> None:
        line["body"]["reason"] = "all is well"
        line.update(sha256=sha256_of_bytes(original), withheld=["/body/reason"])

    a_line(bundle, "attempt-ended", withhold)


def a_milder_form(bundle: Path) -> None:
    """Change a score in a published form."""
    path = bundle / "review" / "rationales" / "reviewer-2.json"
    edit(path, lambda data: data["forms"][0]["scores"]["scope"].update(score=3))


def newest_report(bundle: Path) -> Path:
    """The newest report's JSON."""
    return bundle / "report" / "revision-2" / "report.json"


def another_bundle(bundle: Path) -> None:
    """Put another bundle of instructions in its place."""
    other = FileTree({b"SKILL.md": RegularFile(b"# Other\n")})
    (bundle / "arms" / "careful.tar").write_bytes(pack(other, uid=0, gid=0))


def another_request(bundle: Path) -> None:
    """Put another task in its place."""
    other = FileTree({b"request.md": RegularFile(b"other\n"), b"public/shop.py": RegularFile(b"x = 1\n")})
    (bundle / "tasks" / "task-1.tar").write_bytes(pack(other, uid=0, gid=0))


TAMPERED: dict[str, tuple[Callable[[Path], object], str]] = {
    "a score of a row": (
        lambda bundle: a_row(bundle, lambda row: row.update(score=42)),
        "the rows are not the report's",
    ),
    "a row's outcome": (
        lambda bundle: a_row(bundle, lambda row: row.update(outcome="limit")),
        "outcome is not what the ledger tells",
    ),
    "a row's digest": (
        lambda bundle: a_row(bundle, lambda row: row["artifacts"].update({"patch.diff": "ab" * 32})),
        "artifacts is not what the ledger tells",
    ),
    "a row less": (
        lambda bundle: edit(bundle / "attempts.json", lambda rows: rows.pop()),
        "the rows are not of the attempts that the ledger has",
    ),
    "a cell of the table": (
        lambda bundle: (bundle / "attempts.csv").write_text(
            (bundle / "attempts.csv").read_text().replace("completed", "infra", 1)
        ),
        "it is not what the bundle's other records give",
    ),
    "a launch of the lineage": (
        lambda bundle: edit(bundle / "lineage.json", lambda cells: cells[0].update(attempts=[])),
        "it is not what the bundle's other records give",
    ),
    "a reason of a correction": (
        lambda bundle: edit(
            bundle / "corrections.json", lambda data: data["revisions"][0].update(reason="nothing")
        ),
        "it is not what the bundle's other records give",
    ),
    "a number of the newest report": (
        lambda bundle: edit(newest_report(bundle), lambda view: view["scores"][0].update(tasks_scored=1)),
        "a report is not the one that was told",
    ),
    "a number of the first report": (
        lambda bundle: edit(bundle / "report" / "report.json", lambda view: view.update(answer="better")),
        "a report is not the one that was told",
    ),
    "a form of the report": (
        lambda bundle: newest_report(bundle).with_name("report.md").write_text("# All is well\n"),
        "a form of the report is not what its JSON gives",
    ),
    "an event of the ledger": (
        lambda bundle: a_line(bundle, "attempt-ended", lambda line: line["body"].update(outcome="infra")),
        "the ledger does not hold",
    ),
    "a withheld line's digest": (
        lambda bundle: a_line(bundle, "review-locked", lambda line: line.update(sha256="ab" * 32)),
        "the ledger does not hold",
    ),
    "a line of the ledger less": (lambda bundle: without_a_line(bundle, 7), "the ledger does not hold"),
    "the last line of the ledger less": (
        lambda bundle: without_a_line(bundle, -2),
        "the ledger does not hold",
    ),
    "a limit of the manifest": (
        lambda bundle: edit(bundle / "manifest.json", lambda plan: plan["limits"].update(turns=11)),
        "the manifest is not the sealed one",
    ),
    "the order of the schedule": (
        lambda bundle: edit(bundle / "schedule.json", lambda data: data["cells"].reverse()),
        "the schedule is not the plan's",
    ),
    "a task's record": (
        lambda bundle: edit(bundle / "tasks.json", lambda data: data["packages"].pop("task-1")),
        "records of the tasks",
    ),
    "the page": (
        lambda bundle: (bundle / "README.md").write_text("# Proof that it works\n"),
        "the page is not what study.json gives",
    ),
    "whether it finished": (
        lambda bundle: edit(bundle / "study.json", lambda data: data.update(finished=False)),
        "whether the study finished",
    ),
    "a patch": (
        lambda bundle: next(bundle.glob("attempts/*/patch.diff")).write_text("+ better\n"),
        "it is not the file that the ledger names",
    ),
    "a file of an attempt more": (
        lambda bundle: next(bundle.glob("attempts/*")).joinpath("notes.md").write_text("x"),
        "a file of an attempt that nothing names",
    ),
    "a bundle of instructions": (another_bundle, "the bundle is not the one that the manifest sealed"),
    "a request": (another_request, "the request is not the sealed one"),
    "a score of the review": (
        lambda bundle: edit(
            bundle / "review" / "scores.json", lambda data: data["scores"][0]["cell"].update(arm="other")
        ),
        "the cell of",
    ),
    "the review itself": (
        lambda bundle: edit(
            bundle / "study.json", lambda data: data["review"].update(standing="none", scores_sha256=None)
        ),
        "the ledger has an unblinded review, and the bundle tells of none",
    ),
    "what the bundle says of its agent": (
        lambda bundle: told_otherwise(bundle, agent_kind="command"),
        "agent_kind is not what plan and ledger give",
    ),
    "the model": (
        lambda bundle: edit(bundle / "study.json", lambda data: data["model"].update(name="better")),
        "model is not what plan and ledger give",
    ),
    "how much was planned": (
        lambda bundle: told_otherwise(bundle, planned=2),
        "planned is not what plan and ledger give",
    ),
    "an arm less": (lambda bundle: told_otherwise(bundle, arms=[]), "arms is not what plan and ledger give"),
    "that it is held out": (
        lambda bundle: told_otherwise(bundle, held_out=True, phase="holdout"),
        "held_out is not what plan and ledger give",
    ),
    "what is withheld": (
        lambda bundle: told_otherwise(bundle, withheld=[]),
        "withheld is not what plan and ledger give",
    ),
    "that the review is provisional": (
        lambda bundle: edit(bundle / "study.json", lambda data: data["review"].update(provisional=True)),
        "review is not what plan and ledger give",
    ),
    "why there was a revision": (
        lambda bundle: edit(bundle / "study.json", lambda data: data["reports"][1].update(reason="x")),
        "reports is not what plan and ledger give",
    ),
    "no report at all": (
        lambda bundle: told_otherwise(bundle, reports=[]),
        "reports is not what plan and ledger give",
    ),
    "a file more": (
        lambda bundle: (bundle / "report" / "summary.html").write_text("<h1>It works</h1>"),
        "a file that no part of the bundle names",
    ),
    "an event that withholds what it may not": (a_withheld_reason, "the ledger does not hold"),
    "a review's total": (
        lambda bundle: edit(
            bundle / "review" / "scores.json", lambda data: data["scores"][0].update(total=99.0)
        ),
        "it is not what its reviews come to",
    ),
    "an attempt that was reviewed less": (
        lambda bundle: edit(bundle / "review" / "scores.json", lambda data: data["scores"].pop()),
        "the attempts that were reviewed",
    ),
    "how far reviewers agree": (
        lambda bundle: edit(bundle / "review" / "scores.json", lambda data: data["agreement"].pop()),
        "how far reviewers agree",
    ),
    "a score in a form": (a_milder_form, "form "),
    "forms of a reviewer less": (
        lambda bundle: (bundle / "review" / "rationales" / "reviewer-1.json").unlink(),
        "a record cannot be read",
    ),
    "no record at all": (
        lambda bundle: (bundle / "attempts.json").write_text('[{"attempt_id": 1}]'),
        "a record cannot be read",
    ),
}


@pytest.mark.parametrize("case", TAMPERED)
def test_what_was_changed_is_told_though_the_list_was_redone(bundle: Path, case: str) -> None:
    """Ledger, manifest and report vouch for each other; only who has all of them redone at once gets by."""
    change, sentence = TAMPERED[case]
    change(bundle)
    assert told_of_sums(bundle), case
    listed_again(bundle)
    assert any(what.startswith(sentence) for _, what in told(bundle)), told(bundle)
    result = CliRunner().invoke(app, ["publish", "verify", str(bundle)])
    assert result.exit_code == 1


def a_tar(folder: Path, member: tarfile.TarInfo, data: bytes = b"") -> Path:
    """A compressed archive with one member."""
    path = folder / "hostile.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return path


def test_hostile_archives_are_refused_and_write_nothing(tmp_path: Path) -> None:
    """Paths that leave the archive, links, devices, garbage, an empty folder, no bundle at all."""
    inside = tmp_path / "inside"
    inside.mkdir()
    link = tarfile.TarInfo("x/link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    device = tarfile.TarInfo("x/null")
    device.type = tarfile.CHRTYPE
    for member in (tarfile.TarInfo("../../out.txt"), tarfile.TarInfo("/out.txt"), link, device):
        with pytest.raises(InputRefused, match="no publication bundle"):
            verify_publication(a_tar(inside, member))
    long = tarfile.TarInfo("x")
    long.type = tarfile.XHDTYPE
    with pytest.raises(InputRefused, match="ReadError"):
        verify_publication(a_tar(inside, long, b"0" * 2_000_000))
    with zipfile.ZipFile(inside / "odd.zip", "w") as archive:
        archive.writestr("n\xe9.txt", "x")
    odd = (inside / "odd.zip").read_bytes()
    (inside / "odd.zip").write_bytes(odd.replace("\xe9".encode(), b"\xff\xff"))
    with pytest.raises(InputRefused, match="UnicodeDecodeError"):
        verify_publication(inside / "odd.zip")
    with zipfile.ZipFile(inside / "hostile.zip", "w") as archive:
        archive.writestr("../../out.txt", "x")
    for name, data in (("garbage.tar.gz", b"\x1f\x8b garbage"), ("garbage.zip", b"PK garbage")):
        (inside / name).write_bytes(data)
    (inside / "empty").mkdir()
    for name in ("hostile.zip", "garbage.tar.gz", "garbage.zip", "empty", "missing.zip"):
        with pytest.raises(InputRefused, match="no publication bundle"):
            verify_publication(inside / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["inside"]


def test_rationales_need_an_unblinded_review_and_holdouts_stay_private(tmp_path: Path) -> None:
    """What shows tasks that are to test again is refused, whatever was asked for."""
    study = a_finished_study(tmp_path / "workspace")
    with pytest.raises(UsageError, match="no unblinded review"):
        published(study, None, "rationales")
    held_out = replace(study_material(read_study(study)), held_out=True)
    for part in (Part.PATCHES, Part.TRANSCRIPTS, Part.TASKS):
        with pytest.raises(UsageError, match="held out stay private"):
            refuse_parts(held_out, (part,))
    refuse_parts(held_out, (Part.ARMS,))


def test_digests_of_the_bundle_tell_a_forgery(whole: Path, bundle: Path) -> None:
    """Who redoes everything has another digest of `SHA256SUMS` than the owner tells."""
    (bundle / "README.md").write_text("# Other\n")
    listed_again(bundle)
    forged = verify_publication(bundle).bundle_sha256
    assert forged != verify_publication(whole).bundle_sha256
    assert forged == sha256_of_bytes((bundle / "SHA256SUMS").read_bytes())


def test_a_report_after_the_review_is_the_newest(reviewed: Path) -> None:
    """The bundle is of the report that the ledger names last; writing it again changes nothing."""
    before = files_of(reviewed / "report")
    write_report(reviewed)
    assert files_of(reviewed / "report") == before
