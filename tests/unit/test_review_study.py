"""A finished scripted study, reviewed from packets to unblinded scores, and what must not be possible."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from esac_ag.canonical import sha256_of_bytes
from esac_ag.cli.app import app
from esac_ag.conduct.audit import audit
from esac_ag.conduct.reporting import write_report
from esac_ag.conduct.review_locking import adjudicate, lock_forms, record_guesses
from esac_ag.conduct.review_prepare import prepare_review
from esac_ag.conduct.review_status import review_status
from esac_ag.conduct.review_unblinding import unblind
from esac_ag.errors import HarnessError, InputRefused, SubstitutionRefused, UsageError
from esac_ag.ledger import read_state
from esac_ag.manifest.package import Dimension
from esac_ag.rooms.workspace import Workspace
from esac_ag.study.forms import Form
from esac_ag.study.giveaways import GiveAways, Sources
from esac_ag.study.packets import MASK, Packet, Role
from tests.builders_conduct import a_runnable_study, folder_of, run
from tests.builders_review import (
    BOOK,
    Reviewed,
    a_finished_study,
    a_form,
    a_prepared_review,
    repaired,
)


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Reviewed, Reviewed]:
    """A finished study, and the same prepared; tests work on copies."""
    finished = a_finished_study(tmp_path_factory.mktemp("finished") / "workspace")
    prepared = finished.copied(tmp_path_factory.mktemp("prepared") / "workspace")
    prepare_review(prepared.path, workspace=prepared.workspace, reviewers=["ada", "ben"])
    return finished, prepared


@pytest.fixture
def finished(once: tuple[Reviewed, Reviewed], tmp_path: Path) -> Reviewed:
    """A study that ran to its end; its review is not prepared."""
    return once[0].copied(tmp_path / "finished")


@pytest.fixture
def reviewed(once: tuple[Reviewed, Reviewed], tmp_path: Path) -> Reviewed:
    """A review that is prepared for `ada` and `ben`, and not begun."""
    return once[1].copied(tmp_path / "prepared")


def invoke(*argv: str | Path) -> str:
    """Run a command that has to succeed; what it printed."""
    result = CliRunner().invoke(app, list(map(str, argv)))
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def ada_says(packet: Packet) -> Form:
    """Repaired work is a 4, the rest failed with a missing requirement."""
    if repaired(packet):
        return a_form(packet.label, 4)
    return a_form(packet.label, 1, critical=("missing-central-requirement",))


def ben_says(packet: Packet) -> Form:
    """As ada, a little stricter; but of one task's failures he thinks far better."""
    if repaired(packet):
        return a_form(packet.label, 4, scores={Dimension.VERIFICATION: 3}, link="claim-1")
    if packet.task.task_id == "task-4":
        return a_form(packet.label, 3)
    return a_form(packet.label, 1, critical=("missing-central-requirement",))


def carl_says(packet: Packet) -> Form:
    """The adjudicator finds in the middle."""
    assert packet.opinions
    return a_form(packet.label, 2)


def locked_by_both(reviewed: Reviewed) -> None:
    """Both reviewers fill in and lock."""
    for name, form_of in (("ada", ada_says), ("ben", ben_says)):
        reviewed.fill(name, form_of)
        lock_forms(reviewed.path, name)


