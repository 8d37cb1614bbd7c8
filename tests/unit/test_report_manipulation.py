"""A report says at its top when the arms were not loaded as planned, and never takes unknown for good."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable

import pytest

from esac_ag.attempt.loaded import ForeignTrace, LoadedFile, LoadedInstructions, Sighting, TraceKind
from esac_ag.errors import InputRefused
from esac_ag.manifest.plan import AgentKind, Arm, ArmKind, Comparison, Install, Manifest
from esac_ag.report.build import build_view
from esac_ag.report.loaded_facts import LoadedFacts
from esac_ag.report.machine import render_csv, render_json
from esac_ag.report.manipulation import RunProof, manipulation_check
from esac_ag.report.manipulation_view import CheckState, ClauseKind, ManipulationCheck
from esac_ag.report.markdown import render_markdown
from esac_ag.statistics.estimates import estimate
from tests.builders_report import a_manifest, a_study, varied_score

Change = Callable[[LoadedInstructions], LoadedInstructions | None]
SEEN = Sighting(request=4, request_sha256="f" * 64)
TRACE = ForeignTrace(arm="markskill", kind=TraceKind.NAME, marker="<b>mark|skill", seen_in=SEEN)


def only(arm: str, **update: object) -> Change:
    """An edit of every record of one arm."""
    return lambda loaded: loaded.model_copy(update=update) if loaded.arm == arm else loaded


def only_files(arm: str, **update: object) -> Change:
    """An edit of every file in the records of one arm."""

    def change(loaded: LoadedInstructions) -> LoadedInstructions:
        if loaded.arm != arm:
            return loaded
        files = tuple(file.model_copy(update=update) for file in loaded.files)
        return loaded.model_copy(update={"files": files})

    return change


def first_of(arm: str, change: Change) -> Change:
    """The edit, of one run of an arm only."""
    done: list[str] = []

    def once(loaded: LoadedInstructions) -> LoadedInstructions | None:
        if loaded.arm != arm or done:
            return loaded
        done.append(arm)
        return change(loaded)

    return once


def checked(change: Change, manifest: Manifest | None = None) -> ManipulationCheck:
    """The check of a study whose records were edited."""
    return build_view(a_study(varied_score, loaded=change, manifest=manifest)).manipulation


def state_of(check: ManipulationCheck, kind: ClauseKind) -> CheckState:
    """The state of one clause."""
    return next(clause for clause in check.clauses if clause.kind is kind).state


def with_arm(**update: object) -> Manifest:
    """The default manifest with another `markskill`."""
    manifest = a_manifest()
    arms = [arm.model_copy(update=update) if arm.id == "markskill" else arm for arm in manifest.arms]
    return manifest.model_copy(update={"arms": tuple(arms)})


def test_a_study_whose_arms_were_loaded_passes_without_a_notice() -> None:
    """All eight clauses hold, and what all runs were offered is told."""
    view = build_view(a_study(varied_score))
    assert view.manipulation.state is CheckState.PASSED
    assert {clause.kind for clause in view.manipulation.clauses} == set(ClauseKind)
    assert (view.manipulation.tools, view.manipulation.bundled_skills) == (("bash", "read_file"), ())
    assert not any("anipulation" in notice for notice in view.notices)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (only_files("markskill", present_at_start=False), ClauseKind.PRESENT),
        (only_files("markskill", listed_in=None, in_full_in=None), ClauseKind.LISTED),
        (only_files("markskill", in_full_in=None), ClauseKind.READ),
        (only_files("markskill", unchanged_at_end=False), ClauseKind.UNCHANGED),
        (only("neutral", foreign=(TRACE,)), ClauseKind.CONTROL_CLEAN),
        (only("current-restraint", foreign=(TRACE,)), ClauseKind.NO_FOREIGN),
        (first_of("neutral", only("neutral", tools=("bash",))), ClauseKind.SAME_OFFER),
        (only("markskill", bundled_skills=("plugin-authoring",)), ClauseKind.SAME_OFFER),
    ],
)
def test_each_clause_can_fail_and_then_stands_at_the_top_of_every_format(
    change: Change, kind: ClauseKind
) -> None:
    """Markdown and terminal by the notice, JSON by its state too, CSV in every row."""
    view = build_view(a_study(varied_score, loaded=change))
    assert view.manipulation.state is CheckState.FAILED
    assert state_of(view.manipulation, kind) is CheckState.FAILED
    assert kind.value in view.notices[0]
    text = render_markdown(view)
    assert text.index("Manipulation check FAILED") < text.index("On hidden checks")
    assert json.loads(render_json(view))["manipulation"]["state"] == "failed"
    rows = csv.DictReader(io.StringIO(render_csv(view)["report.csv"]))
    assert {row["manipulation_check"] for row in rows} == {"failed"}


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (first_of("markskill", lambda _: None), ClauseKind.PRESENT),
        (first_of("markskill", only_files("markskill", unchanged_at_end=None)), ClauseKind.UNCHANGED),
        (first_of("neutral", only("neutral", complete=False)), ClauseKind.COMPLETE),
        (first_of("neutral", only("neutral", complete=False)), ClauseKind.CONTROL_CLEAN),
        (first_of("neutral", only("neutral", complete=None)), ClauseKind.COMPLETE),
        (first_of("neutral", only("neutral", tools=None)), ClauseKind.SAME_OFFER),
        (only("markskill", files=()), ClauseKind.LISTED),
    ],
)
def test_what_is_not_known_of_one_run_is_no_pass(change: Change, kind: ClauseKind) -> None:
    """The check is not possible in full, and the report's first line says so."""
    view = build_view(a_study(varied_score, loaded=change))
    assert view.manipulation.state is CheckState.NOT_CHECKABLE
    assert state_of(view.manipulation, kind) is CheckState.NOT_CHECKABLE
    assert view.notices[0].startswith("Manipulation check not possible in full")


