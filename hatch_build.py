"""Put the content rooms into the wheel, so that `esac-ag init` works without a checkout."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOMS = ("arms", "docs", "graders", "manifests", "runner", "tasks")


class RoomsHook(BuildHookInterface[Any]):
    """Adds the rooms to ordinary wheels only: an editable install finds them in the checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Map each room to `esac_ag/_rooms/<room>` unless the build is editable."""
        if version != "editable":
            build_data["force_include"].update({room: f"esac_ag/_rooms/{room}" for room in ROOMS})
