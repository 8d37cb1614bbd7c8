"""Several refusals told as one, so that a person can put all of it right at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from esac_ag.errors import HarnessError, InfrastructureFailure, InputRefused, UsageError


@dataclass(slots=True)
class Faults:
    """Takes in refusals, so that one does not hide the others."""

    found: list[HarnessError] = field(default_factory=list)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Keep a refusal that is raised inside the block, and go on behind it."""
        try:
            yield
        except HarnessError as error:
            self.found.append(error)

    def refuse(self) -> None:
        """Refuse if there is anything.

        Raises:
            HarnessError: the only one as it is; of several, one that lists them all, of the kind to be put
                right first.
        """
        if len(self.found) == 1:
            raise self.found[0]
        if not self.found:
            return
        kinds = (UsageError, InputRefused, InfrastructureFailure)
        kind = next(
            (kind for kind in kinds if any(isinstance(one, kind) for one in self.found)), HarnessError
        )
        lines = "\n".join(f"- {error}" for error in self.found).replace("\n", "\n  ")
        raise kind(f"{len(self.found)} things are in the way of the comparison:\n  {lines}")
