"""The page of a reviewer over a real server: who may ask, what is shown, what is saved, what is refused."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from esac_ag.artifacts import StudyFolder
from esac_ag.conduct.review_desk import revision_of
from esac_ag.conduct.review_locking import adjudicate, lock_forms
from esac_ag.conduct.review_rehearsing import rehearse
from esac_ag.errors import FormChanged, UsageError
from esac_ag.ledger import open_ledger, read_state
from esac_ag.manifest.package import Dimension
from esac_ag.pages.review_fields import field_of, fields_of, read_fields
from esac_ag.pages.review_site import ReviewSite
from esac_ag.study.forms import Author, AuthorKind, CriticalFinding, Evidence, Form, Judged, faults_of
from esac_ag.study.packets import Packet
from esac_ag.study.scripted_review import Strictness
from tests.builders_review import CRITICAL, Reviewed, a_form, a_packet
from tests.builders_review_page import HOSTILE, ServedReview, a_review_with_hostile_text, served


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Reviewed:
    """A prepared review; what changes it works on copies."""
    return a_review_with_hostile_text(tmp_path_factory.mktemp("once") / "workspace")


@pytest.fixture(scope="module")
def shown(once: Reviewed) -> Iterator[ServedReview]:
    """The page of `ada`, for tests that change nothing."""
    with served(once) as page:
        yield page


@pytest.fixture
def page(once: Reviewed, tmp_path: Path) -> Iterator[ServedReview]:
    """The page of `ada` on a copy."""
    with served(once.copied(tmp_path / "copy")) as found:
        yield found


def values_of(page: ServedReview, form: Form, **more: str) -> dict[str, str]:
    """The fields that the page of a packet would send for a form."""
    saved = page.reviewed.desk(page.name).form(form.label)
    found = {"csrf": page.secrets.csrf, "revision": revision_of(saved), "rationale": form.rationale}
    for dimension, judged in form.scores.items():
        found[f"scores-{dimension.value}-score"] = "" if judged.score is None else str(judged.score)
        for number, evidence in enumerate(judged.evidence):
            found[f"scores-{dimension.value}-evidence-{number}-text"] = evidence.text
            found[f"scores-{dimension.value}-evidence-{number}-link"] = evidence.link
    for number, finding in enumerate(form.critical or ()):
        found[f"critical-{number}-type"] = finding.type
        found[f"critical-{number}-evidence-text"] = finding.evidence.text
        found[f"critical-{number}-evidence-link"] = finding.evidence.link
    if form.critical == ():
        found["critical-none"] = "yes"
    found["uncertainty-level"] = form.uncertainty.level or ""
    found["uncertainty-text"] = form.uncertainty.text
    return found | more


def sent(page: ServedReview, form: Form, do: str = "save", **more: str) -> httpx.Response:
    """What the page answers to a form; redirects are not followed."""
    with page.client() as client:
        return client.post(f"packets/{form.label}", data=values_of(page, form, do=do, **more))


# ---- who may ask


@pytest.mark.parametrize("path", ["", "packets/{label}", "lock", "static/review.js"])
@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}"])
def test_another_name_or_token_is_told_nothing(path: str, host: str, shown: ServedReview) -> None:
    """Neither a page, nor a form, nor a script."""
    label = shown.changing().label
    with shown.client() as client:
        headers = {"host": host.format(port=shown.server.port)}
        assert client.get(path.format(label=label), headers=headers).status_code == 421
        other = f"http://127.0.0.1:{shown.server.port}/{'0' * 64}/{path.format(label=label)}"
        assert (client.get(other).status_code, label in client.get(other).text) == (404, False)


@pytest.mark.parametrize("path", ["packets/{label}", "packets/{label}/draft", "lock", "guesses"])
def test_nothing_is_changed_without_the_pages_secret(path: str, shown: ServedReview) -> None:
    """From elsewhere, or from here without the secret."""
    label = shown.changing().label
    with shown.client() as client:
        for data, origin in (({"do": "save"}, None), ({"csrf": shown.secrets.csrf}, "http://evil.example")):
            headers = {} if origin is None else {"origin": origin}
            assert client.post(path.format(label=label), data=data, headers=headers).status_code == 403
    assert shown.reviewed.desk("ada").form(label).is_blank


def test_an_unknown_packet_is_not_found_and_so_is_another_reviewers(shown: ServedReview) -> None:
    """Nothing tells one from the other."""
    (other,) = {packet.label for packet in shown.reviewed.desk("ben").book.packets[:1]}
    with shown.client() as client:
        answers = [client.get(f"packets/{label}") for label in (other, "p-nobody", "..%2f..%2fben", "%00")]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.text for answer in answers}) == 1


@pytest.mark.parametrize(
    "path", ["static/../review_app.py", "static/%2e%2e/guard.py", "static/", "static/no.css"]
)
def test_only_the_packages_own_style_and_script_are_files(path: str, shown: ServedReview) -> None:
    """No other file of the package or of the machine."""
    with shown.client() as client:
        assert client.get(path).status_code == 404


def test_a_reviewer_sees_nothing_of_others(page: ServedReview) -> None:
    """Neither names, labels, forms, attempts nor arms, on any page, whatever others have done."""
    page.reviewed.fill("ben", lambda packet: a_form(packet.label, 2))
    lock_forms(page.reviewed.path, "ben")
    others = [packet.label for packet in page.reviewed.desk("ben").book.packets]
    attempts = list(read_state(StudyFolder(page.reviewed.path).ledger).attempts)
    with page.client() as client:
        paths = ["", "lock", *(f"packets/{packet.label}?check=all" for packet in page.packets())]
        text = "".join(client.get(path).text for path in paths)
    assert "ada" in text
    for word in ("ben", "careful", "neutral", "study-1", "something is missing", *others, *attempts):
        assert word not in text


def test_forms_that_a_script_fills_in_are_shown_as_a_rehearsal(page: ServedReview) -> None:
    """On the list and on each packet, and nobody can change them by hand."""
    rehearse(page.reviewed.path, "ada", Strictness.STRICT)
    label = page.reviewed.desk("ada").book.packets[0].label
    with page.client() as client:
        for path in ("", f"packets/{label}"):
            assert "A script, strict, fills in th" in client.get(path).text
            assert "REHEARSAL, no evidence" in client.get(path).text
        answer = client.post(f"packets/{label}", data=values_of(page, a_form(label)))
    assert answer.status_code != 200 or "another author" in answer.text
    assert page.reviewed.desk("ada").author.label == "strict"


def test_a_changed_file_of_another_reviewer_is_told_without_a_name(page: ServedReview) -> None:
    """The page stops, in words, and says no place that is not the reader's own."""
    packets = page.reviewed.folder.person("ben").packets
    packets.write_bytes(packets.read_bytes() + b" ")
    with page.client() as client:
        answer = client.get("")
    assert answer.status_code == 500
    assert "not what the ledger names" in answer.text
    assert not re.search(r"\bben\b", answer.text)
    assert "Traceback" not in answer.text


