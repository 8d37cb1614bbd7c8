"""Publishes the evidence of a study or a suite run: searched first, and written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from esac_ag.artifacts import StudyFolder
from esac_ag.conduct.audit import audit
from esac_ag.conduct.collect import read_study, refuse_no_study
from esac_ag.conduct.publishing_bundle import BundleWriter, put_in_place, refuse_taken
from esac_ag.conduct.publishing_files import Extras, PublicFile, bundle_files, refuse_unknown
from esac_ag.conduct.publishing_material import Material, study_material
from esac_ag.conduct.publishing_search import Looked, PrivateMaterial, Search, search_of
from esac_ag.conduct.publishing_suite import suite_material
from esac_ag.conduct.publishing_texts import texts_of_study, texts_of_suite
from esac_ag.conduct.review_submissions import sealed_bundle, tasks_of
from esac_ag.conduct.suite import dataset_of
from esac_ag.conduct.suite_results import read_suite
from esac_ag.errors import DisclosureRefused, InputRefused, UsageError
from esac_ag.ledger import alone
from esac_ag.manifest.plan import SuiteName
from esac_ag.owner import remove_abandoned_folders, temporary_folder
from esac_ag.record import Record, Sha256
from esac_ag.report.compact import many_records
from esac_ag.report.publication_view import Part
from esac_ag.rooms.manifest_file import plans_a_suite_run
from esac_ag.rooms.workspace import Workspace
from esac_ag.study.disclosure import Disclosure

_SHOWN = 20


class PublishRequest(Record):
    """What a person asks for."""

    parts: tuple[Part, ...] = ()
    left_out: tuple[str, ...] = ()
    """Paths in the bundle of what is included on request: files, or folders of attempts."""
    incomplete: bool = False
    name_reviewers: bool = False
    manifest: str | None = None
    """The sealed manifest, whose bundles lie relative to it, if it is not in `manifests/`."""


class Publication(Record):
    """What was published, or would be."""

    output: str | None
    """Null when it was only looked at."""
    study_id: str
    files: dict[str, int]
    """Bytes by path."""
    bundle_sha256: Sha256
    """Of `SHA256SUMS`: tell it by another way, and every copy of the bundle can be checked by it."""
    findings: tuple[Disclosure, ...]
    looked_for: Looked
    notes: tuple[str, ...]


def publish(
    study: Path,
    output: Path | None,
    request: PublishRequest,
    *,
    workspace: Workspace,
    environ: Mapping[str, str],
) -> Publication:
    """Write the public evidence of a study or a suite run.

    Args:
        study: its folder.
        output: a folder, or an archive by its name (`.tar.gz`, `.zip`); none to look only.
        request: what is asked for.
        workspace: with the private material that nothing of is published.
        environ: the host's environment, whose secrets are looked for.

    Raises:
        DisclosureRefused: something was found that must not be published; nothing was written.
        UsageError: the output is taken, the request cannot be met, or a review is still blind.
        InputRefused: the study is not finished, has no report, or does not verify.
        SubstitutionRefused: private material at hand is not the sealed one.
        StudyBusy: a harness works on the study.
    """
    folder = StudyFolder(study)
    refuse_no_study(folder)
    if output is not None:
        _refuse_inside(output, study)
        refuse_taken(output)
        remove_abandoned_folders(output.parent.absolute())
    with alone(folder.ledger.with_suffix(".lock"), what=str(study)), many_records():
        notes = _refuse_unverified(study, workspace)
        material, texts, extras = _gathered(folder, request, workspace)
        _refuse_unready(material, request)
        refuse_unknown(material, extras)
        people = () if request.name_reviewers else tuple(material.people)
        search = search_of(material, texts, workspace, environ, people)
        files = bundle_files(material, extras)
        if output is None:
            return _publication(_taken(files, search, None), None, material, search, notes)
        with temporary_folder("publish", inside=output.parent.absolute()) as temporary:
            made = temporary / "bundle"
            made.mkdir()
            publication = _publication(_taken(files, search, made), output, material, search, notes)
            if publication.findings:
                raise refusal(publication.findings)
            put_in_place(made, output, material.plan.study_id)
            return publication


def _taken(files: Iterable[PublicFile], search: Search, folder: Path | None) -> BundleWriter:
    writer = BundleWriter(search.scan, folder)
    for file in files:
        writer.add(file)
    return writer


def refusal(findings: tuple[Disclosure, ...]) -> DisclosureRefused:
    """The error for findings; it tells places and kinds, never the text."""
    lines = [finding.sentence() for finding in findings[:_SHOWN]]
    if len(findings) > _SHOWN:
        lines.append(f"and {len(findings) - _SHOWN} more; --dry-run --json lists them all")
    return DisclosureRefused(
        f"{len(findings)} things were found that must not be published; nothing was written",
        found="\n            ".join(lines),
        remedy="leave the part or the file out (--leave-out PATH); what stands in the records themselves "
        "cannot be published",
    )


def _publication(
    writer: BundleWriter,
    output: Path | None,
    material: Material,
    search: Search,
    notes: tuple[str, ...],
) -> Publication:
    digest = writer.finish()
    return Publication(
        output=None if output is None else str(output),
        study_id=material.plan.study_id,
        files=dict(sorted(writer.sizes.items())),
        bundle_sha256=digest,
        findings=tuple(writer.findings),
        looked_for=search.looked,
        notes=notes,
    )


def _gathered(
    folder: StudyFolder, request: PublishRequest, workspace: Workspace
) -> tuple[Material, PrivateMaterial, Extras]:
    """What there is, what of it is private, and what is published on request."""
    folders = [folder.path, *([] if request.manifest is None else [Path(request.manifest).parent])]
    parts = tuple(part for part in Part if part in request.parts)
    if plans_a_suite_run(folder.manifest):
        suite = read_suite(folder.path)
        material = suite_material(suite)
        refuse_parts(material, parts)
        texts = texts_of_suite(suite, workspace, parts, folders)
    else:
        study = read_study(folder.path, gradings=False)
        material = study_material(study)
        refuse_parts(material, parts)
        texts = texts_of_study(study, workspace, parts, folders)
    arms = [*folders, workspace.manifests]
    with_arms, with_tasks = Part.ARMS in parts, Part.TASKS in parts
    return (
        material,
        texts,
        Extras(
            parts=parts,
            left_out=tuple(sorted({name.rstrip("/") for name in request.left_out})),
            name_reviewers=request.name_reviewers,
            arms=tuple((arm, sealed_bundle(arm, arms, workspace)) for arm in material.plan.arms if with_arms),
            tasks=tuple(tasks_of(read_study(folder.path), workspace).values()) if with_tasks else (),
        ),
    )


def _refuse_inside(output: Path, study: Path) -> None:
    if output.resolve().is_relative_to(study.resolve()):
        raise UsageError(
            "the output lies in the study's own folder",
            where=str(output),
            remedy="name a place outside of it",
        )


def _refuse_unverified(study: Path, workspace: Workspace) -> tuple[str, ...]:
    """Refuse records that do not verify; the audit's notes otherwise."""
    audited = audit(study, lambda pool: dataset_of(pool, None, workspace.root))
    if audited.findings:
        first = audited.findings[0]
        raise InputRefused(
            f"the records do not verify, with {len(audited.findings)} findings; nothing was published",
            where=f"{study}/{first.where}",
            expected=first.expected,
            found=first.what,
            remedy=f"esac-ag audit {study} lists them; an outdated report is written again by esac-ag report",
        )
    return tuple(f"{note.where}: {note.what}" for note in audited.notes)


