"""The files of a publication bundle, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, assert_never

from esac_ag import __version__
from esac_ag.archive import pack
from esac_ag.artifacts.review_folder import ReviewFolder
from esac_ag.canonical import canonical_json, loads_strict, sha256_of_bytes
from esac_ag.conduct.publishing_account import Choices, account_of
from esac_ag.conduct.publishing_material import Material, parts_of_attempts, sealed_bytes
from esac_ag.errors import UsageError
from esac_ag.manifest.plan import Arm
from esac_ag.report.publication_ledger import public_lines, renamed
from esac_ag.report.publication_lineage import corrections_of, lineage_of
from esac_ag.report.publication_readme import render_readme
from esac_ag.report.publication_rows import rows_csv, rows_json
from esac_ag.report.publication_view import (
    ATTEMPTS_CSV,
    ATTEMPTS_JSON,
    CORRECTIONS,
    LEDGER,
    LINEAGE,
    MANIFEST,
    README,
    SCHEDULE,
    SCORES,
    STUDY,
    TASKS,
    LedgerHead,
    Part,
    PublishedReview,
    PublishedStudy,
    ReviewStanding,
    lies_at,
)
from esac_ag.rooms.tasks import LoadedTask
from esac_ag.study.disclosure import Writer
from esac_ag.study.scores import ReviewScores
from esac_ag.tree import FileTree, RegularFile

ATTEMPT_FILES: Final = {
    Part.PATCHES: ("patch.diff",),
    Part.TRANSCRIPTS: ("transcript.jsonl", "commands.jsonl"),
}
"""What of an attempt's files belongs to a part."""


@dataclass(frozen=True, slots=True)
class PublicFile:
    """A file as it is published."""

    path: str
    data: bytes = field(repr=False)
    writer: Writer = Writer.HARNESS


@dataclass(frozen=True, slots=True)
class Extras:
    """What is published on request, and how."""

    parts: tuple[Part, ...] = ()
    left_out: tuple[str, ...] = ()
    """Paths in the bundle, and folders of such."""
    name_reviewers: bool = False
    arms: tuple[tuple[Arm, FileTree], ...] = ()
    tasks: tuple[LoadedTask, ...] = ()

    def leaves_out(self, path: str) -> bool:
        """Whether somebody wished that a file be left out."""
        return any(lies_at(path, name) for name in self.left_out)


def bundle_files(material: Material, extras: Extras) -> Iterator[PublicFile]:
    """Every file of the bundle but `SHA256SUMS`, in a fixed order.

    Raises:
        SubstitutionRefused: a file is not the one that the ledger names.
    """
    names = {} if extras.name_reviewers else material.people
    lines = tuple(public_lines(material.lines, names))
    optional = list(_optional(material, extras, names))
    study = _study(material, extras, lines)
    yield PublicFile(README, render_readme(study))
    yield PublicFile(STUDY, study.model_dump_json(indent=2).encode() + b"\n")
    yield PublicFile(MANIFEST, material.folder.manifest.read_bytes())
    yield PublicFile(SCHEDULE, material.folder.schedule.read_bytes())
    yield PublicFile(TASKS, material.folder.tasks.read_bytes())
    yield PublicFile(LEDGER, b"".join(line + b"\n" for line in lines))
    yield PublicFile(ATTEMPTS_JSON, rows_json(material.rows))
    yield PublicFile(ATTEMPTS_CSV, rows_csv(material.rows))
    yield PublicFile(LINEAGE, rows_json(lineage_of(material.cells, material.told)))
    yield PublicFile(CORRECTIONS, canonical_json(corrections_of(material.told.state)) + b"\n")
    for path, data in sorted(material.report_bytes.items()):
        yield PublicFile(path, data)
    if material.scores is not None:
        yield PublicFile(SCORES, _renamed(material.scores, names))
    for path, source, digest, writer in optional:
        data = sealed_bytes(source, digest)
        yield PublicFile(path, _renamed(data, names) if writer is Writer.PERSON else data, writer)
    for path, tree in _trees(extras):
        yield PublicFile(path, pack(tree, uid=0, gid=0))


