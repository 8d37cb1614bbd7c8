"""The pages of results over a real server: what they show, what they withhold, what they stand."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from esac_ag.artifacts import StudyFolder
from esac_ag.attempt.events import SessionStarted, StudyPausedEvent
from esac_ag.attempt.review_events import ReviewPrepared
from esac_ag.conduct.report_revisions import revise_report
from esac_ag.ledger import open_ledger
from esac_ag.pages.attempt_pages import LINES_PER_PAGE
from esac_ag.pages.viewer import REPORT_POLICY
from tests.builders_view import HOSTILE, Shown, served, some_results

Client = httpx.Client
PRIVATE = "nobody-may-read-this"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """The folder of results; nobody changes it."""
    return some_results(tmp_path_factory.mktemp("view"))


def asking(path: Path) -> Iterator[Client]:
    """A client of the pages of a folder."""
    with served(path) as server, Client(base_url=server.url, trust_env=False) as client:
        yield client


@pytest.fixture(scope="module")
def client(shown: Shown) -> Iterator[Client]:
    """Asks for pages of the whole folder."""
    yield from asking(shown.path)


@pytest.fixture
def changed(shown: Shown, tmp_path: Path) -> StudyFolder:
    """The finished study alone, to be changed."""
    return shown.copy_of_study(tmp_path / "results")


@pytest.fixture
def changed_client(changed: StudyFolder) -> Iterator[Client]:
    """Asks for pages of that one."""
    yield from asking(changed.path.parent)


def files_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file."""
    found = {path.relative_to(folder).as_posix(): path.stat() for path in folder.rglob("*")}
    return {name: (facts.st_size, facts.st_mtime_ns) for name, facts in found.items()}


def test_the_list_tells_what_each_folder_is(client: Client) -> None:
    """Studies, a suite run, what is no study, and what is damaged, each with what is wrong."""
    text = client.get("").text
    for words in (
        *("8 of 8 graded", "3 of 8 graded", "5 missing", "suite run", "public pool", "finished", "stopped"),
        *("careful scored 100.0 points higher than neutral", "INCOMPLETE", "report/suite-report.html"),
        *("scripted 1: evidence about no model", "the folder holds no study", "does not follow from the one"),
    ):
        assert words in text, words
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("?sort=study", ["cut-off", "study-1", "suite-run-1", "damaged", "notes"]),
        ("?sort=-graded", ["study-1", "cut-off", "suite-run-1", "damaged", "notes"]),
        ("?sort=state", ["study-1", "suite-run-1", "cut-off", "damaged", "notes"]),
        ("?words=suite", ["suite-run-1"]),
        ("?words=calibration+finished", ["study-1"]),
        ("?words=nowhere", []),
    ],
)
def test_the_list_is_filtered_and_put_in_order(query: str, names: list[str], client: Client) -> None:
    """What cannot be read comes last."""
    text = client.get(query).text
    found = re.findall(r'<th scope="row">(?:<a [^>]*>)?([^<]+)', text)
    assert found == names


def test_a_study_shows_its_plan_its_reports_and_its_attempts(client: Client, shown: Shown) -> None:
    """Every file of the report is linked, and every attempt."""
    text = client.get("studies/study-1/").text
    for name in ("report.md", "report.json", "report.csv", "report.html"):
        assert f"/studies/study-1/report/{name}" in text
    assert text.count("/studies/study-1/attempts/") == 8
    assert "8 of 8 launches" in text
    assert shown.attempt() in text


@pytest.mark.parametrize(
    ("query", "counted"),
    [
        ("?arm=careful", 4),
        ("?arm=careful&unit=task-2", 1),
        ("?least=100", 4),
        ("?most=0&sort=-score", 4),
        ("?critical=any", 0),
        ("?state=invalid", 0),
    ],
)
def test_attempts_are_filtered(query: str, counted: int, client: Client) -> None:
    """By address alone, without a script."""
    assert f"{counted} of 8 launches" in client.get(f"studies/study-1/{query}").text


@pytest.mark.parametrize("query", ["?least=x", "?page=x", "?sort=x"])
def test_an_address_that_means_nothing_is_answered_in_words(query: str, client: Client) -> None:
    """A page with what was expected."""
    answer = client.get(f"studies/study-1/{query}")
    assert answer.status_code == 400
    assert "expected:" in answer.text