# ---- what is shown


def test_hostile_text_is_text_everywhere(shown: ServedReview) -> None:
    """In the diff, in names of files, in claims and commands; bidirectional marks are visible."""
    packet = shown.changing()
    with shown.client() as client:
        text = client.get(f"packets/{packet.label}").text
    assert HOSTILE not in text
    assert text.count("<script") == 1
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "\u202e" not in text
    assert '<span class="invisible">\\u202e</span>' in text
    assert "<b>.py" not in text


def test_a_page_needs_no_other_server_and_no_inline_code(shown: ServedReview) -> None:
    """No address of another host, no handler, no style in an attribute."""
    with shown.client() as client:
        for path in ("", f"packets/{shown.changing().label}", "lock", "nowhere"):
            answer = client.get(path)
            assert not re.findall(r'(?:href|src|action)="(?!/|#|data:,)', answer.text)
            assert not re.findall(r"\s(?:on\w+|style)=", re.sub(r"<pre>.*?</pre>", "", answer.text))
            assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_a_file_of_the_diff_has_a_page(shown: ServedReview) -> None:
    """And a number that there is none of has not."""
    packet = shown.changing()
    with shown.client() as client:
        assert packet.diff[0].path in client.get(f"packets/{packet.label}/files/0").text
        for path in ("files/99", "files/x", "files/0?from=x", "files/0?from=" + "9" * 99):
            assert client.get(f"packets/{packet.label}/{path}").status_code == 404


# ---- what is saved