def _refuse_unready(material: Material, request: PublishRequest) -> None:
    """Refuse a study that is not finished, and one whose reviewers are still blind."""
    state = material.told.state
    if state.review.prepared is not None and state.review.unblinded is None:
        raise UsageError(
            "the study's review has begun and is not unblinded: what is published would tell the arms",
            where=str(material.folder.path),
            remedy="finish the review first (esac-ag review status, lock, adjudicate, unblind)",
        )
    if not state.finished and not request.incomplete:
        raise InputRefused(
            "the study is not finished",
            where=str(material.folder.path),
            expected="an attempt that counts and is graded for every planned cell",
            remedy="go on with it; --incomplete publishes it as it is, and says so in the bundle",
        )


def refuse_parts(material: Material, parts: tuple[Part, ...]) -> None:
    """Refuse parts that are held out, or that there are none of.

    Raises:
        UsageError: there is one.
    """
    shows = {Part.PATCHES, Part.TRANSCRIPTS, Part.TASKS}
    if material.held_out and (refused := sorted(shows & set(parts))):
        raise UsageError(
            "tasks that are held out stay private, and so does all that shows them",
            where=f"--include {' '.join(refused)}",
            remedy="leave it out; arms and rationales may be included",
        )
    if material.plan.suite.name is SuiteName.ESAC_AG and Part.TASKS in parts:
        raise UsageError(
            "A suite run has no task packages.",
            where="--include tasks",
            remedy="leave it out; esac-ag suite export writes the public items",
        )
    if Part.RATIONALES in parts and material.scores is None:
        raise UsageError(
            "There is no unblinded review whose rationales could be included.", where="--include rationales"
        )