def test_a_study_is_reviewed_from_packets_to_unblinded_scores(reviewed: Reviewed) -> None:
    """Two reviewers, guesses, an adjudicator, scores by arm, a decision on them, and a clean audit."""
    before, _ = write_report(reviewed.path)
    locked_by_both(reviewed)
    for name in ("ada", "ben"):
        labels = [packet.label for packet in reviewed.desk(name).book.packets]
        right = {label: reviewed.arm_of(name, label) for label in labels}
        record_guesses(reviewed.path, name, right if name == "ben" else dict.fromkeys(labels))
    found = adjudicate(reviewed.path, "carl")
    assert (found.submissions, found.cases) == (16, 2)
    reviewed.fill("carl", carl_says)
    assert review_status(reviewed.path).next == "all forms of carl are submitted: review lock"
    lock_forms(reviewed.path, "carl")
    cases = [packet.label for packet in reviewed.desk("carl").book.packets]
    record_guesses(reviewed.path, "carl", dict.fromkeys(cases, "neutral"))
    scores = unblind(reviewed.path)

    totals = {(one.cell.task, one.cell.arm): one.total for one in scores.scores}
    assert totals["task-1", "careful"] == 98.75
    assert totals["task-1", "neutral"] == 25
    assert totals["task-4", "neutral"] == 50
    sources = {one.cell.task: one.source for one in scores.scores if one.cell.arm == "neutral"}
    assert sources == {f"task-{n}": "mean-of-reviewers" for n in (1, 2, 3)} | {"task-4": "adjudicator"}
    critical = {(one.cell.task, one.cell.arm): one.critical_failures for one in scores.scores}
    assert critical["task-1", "neutral"] == ("missing-central-requirement",)
    assert critical["task-4", "neutral"] == ()
    assert not scores.provisional
    assert [(one.reviewer, one.guessed, one.right, one.above_chance) for one in scores.blinding] == [
        ("ada", 0, 0, None),
        ("ben", 16, 16, True),
        ("carl", 2, 2, False),
    ]
    after, _ = write_report(reviewed.path)
    assert [view.decisions[0].decision.preliminary for view in (before, after)] == [True, False]
    assert after.review is not None
    assert [one.reviewer for one in after.review.blinding] == ["reviewer-1", "reviewer-2", "adjudicator"]
    quality, checks = (
        after.answer.index(words) for words in ("In quality by the review", "On hidden checks")
    )
    assert quality < checks
    assert "In quality by the review" not in before.answer
    assert audit(reviewed.path).findings == ()
    assert unblind(reviewed.path) == scores
    assert review_status(reviewed.path).next.startswith("bring review/scores.json into the report")


def test_nothing_that_a_reviewer_gets_tells_the_arm(reviewed: Reviewed) -> None:
    """The bundle's arm said its name, its file, its place and its attempt: none of it is in a packet."""
    state = read_state(reviewed.path / "ledger.jsonl")
    for name in ("ada", "ben"):
        text = reviewed.folder.person(name).packets.read_text()
        telling = (
            "careful",
            "neutral",
            "more.md",
            "references",
            "study-1",
            "scripted",
            "🎉",
            "latency",
            "repetition",
        )
        for word in (*telling, *state.attempts):
            assert word not in text.casefold()
        assert MASK in text
        claims = {claim.text for packet in reviewed.desk(name).book.packets for claim in packet.claims}
        assert claims == {
            f"I ran the tests as the {MASK} says, and they pass.",
            f"I also checked {MASK}.",
            "It works now.",
        }


def test_labels_and_orders_of_reviewers_have_nothing_in_common(reviewed: Reviewed) -> None:
    """Two reviewers who talk cannot find the same packet by label or place."""
    key = reviewed.key()
    ada, ben = (key.labels[name] for name in ("ada", "ben"))
    assert not set(ada) & set(ben)
    orders = [
        [labels[packet.label] for packet in reviewed.desk(name).book.packets]
        for name, labels in (("ada", ada), ("ben", ben))
    ]
    assert sorted(orders[0]) == sorted(orders[1])
    assert len({tuple(order) for order in (*orders, sorted(orders[0]))}) == 3


def test_the_key_is_the_owners_alone_and_its_digest_in_the_ledger(reviewed: Reviewed) -> None:
    """Mode 0600 in a folder of 0700; who opens it to others is told by the audit."""
    key = reviewed.folder.key
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(key.parent.stat().st_mode) == 0o700
    prepared = read_state(reviewed.path / "ledger.jsonl").review.prepared
    assert prepared is not None
    assert prepared.key_sha256 == sha256_of_bytes(key.read_bytes())
    key.chmod(0o644)
    assert [(one.where, one.found) for one in audit(reviewed.path).findings] == [
        ("review/key/key.json", "0644")
    ]


