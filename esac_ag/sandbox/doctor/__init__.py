"""What is there and what takes effect: every line ok, warning or failure, with a remedy.

Limits are proved by containers made exactly as a run's are, never taken from the engine's settings.
"""

from __future__ import annotations

from esac_ag.sandbox.doctor.examination import examine
from esac_ag.sandbox.doctor.findings import Check, DoctorReport, Status

__all__ = ["Check", "DoctorReport", "Status", "examine"]