def test_a_file_that_a_lost_request_may_have_held_is_not_called_unread() -> None:
    """Not found in an incomplete proof is unknown, found is found."""
    lost = only("markskill", complete=False)

    def unread(loaded: LoadedInstructions) -> LoadedInstructions | None:
        changed = only_files("markskill", in_full_in=None)(loaded)
        return None if changed is None else lost(changed)

    assert state_of(checked(unread), ClauseKind.READ) is CheckState.NOT_CHECKABLE
    assert state_of(checked(lost), ClauseKind.READ) is CheckState.PASSED


def test_reading_that_is_left_to_the_model_is_told_and_fails_only_if_no_run_read() -> None:
    """Seven of eight runs read the skill: the share stands in the report, and the check passes."""
    view = build_view(
        a_study(varied_score, loaded=first_of("markskill", only_files("markskill", in_full_in=None)))
    )
    assert view.manipulation.state is CheckState.PASSED
    assert "markskill is read in full is left to the agent: it was in 7 of 8 runs" in render_markdown(view)


@pytest.mark.parametrize(
    "manifest", [with_arm(install=Install(mention_in_instructions=True)), with_arm(kind=ArmKind.INSTRUCTIONS)]
)
def test_an_arm_that_the_agent_shows_or_is_told_to_read_has_to_be_read_in_every_run(
    manifest: Manifest,
) -> None:
    """One run of eight without it fails the check."""
    name = "AGENTS.md" if manifest.arms[-1].kind is ArmKind.INSTRUCTIONS else "SKILL.md"
    named = only_files("markskill", path=name)
    unread = first_of("markskill", only_files("markskill", in_full_in=None, path=name))

    def change(loaded: LoadedInstructions) -> LoadedInstructions | None:
        found = unread(loaded)
        return None if found is None else named(found)

    assert checked(named, manifest).state is CheckState.PASSED
    assert state_of(checked(change, manifest), ClauseKind.READ) is CheckState.FAILED


