"""Across studies: at most two prompt revisions per task set, and holdouts that are fresh."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from esac_ag.conduct.freeze import freeze_draft
from esac_ag.errors import InputRefused
from esac_ag.manifest.plan import Manifest
from esac_ag.rooms.freezing import FrozenArm, freeze_arm, list_arms
from esac_ag.rooms.lineages import lineage_path
from esac_ag.rooms.records import read_record
from tests.builders_freeze import TASKS, a_draft, an_engine, make_provable, workspace_of
from tests.builders_manifest import SKILL_TEXT, Study, a_task_with_grader, write

FRESH = tuple(f"fresh-{number}" for number in range(1, 13))


class Programme:
    """A workspace in which one study after the other is sealed."""

    def __init__(self, folder: Path) -> None:
        self.draft = a_draft(folder)
        self.workspace = workspace_of(self.draft)

    def bundle(self, arm: str, revises: str | None = None) -> FrozenArm:
        """Freeze another bundle, perhaps as a revision of one that is there."""
        source = self.workspace.root / "sources" / arm
        write(source / "SKILL.md", SKILL_TEXT + f"\nThis is {arm}.\n")
        before = None if revises is None else self.workspace.arms / revises
        return freeze_arm(source, arm, workspace=self.workspace, revises=before)

    def new_tasks(self, names: tuple[str, ...]) -> list[dict[str, str]]:
        """Make tasks that no study has met; their entries for a draft."""
        for name in names:
            a_task_with_grader(self.workspace.root, name)
            make_provable(self.workspace, name)
        return [{"id": name} for name in names]

    def seal(self, study_id: str, *arms: str, **changes: Any) -> Manifest:  # noqa: ANN401
        """Seal a study of these arms."""
        entries: list[dict[str, Any]] = [{"id": "neutral"}]
        entries += [{"id": arm, "bundle": f"../arms/{arm}"} for arm in arms]
        data = self.draft.data | {"study_id": study_id, "arms": entries} | changes
        draft = Study(self.draft.folder / f"{study_id}.draft.json", data)
        path = self.draft.folder / f"{study_id}.json"
        freeze_draft(
            draft.save(),
            path,
            workspace=self.workspace,
            engine=an_engine(),
            repeats=1,
            tell=lambda _: None,
        )
        return read_record(path, Manifest)

    def refused(self, study_id: str, *arms: str, **changes: Any) -> InputRefused:  # noqa: ANN401
        """The refusal of a study; nothing was sealed."""
        with pytest.raises(InputRefused) as refusal:
            self.seal(study_id, *arms, **changes)
        assert not (self.draft.folder / f"{study_id}.json").exists()
        return refusal.value


@pytest.fixture
def programme(tmp_path: Path) -> Programme:
    """A workspace with the bundle `careful`."""
    return Programme(tmp_path)


def cycle_of(manifest: Manifest, arm: str) -> int | None:
    """The cycle that an arm was sealed with."""
    lineage = next(item for item in manifest.arms if item.id == arm).lineage
    return None if lineage is None else lineage.cycle


def test_a_frozen_revision_says_what_it_revises_beside_its_folder(programme: Programme) -> None:
    """The bundle's own files are not touched, and its draft entry carries the descent."""
    before = next(item for item in list_arms(programme.workspace).arms if item.arm.id == "careful")
    frozen = programme.bundle("careful-2", revises="careful")
    assert frozen.arm.lineage is not None
    assert frozen.arm.lineage.revises == before.tree_sha256
    assert [file.path for file in frozen.files] == ["SKILL.md"]
    kept = json.loads(lineage_path(programme.workspace.arms / "careful-2").read_text())
    assert kept == {"bundle_sha256": frozen.tree_sha256, "revises": before.tree_sha256}
    assert programme.bundle("careful-2", revises="careful").copied is False


