"""What was sealed, as rows of words that Markdown and the page share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from esac_ag.report.numbers import METHOD_NAMES, percent
from esac_ag.report.view import Header, ReportView


class SealedRow(NamedTuple):
    """One line; foreign text in it is as the view holds it, not escaped."""

    what: str
    value: str
    code: bool = False
    """A digest or an id."""


def sealed_rows(view: ReportView) -> Iterator[SealedRow]:
    """Plan, model, agent, harness, images, design, method, and when it ran."""
    header, method = view.header, view.method
    reasoning = f", reasoning {header.model.reasoning}" if header.model.reasoning else ""
    model = f"{header.model.name} {header.model.version} ({header.model.provider}){reasoning}"
    dirty = ", with changes that are not committed" if header.harness_dirty else ""
    yield SealedRow("Phase", header.phase)
    yield SealedRow("Manifest", f"sha256:{header.manifest_sha256}", code=True)
    yield SealedRow("Model", model)
    yield SealedRow("Agent", f"{_agent(header)}, version {header.agent_version}")
    yield SealedRow("Harness", f"{header.harness_version}, revision {header.harness_revision}{dirty}")
    for role, image in sorted(header.images.items()):
        yield SealedRow(f"Image of the {role}", image.digest, code=True)
    design = f"{header.tasks} tasks x {header.arms} arms x {header.repetitions} repetitions"
    yield SealedRow("Design", design)
    yield SealedRow("Primary comparison", f"{header.primary_arm} minus {header.control}")
    yield SealedRow("Interval", f"{METHOD_NAMES[method.interval]}, {percent(method.confidence)}")
    yield SealedRow("Resampling", f"{method.replicates:,} replicates, seed {method.seed}")
    yield SealedRow("Threshold of practical improvement", f"{method.threshold_points:g} points")
    yield SealedRow("First attempt started", header.first_started_at or "nothing ran")
    yield SealedRow("Last attempt ended", header.last_ended_at or "nothing ran")


def _agent(header: Header) -> str:
    """What acted."""
    return header.agent_kind if header.agent_program is None else f"{header.agent_program} (command line)"
