"""Forms: what a complete one needs, how they go through files, and that nothing of them is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esac_ag.conduct.review_desk import ReviewDesk
from esac_ag.conduct.review_exchange import export_forms, import_forms
from esac_ag.errors import InputRefused, UsageError
from esac_ag.manifest.package import Dimension
from esac_ag.study.form_table import read_table, table_of
from esac_ag.study.forms import (
    Author,
    AuthorKind,
    Evidence,
    Form,
    Judged,
    Sureness,
    Uncertainty,
    faults_of,
)
from tests.builders_review import CRITICAL, Reviewed, a_form, a_packet, a_prepared_review

TEXT = st.text(alphabet=st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=20).map(
    str.strip
)


def pointers(form: Form) -> list[str]:
    """Where a form of the builder's packet has faults."""
    return [fault.pointer for fault in faults_of(form, a_packet(), CRITICAL)]


def with_scope(judged: Judged) -> Form:
    """A complete form but for what it says of the scope."""
    form = a_form(score=4)
    return form.model_copy(update={"scores": form.scores | {Dimension.SCOPE: judged}})


def test_a_complete_form_has_no_fault() -> None:
    """With deductions and a critical failure, or with neither."""
    assert pointers(a_form(score=4)) == []
    assert pointers(a_form(score=0, critical=("data-loss",), link="shop/orders.py:-2")) == []


def test_a_blank_form_lacks_everything() -> None:
    """And says each thing once."""
    form = Form(label="p-1")
    scores = [f"/scores/{name}/score" for name in Dimension]
    assert pointers(form) == [*scores, "/critical", "/uncertainty/level"]
    assert form.is_blank
    assert all(fault.missing for fault in faults_of(form, a_packet(), CRITICAL))


@pytest.mark.parametrize("score", [0, 1, 2, 3])
def test_every_deduction_needs_evidence(score: int) -> None:
    """Any score below 4."""
    assert pointers(with_scope(Judged(score=score))) == ["/scores/scope/evidence"]


@pytest.mark.parametrize(
    ("evidence", "pointer"),
    [
        (Evidence(text="", link="diff"), "/scores/scope/evidence/0/text"),
        (Evidence(text="  ", link="diff"), "/scores/scope/evidence/0/text"),
        (Evidence(text="why", link=""), "/scores/scope/evidence/0/link"),
        (Evidence(text="why", link="shop/orders.py:99"), "/scores/scope/evidence/0/link"),
        (Evidence(text="why", link="command-2"), "/scores/scope/evidence/0/link"),
        (Evidence(text="why", link="check-total"), "/scores/scope/evidence/0/link"),
    ],
)
def test_evidence_needs_words_and_a_link_into_the_packet(evidence: Evidence, pointer: str) -> None:
    """Even beside a full score."""
    assert pointers(with_scope(Judged(score=4, evidence=(evidence,)))) == [pointer]


@pytest.mark.parametrize("link", ["shop/orders.py:3", "shop/orders.py:-2", "command-1", "claim-1", "diff"])
def test_everything_in_the_packet_can_be_pointed_at(link: str) -> None:
    """Lines on both sides, commands, claims, and what is missing."""
    assert pointers(a_form(score=2, link=link)) == []


def test_critical_failures_are_of_the_manifests_types_and_named_once() -> None:
    """An unknown type, and one twice, are faults."""
    assert pointers(a_form(critical=("elegance",))) == ["/critical/0/type"]
    assert pointers(a_form(critical=("data-loss", "data-loss"))) == ["/critical/1/type"]


def test_a_table_gives_the_same_forms_back() -> None:
    """Complete, half and blank ones; what a spreadsheet would run comes out harmless and goes in whole."""
    evil = Evidence(text="=1+1", link="diff")
    half = Form(
        label="p-2", scores={Dimension.SCOPE: Judged(evidence=(evil, Evidence(text="'so", link="claim-1")))}
    )
    forms = (a_form("p-1", 2, critical=("data-loss",)), half, Form(label="p-3"), a_form("p-4", 4))
    table = table_of(forms)
    assert "'=1+1" in table
    read = read_table(table)
    assert (tuple(read.forms.values()), read.faults) == (forms, [])


