"""Publishing suite runs: the public pool as any study, the held-out pool without its instances."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from esac_ag.canonical import sha256_of_bytes
from esac_ag.conduct import publishing
from esac_ag.conduct.publication_check import verify_publication
from esac_ag.conduct.publishing import Publication, PublishRequest, publish
from esac_ag.conduct.publishing_files import PublicFile, bundle_files
from esac_ag.conduct.suite_results import write_suite_reports
from esac_ag.errors import DisclosureRefused, UsageError
from esac_ag.report.publication_view import Part
from esac_ag.rooms.heldout import write_private
from esac_ag.suite.bank import item_named
from esac_ag.suite.pools import instance_of
from tests.builders_publish import files_of, listed_again
from tests.builders_suite_run import (
    HELD_OUT_SEED,
    MODEL_KEY,
    QUICK,
    SealedRun,
    a_sealed_run,
    a_skill,
    held_out,
)


def finished(folder: Path, **request: object) -> SealedRun:
    """A finished run of three items by their references, with its report."""
    run = a_sealed_run(folder / "workspace", **request)  # type: ignore[arg-type]
    assert run.run().finished
    write_suite_reports(run.folder.path)
    return run


def published(run: SealedRun, output: Path | None, *parts: Part) -> Publication:
    """Publish a run."""
    request = PublishRequest(parts=parts)
    environ = {"OPENAI_API_KEY": MODEL_KEY}
    return publish(run.folder.path, output, request, workspace=run.workspace, environ=environ)


def test_a_run_of_the_public_pool_is_published_and_verifies(tmp_path: Path) -> None:
    """Ledger, rows, lineage and every page of the report, of each arm; transcripts on request."""
    run = finished(tmp_path, arms={"careful": a_skill(tmp_path / "skill")})
    published(run, tmp_path / "bundle.tar.gz", Part.TRANSCRIPTS, Part.ARMS)
    published(run, tmp_path / "bundle", Part.TRANSCRIPTS, Part.ARMS)
    files = files_of(tmp_path / "bundle")
    report = {f"report/{path.relative_to(run.folder.report)}" for path in run.folder.report.rglob("*.*")}
    assert {"report/arms.json", "arms/careful.tar", *report} <= set(files)
    rows = json.loads(files["attempts.json"])
    assert {row["task"] for row in rows} == set(QUICK)
    assert {row["state"] for row in rows} == {"graded"}
    assert json.loads(files["study.json"])["kind"] == "esac-ag"
    for bundle in ("bundle", "bundle.tar.gz"):
        assert verify_publication(tmp_path / bundle).findings == ()
    with pytest.raises(UsageError, match="no task packages"):
        published(run, None, Part.TASKS)


def test_a_row_of_a_run_that_was_changed_is_told(tmp_path: Path) -> None:
    """Rows of a suite run are held against its ledger."""
    run = finished(tmp_path)
    published(run, tmp_path / "bundle")
    path = tmp_path / "bundle" / "attempts.json"
    path.write_bytes(path.read_bytes().replace(b'"outcome":"completed"', b'"outcome":"limit"', 1))
    told = {finding.what for finding in verify_publication(tmp_path / "bundle").findings}
    assert "outcome is not what the ledger tells" in told


def test_a_page_of_a_run_that_was_changed_is_told(tmp_path: Path) -> None:
    """Every form of a suite run's report follows from its JSON."""
    run = finished(tmp_path)
    published(run, tmp_path / "bundle")
    page = next((tmp_path / "bundle" / "report").rglob("*.html"))
    page.write_text("<h1>All is well</h1>")
    study = tmp_path / "bundle" / "study.json"
    data = json.loads(study.read_bytes())
    name = page.relative_to(tmp_path / "bundle").as_posix()
    data["reports"][0]["files"][name] = sha256_of_bytes(page.read_bytes())
    study.write_text(json.dumps(data))
    listed_again(tmp_path / "bundle")
    told = {(finding.where, finding.what) for finding in verify_publication(tmp_path / "bundle").findings}
    assert told == {(name, "a form of the report is not what its JSON gives")}


def test_a_held_out_run_shows_nothing_of_its_instances(tmp_path: Path) -> None:
    """Its report and rows are public; what shows an instance is refused, and only the seed finds it."""
    run = finished(tmp_path, dataset=held_out())
    with pytest.raises(UsageError, match="cannot be drawn again"):
        published(run, tmp_path / "bundle")
    (run.workspace.root / ".heldout").mkdir()
    write_private(run.workspace.root / ".heldout" / "seed", f"{HELD_OUT_SEED}\n".encode(), what="the seed")
    published(run, tmp_path / "bundle")
    assert verify_publication(tmp_path / "bundle").findings == ()
    everything = b"".join(files_of(tmp_path / "bundle").values()).decode()
    assert HELD_OUT_SEED not in everything
    for name in QUICK:
        assert instance_of(item_named(name), HELD_OUT_SEED).prompt not in everything
    for part in (Part.PATCHES, Part.TRANSCRIPTS):
        with pytest.raises(UsageError, match="held out stay private"):
            published(run, None, part)


def test_a_phrase_of_a_held_out_instance_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nobody expects it."""
    run = finished(tmp_path, dataset=held_out())
    monkeypatch.setenv("ESAC_HELD_OUT_SEED", HELD_OUT_SEED)
    request = instance_of(item_named(QUICK[0]), HELD_OUT_SEED).prompt

    def leaking(*args: Any) -> Iterator[PublicFile]:  # noqa: ANN401
        yield from bundle_files(*args)
        yield PublicFile("notes.json", json.dumps({"said": request}).encode())

    monkeypatch.setattr(publishing, "bundle_files", leaking)
    with pytest.raises(DisclosureRefused) as refused:
        published(run, tmp_path / "bundle")
    assert f"a phrase of the held-out instance of {QUICK[0]}" in str(refused.value)
