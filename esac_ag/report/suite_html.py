"""A suite report as one HTML page that opens from disk: no script, no network, no other file.

Every value is escaped by the template engine after its invisible characters became visible; a content
security policy forbids what the page does not need.
"""

from __future__ import annotations

from typing import Final

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from esac_ag.report.escaping import visible
from esac_ag.report.suite_charts import bar_chart, radar_chart
from esac_ag.report.suite_html_style import STYLE
from esac_ag.report.suite_html_template import PAGE
from esac_ag.report.suite_view import SuiteView
from esac_ag.report.suite_words import (
    category_percent,
    earned,
    facts_of_run,
    gate_words,
    item_words,
    judgment_words,
    modifier_words,
    percent,
    run_words,
    spread_words,
    total_words,
    why_words,
)
from esac_ag.suite.verdict import Verdict

_TONES: Final = {
    Verdict.PASS: "good",
    Verdict.FAIL: "bad",
    Verdict.UNDECIDED: "open",
    Verdict.INCOMPLETE: "open",
    Verdict.NOT_VALID: "bad",
}


def render_suite_html(view: SuiteView) -> str:
    """The whole page, ending in one line feed."""
    header = view.header
    return render_page(
        PAGE,
        title=f"{view.decision.verdict}: {header.model} on {header.suite_version}",
        view=view,
        tone=_TONES[view.decision.verdict],
        total=total_words(view),
        modifier=modifier_words(view.modifier),
        facts=facts_of_run(view),
        bar=_ours(bar_chart(view.categories)),
        radar=_ours(radar_chart(view.categories)),
        category_percent=category_percent,
        earned=earned,
        gate_words=gate_words,
        item_words=item_words,
        judgment_words=judgment_words,
        percent=percent,
        run_words=run_words,
        spread_words=spread_words,
        why_words=why_words,
    )


def render_page(template: str, style_sheet: str = STYLE, **values: object) -> str:
    """A page of a template of this package, ending in one line feed.

    Args:
        template: begins with `HEAD`, macros aside.
        style_sheet: its style; that of suite reports by default.
        values: what it shows and calls; every text in it is escaped.
    """
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=_harmless, trim_blocks=True, lstrip_blocks=True
    )
    page = environment.from_string(template).render(**values, style=_ours(style_sheet))
    return page.strip("\n") + "\n"


def _ours(markup: str) -> Markup:
    # Written by this package: constants, numbers and titles that the chart has escaped.
    return Markup(markup)  # noqa: S704


def _harmless(value: object) -> object:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