def test_a_form_is_saved_and_submitted_by_plain_posts(page: ServedReview) -> None:
    """Each leads to a page that is read again without sending anything again."""
    form = a_form(page.changing().label, 3, critical=("missing-central-requirement",), link="shop.py:3")
    answer = sent(page, form)
    assert (answer.status_code, answer.headers["location"].endswith("?saved")) == (303, True)
    assert page.reviewed.desk("ada").form(form.label) == form
    answer = sent(page, form, "submit")
    assert answer.headers["location"].endswith(f"/?submitted={form.label}")
    assert page.reviewed.desk("ada").form(form.label).submitted


def test_what_is_missing_is_told_with_the_way_to_each_field(page: ServedReview) -> None:
    """What was entered is saved all the same; every link of the summary has a field."""
    label = page.changing().label
    wrong = Judged(score=2, evidence=(Evidence(text="too little", link="shop.py:999"),))
    form = Form(label=label, scores={Dimension.SCOPE: wrong, Dimension.ROBUSTNESS: Judged(score=1)})
    answer = sent(page, form, "submit")
    assert answer.headers["location"].endswith("?check=all")
    assert page.reviewed.desk("ada").form(label) == form
    text = page.after(answer)
    summary = text[text.index('id="faults"') : text.index('class="two"')]
    fields = re.findall(r'href="#([^"]+)"', summary)
    assert {"scores-scope-evidence-0-link", "scores-robustness-evidence-0-text", "critical-none"} <= set(
        fields
    )
    for field in fields:
        assert text.count(f' id="{field}"') == 1
        assert f'id="{field}-fault"' in text


def test_saving_what_is_saved_takes_no_submission_back(page: ServedReview) -> None:
    """A change does."""
    form = a_form(page.changing().label, 4)
    sent(page, form, "submit")
    sent(page, form)
    assert page.reviewed.desk("ada").form(form.label).submitted
    sent(page, form.model_copy(update={"rationale": "another"}))
    assert not page.reviewed.desk("ada").form(form.label).submitted


def test_denying_and_naming_a_critical_failure_is_told_and_not_submitted(page: ServedReview) -> None:
    """What was named is kept."""
    form = a_form(page.changing().label, 4, critical=("missing-central-requirement",))
    answer = sent(page, form, "submit", **{"critical-none": "yes"})
    assert answer.headers["location"].endswith("?check=contradiction")
    saved = page.reviewed.desk("ada").form(form.label)
    assert (saved.submitted, saved.critical_types()) == (False, frozenset({"missing-central-requirement"}))
    assert "you said that there is none" in page.after(answer)


def test_a_form_that_was_saved_elsewhere_is_not_written_over(page: ServedReview) -> None:
    """Both are shown; taking one's own keeps the other as a file."""
    label = page.changing().label
    before = revision_of(page.reviewed.desk("ada").form(label))
    theirs = a_form(label, 2).model_copy(update={"rationale": "theirs"})
    page.reviewed.desk("ada").save(theirs)
    mine = a_form(label, 3).model_copy(update={"rationale": "mine"})
    answer = sent(page, mine, revision=before)
    assert answer.status_code == 409
    assert "theirs" in answer.text
    assert "mine</textarea>" in answer.text
    assert page.reviewed.desk("ada").form(label) == theirs
    assert f'name="revision" value="{revision_of(theirs)}"' in answer.text
    assert 'name="keeps-earlier"' in answer.text
    assert sent(page, mine, **{"keeps-earlier": "yes"}).status_code == 303
    assert page.reviewed.desk("ada").form(label) == mine
    earlier = page.reviewed.folder.person("ada").path / "earlier" / f"{label}-1.json"
    assert Form.model_validate_json(earlier.read_bytes()) == theirs


