"""Judging in a container of its own, and the proof that a task's checks tell right from wrong."""

from __future__ import annotations

from esac_ag.grading.grade import grade
from esac_ag.grading.patching import apply_patch
from esac_ag.grading.proof import prove
from esac_ag.grading.proof_record import ProofRecord
from esac_ag.grading.public import PublicRun, run_public_command

__all__ = ["ProofRecord", "PublicRun", "apply_patch", "grade", "prove", "run_public_command"]
