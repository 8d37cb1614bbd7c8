"""Pools and seeds: who may see what, and that nothing leads back to a seed."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from esac_ag.errors import UsageError
from esac_ag.suite.constitution import PUBLIC_SEED, Pool
from esac_ag.suite.pools import (
    CANARY,
    DatasetSeed,
    SeedSource,
    instance_seeds,
    resolve_seed,
    seed_fingerprint,
)

SECRET = "7f" * 32


def held_out(flag: str | None = None, environment: str | None = None, file: str | None = None) -> DatasetSeed:
    """Resolve the held-out pool's seed."""
    return resolve_seed(Pool.HELD_OUT, flag=flag, environment=environment, file=file)


def test_the_public_pool_has_the_disclosed_seed_whatever_lies_around() -> None:
    """Neither the environment nor the file moves it."""
    found = resolve_seed(Pool.PUBLIC, flag=None, environment=SECRET, file=SECRET)
    assert (found.seed, found.source) == (PUBLIC_SEED, SeedSource.BUILT_IN)


def test_the_public_pool_refuses_another_seed() -> None:
    """A run is one pool with one seed; the refusal does not repeat what was given."""
    with pytest.raises(UsageError) as caught:
        resolve_seed(Pool.PUBLIC, flag=SECRET, environment=None, file=None)
    assert SECRET not in str(caught.value)
    assert "--pool held-out" in caught.value.remedy
    assert resolve_seed(Pool.PUBLIC, flag=PUBLIC_SEED, environment=None, file=None).seed == PUBLIC_SEED


def test_the_held_out_seed_comes_from_the_flag_then_the_environment_then_the_file() -> None:
    """The first that is there wins."""
    assert held_out("f" * 40, "e" * 40, "d" * 40) == DatasetSeed(Pool.HELD_OUT, SeedSource.FLAG, "f" * 40)
    assert held_out(None, "e" * 40, "d" * 40).source is SeedSource.ENVIRONMENT
    assert held_out(None, "", "d" * 40 + "\n") == DatasetSeed(Pool.HELD_OUT, SeedSource.FILE, "d" * 40)
    assert held_out(None, None, "d" * 40 + "\r\n").seed == "d" * 40


def test_without_any_held_out_seed_the_run_refuses_to_start_and_says_why() -> None:
    """A run that nobody can repeat is worth nothing; usage errors are never a result."""
    with pytest.raises(UsageError) as caught:
        held_out()
    assert caught.value.exit_code == 64
    text = str(caught.value)
    assert all(
        name in text for name in ("--seed", "ESAC_HELD_OUT_SEED", ".heldout/seed", "nobody can repeat")
    )


@pytest.mark.parametrize("seed", ["", " ", " padded", "two\nlines", "bell\x07", PUBLIC_SEED])
def test_a_seed_that_cannot_be_the_held_out_one_is_refused_without_being_shown(seed: str) -> None:
    """Empty, padded, of several lines, or the public one."""
    with pytest.raises(UsageError) as caught:
        held_out(seed)
    assert not seed.strip() or seed == PUBLIC_SEED or seed.strip() not in str(caught.value)


def test_a_file_that_is_empty_is_refused_rather_than_skipped() -> None:
    """The evaluator meant to give a seed."""
    with pytest.raises(UsageError):
        held_out(None, None, "\n")


def test_a_seed_does_not_show_in_its_representation() -> None:
    """A traceback or a log line tells the pool and the source only."""
    found = held_out(SECRET)
    assert SECRET not in repr(found)
    assert SECRET not in str(found)


def test_a_short_held_out_seed_is_called_weak() -> None:
    """It could be guessed from its fingerprint; the public one is no secret."""
    assert held_out("winter-2026").weak
    assert not held_out(SECRET).weak
    assert not resolve_seed(Pool.PUBLIC, flag=None, environment=None, file=None).weak


def test_an_instance_depends_on_dataset_seed_and_item_only() -> None:
    """The same pair gives the same streams for ever; each part changes them."""
    same = instance_seeds(SECRET, "code-1")
    assert same == instance_seeds(SECRET, "code-1")
    others = [
        instance_seeds(SECRET, "code-2"),
        instance_seeds(SECRET + "0", "code-1"),
        instance_seeds(PUBLIC_SEED, "code-1"),
    ]
    assert len({one.root for one in [same, *others]}) == 4
    assert SECRET not in same.root


def test_seeds_that_differ_by_padding_or_length_do_not_collide() -> None:
    """HMAC pads and hashes its keys; ours are hashed before."""
    long = "x" * 65
    seeds = ["a", "a\0", long, hashlib.sha256(long.encode()).digest().decode("latin-1")]
    assert len({instance_seeds(seed, "code-1").root for seed in seeds}) == 4


def test_a_fingerprint_names_a_seed_and_is_no_simple_hash_of_it() -> None:
    """The same for the same seed, 256 bits, and neither a plain digest nor related to any instance."""
    found = seed_fingerprint(SECRET)
    assert found == seed_fingerprint(SECRET) != seed_fingerprint(SECRET[:-1] + "e")
    assert len(found) == 64
    plain = hashlib.sha256(SECRET.encode()).hexdigest()
    keyed = hmac.new(SECRET.encode(), b"esac-ag seed fingerprint v1\0", hashlib.sha256).hexdigest()
    assert found not in {plain, keyed, instance_seeds(SECRET, "").root}
    assert SECRET not in found


def test_the_fingerprint_of_the_public_seed_never_changes() -> None:
    """Reports of different machines and versions compare by it."""
    assert seed_fingerprint(PUBLIC_SEED) == "0ca40b32fa70ca94a490069c22f568b15d3fb5cee58245004b252360c6a62996"
    assert (
        instance_seeds(PUBLIC_SEED, "code-1").root
        == "0323d142432c0a02e69389d511614d262094e765d23c34ab6ede7a8ab51298bc"
    )


def test_the_canary_can_be_found_by_a_plain_search() -> None:
    """One token of printable characters without white space, unlike any word."""
    assert CANARY.startswith("ESAC-AG-CANARY-")
    assert CANARY.isascii()
    assert len(CANARY.split()) == 1
