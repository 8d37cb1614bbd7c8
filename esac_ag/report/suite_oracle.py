"""The report on the oracle's run: what the suite's own reference policies earn, in the form of any run's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from esac_ag.report.suite_build import SuiteInputs, build_suite_view
from esac_ag.report.suite_view import SuiteDecoding, SuiteView
from esac_ag.suite.contract import Item, Tokens
from esac_ag.suite.oracle import IN_MEMORY, Helpers, oracle_results
from esac_ag.suite.pools import DatasetSeed, seed_fingerprint

MODEL: Final = "none: reference policies (oracle)"
AGENT: Final = "reference policies in memory; tokens are estimates at four characters a token"


def oracle_view(
    items: Sequence[Item],
    dataset: DatasetSeed,
    *,
    harness_version: str,
    started_at: str,
    ended_at: str,
    helpers: Helpers = IN_MEMORY,
    judge: str | None = None,
) -> SuiteView:
    """Play every reference policy that can be played and report on it; evidence about no model.

    Args:
        items: the whole bank.
        dataset: pool and seed.
        harness_version: version of this package.
        started_at: when it started, ISO 8601.
        ended_at: when it ended.
        helpers: who runs programs and who judges; without them their items did not run.
        judge: name of the judge among the helpers.

    Raises:
        HarnessError: the bank has drifted.
    """
    return build_suite_view(
        SuiteInputs(
            items=items,
            results=oracle_results(items, dataset.seed, helpers),
            pool=dataset.pool,
            seed_fingerprint=seed_fingerprint(dataset.seed),
            seed_weak=dataset.weak,
            model=MODEL,
            agent=AGENT,
            judge=judge,
            # Nothing was decoded, so no parameter was sent.
            decoding=SuiteDecoding(temperature=None, top_p=None),
            harness_version=harness_version,
            started_at=started_at,
            ended_at=ended_at,
            judge_tokens=Tokens(),
            cost=None,
        )
    )