def test_only_the_first_file_has_to_be_read() -> None:
    """References are read where the work needs them."""

    def change(loaded: LoadedInstructions) -> LoadedInstructions:
        if not loaded.files:
            return loaded
        more = loaded.files[0].model_copy(update={"path": "references/more.md", "in_full_in": None})
        return loaded.model_copy(update={"files": (*loaded.files, more)})

    assert checked(change).state is CheckState.PASSED


def test_a_scripted_study_has_no_requests_to_check() -> None:
    """It is not checkable, with its reason, and the scripted notice is enough at the top."""
    view = build_view(a_study(varied_score, manifest=a_manifest(agent=AgentKind.SCRIPTED)))
    assert view.manipulation.state is CheckState.NOT_CHECKABLE
    assert "scripted agents send no requests" in render_markdown(view)
    assert not any("anipulation" in notice for notice in view.notices)


def test_a_study_without_a_counted_attempt_has_nothing_to_check() -> None:
    """Nothing is not a pass."""
    check = build_view(a_study(lambda _: None)).manipulation
    assert (check.state, check.reason) == (CheckState.NOT_CHECKABLE, "no attempt counts yet")


def test_a_trace_is_told_with_its_attempt_and_is_dead_text() -> None:
    """What a request held is a stranger's text: no markup, no border of a table."""
    view = build_view(a_study(varied_score, loaded=only("neutral", foreign=(TRACE,))))
    assert "request 4 held name of markskill" in view.manipulation.findings[0]
    assert "<b>" not in render_markdown(view)


def test_a_record_of_another_arm_is_refused() -> None:
    """Mixed-up proofs would be believed."""
    with pytest.raises(InputRefused) as refused:
        build_view(
            a_study(varied_score, loaded=lambda loaded: loaded.model_copy(update={"arm": "elsewhere"}))
        )
    assert "loaded-instructions.json" in str(refused.value.where)


def test_a_plain_folder_is_loaded_by_any_of_its_files() -> None:
    """It has no first file."""
    file = LoadedFile(
        path="notes.txt",
        sha256="a" * 64,
        placed_at="/agent/home/bundles/some/notes.txt",
        present_at_start=True,
        unchanged_at_end=True,
        listed_in=SEEN,
        in_full_in=SEEN,
    )
    loaded = LoadedInstructions(
        arm="some", requests=4, complete=True, files=(file,), tools=(), bundled_skills=()
    )
    arms = [
        Arm(id="neutral", kind=ArmKind.NONE, bundle=None, files=()),
        Arm(id="some", kind=ArmKind.FOLDER, bundle="some", files=()),
    ]
    control = loaded.model_copy(update={"arm": "neutral", "files": ()})
    proofs = {
        "neutral": [RunProof("1" * 16, LoadedFacts.of(control))],
        "some": [RunProof("2" * 16, LoadedFacts.of(loaded))],
    }
    assert manipulation_check(arms, AgentKind.CHAT, proofs).state is CheckState.PASSED


def test_an_arm_is_compared_with_a_sham_in_place_of_the_control() -> None:
    """`primary_comparison.control` may be any arm: differences, answer and table are to that one."""
    manifest = a_manifest(arms=("neutral", "sham", "markskill"))
    analysis = manifest.analysis.model_copy(
        update={"primary_comparison": Comparison(arm="markskill", control="sham")}
    )
    scores = {"neutral": 40.0, "sham": 50.0, "markskill": 80.0}
    view = build_view(
        a_study(lambda cell: scores[cell.arm], manifest=manifest.model_copy(update={"analysis": analysis}))
    )
    means = {item.arm: item.overall.mean for item in view.comparisons}
    assert means == {"markskill": estimate(30.0), "neutral": estimate(-10.0)}
    assert [item.arm for item in view.comparisons if item.primary] == ["markskill"]
    assert "markskill scored 30.0 points higher than sham" in view.answer
    assert state_of(view.manipulation, ClauseKind.CONTROL_CLEAN) is CheckState.PASSED
    assert "Difference to `sham`" in render_markdown(view)
