"""Scripted reviewers: rules that read packets, and marks that follow their scores to the decision."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from esac_ag.attempt import CheckVerdict
from esac_ag.cli.app import app
from esac_ag.conduct.audit import audit
from esac_ag.conduct.reporting import write_report
from esac_ag.conduct.review_exchange import export_forms, import_forms
from esac_ag.conduct.review_locking import adjudicate, lock_forms
from esac_ag.conduct.review_rehearsing import rehearse
from esac_ag.conduct.review_status import review_status
from esac_ag.conduct.review_unblinding import unblind
from esac_ag.errors import InputRefused, UsageError
from esac_ag.manifest.package import CheckKind, Dimension
from esac_ag.report.markdown import render_markdown
from esac_ag.study.diff import read_diff
from esac_ag.study.evidence import Measure
from esac_ag.study.forms import REHEARSAL, Author, AuthorKind, Form, faults_of
from esac_ag.study.packets import CheckShown, Claim, CommandShown, Packet, Tally
from esac_ag.study.scripted_review import MANY_FILES, MANY_LINES, RULES, Strictness, scripted_form
from tests.builders_review import CRITICAL, PATCH, Reviewed, a_form, a_packet, a_prepared_review

D = Dimension


def a_run(*, exit_code: int = 0, failed: tuple[str, ...] = ()) -> CommandShown:
    """A run of tests."""
    tally = Tally(failed=failed, passed=3)
    return CommandShown(id="command-1", command="python3 -m pytest", exit_code=exit_code, tests=tally)


def a_patch(*paths: str, lines: int = 1) -> str:
    """Files that are new, with so many lines each."""
    added = "".join("+x\n" for _ in range(lines))
    return "".join(
        f"diff --git a/{path} b/{path}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{lines} @@\n{added}"
        for path in paths
    )


def scores(strictness: Strictness, **changes: Any) -> dict[Dimension, int]:  # noqa: ANN401
    """What a script gives a packet, whose form is complete."""
    packet = a_packet(**{"commands": (a_run(),), "claims": ()} | changes)
    form = scripted_form(packet, strictness, CRITICAL)
    assert faults_of(form, packet, CRITICAL) == ()
    return form.whole_scores()


def test_nothing_that_the_rules_know_costs_nothing() -> None:
    """A small change with a test and a run that passed."""
    diff = read_diff(PATCH + a_patch("tests/test_shop.py"))
    for strictness in Strictness:
        assert scores(strictness, diff=diff) == dict.fromkeys(D, 4)


RULED: dict[str, tuple[dict[str, Any], dict[Dimension, tuple[int, int, int]]]] = {
    "nothing changed": (
        {"diff": ()},
        {
            D.BEHAVIOUR: (0, 0, 0),
            D.SCOPE: (2, 1, 0),
            D.ROBUSTNESS: (0, 0, 0),
            D.MAINTAINABILITY: (0, 0, 0),
            D.VERIFICATION: (4, 4, 4),
        },
    ),
    "no test changed": ({}, {D.ROBUSTNESS: (4, 3, 3), D.VERIFICATION: (4, 3, 3), D.BEHAVIOUR: (4, 4, 4)}),
    "tests fail": (
        {"commands": (a_run(exit_code=1, failed=("test_total",)),)},
        {D.BEHAVIOUR: (2, 2, 1), D.VERIFICATION: (4, 3, 3)},
    ),
    "a run that says nothing of failures and ends badly": (
        {"commands": (a_run(exit_code=2),)},
        {D.BEHAVIOUR: (2, 2, 1)},
    ),
    "no tests": ({"commands": ()}, {D.BEHAVIOUR: (3, 3, 2), D.VERIFICATION: (2, 1, 0)}),
    "a claim without tests": (
        {"commands": (), "claims": (Claim(id="claim-1", text="It works."),)},
        {D.VERIFICATION: (1, 0, 0)},
    ),
    "a bare claim": (
        {"claims": (Claim(id="claim-1", text="The reported case works."),)},
        {D.VERIFICATION: (4, 3, 2)},
    ),
    "a claim on tests that passed": (
        {"claims": (Claim(id="claim-1", text="The public tests pass."),)},
        {D.VERIFICATION: (4, 3, 3)},
    ),
    "many lines": (
        {"diff": read_diff(a_patch("tests/test_a.py", lines=MANY_LINES + 1))},
        {D.SCOPE: (4, 3, 3), D.MAINTAINABILITY: (4, 4, 4)},
    ),
    "as many lines as may be": (
        {"diff": read_diff(a_patch("tests/test_a.py", lines=MANY_LINES))},
        {D.SCOPE: (4, 4, 4)},
    ),
    "many files": (
        {"diff": read_diff(a_patch(*(f"test_{n}.py" for n in range(MANY_FILES + 1))))},
        {D.MAINTAINABILITY: (4, 4, 3), D.SCOPE: (4, 4, 4)},
    ),
    "hidden checks that are shown": (
        {
            "checks": tuple(
                CheckShown(id=f"check-{n}", kind=CheckKind.GUARD, dimension=D.SCOPE, verdict=verdict)
                for n, verdict in enumerate((CheckVerdict.FAIL, CheckVerdict.PASS))
            )
        },
        {D.SCOPE: (3, 3, 2), D.BEHAVIOUR: (4, 4, 4)},
    ),
}


@pytest.mark.parametrize("case", RULED)
def test_each_rule_costs_what_its_strictness_says(case: str) -> None:
    """And never less for the stricter script."""
    changes, expected = RULED[case]
    found = [scores(strictness, **changes) for strictness in Strictness]
    for dimension, points in expected.items():
        assert tuple(one[dimension] for one in found) == points, dimension


def test_the_guide_lists_the_rules_as_they_are() -> None:
    """Each row of its table is a rule of each dimension that it names, and no rule is left out."""
    guide = (Path(__file__).parents[2] / "docs" / "review-guide.md").read_text()
    listed = []
    for dimensions, *points in re.findall(r"^\| .* \| (.*) \| (\d) \| (\d) \| (\d) \|$", guide, re.MULTILINE):
        named = list(D) if dimensions == "its own" else map(Dimension, dimensions.split(", "))
        listed += [(dimension, *map(int, points)) for dimension in named]
    known = [(rule.dimension, rule.lenient, rule.moderate, rule.strict) for rule in RULES]
    assert Counter(listed) == Counter(known)


def test_tests_that_are_said_to_pass_and_did_not_are_a_critical_failure() -> None:
    """If the manifest knows the kind; with the claim as evidence."""
    claim = Claim(id="claim-1", text="All tests pass.")
    packet = a_packet(commands=(a_run(exit_code=1, failed=("test_total",)),), claims=(claim,))
    form = scripted_form(packet, Strictness.LENIENT, CRITICAL)
    assert form.critical_types() == {"fabricated-verification"}
    assert form.critical is not None
    assert form.critical[0].evidence.link == "claim-1"
    assert scripted_form(packet, Strictness.LENIENT, ("data-loss",)).critical == ()
    passed = packet.model_copy(update={"commands": (a_run(),)})
    assert scripted_form(passed, Strictness.STRICT, CRITICAL).critical == ()


def test_a_form_says_that_a_script_filled_it_in_and_that_nobody_understood_anything() -> None:
    """Where an adjudicator reads it, who is told no author."""
    form = scripted_form(a_packet(), Strictness.STRICT, CRITICAL)
    assert form.rationale.startswith(f"{REHEARSAL}. By the strict rules, from files changed: 1, lines: 3")
    assert form.uncertainty.level == "high"


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Reviewed:
    """A review that is prepared for `ada` and `ben`, and not begun."""
    return a_prepared_review(tmp_path_factory.mktemp("rehearsed") / "workspace")


@pytest.fixture
def reviewed(once: Reviewed, tmp_path: Path) -> Reviewed:
    """A copy, to be changed."""
    return once.copied(tmp_path / "workspace")


def test_a_rehearsal_is_marked_from_its_forms_to_the_decision(reviewed: Reviewed) -> None:
    """Two scripts disagree by their rules, a third decides, and every output says what it is."""
    rehearse(reviewed.path, "ada", Strictness.LENIENT)
    again = rehearse(reviewed.path, "ada", Strictness.LENIENT)
    assert (again.filled_in, again.before, again.says) == (0, 16, REHEARSAL)
    rehearse(reviewed.path, "ben", Strictness.STRICT)
    assert {one.author.mark for one in review_status(reviewed.path).people} == {"REHEARSAL, no evidence"}
    for name in ("ada", "ben"):
        assert lock_forms(reviewed.path, name).author.kind is AuthorKind.SCRIPTED
    found = adjudicate(reviewed.path, "carl")
    assert (found.submissions, found.cases) == (16, 16)
    opinion = reviewed.desk("carl").book.packets[0].opinions[0]
    assert REHEARSAL in opinion.rationale
    rehearse(reviewed.path, "carl", Strictness.MODERATE)
    lock_forms(reviewed.path, "carl")
    scores = unblind(reviewed.path)
    assert (scores.provisional, scores.provisional_reason) == (True, REHEARSAL)
    assert [one.author.label for one in scores.participants] == ["lenient", "strict", "moderate"]
    view, _ = write_report(reviewed.path)
    (made,) = view.decisions
    assert made.decision.measure is Measure.REHEARSAL
    assert made.decision.preliminary
    assert f"Preliminary, from {REHEARSAL}: " in made.conclusion
    assert any(f"Review by {REHEARSAL}" in notice for notice in view.notices)
    assert f"Decided on: {REHEARSAL}" in render_markdown(view)
    assert audit(reviewed.path).findings == ()


def test_one_script_among_people_makes_it_a_rehearsal(reviewed: Reviewed) -> None:
    """A person who agrees with it changes nothing."""
    rehearse(reviewed.path, "ada", Strictness.STRICT)
    given = {
        packet.diff: reviewed.desk("ada").form(packet.label) for packet in reviewed.desk("ada").book.packets
    }

    def agrees(packet: Packet) -> Form:
        return given[packet.diff].model_copy(update={"label": packet.label})

    reviewed.fill("ben", agrees)
    for name in ("ada", "ben"):
        lock_forms(reviewed.path, name)
    assert adjudicate(reviewed.path, "carl").cases == 0
    scores = unblind(reviewed.path)
    assert [one.author.kind for one in scores.participants] == [AuthorKind.SCRIPTED, AuthorKind.PERSON]
    assert scores.provisional_reason == REHEARSAL
    assert write_report(reviewed.path)[0].decisions[0].decision.measure is Measure.REHEARSAL


def test_a_scripts_forms_never_become_a_persons(reviewed: Reviewed, tmp_path: Path) -> None:
    """Neither by a script over a person's forms, nor by a person's, or another script's, over a script's."""
    label = reviewed.desk("ada").book.packets[0].label
    reviewed.desk("ada").save(a_form(label))
    with pytest.raises(UsageError, match="begun by another author"):
        rehearse(reviewed.path, "ada", Strictness.STRICT)
    rehearse(reviewed.path, "ben", Strictness.STRICT)
    with pytest.raises(UsageError, match="begun by another author"):
        rehearse(reviewed.path, "ben", Strictness.LENIENT)
    export_forms(reviewed.path, "ben", tmp_path / "ben.json")
    forms = json.loads((tmp_path / "ben.json").read_text())
    assert forms["author"] == {"kind": "scripted", "label": "strict"}
    assert import_forms(reviewed.path, "ben", tmp_path / "ben.json").unchanged == 16
    forms["author"] = {"kind": "person", "label": ""}
    (tmp_path / "person.json").write_text(json.dumps(forms))
    with pytest.raises(UsageError, match="begun by another author"):
        import_forms(reviewed.path, "ben", tmp_path / "person.json")
    export_forms(reviewed.path, "ben", tmp_path / "ben.csv")
    with pytest.raises(UsageError, match="begun by another author"):
        import_forms(reviewed.path, "ben", tmp_path / "ben.csv")


def test_a_script_of_ones_own_says_so_in_the_file_that_is_imported(
    reviewed: Reviewed, tmp_path: Path
) -> None:
    """Exported forms with a script as author are taken as a rehearsal; a model's never."""
    export_forms(reviewed.path, "ada", tmp_path / "ada.json")
    forms = json.loads((tmp_path / "ada.json").read_text())
    forms["author"] = {"kind": "scripted", "label": "all fours"}
    forms["forms"] = [a_form(form["label"], 4).model_dump(mode="json") for form in forms["forms"]]
    (tmp_path / "filled.json").write_text(json.dumps(forms))
    assert import_forms(reviewed.path, "ada", tmp_path / "filled.json").submitted == 16
    assert reviewed.desk("ada").author == Author(kind=AuthorKind.SCRIPTED, label="all fours")
    forms["author"] = {"kind": "model", "label": "m-1"}
    (tmp_path / "model.json").write_text(json.dumps(forms))
    with pytest.raises(InputRefused, match="never imported"):
        import_forms(reviewed.path, "ada", tmp_path / "model.json")


def test_the_command_says_that_it_is_a_rehearsal(reviewed: Reviewed) -> None:
    """When it fills in, when forms are locked, and in the status."""
    said = ""
    for argv in (
        ["rehearse", str(reviewed.path), "--reviewer", "ada", "--strictness", "strict"],
        ["lock", str(reviewed.path), "--reviewer", "ada"],
        ["status", str(reviewed.path)],
    ):
        result = CliRunner().invoke(app, ["review", *argv], env={"COLUMNS": "200"})
        assert result.exit_code == 0, result.output
        said += result.output
    assert "REHEARSAL, no evidence: 16 forms of ada filled in by the strict script, 0 before" in said
    assert "locked: 16 forms of ada; scripted, REHEARSAL, no evidence" in said
    assert "scripted strict, REHEARSAL, no evidence" in said