def test_an_attempt_shows_what_is_behind_its_score(client: Client, shown: Shown) -> None:
    """Checks, diff, transcript, commands, costs, instructions, its cell, and files with their digests."""
    text = client.get(f"studies/study-1/attempts/{shown.attempt()}/").text
    for words in (
        *(
            "Check score 100.0 of 100",
            "must-now-work",
            "fixed.txt",
            "Tool call",
            "Tool result",
            "touch fixed.txt",
        ),
        *("exit 0", "input tokens", "unavailable", "SKILL.md", "(this one)", "as the ledger names it"),
    ):
        assert words in text, words
    assert "not the file that the ledger names" not in text


def test_text_of_an_agent_is_text(client: Client, shown: Shown) -> None:
    """Markup, marks that turn the reading direction, and control characters are shown, not obeyed."""
    text = client.get(f"studies/study-1/attempts/{shown.attempt()}/").text
    assert "<script" not in text
    assert "<b>" not in text
    assert "&lt;script&gt;" in text
    assert not any(char in text for char in "\u202e\u2069\x00\x1b")
    assert "\\u202e" in text
    assert HOSTILE.startswith("<script>")


def test_a_suite_run_shows_items_and_their_checks(client: Client) -> None:
    """With the same pages."""
    text = client.get("studies/suite-run-1/").text
    assert "tool-call-refund" in text
    address = text.partition("/studies/suite-run-1/attempts/")[2].partition("/")[0]
    page = client.get(f"studies/suite-run-1/attempts/{address}/").text
    for words in ("The run ended: answered; 100.0 of 100 of the item", "User", "Tool call", "item"):
        assert words in page, words


def test_files_lie_at_their_paths_on_disk(client: Client, shown: Shown) -> None:
    """Byte for byte, as text that no browser takes for anything else."""
    place = f"attempts/{shown.attempt()}/patch.diff"
    answer = client.get(f"studies/study-1/{place}")
    assert answer.content == (shown.study.path / place).read_bytes()
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    archive = client.get(f"studies/study-1/attempts/{shown.attempt()}/submission.tar.zst")
    assert archive.headers["content-type"] == "application/octet-stream"
    assert archive.headers["content-disposition"] == "attachment; filename*=UTF-8''submission.tar.zst"


@pytest.mark.parametrize("path", ["study-1/report/report.html", "suite-run-1/report/suite-report.html"])
def test_a_report_is_a_page_under_its_own_policy(path: str, client: Client) -> None:
    """Its styles stand in it; nothing else may load or run."""
    answer = client.get(f"studies/{path}")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == REPORT_POLICY
    assert "script-src" not in REPORT_POLICY


