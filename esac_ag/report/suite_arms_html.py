"""The comparison of arms as one HTML page, under the rules of the suite report's page."""

from __future__ import annotations

from typing import Final

from esac_ag.report.suite_arms import Effect, SuiteArms
from esac_ag.report.suite_compare import comparison_table, side_words
from esac_ag.report.suite_html import render_page
from esac_ag.report.suite_html_template import ARMS_PAGE

_TONES: Final = {
    Effect.HELPS: "effect good",
    Effect.HURTS: "effect bad",
    Effect.UNCLEAR: "effect open",
}


def render_suite_arms_html(arms: SuiteArms) -> str:
    """The whole page, ending in one line feed."""
    return render_page(
        ARMS_PAGE,
        title="ESAC-AG: instruction bundles beside the control",
        arms=arms,
        tones=_TONES,
        comparison_table=comparison_table,
        side_words=side_words,
    )
