"""Two suite reports side by side."""

from __future__ import annotations

import pytest

from esac_ag.errors import InputRefused
from esac_ag.report.suite_compare import compare_reports, render_comparison_text
from esac_ag.report.suite_view import SuiteDecoding, SuiteView
from esac_ag.suite.constitution import Pool
from esac_ag.suite.contract import Tokens
from tests.builders_suite import a_bank, a_result, a_trace, a_view, results


def at_version(view: SuiteView, version: str) -> SuiteView:
    """The report as another version would have written it."""
    return view.model_copy(update={"header": view.header.model_copy(update={"suite_version": version})})


def test_figures_stand_side_by_side_with_their_difference() -> None:
    """B minus A for the total, categories, both parts of the modifier, and items."""
    found = compare_reports(a_view(), a_view(results({"code-1": 0.5})))
    assert found.warnings == ()
    assert found.total.a == 75.0
    assert found.total.b == pytest.approx(72.25)
    code = next(row for row in found.categories if row.name.startswith("Code"))
    assert (code.a, code.b, code.difference) == (15.0, 12.5, -2.5)
    assert next(row for row in found.items if row.name == "code-1").difference == -2.5
    assert [row.name for row in found.modifier] == ["Efficiency: action", "Efficiency: tokens"]
    text = render_comparison_text(found)
    assert text.splitlines()[0].startswith(
        "A: PASS  made-up/model-1 (chat agent 1), public pool, ESAC-AG v1.0"
    )
    assert "-2.50" in text


@pytest.mark.parametrize("version", ["ESAC-AG v2.0", "ESAC-GI v1.0", "nonsense"])
def test_reports_of_another_major_version_or_suite_are_refused(version: str) -> None:
    """Scores are never comparable across them."""
    with pytest.raises(InputRefused) as caught:
        compare_reports(a_view(), at_version(a_view(), version))
    assert caught.value.exit_code == 1


def test_a_minor_version_is_compared_with_a_warning() -> None:
    """Minor releases preserve the measurement."""
    found = compare_reports(a_view(), at_version(a_view(), "ESAC-AG v1.3"))
    assert found.warnings == ("The minor versions differ: ESAC-AG v1.0 and ESAC-AG v1.3.",)


def test_another_implementation_or_another_bank_is_warned_of() -> None:
    """Only items of both reports are compared."""
    one = a_view()
    header = one.header.model_copy(update={"harness_version": "0.2.0"})
    other = one.model_copy(update={"header": header, "items": one.items[1:]})
    found = compare_reports(one, other)
    assert found.warnings == (
        "The implementations differ: esac-ag 0.1.0 and 0.2.0.",
        "The items or their points differ; only items of both reports are compared.",
    )
    assert len(found.items) == 22


def test_other_seeds_pools_judges_and_decoding_are_warned_of() -> None:
    """Each difference in conditions is named."""
    other = a_view(
        pool=Pool.HELD_OUT,
        fingerprint="0" * 64,
        judge="other/judge",
        decoding=SuiteDecoding(temperature=1, top_p=1),
    )
    warnings = "\n".join(compare_reports(a_view(), other).warnings)
    for words in ("pools differ", "seeds differ", "judges differ", "decoding parameters differ", "B is not"):
        assert words in warnings
    assert "B has no final result: NOT VALID." in warnings


def test_another_reasoning_effort_or_time_is_warned_of() -> None:
    """Reasoning is part of the model; less time also makes a run not strictly comparable."""
    found = compare_reports(a_view(), a_view(reasoning="low", wall_clock_s=600.0))
    assert found.warnings == (
        "The reasoning efforts differ: not set and low.",
        "The times per run differ: 1800 s and 600 s.",
        "B is not strictly comparable: its runs had less time than the suite gives.",
    )


def test_what_is_missing_has_no_difference() -> None:
    """An incomplete category, the total of an incomplete run, and an unavailable token part."""
    found = compare_reports(a_view(), a_view(results(without=["state-1"])))
    state = next(row for row in found.categories if row.name.startswith("State"))
    assert (state.a, state.b, state.difference) == (10.0, None, None)
    assert found.total.b is None
    assert next(row for row in found.items if row.name == "state-1").b is None
    line = next(line for line in render_comparison_text(found).splitlines() if line.startswith("State"))
    assert "missing" in line
    assert "0.00 " not in line.replace("10.00 ", "")

    unknown = a_result(a_bank()[0], trace=a_trace(tokens=Tokens()))
    found = compare_reports(a_view(), a_view([unknown, *results(without=["tool-call-1"])]))
    assert found.modifier[1].b is None
    assert found.total.difference is None


def test_foreign_text_of_a_report_cannot_move_the_terminal() -> None:
    """A report is a file from anywhere."""
    text = render_comparison_text(compare_reports(a_view(), a_view(model="\x1b[2Jevil\u202e")))
    assert "\x1b" not in text
    assert "\\x1b[2Jevil\\u202e" in text
