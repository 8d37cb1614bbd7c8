"""Options that commands of the suite share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class PoolName(StrEnum):
    """Names of the pools, without importing the suite."""

    PUBLIC = "public"
    HELD_OUT = "held-out"


PoolOption = Annotated[PoolName, typer.Option("--pool", help="Which seed the instances are drawn from.")]
SeedOption = Annotated[
    str | None,
    typer.Option(
        "--seed",
        help="Held-out seed; by default ESAC_HELD_OUT_SEED, then .heldout/seed.",
        show_default=False,
    ),
]
