"""Rules for the arms of a version 2 manifest."""

from __future__ import annotations

from collections.abc import Sequence

from esac_ag.manifest.collector import Collector
from esac_ag.manifest.findings import PathPart, shown
from esac_ag.manifest.plan import NEUTRAL, Arm, ArmKind
from esac_ag.plural import plural

EDIT = "Correct the draft and freeze it again under a new study id."
SKILL_FILE = "SKILL.md"


def judge_arms(arms: Sequence[Arm | None], out: Collector, *, alone: bool = False) -> None:
    """Ids, the control, and the form of each arm. Malformed arms count, but are judged elsewhere.

    Args:
        arms: in the manifest's order; none where one is malformed.
        out: takes the findings.
        alone: whether the control needs no arm beside it.
    """
    known = [arm for arm in arms if arm]
    ids = [arm.id for arm in known]
    for index, arm in enumerate(arms):
        if arm is None:
            continue
        at = ("arms", index)
        if arm.id in [other.id for other in arms[:index] if other]:
            out.error((*at, "id"), "duplicate-arm", "Two arms have one id.", "unique ids", arm.id, EDIT)
        if arm.id == NEUTRAL:
            _judge_control(arm, at, out)
        else:
            _judge_bundled(arm, at, out)
            _judge_twins(arm, known, at, out)
    if NEUTRAL not in ids and len(known) == len(arms):
        what = "The control arm is missing."
        out.error(("arms",), "no-neutral", what, f"an arm `{NEUTRAL}`", ", ".join(ids) or "none", EDIT)
    if not alone and len(known) == len(arms) and not [arm for arm in ids if arm != NEUTRAL]:
        what = "There is no arm beside the control."
        out.error(("arms",), "too-few-arms", what, "at least two arms", ", ".join(ids) or "none", EDIT)


def _judge_control(arm: Arm, at: tuple[PathPart, ...], out: Collector) -> None:
    what = "The control arm must have no bundle."
    if arm.bundle is not None:
        out.error((*at, "bundle"), "neutral-bundle", what, "null", shown(arm.bundle), EDIT)
    if arm.files:
        out.error(
            (*at, "files"), "neutral-bundle", what, "an empty list", plural(len(arm.files), "file"), EDIT
        )
    if arm.kind is not ArmKind.NONE:
        out.error((*at, "kind"), "neutral-bundle", what, '"none"', shown(arm.kind.value), EDIT)


def _judge_bundled(arm: Arm, at: tuple[PathPart, ...], out: Collector) -> None:
    if not arm.bundle:
        out.error(
            (*at, "bundle"), "no-bundle", "The arm names no bundle.", "a folder", shown(arm.bundle), EDIT
        )
    if not arm.files:
        what = "The arm does not list its bundle's files."
        out.error((*at, "files"), "no-inventory", what, "an entry for every file", "none", EDIT)
    if arm.kind is ArmKind.NONE:
        what = "An arm with a bundle is of no kind."
        out.error((*at, "kind"), "kind", what, "skill, instructions or folder", '"none"', EDIT)
    if arm.kind is ArmKind.SKILL and arm.files and SKILL_FILE not in [file.path for file in arm.files]:
        what = "A skill's bundle has no SKILL.md."
        out.error((*at, "files"), "kind", what, SKILL_FILE, f"{len(arm.files)} other files", EDIT)


def _judge_twins(arm: Arm, known: Sequence[Arm], at: tuple[PathPart, ...], out: Collector) -> None:
    twins = [other.id for other in known if other is not arm and other.files and other.files == arm.files]
    if twins:
        what = "Two arms hold the same files, so they differ by nothing but chance."
        out.warn(
            (*at, "files"), "twin-arms", what, "different bundles", ", ".join(twins), "Remove one of them."
        )
