"""The world that items play in: a deterministic state machine of the standard library alone.

See docs/suite-world.md. The package runs from any place and under any name: it is copied into containers.
"""

from __future__ import annotations

from .catalogue import TOOLS
from .difference import diff, patch
from .machine import Reply, World, replay, step
from .snapshot import State, canonical, digest

__all__ = ["TOOLS", "Reply", "State", "World", "canonical", "diff", "digest", "patch", "replay", "step"]
