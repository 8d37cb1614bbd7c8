"""Usage and cost: sums are exact, and what is unknown in one part is unknown in the whole."""

from __future__ import annotations

import pytest

from esac_ag.attempt import LimitKind, Usage
from esac_ag.attempt.metering import Meter, cost_of, total
from esac_ag.manifest.plan import Limits, TokenPrice

USED = Usage(model_calls=1, input_tokens=1_000_000, cached_input_tokens=400_000, output_tokens=100_000)


@pytest.mark.parametrize(
    ("usage", "price", "cost"),
    [
        (USED, TokenPrice(input=10.0, cached_input=1.0, output=50.0), 6.0 + 0.4 + 5.0),
        (USED, TokenPrice(input=10.0, output=50.0), None),
        (USED, TokenPrice(input=10.0, cached_input=1.0), None),
        (USED, TokenPrice(input=10.0, cached_input=1.0, cache_write=2.0, output=50.0), None),
        (USED, None, None),
        (Usage(input_tokens=1_000_000, output_tokens=0), TokenPrice(input=10.0), 10.0),
        (Usage(input_tokens=1_000_000, output_tokens=0), TokenPrice(input=10.0, cached_input=1.0), None),
        (Usage(output_tokens=5), TokenPrice(input=1.0, output=1.0), None),
        (Usage(), TokenPrice(input=1.0, output=1.0), None),
        (
            Usage(input_tokens=1_000_000, cached_input_tokens=0, cache_write_tokens=500_000, output_tokens=0),
            TokenPrice(input=10.0, cache_write=12.0, output=1.0),
            5.0 + 6.0,
        ),
    ],
)
def test_cost_is_exact_or_unknown(usage: Usage, price: TokenPrice | None, cost: float | None) -> None:
    """A price or a count that is missing makes the cost unknown, never cheaper."""
    assert cost_of(usage, price) == (None if cost is None else pytest.approx(cost))


def test_sums_keep_the_unknown() -> None:
    """Known plus unknown is unknown; the first usage is taken as it is."""
    assert total(None, USED) == USED
    both = total(USED, Usage(model_calls=1, input_tokens=1, output_tokens=2))
    assert (both.model_calls, both.input_tokens, both.output_tokens) == (2, 1_000_001, 100_002)
    assert both.cached_input_tokens is None


def test_a_meter_without_a_call_knows_no_tokens_and_finds_no_fault() -> None:
    """Before the first reply nothing is used up, and nothing is unmetered either."""
    meter = Meter(Limits(turns=1, input_tokens=1, output_tokens=1), None)
    assert (meter.used_up(), meter.unmetered()) == (None, None)
    assert meter.usage == Usage()


def test_a_meter_tells_which_budget_it_cannot_enforce() -> None:
    """An unknown count matters only under a limit."""
    meter = Meter(Limits(turns=None, output_tokens=10), None)
    meter.add_reply(Usage(model_calls=1, input_tokens=5))
    assert meter.unmetered() is LimitKind.OUTPUT_TOKENS
    free = Meter(Limits(), None)
    free.add_reply(Usage(model_calls=1))
    assert free.unmetered() is None