def _renamed(data: bytes, names: dict[str, str]) -> bytes:
    """A record of the review, with pseudonyms where names are not to be told."""
    return canonical_json(renamed(loads_strict(data), names)) + b"\n" if names else data


def refuse_unknown(material: Material, extras: Extras) -> None:
    """Refuse a wish to leave out what is not there: a slip would publish what was meant.

    Raises:
        UsageError: a name to leave out is of no file that is included.
    """
    names = {} if extras.name_reviewers else material.people
    paths = [path for path, *_ in _optional(material, replace(extras, left_out=()), names)]
    paths += [path for path, _ in _trees(replace(extras, left_out=()))]
    for name in extras.left_out:
        if not any(lies_at(path, name) for path in paths):
            raise UsageError(
                "There is nothing of that name to leave out.",
                where=f"--leave-out {name}",
                expected="a path in the bundle of what is included, such as attempts/ID or arms/ID.tar",
                remedy="--dry-run lists them all",
            )


def _optional(
    material: Material, extras: Extras, names: dict[str, str]
) -> Iterator[tuple[str, Path, str, Writer]]:
    """Files that are published on request: path in the bundle, place, digest, who wrote them."""
    for part in extras.parts:
        match part:
            case Part.PATCHES | Part.TRANSCRIPTS:
                for path, source, digest in parts_of_attempts(material, ATTEMPT_FILES[part]):
                    if not extras.leaves_out(path):
                        yield path, source, digest, Writer.AGENT
            case Part.RATIONALES:
                review = ReviewFolder(material.folder.path)
                for name, locked in material.told.state.review.locked.items():
                    path = f"review/rationales/{names.get(name, name)}.json"
                    if not extras.leaves_out(path):
                        yield path, review.person(name).locked, locked.forms_sha256, Writer.PERSON
            case Part.ARMS | Part.TASKS:
                pass
            case _:
                assert_never(part)


def _trees(extras: Extras) -> Iterator[tuple[str, FileTree]]:
    """Bundles and task packages, each for an archive: their names may be any."""
    for arm, tree in extras.arms:
        path = f"arms/{arm.id}.tar"
        if tree and not extras.leaves_out(path):
            yield path, tree
    for task in extras.tasks:
        path = f"tasks/{task.package.task_id}.tar"
        request = FileTree({b"request.md": RegularFile(task.request.encode())})
        if not extras.leaves_out(path):
            yield path, request.merged(task.snapshot.under(b"public"))


def _study(material: Material, extras: Extras, lines: tuple[bytes, ...]) -> PublishedStudy:
    folder = material.folder
    return account_of(
        material.plan,
        {
            "manifest_sha256": material.manifest_sha256,
            "schedule_sha256": sha256_of_bytes(folder.schedule.read_bytes()),
            "tasks_sha256": sha256_of_bytes(folder.tasks.read_bytes()),
        },
        material.told.state,
        _head(material, lines),
        planned=len(material.cells),
        reports=material.reports,
        review=_review(material, named=extras.name_reviewers),
        choices=Choices(__version__, extras.parts, extras.left_out),
    )


def _head(material: Material, lines: tuple[bytes, ...]) -> LedgerHead:
    withheld = sum(line != raw for line, (raw, _) in zip(lines, material.lines, strict=True))
    last = material.lines[-1][0]
    return LedgerHead(sha256=sha256_of_bytes(last), lines=len(lines), withheld_lines=withheld)


def _review(material: Material, *, named: bool) -> PublishedReview:
    unblinded = material.told.state.review.unblinded
    if unblinded is None or material.scores is None:
        return PublishedReview(standing=ReviewStanding.NONE, scores_sha256=None, provisional=False)
    return PublishedReview(
        standing=ReviewStanding.NAMED if named else ReviewStanding.PSEUDONYMS,
        scores_sha256=unblinded.scores_sha256,
        provisional=ReviewScores.model_validate_json(material.scores).provisional,
    )