@given(st.lists(st.tuples(TEXT, TEXT), max_size=3), TEXT, st.one_of(st.none(), st.integers(0, 4)))
def test_a_table_keeps_any_text(evidence: list[tuple[str, str]], rationale: str, score: int | None) -> None:
    """Quotes, commas, apostrophes, formulas."""
    own = tuple(Evidence(text=text, link=link) for text, link in evidence if text or link)
    scores = {Dimension.SCOPE: Judged(score=score, evidence=own)} if own or score is not None else {}
    form = Form(label="p-1", scores=scores, rationale=rationale, uncertainty=Uncertainty(level=Sureness.HIGH))
    read = read_table(table_of([form]))
    assert (list(read.forms.values()), read.faults) == ([form], [])


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ("p-1,scope,5,x,diff", (2, "scope is not a whole number from 0 to 4")),
        ("p-1,scope,3.0,x,diff", (2, "scope is not a whole number from 0 to 4")),
        ("p-1,scope,2,x,diff\np-1,scope,3,y,diff", (3, "scope has two different scores")),
        ("p-1,elegance,3,x,diff", (2, "the item is none of behaviour, scope, robustness")),
        ("p-1,critical,none,,\np-1,critical,data-loss,x,diff", (3, "critical failures are named")),
        ("p-1,critical,,x,diff", (2, "evidence of a critical failure without its type")),
        ("p-1,uncertainty,rather,,", (2, "uncertainty is none of low, medium, high")),
        ("p-1,rationale,,a,\np-1,rationale,,b,", (3, "rationale is there twice")),
        ("p-1,scope,2,x", (2, "4 cells where 5 are expected")),
        ('p-1,scope,2,"x" y,diff', (2, "not a table")),
    ],
)
def test_a_fault_in_a_table_is_told_with_its_row(rows: str, fault: tuple[int, str]) -> None:
    """Nothing is guessed, and nothing is passed over."""
    read = read_table(f"label,item,value,text,link\n{rows}\n")
    assert [(one.row, one.what[: len(fault[1])]) for one in read.faults] == [fault]


def test_another_heading_is_no_table_of_forms() -> None:
    """Columns are never matched by chance."""
    assert [fault.row for fault in read_table("label,score\np-1,3\n").faults] == [1]


def test_a_spreadsheets_mark_and_semicolons_are_taken() -> None:
    """As some of them save tables."""
    read = read_table("\ufefflabel;item;value;text;link\r\np-1;scope;4;;\r\n")
    assert read.faults == []
    assert read.forms["p-1"].score(Dimension.SCOPE) == 4


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Reviewed:
    """A review that nobody has begun; tests use other people's names or forms of their own."""
    return a_prepared_review(tmp_path_factory.mktemp("review"))


def test_a_desk_saves_forms_as_they_are_and_submits_complete_ones(prepared: Reviewed) -> None:
    """A later change takes the submission back."""
    desk = prepared.desk("ada")
    label = desk.book.packets[0].label
    desk.save(Form(label=label, rationale="begun"))
    assert desk.form(label).rationale == "begun"
    assert desk.submit(label)[0].pointer == "/scores/behaviour/score"
    assert not desk.form(label).submitted
    desk.save(a_form(label))
    assert desk.submit(label) == ()
    assert prepared.desk("ada").form(label).submitted
    assert (desk.progress().begun, desk.progress().submitted) == (1, 1)
    desk.save(a_form(label, 2))
    assert desk.progress().submitted == 0


def test_a_desk_has_its_own_reviewers_packets_only(prepared: Reviewed) -> None:
    """Labels of another reviewer, and names that nobody has, are refused."""
    other = prepared.desk("ben").book.packets[0].label
    with pytest.raises(UsageError, match="no packet of that label"):
        prepared.desk("ada").form(other)
    with pytest.raises(UsageError, match="no packet of that label"):
        prepared.desk("ada").save(a_form(other))
    with pytest.raises(UsageError, match="nobody of that name"):
        ReviewDesk.open(prepared.path, "eve")


