"""The page that a reader of a publication bundle sees first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from esac_ag.manifest.plan import AgentKind, SuiteName
from esac_ag.report.escaping import markdown
from esac_ag.report.markdown_table import table
from esac_ag.report.publication_view import Part, PublishedStudy, ReviewStanding

_FILES: Final = (
    ("`study.json`", "this bundle's account of itself: every digest, what is withheld and why"),
    ("`manifest.json`, `schedule.json`, `tasks.json`", "the sealed plan, its order, records of its tasks"),
    ("`ledger.jsonl`", "every event, each line with the digest of the one before it"),
    ("`attempts.json`, `attempts.csv`", "a row per attempt: outcome, scores, costs, digests of what it left"),
    ("`lineage.json`", "every planned cell: each launch, what became of it, which one counts"),
    ("`corrections.json`", "revisions of the report with reasons, arms that were stopped, pauses"),
    ("`report/`", "the report, and every revision of it"),
    ("`SHA256SUMS`", "digests of all other files, for `sha256sum -c`"),
)
_PARTS: Final = {
    Part.PATCHES: ("`attempts/ID/patch.diff`", "what each agent changed"),
    Part.TRANSCRIPTS: ("`attempts/ID/transcript.jsonl`, `commands.jsonl`", "what each agent said and ran"),
    Part.ARMS: ("`arms/ID.tar`", "the instruction bundles"),
    Part.TASKS: ("`tasks/ID.tar`", "the tasks' requests and snapshots"),
    Part.RATIONALES: ("`review/rationales/`", "the reviewers' forms with their evidence"),
}
_ALONE: Final = """\
- that no file was changed since `SHA256SUMS` was written, if the owner tells its digest by another way
- that the ledger's lines follow from each other up to its head; of a line with something withheld, the next
  line confirms the digest that it claims
- that rows, lineage and corrections are what ledger and report give, and that every form of the report is
  what its `report.json` gives
- that each published patch, transcript, bundle and snapshot is the one that ledger or manifest names
"""
_WITH_ORIGINALS: Final = """\
- that scores are what grading the submissions gives: gradings, submissions and hidden checks are withheld,
  and their digests are in `attempts.json` and `manifest.json`
- that withheld lines of the ledger are the originals
- that bundles, snapshots and transcripts that are not published are the ones that were used
"""
_SEARCHED: Final = """
Before it was written, everything here was searched for secret values, forms of keys, phrases of private
texts, ids of hidden checks and local names: in plain text, unescaped, and out of base64. What is encrypted,
reversed or split is not found. A digest of something short can be found by trying.
"""


def render_readme(study: PublishedStudy) -> bytes:
    """The page as Markdown."""
    return ("\n".join(_lines(study)).rstrip() + "\n").encode()


def _lines(study: PublishedStudy) -> Iterator[str]:
    what = "study" if study.kind is SuiteName.STUDY else "suite run"
    yield f"# The public evidence of the {what} {markdown(study.study_id)}"
    yield ""
    if study.agent_kind == AgentKind.SCRIPTED:
        yield "**A scripted agent acted, no model: this is evidence about no model.**\n"
    if not study.finished:
        yield f"**Unfinished: not every planned cell of this {what} was done when this was published.**\n"
    if study.review.standing is ReviewStanding.NONE and study.kind is SuiteName.STUDY:
        yield "No blinded review was made: scores are those of hidden checks.\n"
    if study.review.provisional:
        yield "**Provisional: a model filled in forms of the review.**\n"
    yield f"{study.attempts} attempts of {study.planned} planned cells; by esac-ag {study.written_by}."
    yield "Start with `report/report.md`." if study.kind is SuiteName.STUDY else "Start with `report/`."
    yield "\n## What is here\n"
    rows = [*_FILES, *((_PARTS[part]) for part in study.parts)]
    if study.review.standing is not ReviewStanding.NONE:
        rows.append(("`review/scores.json`", "the blinded review's scores and how far the reviewers agree"))
    yield from table(("file", "what it is"), rows)
    yield "\n## What is left out\n"
    yield from table(
        ("what", "why", "digests"),
        [
            (markdown(item.what), markdown(item.why), markdown(item.digests or "none"))
            for item in study.withheld
        ],
    )
    if study.left_out:
        yield f"\nLeft out of what is included: {', '.join(f'`{name}`' for name in study.left_out)}."
    yield "\n## How to verify it\n"
    yield "```\nesac-ag publish verify FOLDER_OR_ARCHIVE\nsha256sum -c SHA256SUMS\n```\n"
    yield "Anybody can check, with this bundle alone:\n"
    yield _ALONE
    yield "Only who has the private originals can check:\n"
    yield _WITH_ORIGINALS
    yield _SEARCHED.strip()