@pytest.fixture(scope="module")
def guarded(shown: Shown, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Asks for pages of a study with a secret beside it, hidden files, links, and a review."""
    outside = tmp_path_factory.mktemp("guarded")
    (outside / "near").write_text(PRIVATE)
    folder = shown.copy_of_study(outside / "results").path
    (folder / "link").symlink_to(outside)
    (folder / "attempts" / "inner.json").symlink_to(folder / "manifest.json")
    (folder / "attempts" / "x").mkdir()
    (folder / "attempts" / "x" / "page.html").write_text("<script>1</script>")
    for name in (".hidden", "review/key.json", "review/key/key.json", "review/people/ada/packets.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(PRIVATE)
    yield from asking(outside / "results")


@pytest.mark.parametrize(
    "path",
    [
        *("../notes", "%2e%2e/notes", "..%2f..%2fnear", "attempts/%2e%2e/%2e%2e/near", "/etc/passwd"),
        *("attempts%00", "ledger.jsonl/", "attempts//x", ".hidden", "link/near", "attempts/inner.json"),
        *("review/key/key.json", "review/KEY/key.json", "review/key.json", "nothing", "attempts/nobody/"),
        *("review/people/ada/packets.json", "attempts/x"),
    ],
)
def test_nothing_outside_a_study_and_nothing_hidden_is_shown(path: str, guarded: Client) -> None:
    """By no way of writing a path, and by no link."""
    answer = guarded.get(httpx.URL(f"{guarded.base_url}studies/study-1/{path}"), follow_redirects=True)
    assert answer.status_code == 404
    assert PRIVATE not in answer.text


def test_a_page_that_an_attempt_left_is_no_page_here(guarded: Client) -> None:
    """Only a report is taken for HTML."""
    answer = guarded.get("studies/study-1/attempts/x/page.html")
    assert answer.headers["content-type"] == "application/octet-stream"


@pytest.mark.parametrize("name", ["..", "%2e%2e", "nobody", ".git", "a%2f..%2fstudy-1", "%00", "%ff"])
def test_a_name_that_is_no_study_is_answered_in_words(name: str, client: Client) -> None:
    """Whatever stands for it."""
    assert client.get(f"studies/{name}/manifest.json").status_code == 404


def test_nothing_can_be_changed(client: Client) -> None:
    """Not even asked for."""
    assert client.post("studies/study-1/").status_code == 405
    assert client.delete("studies/study-1/ledger.jsonl").status_code == 405


def test_looking_writes_nothing(shown: Shown, client: Client) -> None:
    """No lock, no cache, no time of a file."""
    before = files_of(shown.path)
    for path in (
        "",
        "studies/study-1/?least=1",
        f"studies/study-1/attempts/{shown.attempt()}/",
        "studies/damaged/",
    ):
        client.get(path)
    client.get("studies/study-1/ledger.jsonl")
    assert files_of(shown.path) == before


def test_a_damaged_study_is_told_on_its_page(client: Client) -> None:
    """With the place and the remedy."""
    answer = client.get("studies/damaged/")
    assert answer.status_code == 422
    assert "ledger.jsonl:" in answer.text


def test_a_changed_file_is_told_on_its_attempts_page(
    changed: StudyFolder, changed_client: Client, shown: Shown
) -> None:
    """And a grading that was changed has no score in the table."""
    place = changed.attempt(shown.attempt()).path
    result = place / "grading" / "result.json"
    result.write_bytes(result.read_bytes().replace(b'"pass"', b'"fail"'))
    (place / "agent.log").unlink()
    text = changed_client.get(f"studies/study-1/attempts/{shown.attempt()}/").text
    assert "grading/result.json: not the file that the ledger names" in text
    assert "agent.log: missing" in text
    table = changed_client.get(f"studies/study-1/?attempt={shown.attempt()}").text
    assert "its grading is not the one that the ledger names" in table


def test_a_transcript_of_any_bytes_is_shown_page_by_page(
    changed: StudyFolder, changed_client: Client, shown: Shown
) -> None:
    """Lines that are no entries, are no text, or are too long are shown as far as they are read."""
    entry = {"kind": "tool_result", "text": "y" * 30_000, "at_s": 1.0, "exit_code": 3}
    lines = [
        *(b'{"kind":"user","text":"question %d"}' % number for number in range(LINES_PER_PAGE)),
        json.dumps(entry).encode(),
        b"\xff\xfe<script>\x00",
        b'{"kind":"model","text":"' + b"z" * 3_000_000 + b'"}',
        b'{"kind":"user","te',
    ]
    place = changed.attempt(shown.attempt()).path
    (place / "transcript.jsonl").write_bytes(b"\n".join(lines))
    own = f"studies/study-1/attempts/{shown.attempt()}/"
    first = changed_client.get(own).text
    assert "question 39" in first
    assert "The transcript goes on: 44 entries on 2 pages" in first
    second = changed_client.get(f"{own}transcript/?page=2").text
    assert "question" not in second
    assert "10,000 more characters" in second
    assert "\\xff\\xfe&lt;script&gt;" in second
    assert "3,000,026 bytes" in second
    assert second.count("Not an entry of a transcript") == 3
    assert len(second) < 200_000


def test_a_patch_that_is_no_text_is_shown(changed: StudyFolder, changed_client: Client, shown: Shown) -> None:
    """On the attempt's page, and on the page of one file of it."""
    place = changed.attempt(shown.attempt()).path
    head = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1,2 @@\n"
    (place / "patch.diff").write_bytes(head + b"+\xff<script>\n+" + "\u202e".encode() + b"\n")
    for page in ("", "diff/?file=0"):
        text = changed_client.get(f"studies/study-1/attempts/{shown.attempt()}/{page}").text
        assert "<script" not in text
        assert "\\xff" in text
        assert "\u202e" not in text
    assert changed_client.get(f"studies/study-1/attempts/{shown.attempt()}/diff/?file=7").status_code == 404


def with_review(folder: StudyFolder) -> None:
    """Prepare a review as far as the ledger tells."""
    person = folder.path / "review" / "people" / "zoe"
    person.mkdir(parents=True)
    (person / "packets.json").write_text("packet")
    with open_ledger(folder.ledger) as ledger:
        ledger.append(ReviewPrepared(key_sha256="a" * 64, packets={"zoe": "b" * 64, "ben": "c" * 64}))


def test_reviewers_are_told_not_to_look(changed: StudyFolder, changed_client: Client) -> None:
    """The review's files are withheld until it is unblinded; nobody's name is told."""
    assert "blinded review" not in changed_client.get("studies/study-1/").text
    with_review(changed)
    text = changed_client.get("studies/study-1/").text
    assert "Reviewers should not look here" in text
    assert "0 of 2 reviewers locked" in text
    assert "zoe" not in text
    answer = changed_client.get("studies/study-1/review/people/zoe/packets.json")
    assert answer.status_code == 404
    assert "before it is unblinded" in answer.text


def test_a_study_at_work_is_shown_as_it_stands(shown: Shown, tmp_path: Path) -> None:
    """What is appended is there on the next page; half a line is not yet."""
    shutil.copytree(shown.path / "cut-off", tmp_path / "cut-off")
    folder = StudyFolder(tmp_path / "cut-off")
    session = SessionStarted(harness_version="1", concurrency=1, engine="none")
    for client in asking(tmp_path):
        assert ">stopped<" in client.get("").text
        with open_ledger(folder.ledger) as ledger:
            ledger.append(session)
            with folder.ledger.open("ab") as file:
                file.write(b'{"seq": 99')
            assert ">running<" in client.get("studies/cut-off/").text
            os.truncate(folder.ledger, folder.ledger.stat().st_size - 10)
            ledger.append(StudyPausedEvent(reason="retries are used up"))
        text = client.get("studies/cut-off/").text
        assert ">paused<" in text
        assert "retries are used up" in text


def test_revisions_of_a_report_stand_beside_each_other(changed: StudyFolder, changed_client: Client) -> None:
    """The newest first, each with its reason and its own files."""
    revise_report(changed.path, "The price table was of another month.")
    text = changed_client.get("studies/study-1/").text
    assert text.index("Revision 2, ") < text.index("First report")
    assert "The price table was of another month." in text
    for path in ("report/report.md", "report/revision-2/report.md"):
        assert text.count(f"/studies/study-1/{path}") == 1
        assert changed_client.get(f"studies/study-1/{path}").status_code == 200


def test_a_manifest_that_is_not_the_plan_that_was_run_is_told(
    changed: StudyFolder, changed_client: Client
) -> None:
    """What is said of the plan is then in doubt."""
    changed.manifest.write_text(changed.manifest.read_text().replace('"calibration"', '"shadow"', 1))
    assert "The manifest is not the plan that was run" in changed_client.get("studies/study-1/").text


def test_a_study_that_is_named_itself_is_shown_alone(shown: Shown) -> None:
    """`esac-ag view results/study-1`."""
    for client in asking(shown.study.path):
        assert "1 of 1 folders" in client.get("").text
        assert client.get("studies/study-1/").status_code == 200
        assert client.get("studies/cut-off/").status_code == 404


DAMAGES: tuple[Callable[[StudyFolder], object], ...] = (
    lambda folder: folder.manifest.write_bytes(b"\xff{"),
    lambda folder: folder.manifest.unlink(),
    lambda folder: folder.ledger.unlink(),
    lambda folder: folder.ledger.write_bytes(b""),
    lambda folder: shutil.rmtree(folder.path / "attempts"),
    lambda folder: (folder.report / "report.json").write_bytes(b'{"answer":"\\ud800"'),
)


def test_a_folder_whose_name_is_no_text_spoils_no_list(shown: Shown, tmp_path: Path) -> None:
    """It is told, and all others are shown."""
    folder = shown.copy_of_study(tmp_path / "results").path
    folder.parent.joinpath(os.fsdecode(b"odd-\xff")).mkdir()
    for client in asking(folder.parent):
        listed = client.get("")
        assert listed.status_code == 200
        assert "odd-\\udcff" in listed.text
        assert "its name is no text" in listed.text
        assert "/studies/study-1/" in listed.text


def test_whatever_is_missing_or_damaged_is_told_and_never_a_fault(shown: Shown, tmp_path: Path) -> None:
    """On the list, on the study's page, and on the attempt's."""
    for number, damage in enumerate(DAMAGES):
        damage(shown.copy_of_study(tmp_path, f"damaged-{number}"))
    statuses = {}
    for client in asking(tmp_path):
        assert client.get("").status_code == 200
        for number in range(len(DAMAGES)):
            own = f"studies/damaged-{number}/"
            answers = [client.get(path) for path in (own, f"{own}attempts/{shown.attempt()}/")]
            assert not any("fault" in answer.text for answer in answers)
            statuses[number] = tuple(answer.status_code for answer in answers)
    assert statuses == {
        **dict.fromkeys((0, 1, 2), (422, 422)),
        3: (200, 404),
        **dict.fromkeys((4, 5), (200, 200)),
    }
