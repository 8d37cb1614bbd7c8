"""Whether the arm loses runs more often than the control."""

from __future__ import annotations

import math
from collections.abc import Sequence

from esac_ag.record import Record
from esac_ag.statistics.estimates import MaybeSignFlip, rounded
from esac_ag.statistics.pairs import TaskPair
from esac_ag.statistics.sign_flip import sign_flip_reference


class Attrition(Record):
    """Planned runs without a score, of the arm and of the control."""

    planned: int
    """Runs of each."""
    arm_missing: int
    control_missing: int
    difference_points: float
    """Percentage points of planned runs, arm minus control."""
    sign_flip: MaybeSignFlip
    """Of the tasks' differences in lost runs, the task being the unit. Runs of a task are lost together."""


def attrition(pairs: Sequence[TaskPair], seed: int) -> Attrition:
    """Lost runs compared, task by task; for at least one pair.

    What is lost unequally cannot be lost by chance alone: then the bounds matter more than the mean.

    Args:
        pairs: one per planned task.
        seed: of sign patterns that are drawn, where there are too many tasks to enumerate.
    """
    lost = [100.0 * (item.control_n - item.arm_n) / item.planned for item in pairs]
    return Attrition(
        planned=sum(item.planned for item in pairs),
        arm_missing=sum(item.planned - item.arm_n for item in pairs),
        control_missing=sum(item.planned - item.control_n for item in pairs),
        difference_points=rounded(math.fsum(lost) / len(lost)),
        sign_flip=sign_flip_reference(lost, seed),
    )
