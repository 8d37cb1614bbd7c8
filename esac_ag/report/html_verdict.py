"""Sections of the page that judge: agreement, decision, sensitivity, limits, corrections, what next."""

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
from esac_ag.report.html_blocks import (
    Block,
    Cell,
    Link,
    Section,
    bullets,
    heading,
    notice,
    num,
    paragraph,
    table,
)
from esac_ag.report.html_links import Links
from esac_ag.report.numbers import NO_VALUE
from esac_ag.report.review_words import (
    AGREEMENT_HEAD,
    BLINDING_HEAD,
    NO_REVIEW,
    agreement_rows,
    blinding_rows,
    review_facts,
)
from esac_ag.report.sensitivity_render import adjustment_words
from esac_ag.report.sensitivity_words import SENSITIVITY, compared_measures, rows_of
from esac_ag.report.view import ReportView
from esac_ag.report.words import review_mark
from esac_ag.study.decision_records import Clause, ClauseName, ClauseState


def agreement_section(view: ReportView) -> Section:
    """Who reviewed, how far they agree, and whether they could tell the arms."""
    review = view.review
    if review is None:
        return Section("agreement", "Reviewers", (paragraph(NO_REVIEW),))
    blocks: list[Block] = []
    if review.provisional:
        blocks.append(notice(f"Provisional: {review.provisional_reason}."))
    blocks.append(bullets(list(review_facts(review))))
    mark = review_mark(review)
    if review.agreement:
        rows = [(Cell(row[0]), *map(num, row[1:])) for row in agreement_rows(review)]
        caption = f"Agreement of the reviewers before any adjudication{mark}; intervals over tasks"
        blocks.append(table(caption, AGREEMENT_HEAD, rows))
    else:
        blocks.append(paragraph("How far the reviewers agree is not known: the forms are not at hand."))
    if review.blinding:
        rows = [(Cell(row[0]), *map(num, row[1:])) for row in blinding_rows(review)]
        caption = f"How often reviewers guessed the arm, asked after locking: the blinding's own check{mark}"
        blocks.append(table(caption, BLINDING_HEAD, rows))
    else:
        blocks.append(paragraph("No reviewer was asked for the arms, so the blinding was not checked."))
    return Section("agreement", "Reviewers", tuple(blocks))


def decision_section(view: ReportView, links: Links) -> Section:
    """The decision on each arm with the clauses that it comes from."""
    blocks = [block for item in view.decisions for block in _decision(item, links)]
    if not blocks:
        blocks = [
            paragraph("No arm with a bundle is compared with the control, so there is nothing to decide.")
        ]
    return Section("decision", "Decision", tuple(blocks))


def _decision(item: ArmDecision, links: Links) -> Iterator[Block]:
    decision = item.decision
    kind = "primary" if item.primary else "secondary"
    outcome = outcome_words(decision.outcome, preliminary=decision.preliminary)
    yield heading(f"{item.arm} ({kind}): {outcome}")
    yield paragraph(item.conclusion)
    decided = f"Decided on: {MEASURE_WORDS[decision.measure]}. Agent: {item.agent_kind}."
    yield bullets([decided, *decision.reasons])
    head = ("Clause", "State", "What it means if it held", "What was found", "Numbers and thresholds")
    rows = [
        (
            Cell(CLAUSE_TITLES[clause.name]),
            Cell(state_words(clause.state), tone=_tone(clause)),
            Cell(CLAUSE_EFFECTS[clause.name]),
            Cell(clause.words),
            Cell(
                "" if clause.figures else NO_VALUE,
                lines=tuple(figure_words(figure) for figure in clause.figures),
            ),
        )
        for clause in decision.clauses
    ]
    yield table(f"Clauses of the sealed rules on {item.arm}", head, rows)
    shown = clause_attempts(decision.clauses)
    if shown:
        yield bullets(
            [
                Cell(
                    f"Attempts behind {' and '.join(titles)}:",
                    links=tuple(Link(one, links.attempt(one)) for one in attempts),
                )
                for titles, attempts in shown.items()
            ]
        )


def _tone(clause: Clause) -> str:
    if clause.state is not ClauseState.HELD:
        return ""
    return "good" if clause.name is ClauseName.IMPROVEMENT else "bad"


def sensitivity_section(view: ReportView) -> Section:
    """What the comparisons rest on."""
    shown = compared_measures(view)
    if not shown:
        return Section("sensitivity", "Sensitivity", (paragraph("There is no comparison to look behind."),))
    blocks: list[Block] = [paragraph(SENSITIVITY)]
    for measured, found in shown:
        links = Links(view, measured.name)
        blocks.append(heading(f"Of the {measured.titled}s"))
        for item in found.arms:
            rows = [(Cell(row.what), num(row.value), Cell(row.note)) for row in rows_of(item)]
            versus = f"{item.arm} minus {item.control} ({item.agent_kind} agent)"
            blocks.append(
                table(f"Sensitivity of {versus}, {measured.titled}", ("What", "Value", "Note"), rows)
            )
            runs = tuple(Link(arm, links.arm(arm)) for arm in (item.arm, item.control))
            blocks.append(bullets([Cell("The runs behind it:", links=runs)]))
        if found.adjustments:
            blocks.append(bullets([adjustment_words(item) for item in found.adjustments]))
    return Section("sensitivity", "Sensitivity", tuple(blocks))


def limits_section(view: ReportView) -> Section:
    """What may be concluded at most."""
    return Section("limits", "Limits of the claim", (bullets(list(view.limits_of_claim)),))


def corrections_section(view: ReportView) -> Section:
    """Which report of the study this is, and what came before."""
    revision = view.revision
    if revision is None:
        words = "This is the first report of the study; nothing was corrected in it."
        return Section("corrections", "Corrections", (paragraph(words),))
    rows = [
        (
            num(item.number),
            Cell(item.at or NO_VALUE),
            Cell(item.reason or "the first report"),
            Cell(path),
            Cell(digest, code=True),
        )
        for item in revision.earlier
        for path, digest in sorted(item.files.items())
    ]
    blocks = (
        paragraph(f"Revision {revision.number} of {revision.at}: {revision.reason}"),
        paragraph("Earlier reports of this study stay as they were:"),
        table("Files of earlier reports", ("Report", "Of", "Why", "File", "SHA-256"), rows),
    )
    return Section("corrections", "Corrections", blocks)


def next_section(view: ReportView) -> Section:
    """The commands that lead on."""
    rows = [(Cell(step.words), Cell(step.command, code=True)) for step in view.next_steps]
    if not rows:
        return Section("next", "What next", (paragraph("This report names no next step."),))
    return Section("next", "What next", (table("What may be done next", ("What", "Command"), rows),))
