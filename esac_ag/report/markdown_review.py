"""A blinded review in Markdown: quality scores by arm and task, and how far reviewers agree."""

from __future__ import annotations

from collections.abc import Iterator

from esac_ag.report.escaping import markdown as safe
from esac_ag.report.markdown_table import code, table
from esac_ag.report.measured import Measured, measures, ranked, reason_of
from esac_ag.report.numbers import NO_VALUE, interval_words, level_words, maybe_points, percent
from esac_ag.report.review_view import ReviewResults
from esac_ag.report.review_words import (
    AGREEMENT_HEAD,
    BLINDING_HEAD,
    agreement_rows,
    blinding_rows,
    review_facts,
)
from esac_ag.report.view import ReportView
from esac_ag.report.words import review_mark

_LONG = 2000


def review_sections(view: ReportView) -> Iterator[str]:
    """Nothing at all before the review was unblinded."""
    if view.review is None:
        return
    measured = next(item for item in measures(view) if item.name == "quality")
    yield from _quality(view, measured)
    yield from _agreement(view.review)


def _quality(view: ReportView, measured: Measured) -> Iterator[str]:
    control, confidence = code(view.header.control), percent(view.method.confidence)
    compared = {item.arm: item for item in measured.comparisons}
    yield f"## {measured.titled[0].upper()}{measured.titled[1:]} of the blinded review"
    yield ""
    yield from table(
        (
            *("Arm", "Agent", "Mean quality score", f"{confidence} interval", "Tasks scored"),
            *(f"Difference to {control}", "Its interval", "Tasks paired"),
        ),
        [
            (
                *(code(item.arm), item.agent_kind, maybe_points(item.mean), level_words(item.interval)),
                item.tasks_scored,
                *(
                    (NO_VALUE, NO_VALUE, NO_VALUE)
                    if (found := compared.get(item.arm)) is None
                    else (
                        maybe_points(found.overall.mean, signed=True),
                        interval_words(found.overall.interval),
                        found.overall.tasks_paired,
                    )
                ),
            )
            for item in ranked(measured.scores)
        ],
    )
    yield ""
    for comparison in measured.comparisons:
        yield from table(
            ("Task", "Agent", code(comparison.arm), code(comparison.control), "Difference in quality"),
            [
                (
                    *(code(pair.task), comparison.agent_kind, maybe_points(pair.arm_mean)),
                    maybe_points(pair.control_mean),
                    safe(reason_of(pair.difference)) or maybe_points(pair.difference, signed=True),
                )
                for pair in comparison.pairs
            ],
        )
        yield ""


def _agreement(review: ReviewResults) -> Iterator[str]:
    mark = review_mark(review)
    yield f"## Reviewers{mark}"
    yield ""
    yield from (f"- {safe(text, limit=_LONG)}" for text in review_facts(review))
    yield ""
    if review.agreement:
        yield "Agreement before any adjudication, with intervals over tasks:"
        yield ""
        yield from table(AGREEMENT_HEAD, [[safe(cell) for cell in row] for row in agreement_rows(review)])
        yield ""
    if review.blinding:
        yield "How often reviewers guessed the arm, asked after locking:"
        yield ""
        yield from table(BLINDING_HEAD, [[safe(cell) for cell in row] for row in blinding_rows(review)])
        yield ""