def test_a_bundle_revises_neither_itself_nor_two_others(programme: Programme) -> None:
    """What a bundle revises never changes."""
    programme.bundle("careful-2", revises="careful")
    programme.bundle("another")
    with pytest.raises(InputRefused, match="kept as a revision of another one"):
        programme.bundle("careful-2", revises="another")
    with pytest.raises(InputRefused, match="the same as the one that it would revise"):
        programme.bundle("another", revises="another")


def test_two_revisions_are_sealed_on_a_task_set_and_a_third_is_refused(programme: Programme) -> None:
    """Cycles are counted by the sealed manifests, whatever the arms and studies are called."""
    assert cycle_of(programme.seal("s0", "careful"), "careful") is None
    for number, before in ((1, "careful"), (2, "v1")):
        programme.bundle(f"v{number}", revises=before)
        assert cycle_of(programme.seal(f"s{number}", f"v{number}"), f"v{number}") == number
    programme.bundle("v3", revises="v2")
    refusal = programme.refused("s3", "v3")
    assert "third revision on one task set" in refusal.what
    assert "v1 in s1" in refusal.found
    assert "v2 in s2" in refusal.found
    assert "change the task set" in refusal.remedy


def test_revisions_of_one_bundle_side_by_side_count_as_well(programme: Programme) -> None:
    """Three prompts that were each fitted to the same tasks are three revisions, though no chain."""
    programme.seal("s0", "careful")
    for arm in ("a", "b", "c"):
        programme.bundle(arm, revises="careful")
    manifest = programme.seal("s1", "a", "b")
    assert (cycle_of(manifest, "a"), cycle_of(manifest, "b")) == (1, 2)
    assert "third revision" in programme.refused("s2", "c").what


def test_the_same_revision_again_is_no_further_cycle(programme: Programme) -> None:
    """A repeated study of the same bytes learned nothing new from the tasks."""
    programme.seal("s0", "careful")
    programme.bundle("a", revises="careful")
    programme.seal("s1", "a")
    assert cycle_of(programme.seal("s2", "a"), "a") == 1


def test_another_task_set_starts_from_the_beginning(programme: Programme) -> None:
    """There nothing of the lineage has met the tasks yet; a subset of old tasks is no other set."""
    programme.seal("s0", "careful")
    for number, before in ((1, "careful"), (2, "v1"), (3, "v2")):
        programme.bundle(f"v{number}", revises=before)
    programme.seal("s1", "v1")
    programme.seal("s2", "v2")
    more = [{"id": task} for task in TASKS] + programme.new_tasks(FRESH[:1])
    assert "third revision" in programme.refused("s3", "v3", tasks=more).what
    fresh = programme.new_tasks(FRESH[1:5])
    assert cycle_of(programme.seal("s4", "v3", tasks=fresh), "v3") == 0


def test_an_ancestor_that_was_never_sealed_still_links_its_lineage(programme: Programme) -> None:
    """The record beside a bundle tells of it."""
    programme.seal("s0", "careful")
    programme.bundle("v1", revises="careful")
    programme.bundle("v2", revises="v1")
    assert cycle_of(programme.seal("s1", "v2"), "v2") == 1


def test_a_study_of_which_only_results_are_left_counts(programme: Programme) -> None:
    """Removing the manifest from its room forgets nothing."""
    programme.seal("s0", "careful")
    for number, before in ((1, "careful"), (2, "v1"), (3, "v2")):
        programme.bundle(f"v{number}", revises=before)
    programme.seal("s1", "v1")
    programme.seal("s2", "v2")
    for name in ("s0", "s1", "s2"):
        sealed = programme.draft.folder / f"{name}.json"
        write(programme.workspace.results / name / "manifest.json", sealed.read_text())
        sealed.unlink()
    assert "third revision" in programme.refused("s3", "v3").what


