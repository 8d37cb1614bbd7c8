"""The report on the oracle's run: what the suite's own reference policies earn, in the form of any run's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from esac_ag.report.suite_build import SuiteInputs, build_suite_view
from esac_ag.report.suite_view import SuiteDecoding, SuiteView
from esac_ag.suite.contract import Item, Tokens
from esac_ag.suite.oracle import Judge
from esac_ag.suite.pools import DatasetSeed, seed_fingerprint
from esac_ag.suite.replication import ItemResult

MODEL: Final = "none: reference policies (oracle)"
AGENT: Final = "reference policies; tokens are estimates at four characters a token"


def oracle_report(
    items: Sequence[Item],
    dataset: DatasetSeed,
    results: Sequence[ItemResult],
    *,
    judge: Judge | None,
    harness_version: str,
    started_at: str,
    ended_at: str,
) -> SuiteView:
    """The report on results of the reference policies, wherever they were played; evidence about no model.

    Args:
        items: the whole bank.
        dataset: pool and seed.
        results: of the items that were measured.
        judge: who judged.
        harness_version: version of this package.
        started_at: when it started, ISO 8601.
        ended_at: when it ended.

    Raises:
        HarnessError: the bank has drifted.
    """
    return build_suite_view(
        SuiteInputs(
            items=items,
            results=results,
            pool=dataset.pool,
            seed_fingerprint=seed_fingerprint(dataset.seed),
            seed_weak=dataset.weak,
            model=MODEL,
            agent=AGENT,
            judge=None if judge is None else judge.name,
            # Nothing was decoded, so no parameter was sent.
            decoding=SuiteDecoding(temperature=None, top_p=None),
            harness_version=harness_version,
            started_at=started_at,
            ended_at=ended_at,
            judge_tokens=Tokens(),
            cost=None,
        )
    )
