"""Pools and seeds: which instances a run sees, and what a report may say of it.

The public seed is disclosed; a held-out seed belongs to the evaluator, is never printed and never committed.
An instance depends on the dataset seed and the item's id only: never on the run, the time or the model.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Final, assert_never

from esac_ag.clock import Seeds
from esac_ag.errors import UsageError
from esac_ag.record import Sha256
from esac_ag.suite.constitution import PUBLIC_SEED, Pool
from esac_ag.suite.contract import Instance, Item

CANARY: Final = "ESAC-AG-CANARY-7c1de0a4-52b8-4f0e-9a63-d1f08b6e2c95"
"""Stands in every public item file and public report: whoever filters training data can grep for it."""

ENVIRONMENT_NAME: Final = "ESAC_HELD_OUT_SEED"
FILE_NAME: Final = ".heldout/seed"

WEAK_LENGTH: Final = 32
"""Held-out seeds that are shorter could be guessed, whatever the fingerprint costs; ours have 256 bits."""

_INSTANCE: Final = b"esac-ag instance v1\0"
_FINGERPRINT: Final = b"esac-ag seed fingerprint v1\0"
_ROUNDS: Final = 200_000
"""Of PBKDF2: makes guessing a seed that a person chose cost a tenth of a second per guess."""


class SeedSource(StrEnum):
    """Where a dataset seed came from."""

    BUILT_IN = "built-in"
    FLAG = "--seed"
    ENVIRONMENT = ENVIRONMENT_NAME
    FILE = FILE_NAME


@dataclass(frozen=True, slots=True)
class DatasetSeed:
    """One pool and its seed; the seed does not show in its representation."""

    pool: Pool
    source: SeedSource
    seed: str = field(repr=False)

    @property
    def weak(self) -> bool:
        """Whether a held-out seed is short enough to be guessed."""
        return self.pool is Pool.HELD_OUT and len(self.seed) < WEAK_LENGTH


def resolve_seed(pool: Pool, *, flag: str | None, environment: str | None, file: str | None) -> DatasetSeed:
    """The dataset seed of a run: for the held-out pool `--seed`, then the environment, then the file.

    Args:
        pool: the pool that was asked for.
        flag: value of `--seed`; none when it was not given.
        environment: value of `ESAC_HELD_OUT_SEED`; an empty one counts as none.
        file: content of `.heldout/seed`; none when there is no such file.

    Raises:
        UsageError: there is no seed, or one that cannot be the held-out one.
    """
    match pool:
        case Pool.PUBLIC:
            if flag not in (None, PUBLIC_SEED):
                raise UsageError(
                    "The public pool has one seed, which is part of the suite's version.",
                    where="--seed",
                    expected=PUBLIC_SEED,
                    remedy="Leave --seed away, or run the held-out pool with it: --pool held-out.",
                )
            return DatasetSeed(pool, SeedSource.BUILT_IN, PUBLIC_SEED)
        case Pool.HELD_OUT:
            return _held_out(flag, environment, file)
        case _:
            assert_never(pool)


def instance_seeds(dataset_seed: str, item_id: str) -> Seeds:
    """The random streams of one item's instance, from the dataset seed and the item's id only."""
    return Seeds(keyed(dataset_seed, _INSTANCE + item_id.encode("utf-8", "surrogatepass")))


@lru_cache(maxsize=8)
def seed_fingerprint(dataset_seed: str) -> Sha256:
    """A name for a seed that reports may carry: the same for the same seed, and no way back.

    HMAC-SHA256 under a key that PBKDF2-HMAC-SHA256 stretches from the seed, with a domain of its own, so that
    neither the seed nor any instance's streams follow from it. A seed with little entropy can still be found
    by trying, slowly; `DatasetSeed.weak` tells which.
    """
    key = hashlib.pbkdf2_hmac("sha256", _bytes(dataset_seed), _FINGERPRINT, _ROUNDS)
    return hmac.new(key, _FINGERPRINT, hashlib.sha256).hexdigest()


def _held_out(flag: str | None, environment: str | None, file: str | None) -> DatasetSeed:
    if flag is not None:
        return _checked(flag, SeedSource.FLAG)
    if environment:
        return _checked(environment, SeedSource.ENVIRONMENT)
    if file is not None:
        return _checked(file.removesuffix("\n").removesuffix("\r"), SeedSource.FILE)
    raise UsageError(
        "There is no held-out seed; the run does not start, for a run nobody can repeat is worth nothing.",
        expected=f"--seed, {ENVIRONMENT_NAME} or {FILE_NAME}, looked up in this order",
        found="none of them",
        remedy="Make one with: esac-ag suite seed new",
    )


def _checked(seed: str, source: SeedSource) -> DatasetSeed:
    # The seed itself stays out of every message.
    if seed == PUBLIC_SEED:
        raise UsageError(
            "The held-out seed is the public one.",
            where=source,
            expected="a seed that is not disclosed",
            remedy="Make one with: esac-ag suite seed new",
        )
    if not seed or seed != seed.strip() or not seed.isprintable():
        raise UsageError(
            "The held-out seed is not usable.",
            where=source,
            expected="one line of printable characters without white space around it",
            found="something else, which is not shown",
            remedy="Correct it, or make one with: esac-ag suite seed new",
        )
    return DatasetSeed(Pool.HELD_OUT, source, seed)


def keyed(seed: str, message: bytes) -> str:
    """HMAC-SHA256 of a message under a dataset seed, as hexadecimal digits: from it no way leads back."""
    # Hashed first: HMAC pads short keys with zeros and hashes long ones, so raw seeds could collide.
    return hmac.new(hashlib.sha256(_bytes(seed)).digest(), message, hashlib.sha256).hexdigest()


def _bytes(seed: str) -> bytes:
    return seed.encode("utf-8", "surrogatepass")


def instance_of(item: Item, dataset_seed: str) -> Instance:
    """The item's instance under a dataset seed."""
    return item.generate(instance_seeds(dataset_seed, item.id))
