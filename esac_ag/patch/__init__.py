"""What changed between two trees: a git-style patch, and figures about it.

Pure. Links are data. Cost is bounded whatever a tree holds: see `lines.LineDiffer`.
"""

from __future__ import annotations

from esac_ag.patch.statistics import DiffStatistics, diff_statistics
from esac_ag.patch.text import unified_diff

__all__ = ["DiffStatistics", "diff_statistics", "unified_diff"]
