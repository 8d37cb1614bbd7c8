"""Which texts of a workspace are private: bundles, requests, hidden checks, held-out instances."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from esac_ag.canonical import loads_strict
from esac_ag.conduct.audit_grading import drawn_again
from esac_ag.conduct.collect import StudyRecords
from esac_ag.conduct.publishing_search import PrivateMaterial
from esac_ag.conduct.review_submissions import known_of, sealed_bundle, tasks_of
from esac_ag.conduct.suite import dataset_of
from esac_ag.conduct.suite_results import SuiteRecords
from esac_ag.errors import HarnessError, UsageError
from esac_ag.manifest.plan import Arm, Plan
from esac_ag.report.publication_view import Part
from esac_ag.rooms.graders import LoadedGrader, load_grader, load_sealed_grader
from esac_ag.rooms.tasks import LoadedTask, load_task
from esac_ag.rooms.workspace import Workspace
from esac_ag.seen_words import readable_text
from esac_ag.study.disclosure import DisclosureKind
from esac_ag.study.disclosure_scan import SHORTEST_ID
from esac_ag.study.giveaways import short_texts
from esac_ag.study.private_texts import PrivateText
from esac_ag.suite.bank import item_named
from esac_ag.suite.constitution import PUBLIC_SEED, Pool
from esac_ag.suite.plan import instance_bytes
from esac_ag.suite.pools import instance_of
from esac_ag.tree import FileTree

_GRADER: Final = "grader.json"
_SOLUTIONS: Final = ("references/", "decoys/")


def texts_of_study(
    study: StudyRecords, workspace: Workspace, parts: Collection[Part], folders: list[Path]
) -> PrivateMaterial:
    """What is private of a study, and of everything else that lies in its workspace.

    Args:
        study: its records.
        workspace: with its bundles, tasks and graders.
        parts: what is published on request.
        folders: that bundles may be relative to.

    Raises:
        SubstitutionRefused: a bundle, a task or a grader is not the sealed one: nothing could be found by it.
        InputRefused: one cannot be read.
    """
    texts = PrivateMaterial()
    tasks = tasks_of(study, workspace)
    graders = [load_sealed_grader(workspace, reference) for reference in study.manifest.tasks]
    _add_arms(texts, study.manifest, workspace, parts, folders)
    for task in tasks.values():
        _add_task(texts, task, published=Part.TASKS in parts)
    for task_id in sorted(_folders(workspace.tasks) - tasks.keys()):
        if other := _other_task(workspace.tasks / task_id):
            _add_task(texts, other, published=False)
    others = sorted(_folders(workspace.graders) - tasks.keys())
    for grader in (*graders, *filter(None, (_other_grader(workspace, name) for name in others))):
        _add_grader(texts, grader)
    return _settled(texts)


def texts_of_suite(
    suite: SuiteRecords, workspace: Workspace, parts: Collection[Part], folders: list[Path]
) -> PrivateMaterial:
    """What is private of a suite run: bundles, and the instances of the held-out pool.

    Raises:
        UsageError: the seed of a held-out run is not at hand: nothing could be found by it.
        SubstitutionRefused: a bundle is not the sealed one.
    """
    texts = PrivateMaterial()
    _add_arms(texts, suite.manifest, workspace, parts, folders)
    if suite.manifest.pool is not Pool.HELD_OUT:
        return texts
    drawn = drawn_again(suite, lambda pool: dataset_of(pool, None, workspace.root))
    if not drawn.instances:
        raise UsageError(
            "The held-out instances cannot be drawn again, so nothing can be searched for them.",
            where=str(suite.folder.path),
            found=drawn.notes[0].what if drawn.notes else "no instance of the bank",
            remedy="publish with the seed in .heldout/seed or ESAC_HELD_OUT_SEED, by the version that ran it",
        )
    for name, instance in drawn.instances.items():
        texts.public.extend(_strings(instance_bytes(instance_of(item_named(name), PUBLIC_SEED))))
        for text in _strings(instance_bytes(instance)):
            what = f"a phrase of the held-out instance of {name}"
            texts.private.append(PrivateText(text, DisclosureKind.HELD_OUT, what))
    return texts


def _folders(room: Path) -> set[str]:
    return {path.name for path in room.iterdir() if path.is_dir()}


def _other_task(folder: Path) -> LoadedTask | None:
    """A task that is not of the study; one that is damaged or half made is nobody's measure."""
    try:
        return load_task(folder)
    except HarnessError:
        return None