def test_forms_that_a_person_began_are_never_a_models(prepared: Reviewed) -> None:
    """Nor the other way round: provisional stays provisional."""
    desk = prepared.desk("ada")
    label = desk.book.packets[1].label
    desk.save(Form(label=label, rationale="mine"))
    with pytest.raises(UsageError, match="another author"):
        desk.save(a_form(label), Author(kind=AuthorKind.MODEL, label="m"))
    assert desk.form(label).rationale == "mine"


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_forms_go_out_and_come_in_again(prepared: Reviewed, tmp_path: Path, suffix: str) -> None:
    """What was filled in outside is submitted where complete; packets lie beside the file as text."""
    desk = prepared.desk("ben")
    first, second = (packet.label for packet in desk.book.packets[:2])
    desk.save(Form(label=second, rationale="from before"))
    path = tmp_path / f"forms.{suffix}"
    exported = export_forms(prepared.path, "ben", path)
    assert len(list(Path(exported.packets).iterdir())) == len(desk.book.packets)
    filled = a_form(first, 2 if suffix == "csv" else 1)
    if suffix == "csv":
        path.write_text(table_of([filled]))
    else:
        data = json.loads(path.read_text())
        place = [one["label"] for one in data["forms"]].index(first)
        data["forms"][place] = json.loads(filled.model_dump_json())
        path.write_text(json.dumps(data))
    imported = import_forms(prepared.path, "ben", path)
    assert (imported.replaced, imported.submitted) == (1, 1)
    assert desk.form(first) == filled.model_copy(update={"submitted": True})
    assert desk.form(second).rationale == "from before"
    again = import_forms(prepared.path, "ben", path)
    assert again.replaced == 0


def test_an_export_never_writes_over_a_file(prepared: Reviewed, tmp_path: Path) -> None:
    """Somebody may have worked in it."""
    path = tmp_path / "forms.csv"
    path.write_text("my work")
    with pytest.raises(UsageError, match="there already"):
        export_forms(prepared.path, "ada", path)
    assert path.read_text() == "my work"


def test_an_import_with_one_fault_takes_nothing(prepared: Reviewed, tmp_path: Path) -> None:
    """The fault is told with its row; the good form beside it is not taken either."""
    desk = prepared.desk("ada")
    good, bad = (packet.label for packet in desk.book.packets[2:4])
    path = tmp_path / "forms.csv"
    path.write_text(table_of([a_form(good), a_form(bad, link="nowhere.py:1"), a_form("p-unknown")]))
    with pytest.raises(InputRefused) as refusal:
        import_forms(prepared.path, "ada", path)
    assert "row 10: the packet has no such line" in refusal.value.found
    assert "there is no packet p-unknown of ada" in refusal.value.found
    assert desk.form(good).is_blank


def test_faults_in_json_are_told_by_pointer(prepared: Reviewed, tmp_path: Path) -> None:
    """Unknown keys, numbers in text, and a file of somebody else's."""
    path = tmp_path / "forms.json"
    label = prepared.desk("ada").book.packets[0].label
    forms = {
        "format_version": 1,
        "reviewer": "ada",
        "role": "reviewer",
        "forms": [{"label": label, "score": 3}],
    }
    path.write_text(json.dumps(forms))
    with pytest.raises(InputRefused) as refusal:
        import_forms(prepared.path, "ada", path)
    assert "/forms/0/score" in refusal.value.found
    path.write_text(json.dumps(forms | {"forms": [], "reviewer": "ben"}))
    with pytest.raises(InputRefused) as refusal:
        import_forms(prepared.path, "ada", path)
    assert "the forms are of ben" in refusal.value.found


def test_what_an_import_replaces_is_kept(prepared: Reviewed, tmp_path: Path) -> None:
    """Both earlier versions can still be read."""
    desk = prepared.desk("ada")
    label = desk.book.packets[4].label
    desk.save(Form(label=label, rationale="first"))
    for score in (1, 2):
        path = tmp_path / f"{score}.csv"
        path.write_text(table_of([a_form(label, score)]))
        import_forms(prepared.path, "ada", path)
    earlier = sorted((prepared.folder.person("ada").path / "earlier").glob(f"{label}-*.json"))
    kept = [Form.model_validate_json(one.read_bytes()) for one in earlier]
    assert [(one.rationale, one.score(Dimension.SCOPE)) for one in kept] == [("first", None), ("as it is", 1)]


def test_a_models_forms_are_not_imported(prepared: Reviewed, tmp_path: Path) -> None:
    """They would lose their mark."""
    path = tmp_path / "forms.json"
    forms = prepared.desk("ada").form_set().model_copy(update={"author": Author(kind=AuthorKind.MODEL)})
    path.write_text(forms.model_dump_json())
    with pytest.raises(InputRefused):
        import_forms(prepared.path, "ada", path)