def test_what_another_saved_is_not_submitted_with_ones_own(
    page: ServedReview, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between saving and submitting, another tab may save: its form was never seen here."""
    label = page.reviewed.desk(page.name).book.packets[0].label
    save = ReviewSite.save

    def overtaken(self: ReviewSite, *args: Any, **more: Any) -> Form:  # noqa: ANN401
        kept = save(self, *args, **more)
        self.desk().save(a_form(label, 1))
        return kept

    monkeypatch.setattr(ReviewSite, "save", overtaken)
    assert sent(page, a_form(label, 3), "submit").status_code == 409
    saved = page.reviewed.desk(page.name).form(label)
    assert saved == a_form(label, 1)
    assert not saved.submitted


def test_of_many_who_save_at_once_one_wins_and_the_others_are_told(page: ServedReview) -> None:
    """Between the look and the write nobody else writes."""
    desk = page.reviewed.desk("ada")
    label = desk.book.packets[0].label
    before = revision_of(desk.form(label))
    told: list[bool] = []

    def save(score: int) -> None:
        try:
            desk.save(a_form(label, score), of=before)
        except FormChanged:
            told.append(False)
        else:
            told.append(True)

    threads = [threading.Thread(target=save, args=(score,)) for score in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == [False] * 4 + [True]


def test_the_script_saves_and_is_told_what_is_missing(page: ServedReview) -> None:
    """In JSON; a form of an older revision is refused in JSON too."""
    form = a_form(page.changing().label, 4)
    headers = {"x-csrf": page.secrets.csrf}
    values = values_of(page, form) | {"uncertainty-level": ""}
    with page.client() as client:
        answer = client.post(f"packets/{form.label}/draft", data=values, headers=headers)
        again = client.post(
            f"packets/{form.label}/draft", data=values | {"rationale": "newer"}, headers=headers
        )
    told = json.loads(answer.text)
    assert (answer.status_code, told["lacking"], told["submitted"]) == (200, 1, False)
    assert told["revision"] == revision_of(page.reviewed.desk("ada").form(form.label))
    assert (again.status_code, json.loads(again.text)["changed"]) == (409, True)


@pytest.mark.parametrize(
    "values",
    [
        {"rationale": "x" * 20_001},
        {"scores-scope-score": "5"},
        {"scores-scope-score": "-1"},
        {"uncertainty-level": "perhaps"},
        {f"scores-scope-evidence-{n}-text": "x" for n in range(201)},
    ],
)
def test_what_no_page_sends_is_refused_and_nothing_is_saved(
    values: dict[str, str], page: ServedReview
) -> None:
    """In words, never a traceback."""
    form = a_form(page.changing().label)
    answer = sent(page, form, **values)
    assert answer.status_code == 422
    assert "cannot be saved" in answer.text
    assert "Traceback" not in answer.text
    assert page.reviewed.desk("ada").form(form.label).is_blank


@pytest.mark.parametrize("body", [b"\xff\xfe=%ff&csrf=", b"&".join([b"a=b"] * 10_001), b"scores-scope-score"])
def test_bytes_that_are_no_form_do_no_harm(body: bytes, page: ServedReview) -> None:
    """The page goes on."""
    label = page.changing().label
    headers = {"x-csrf": page.secrets.csrf, "content-type": "application/x-www-form-urlencoded"}
    with page.client() as client:
        answer = client.post(f"packets/{label}", content=body, headers=headers)
        assert answer.status_code in {303, 400, 409}
        assert client.get("").status_code == 200
    assert page.reviewed.desk("ada").form(label).is_blank


def test_forms_that_a_model_began_are_read_only(page: ServedReview) -> None:
    """A person's words never stand under a model's name."""
    packet = page.changing()
    model = Author(kind=AuthorKind.MODEL, label="some-model")
    page.reviewed.desk("ada").save(a_form(packet.label), model)
    with page.client() as client:
        text = client.get(f"packets/{packet.label}").text
    assert "some-model" in text
    assert "<textarea" not in text
    answer = sent(page, a_form(packet.label, 4))
    assert (answer.status_code, "another author" in answer.text) == (409, True)


def test_a_draft_that_cannot_be_read_is_told_with_its_place(page: ServedReview) -> None:
    """In words; the file stays as it is."""
    label = page.packets()[0].label
    path = page.reviewed.folder.person("ada").form(label)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{")
    with page.client() as client:
        data = {"csrf": page.secrets.csrf, "rationale": "over it"}
        for answer in (client.get(f"packets/{label}"), client.post(f"packets/{label}", data=data)):
            told = (answer.status_code, path.name in answer.text, "Traceback" in answer.text)
            assert told == (422, True, False)
    assert path.read_text() == "{"


def test_a_fault_that_nobody_foresaw_tells_its_kind_and_nothing_else(
    page: ServedReview, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """No traceback in the page or in the terminal; the next request is answered."""

    def fails(site: ReviewSite) -> None:
        raise RuntimeError("of ben")

    with page.client() as client:
        with monkeypatch.context() as broken:
            broken.setattr(ReviewSite, "standings", fails)
            answer = client.get("")
        assert (answer.status_code, "RuntimeError" in answer.text) == (500, True)
        assert "of ben" not in answer.text
        assert client.get("").status_code == 200
    assert capfd.readouterr() == ("", "")


# ---- how it ends


def test_a_review_ends_with_locking_and_guesses(page: ServedReview) -> None:
    """Only when all is submitted, only after an explicit word, each once, and then it is read-only."""
    with page.client() as client:
        csrf = {"csrf": page.secrets.csrf}
        assert "not submitted" in client.get("lock").text
        assert client.get("guesses").status_code == 409
        assert client.post("lock", data=csrf | {"confirmed": "yes"}).status_code == 409
        page.reviewed.fill("ada", lambda packet: a_form(packet.label, 4))
        assert client.post("lock", data=csrf).status_code == 422
        assert "careful" not in client.get("lock").text
        answer = client.post("lock", data=csrf | {"confirmed": "yes"})
        assert answer.headers["location"].endswith("/guesses")
        assert "ada" in read_state(StudyFolder(page.reviewed.path).ledger).review.locked
        asked = client.get("guesses").text
        assert [f'value="{arm}"' in asked for arm in ("careful", "neutral")] == [True, True]
        label = page.packets()[0].label
        answer = client.post("guesses", data=csrf | {f"arm-{label}": "careful"})
        assert answer.status_code == 303
        recorded = json.loads(page.reviewed.folder.person("ada").guesses.read_bytes())["guesses"]
        assert (recorded[label], set(recorded.values())) == ("careful", {"careful", None})
        assert client.post("guesses", data=csrf).status_code == 409
        assert "You are done" in client.get("").text
        text = client.get(f"packets/{label}").text
        assert ("locked" in text, "<textarea" in text) == (True, False)
        assert (
            client.post(f"packets/{label}", data=csrf | {"do": "save", "rationale": "late"}).status_code
            == 409
        )


def test_an_adjudicator_sees_opinions_without_names_and_is_asked_no_arm(page: ServedReview) -> None:
    """In the same page; what reviewers wrote is text."""
    path = page.reviewed.path
    for name, score in (("ada", 1), ("ben", 4)):
        page.reviewed.fill(name, lambda packet, score=score: said(packet, score))  # type: ignore[misc]
        lock_forms(path, name)
    adjudicate(path, "carl")
    with served(page.reviewed, "carl") as deciding, deciding.client() as client:
        text = client.get(f"packets/{deciding.packets()[0].label}").text
        deciding.reviewed.fill("carl", lambda packet: a_form(packet.label, 4))
        answer = client.post("lock", data={"csrf": deciding.secrets.csrf, "confirmed": "yes"})
        assert answer.headers["location"] == f"/{deciding.secrets.token}/"
        assert client.get("guesses").status_code == 409
        assert "You are done" in client.get("").text
    assert "Opinion of reviewer 1: 25.0 of 100" in text or "Opinion of reviewer 2: 25.0 of 100" in text
    assert (HOSTILE in text, "&lt;script&gt;" in text) == (False, True)
    for name in ("ada", "ben"):
        assert not re.search(rf"\b{name}\b", text)


def said(packet: Packet, score: int) -> Form:
    """A form whose words want to be more."""
    return a_form(packet.label, score).model_copy(update={"rationale": HOSTILE})


def test_hidden_checks_are_shown_if_the_manifest_says_so(shown: ServedReview, tmp_path: Path) -> None:
    """Each with its link, and otherwise not a word of them."""
    reviewed = a_review_with_hostile_text(tmp_path / "workspace", review={"show_hidden_checks": True})
    with served(reviewed) as page, page.client() as client, shown.client() as withheld:
        assert 'data-place="check-total"' in client.get(f"packets/{page.packets()[0].label}").text
        assert "Hidden checks" not in withheld.get(f"packets/{shown.packets()[0].label}").text


def test_a_guess_of_no_arm_is_refused(page: ServedReview) -> None:
    """And nothing is recorded."""
    page.reviewed.fill("ada", lambda packet: a_form(packet.label, 4))
    lock_forms(page.reviewed.path, "ada")
    with page.client() as client:
        data = {"csrf": page.secrets.csrf, f"arm-{page.packets()[0].label}": "bold"}
        assert client.post("guesses", data=data).status_code == 422
    assert not page.reviewed.folder.person("ada").guesses.exists()


def test_while_the_page_is_open_others_can_work_on_the_study(page: ServedReview) -> None:
    """The ledger is held for actions only; and a ledger that is held is told as such."""
    with page.client() as client:
        client.get("")
        page.reviewed.fill("ada", lambda packet: a_form(packet.label, 4))
        with open_ledger(StudyFolder(page.reviewed.path).ledger):
            assert client.get("").status_code == 200
            answer = client.post("lock", data={"csrf": page.secrets.csrf, "confirmed": "yes"})
        assert answer.status_code == 503
        assert client.post("lock", data={"csrf": page.secrets.csrf, "confirmed": "yes"}).status_code == 303


def test_only_who_reviews_has_a_page(once: Reviewed) -> None:
    """The names of those who do are told in the terminal that asked."""
    with pytest.raises(UsageError, match="nobody of that name"):
        ReviewSite(once.path, "eve")


# ---- forms as fields


def test_a_form_comes_back_from_its_fields_as_it_was() -> None:
    """Scores, evidence, critical failures, doubts; line ends of a browser are line feeds."""
    packet = a_packet()
    evidence = Evidence(text="one\ntwo  ", link='odd "na\'me" <b>.py:1')
    form = a_form(critical=CRITICAL, link="shop/orders.py:-2").model_copy(
        update={
            "rationale": "\n  lines\n",
            "critical": (CriticalFinding(type="data-loss", evidence=evidence),),
        }
    )
    fields = fields_of(form, packet)
    values = {"rationale": fields.rationale.replace("\n", "\r\n"), "uncertainty-level": str(fields.sureness)}
    for one in fields.scales:
        values[one.id] = str(one.score)
        for row in one.rows:
            values |= {f"{row.id}text": row.text.replace("\n", "\r\n"), f"{row.id}link": row.link}
    for row in fields.critical:
        values |= {f"{row.id}text": row.text, f"{row.id}link": row.link}
        values[f"{row.id.removesuffix('evidence-')}type"] = row.type
    assert read_fields(values, form.label).form == form


def test_every_fault_has_the_field_that_the_form_gives_it() -> None:
    """Whatever is missing or wrong."""
    packet = a_packet()
    row = Evidence(link="nowhere:1")
    form = Form(
        label=packet.label,
        scores={Dimension.SCOPE: Judged(score=1, evidence=(row,)), Dimension.BEHAVIOUR: Judged(score=0)},
        critical=(CriticalFinding(type="no-such", evidence=row), CriticalFinding(type="no-such")),
    )
    faults = (*faults_of(form, packet, CRITICAL), *faults_of(Form(label=packet.label), packet, CRITICAL))
    assert {field_of(fault) for fault in faults} == {
        "scores-behaviour-score",
        "scores-behaviour-evidence-0-text",
        "scores-scope-score",
        "scores-scope-evidence-0-text",
        "scores-scope-evidence-0-link",
        "scores-robustness-score",
        "scores-maintainability-score",
        "scores-verification-score",
        "critical-none",
        *(f"critical-{n}-{part}" for n in (0, 1) for part in ("type", "evidence-text", "evidence-link")),
        "uncertainty-level",
    }


def test_a_field_that_no_form_has_changes_nothing() -> None:
    """Nor do rows without an entry; numbers need not be without gaps."""
    values = {
        "x": "y",
        "scores-scope-evidence-7-text": "seven",
        "scores-scope-evidence-3-text": " \n",
        "scores-beauty-evidence-0-text": "x",
        "critical-2-type": "",
    }
    assert read_fields(values, "p-1").form == Form(
        label="p-1", scores={Dimension.SCOPE: Judged(evidence=(Evidence(text="seven"),))}
    )


def labels(packets: tuple[Packet, ...]) -> list[str]:
    """In their order."""
    return [packet.label for packet in packets]


def test_progress_is_told_and_the_next_packet_offered(page: ServedReview) -> None:
    """Begun, complete and submitted are told apart; the order is the reviewer's own."""
    first, second, third, *_ = labels(page.packets())
    sent(page, a_form(first, 4), "submit")
    sent(page, Form(label=second, rationale="x"))
    sent(page, a_form(third, 4))
    with page.client() as client:
        text = client.get("").text
    assert "1 of 8 submitted" in text
    assert f'class="button" href="/{page.secrets.token}/packets/{second}"' in text
    assert "7 things are missing" in text
    assert "complete, not submitted" in text
    assert re.findall(r'<th scope="row"><a href="[^"]+/(p-\w+)"', text) == labels(page.packets())
