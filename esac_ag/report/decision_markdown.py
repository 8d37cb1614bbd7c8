"""The decision in Markdown, and which revision of the report this is."""

from __future__ import annotations

from collections.abc import Iterator

from esac_ag.report.decision_view import ArmDecision
from esac_ag.report.decision_words import (
    CLAUSE_EFFECTS,
    CLAUSE_TITLES,
    MEASURE_WORDS,
    clause_attempts,
    figure_words,
    outcome_words,
    state_words,
)
from esac_ag.report.escaping import markdown as safe
from esac_ag.report.markdown_table import code, table
from esac_ag.report.numbers import NO_VALUE
from esac_ag.report.view import ReportView

_LONG = 2000


def decision_section(view: ReportView) -> Iterator[str]:
    """The decision on each arm with the clauses that it comes from."""
    if not view.decisions:
        return
    yield "## Decision"
    yield ""
    for item in view.decisions:
        yield from _decision(item)


def _decision(item: ArmDecision) -> Iterator[str]:
    decision = item.decision
    kind = "primary" if item.primary else "secondary"
    outcome = outcome_words(decision.outcome, preliminary=decision.preliminary)
    yield f"### {code(item.arm)} ({kind}): {outcome}"
    yield ""
    yield safe(item.conclusion, limit=_LONG)
    yield ""
    yield f"- Decided on: {MEASURE_WORDS[decision.measure]}. Agent: {item.agent_kind}."
    yield from (f"- {safe(reason, limit=_LONG)}" for reason in decision.reasons)
    yield ""
    yield from table(
        ("Clause", "State", "What it means if it held", "What was found", "Numbers and thresholds"),
        [
            (
                CLAUSE_TITLES[clause.name],
                state_words(clause.state),
                CLAUSE_EFFECTS[clause.name],
                safe(clause.words, limit=_LONG),
                "; ".join(safe(figure_words(figure)) for figure in clause.figures) or NO_VALUE,
            )
            for clause in decision.clauses
        ],
    )
    yield ""
    shown = clause_attempts(decision.clauses)
    for titles, attempts in shown.items():
        yield f"- Attempts behind {' and '.join(titles)}: {', '.join(code(one) for one in attempts)}"
    if shown:
        yield ""


def revision_lines(view: ReportView) -> Iterator[str]:
    """Which report of the study this is, why, and what came before; nothing in the first one."""
    revision = view.revision
    if revision is None:
        return
    yield f"> **Revision {revision.number} of {safe(revision.at)}: {safe(revision.reason, limit=_LONG)}**"
    yield ">"
    yield "> Earlier reports of this study stay as they were:"
    yield ">"
    for item in revision.earlier:
        why = f", of {safe(item.at)}: {safe(item.reason, limit=_LONG)}" if item.at else ""
        yield f"> - Report {item.number}{why}"
        yield from (
            f">   - {code(path)} {code(f'sha256:{sha256}')}" for path, sha256 in sorted(item.files.items())
        )
    yield ""