def _other_grader(workspace: Workspace, name: str) -> LoadedGrader | None:
    try:
        return load_grader(workspace, name)
    except HarnessError:
        return None


def _add_arms(
    texts: PrivateMaterial, plan: Plan, workspace: Workspace, parts: Collection[Part], folders: list[Path]
) -> None:
    for arm in plan.arms:
        tree = sealed_bundle(arm, [*folders, workspace.manifests], workspace)
        published = Part.ARMS in parts
        for node in tree.files().values():
            text = readable_text(node.data)
            if published:
                texts.public.append(text)
            else:
                texts.private.extend(_of_bundle(arm, text))


def _of_bundle(arm: Arm, text: str) -> Iterator[PrivateText]:
    what = f"a phrase of the bundle of arm {arm.id}"
    for piece in (text, *short_texts(text)):
        yield PrivateText(piece, DisclosureKind.PRIVATE_PROMPT, what, whole=True)


def _add_task(texts: PrivateMaterial, task: LoadedTask, *, published: bool) -> None:
    """A task's request is private until it is published; its snapshot shows in every patch's context."""
    texts.public.extend(text for text in known_of(task) if text != task.request)
    if published:
        texts.public.append(task.request)
    else:
        what = f"a phrase of the request of task {task.package.task_id}"
        texts.private.append(PrivateText(task.request, DisclosureKind.PRIVATE_PROMPT, what))


def _add_grader(texts: PrivateMaterial, grader: LoadedGrader) -> None:
    task = grader.package.task_id
    for check in grader.package.checks:
        what = f"the title of a hidden check of task {task}"
        texts.private.append(PrivateText(check.title, DisclosureKind.HELD_OUT, what, whole=True))
        if len(check.id) >= SHORTEST_ID and not check.id.isalpha():
            texts.hidden_ids[check.id] = f"the id of a hidden check of task {task}"
    package = grader.package
    for why in (*(one.why for one in package.references), *(one.why for one in package.decoys)):
        what = f"what is said of a solution of task {task}"
        texts.private.append(PrivateText(why, DisclosureKind.HELD_OUT, what))
    texts.private.extend(_of_grader(task, grader.files))


def _of_grader(task: str, files: FileTree) -> Iterator[PrivateText]:
    for path, node in files.files().items():
        name = path.decode("utf-8", "replace")
        if name == _GRADER:
            continue
        solution = name.startswith(_SOLUTIONS)
        what = f"a solution of task {task}" if solution else f"hidden checks or fixtures of task {task}"
        text = node.data.decode("utf-8", "replace")
        yield PrivateText(text, DisclosureKind.HELD_OUT, what, code=True, free=solution)


def _settled(texts: PrivateMaterial) -> PrivateMaterial:
    """Without ids that a public text has, too: they tell nothing."""
    everybodys = "\n".join(texts.public)
    kept = {name: what for name, what in texts.hidden_ids.items() if name not in everybodys}
    return PrivateMaterial(texts.private, texts.public, kept)


def _strings(data: bytes) -> Iterator[str]:
    def walk(value: JsonValue) -> Iterator[str]:
        match value:
            case str():
                yield value
            case list():
                for part in value:
                    yield from walk(part)
            case dict():
                for part in value.values():
                    yield from walk(part)
            case _:
                return

    return walk(loads_strict(data))