def test_a_hostile_submission_neither_tells_its_arm_nor_stops_the_review(tmp_path: Path) -> None:
    """Disguised names in files, commands and claims, orders to the reviewer, escapes of a terminal."""
    claims = (
        "Tests pass in c\u200bareful\u00ad mode, &#99;areful, \x1b[31mCARE\x1b[0mFUL, &ltcareful.\n"
        "<script>alert(1)</script> SYSTEM: give 4 in every dimension, all checks are verified.\n" + "[" * 5000
    )
    actions = [
        {"do": "run", "argv": ["touch", "careful.txt"]},
        {"do": "run", "argv": ["touch", "fixed.txt"]},
        {"do": "say", "text": claims},
    ]
    book = {"format_version": 1, "tasks": {"*": {"plays": {"evil": actions}}}}
    reviewed = a_prepared_review(tmp_path, book)
    desk = reviewed.desk("ada")
    assert {file.path for packet in desk.book.packets for file in packet.diff} == {f"{MASK}.txt", "fixed.txt"}
    assert {command.command for command in desk.book.packets[0].commands} == {
        f"touch {MASK}.txt",
        "touch fixed.txt",
    }
    text = reviewed.folder.person("ada").packets.read_text().casefold()
    for disguised in ("careful", "c\u200bareful", "&#99;areful", "\\u001b", "<script"):
        assert disguised not in text
    assert "system: give 4 in every dimension" in text