def test_a_cycle_that_a_draft_declares_is_checked(programme: Programme) -> None:
    """The count is the workspace's, not the author's."""
    programme.seal("s0", "careful")
    frozen = programme.bundle("v1", revises="careful")
    assert frozen.arm.lineage is not None
    entry = {"id": "v1", "bundle": "../arms/v1"}
    wrong = entry | {"lineage": {"revises": frozen.arm.lineage.revises, "cycle": 2}}
    arms = [{"id": "neutral"}, wrong]
    assert "another revision of its task set" in programme.refused("s1", arms=arms).what
    right = entry | {"lineage": {"revises": frozen.arm.lineage.revises, "cycle": 1}}
    assert cycle_of(programme.seal("s1", arms=[{"id": "neutral"}, right]), "v1") == 1
    other = entry | {"lineage": {"revises": "ab" * 32}}
    refusal = programme.refused("s2", arms=[{"id": "neutral"}, other])
    assert "disagree on what the bundle" in refusal.what


HOLDOUT: dict[str, Any] = {"phase": "holdout", "holdout_of": "s0"}


def test_a_fresh_holdout_with_everything_else_the_same_is_sealed(programme: Programme) -> None:
    """It carries the digest of the study that it confirms or not."""
    programme.seal("s0", "careful")
    manifest = programme.seal("h0", "careful", tasks=programme.new_tasks(FRESH), **HOLDOUT)
    assert manifest.holdout_of is not None
    assert manifest.holdout_of.study_id == "s0"
    assert len(manifest.holdout_of.manifest_sha256) == 64


def test_a_holdout_of_tasks_that_were_met_is_refused(programme: Programme) -> None:
    """Another id, or another folder, does not make a task new."""
    programme.seal("s0", "careful")
    tasks = programme.new_tasks(FRESH[:11])
    home = programme.workspace.tasks
    (copied,) = programme.new_tasks(("renamed",))
    public = (home / TASKS[0] / "public" / "shop.py").read_text()
    write(home / "renamed" / "public" / "shop.py", public)
    package = json.loads((home / "renamed" / "task.json").read_text())
    before = json.loads((home / TASKS[0] / "task.json").read_text())
    package["public_tree_sha256"] = before["public_tree_sha256"]
    write(home / "renamed" / "task.json", json.dumps(package))
    refusal = programme.refused("h0", "careful", tasks=[*tasks, copied], **HOLDOUT)
    assert refusal.found == "task renamed was met by s0"
    refusal = programme.refused("h0", "careful", tasks=[*tasks, {"id": TASKS[1]}], **HOLDOUT)
    assert refusal.found == f"task {TASKS[1]} was met by s0"


def test_a_holdout_says_everything_that_differs_from_its_study(programme: Programme) -> None:
    """All of it at once: bundle, repetitions, limits, rules."""
    programme.seal("s0", "careful")
    write(programme.workspace.arms / "careful" / "SKILL.md", SKILL_TEXT + "\nMore.\n")
    refusal = programme.refused(
        "h0",
        "careful",
        tasks=programme.new_tasks(FRESH),
        repetitions=1,
        limits={"turns": 3},
        decision={"improvement_points": 1.0},
        **HOLDOUT,
    )
    for told in (
        "the bundle of arm careful differs (edited: 'SKILL.md')",
        "repetitions differ: 1, not 2",
        "limits differ",
        "decision rules differ",
    ):
        assert told in refusal.found, refusal.found


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"phase": "holdout"}, "no `holdout_of`"),
        ({"phase": "holdout", "holdout_of": "nothing"}, "0 sealed studies"),
        ({"phase": "calibration", "holdout_of": "s0"}, 'phase "calibration"'),
    ],
)
def test_a_holdout_names_its_study_and_no_other_phase_does(
    programme: Programme, changes: dict[str, Any], told: str
) -> None:
    """Without it nobody knows what is confirmed."""
    programme.seal("s0", "careful")
    refusal = programme.refused("h0", "careful", tasks=programme.new_tasks(FRESH), **changes)
    assert told in refusal.found


def test_an_earlier_manifest_that_cannot_be_read_stops_the_count(programme: Programme) -> None:
    """It may be the one that matters."""
    programme.seal("s0", "careful")
    path = programme.draft.folder / "s0.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"repetitions": "many"}))
    programme.bundle("v1", revises="careful")
    assert "cannot be read" in programme.refused("s1", "v1").what
