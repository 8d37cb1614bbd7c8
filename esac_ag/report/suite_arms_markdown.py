"""The comparison of arms as GitHub-flavoured Markdown; foreign text is no markup."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from esac_ag.report.escaping import markdown
from esac_ag.report.markdown_table import table
from esac_ag.report.suite_arms import SuiteArm, SuiteArms
from esac_ag.report.suite_compare import comparison_table, side_words

SENTENCE_LENGTH: Final = 4000
"""Longest sentence that is shown: one that names every item is no shorter for being cut."""


def render_suite_arms_markdown(arms: SuiteArms) -> str:
    """The whole comparison, ending in one line feed."""
    lines = [
        "# ESAC-AG: instruction bundles beside the control",
        "",
        *(f"**{_safe(arm.answer)}**\n" for arm in arms.arms),
        *(f"> {_safe(notice)}\n" for notice in arms.notices),
        *(line for arm in arms.arms for line in _arm(arm)),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _arm(arm: SuiteArm) -> Iterator[str]:
    yield f"## {_safe(arm.arm)} beside {_safe(arm.control)}"
    yield ""
    for line in arm.words:
        yield f"- {_safe(line)}"
    for side in (arm.figures.a, arm.figures.b):
        yield f"- {_safe(side.name)}: {_safe(side_words(side))}"
    yield ""
    for warning in arm.figures.warnings:
        yield f"> {_safe(warning)}\n"
    head, *rows = ([_safe(cell) for cell in row] for row in comparison_table(arm.figures))
    yield from table(head, rows)
    yield ""


def _safe(text: str) -> str:
    return markdown(text, SENTENCE_LENGTH)