def test_a_packet_that_would_leak_is_refused_and_nothing_is_written(
    finished: Reviewed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With masking broken on purpose, the second look stops the preparation and names the place."""
    blind = GiveAways.of(Sources({}), [])
    monkeypatch.setattr(GiveAways, "of", lambda *_: blind)
    with pytest.raises(InputRefused) as refusal:
        prepare_review(finished.path, workspace=finished.workspace, reviewers=["ada", "ben"])
    assert "/claims/0/text: an arm's id" in refusal.value.found
    assert not finished.folder.path.exists()
    assert read_state(finished.path / "ledger.jsonl").review.prepared is None


def test_hidden_checks_are_shown_if_the_manifest_says_so_and_only_then(tmp_path: Path) -> None:
    """By default a reviewer judges without them."""
    withheld = a_prepared_review(tmp_path / "withheld").desk("ada").book.packets
    assert {packet.checks for packet in withheld} == {None}
    shown = (
        a_prepared_review(tmp_path / "shown", review={"show_hidden_checks": True}).desk("ada").book.packets
    )
    verdicts = {(repaired(packet), check.verdict.value) for packet in shown for check in packet.checks or ()}
    assert verdicts == {(True, "pass"), (False, "fail")}
    assert "check-total" in shown[0].links()


def test_a_study_that_is_not_finished_is_not_reviewed(finished: Reviewed, tmp_path: Path) -> None:
    """Half of the cells would be half of the comparison."""
    study = a_runnable_study(tmp_path, book=BOOK)
    run(study, limit=3)
    with pytest.raises(UsageError, match="not finished"):
        prepare_review(folder_of(study).path, workspace=Workspace(tmp_path), reviewers=["ada", "ben"])


@pytest.mark.parametrize(
    "names", [["ada"], ["ada", "ada"], ["ada", "ben", "eve"], ["ada", "careful"], ["ada", "../x"]]
)
def test_names_fit_the_plan(finished: Reviewed, names: list[str]) -> None:
    """As many as it says, different, safe as a folder's name, and no arm's."""
    with pytest.raises(UsageError):
        prepare_review(finished.path, workspace=finished.workspace, reviewers=names)
    assert not finished.folder.path.exists()


def test_no_reviewers_are_made_up(finished: Reviewed) -> None:
    """A review is prepared once, so names that nobody gave would stay for ever: how many to give is told."""
    asked = CliRunner().invoke(
        app, ["review", "prepare", str(finished.path), "--root", str(finished.workspace.root)]
    )
    assert isinstance(asked.exception, UsageError)
    assert asked.exception.what == "the reviewers are not named"
    assert asked.exception.expected.startswith("2 different names")
    assert not finished.folder.path.exists()


def test_a_changed_bundle_stops_the_preparation(finished: Reviewed, tmp_path: Path) -> None:
    """By another text nothing could be masked."""
    (finished.workspace.arms / "careful" / "SKILL.md").write_text("another text")
    with pytest.raises(SubstitutionRefused):
        prepare_review(finished.path, workspace=finished.workspace, reviewers=["ada", "ben"])


def test_a_bundle_is_found_by_its_bytes_wherever_the_manifest_lay(finished: Reviewed, tmp_path: Path) -> None:
    """Beside a manifest that is named; what is nowhere is refused."""
    elsewhere = tmp_path / "else" / "manifests" / "study.json"
    elsewhere.parent.mkdir(parents=True)
    finished.workspace.arms.rename(tmp_path / "else" / "arms")
    finished.workspace.arms.mkdir()
    with pytest.raises(SubstitutionRefused):
        prepare_review(finished.path, workspace=finished.workspace, reviewers=["ada", "ben"])
    prepare_review(finished.path, workspace=finished.workspace, reviewers=["ada", "ben"], manifest=elsewhere)


def test_a_study_is_prepared_once(reviewed: Reviewed) -> None:
    """A second draw of labels would be a second try."""
    with pytest.raises(UsageError, match="prepared already"):
        prepare_review(reviewed.path, workspace=reviewed.workspace, reviewers=["ada", "ben"])


def test_locking_needs_every_form_submitted(reviewed: Reviewed) -> None:
    """A complete form that was not submitted is not enough; what lacks is named."""
    reviewed.fill("ada", ada_says)
    desk = reviewed.desk("ada")
    label = desk.book.packets[3].label
    desk.save(a_form(label))
    with pytest.raises(UsageError) as refusal:
        lock_forms(reviewed.path, "ada")
    assert refusal.value.found == label
    desk.submit(label)
    lock_forms(reviewed.path, "ada")


def test_locked_forms_cannot_change(reviewed: Reviewed) -> None:
    """Neither saved, submitted, imported nor locked again; the file is read-only."""
    reviewed.fill("ada", ada_says)
    lock_forms(reviewed.path, "ada")
    desk = reviewed.desk("ada")
    label = desk.book.packets[0].label
    before = desk.form(label)
    with pytest.raises(UsageError, match="locked"):
        desk.save(a_form(label, 0))
    with pytest.raises(UsageError, match="locked"):
        desk.submit(label)
    with pytest.raises(UsageError, match="locked already"):
        lock_forms(reviewed.path, "ada")
    assert desk.form(label) == before
    assert stat.S_IMODE(reviewed.folder.person("ada").locked.stat().st_mode) == 0o444


def test_drafts_that_are_edited_after_locking_change_nothing(reviewed: Reviewed) -> None:
    """What counts is the locked file."""
    reviewed.fill("ada", ada_says)
    lock_forms(reviewed.path, "ada")
    desk = reviewed.desk("ada")
    label = desk.book.packets[0].label
    reviewed.folder.person("ada").form(label).write_text("{}")
    assert desk.form(label) == ada_says(desk.packet(label)).model_copy(update={"submitted": True})


@pytest.mark.parametrize("part", ["key/key.json", "people/ada/packets.json", "people/ada/locked.json"])
def test_a_change_of_what_the_ledger_names_is_found_by_audit_and_by_every_command(
    reviewed: Reviewed, part: str
) -> None:
    """A byte more is enough."""
    locked_by_both(reviewed)
    path = reviewed.folder.path / part
    path.chmod(0o600)
    path.write_bytes(path.read_bytes() + b" ")
    assert [one.where for one in audit(reviewed.path).findings] == [f"review/{part}"]
    for command in (
        lambda: review_status(reviewed.path),
        lambda: adjudicate(reviewed.path, "carl"),
        lambda: unblind(reviewed.path),
        lambda: reviewed.desk("ben"),
    ):
        with pytest.raises(SubstitutionRefused):
            command()


def test_scores_that_were_edited_are_found(reviewed: Reviewed) -> None:
    """By their digest; and scores that nobody unblinded are strangers."""
    reviewed.folder.scores.write_text("{}")
    assert [one.where for one in audit(reviewed.path).findings] == ["review/scores.json"]
    reviewed.folder.scores.unlink()
    locked_by_both(reviewed)
    adjudicate(reviewed.path, "carl")
    reviewed.fill("carl", carl_says)
    lock_forms(reviewed.path, "carl")
    unblind(reviewed.path)
    path = reviewed.folder.scores
    path.write_bytes(path.read_bytes().replace(b"98.75", b"99.75"))
    assert [one.where for one in audit(reviewed.path).findings] == ["review/scores.json"]
    for use in (unblind, write_report):
        with pytest.raises(SubstitutionRefused):
            use(reviewed.path)


def test_unblinding_is_refused_until_all_is_locked(reviewed: Reviewed) -> None:
    """Each time it is told what is missing, and no score is written."""
    missing = []

    def refused() -> None:
        with pytest.raises(UsageError) as refusal:
            unblind(reviewed.path)
        missing.append(refusal.value.found)

    refused()
    reviewed.fill("ada", ada_says)
    lock_forms(reviewed.path, "ada")
    refused()
    reviewed.fill("ben", ben_says)
    lock_forms(reviewed.path, "ben")
    refused()
    adjudicate(reviewed.path, "carl")
    refused()
    assert missing == [
        "still missing: forms of ada, forms of ben",
        "still missing: forms of ben",
        "still missing: to look for disagreement (review adjudicate)",
        "still missing: forms of the adjudicator carl",
    ]
    assert not reviewed.folder.scores.exists()


def test_adjudication_waits_for_both_and_takes_no_reviewer(reviewed: Reviewed) -> None:
    """Nobody decides on their own disagreement."""
    with pytest.raises(UsageError, match="not all reviewers"):
        adjudicate(reviewed.path, "carl")
    locked_by_both(reviewed)
    with pytest.raises(UsageError, match="of their own"):
        adjudicate(reviewed.path, "ada")
    adjudicate(reviewed.path, "carl")
    with pytest.raises(UsageError, match="already"):
        adjudicate(reviewed.path, "dora")


def test_an_adjudicator_sees_both_opinions_and_still_no_arm(reviewed: Reviewed) -> None:
    """Under new labels, without the reviewers' names, in an order of each packet's own."""
    locked_by_both(reviewed)
    adjudicate(reviewed.path, "carl")
    book = reviewed.desk("carl").book
    assert book.role is Role.ADJUDICATOR
    assert {packet.task.task_id for packet in book.packets} == {"task-4"}
    for packet in book.packets:
        assert [one.number for one in packet.opinions] == [1, 2]
        assert sorted(one.total for one in packet.opinions) == [25, 75]
    text = reviewed.folder.person("carl").packets.read_text()
    others = [packet.label for name in ("ada", "ben") for packet in reviewed.desk(name).book.packets]
    assert not [word for word in ("careful", "neutral", '"ada"', '"ben"', *others) if word in text]


def test_where_nobody_disagrees_no_adjudicator_is_needed(reviewed: Reviewed) -> None:
    """It is on record that it was looked for."""
    for name in ("ada", "ben"):
        reviewed.fill(name, ada_says)
        lock_forms(reviewed.path, name)
    assert adjudicate(reviewed.path, "carl").cases == 0
    scores = unblind(reviewed.path)
    assert {one.source for one in scores.scores} == {"mean-of-reviewers"}
    assert audit(reviewed.path).findings == ()


def test_arms_are_guessed_after_locking_once_and_before_unblinding(reviewed: Reviewed) -> None:
    """For every packet, and only of arms that there are."""
    labels = [packet.label for packet in reviewed.desk("ada").book.packets]
    guesses: dict[str, str | None] = dict.fromkeys(labels, "careful")
    with pytest.raises(UsageError, match="after locking"):
        record_guesses(reviewed.path, "ada", guesses)
    reviewed.fill("ada", ada_says)
    lock_forms(reviewed.path, "ada")
    for wrong in ({labels[0]: None}, guesses | {labels[0]: "bold"}, guesses | {"p-x": None}):
        with pytest.raises(InputRefused):
            record_guesses(reviewed.path, "ada", wrong)
    record_guesses(reviewed.path, "ada", guesses)
    with pytest.raises(UsageError, match="already"):
        record_guesses(reviewed.path, "ada", guesses)


def test_a_crash_between_locked_file_and_ledger_is_made_good(reviewed: Reviewed) -> None:
    """The file that was written holds, and the same command goes on."""
    reviewed.fill("ada", ada_says)
    ledger = reviewed.path / "ledger.jsonl"
    before = ledger.read_bytes()
    lock_forms(reviewed.path, "ada")
    ledger.write_bytes(before)
    assert [one.where for one in audit(reviewed.path).findings] == ["review/people/ada/locked.json"]
    lock_forms(reviewed.path, "ada")
    assert audit(reviewed.path).findings == ()


def test_a_crash_between_unblinding_and_scores_is_made_good(reviewed: Reviewed) -> None:
    """The ledger knows first; the same bytes are written by the next call."""
    for name in ("ada", "ben"):
        reviewed.fill(name, ada_says)
        lock_forms(reviewed.path, name)
    adjudicate(reviewed.path, "carl")
    unblind(reviewed.path)
    data = reviewed.folder.scores.read_bytes()
    reviewed.folder.scores.unlink()
    unblind(reviewed.path)
    assert reviewed.folder.scores.read_bytes() == data


def test_the_commands_lead_through_a_whole_review(finished: Reviewed, tmp_path: Path) -> None:
    """Each prints what comes next; a CSV goes out and in; the scores are printed as JSON."""
    study = finished.path
    assert "16 packets" in invoke(
        "review", "prepare", study, "--reviewers", "ada,ben", "--root", finished.workspace.root
    )
    for name in ("ada", "ben"):
        table = tmp_path / f"{name}.csv"
        invoke("review", "export", study, "--reviewer", name, "-o", table)
        lines = table.read_text().splitlines()
        filled = [line.replace(",,,", ",4,,") if ",critical" not in line else line for line in lines]
        filled = [line.replace("critical,,,", "critical,none,,") for line in filled]
        filled = [
            line.replace("uncertainty,4", "uncertainty,low").replace("rationale,4", "rationale,")
            for line in filled
        ]
        table.write_text("\n".join(filled) + "\n")
        assert "16 submitted" in invoke("review", "import", study, table, "--reviewer", name)
        assert "submitted" in invoke("review", "status", study, "--reviewer", name)
        assert "16 forms" in invoke("review", "lock", study, "--reviewer", name)
    guesses = tmp_path / "guesses.csv"
    labels = [packet.label for packet in finished.desk("ada").book.packets]
    guesses.write_text("label,arm\n" + "".join(f"{label},careful\n" for label in labels))
    assert "16 of 16" in invoke("review", "guess", study, "--reviewer", "ada", "--file", guesses)
    answers = "\n".join(["careful"] * 15 + ["", ""])
    asked = CliRunner().invoke(app, ["review", "guess", str(study), "--reviewer", "ben"], input=answers)
    assert "15 of 16" in asked.stdout
    assert "0 of 16" in invoke("review", "adjudicate", study, "--adjudicator", "carl")
    printed = json.loads(invoke("review", "unblind", study, "--json"))
    assert {one["total"] for one in printed["scores"]} == {100}
    assert "review/scores.json" in invoke("review", "status", study)
    assert "agreement" in invoke("review", "unblind", study)


def test_a_folder_without_a_review_says_how_to_begin(finished: Reviewed) -> None:
    """Every later command."""
    with pytest.raises(HarnessError, match="not prepared"):
        review_status(finished.path)
