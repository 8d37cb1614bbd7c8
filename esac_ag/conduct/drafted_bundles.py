"""The bundles of a draft, as its agent would be given them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from esac_ag.agents.contract import ArmBundle
from esac_ag.errors import InputRefused
from esac_ag.manifest.draft_sections import DraftSections
from esac_ag.rooms.bundles import read_bundle
from esac_ag.rooms.freezing import kind_of_bundle


def drafted_bundles(parts: DraftSections, folder: Path) -> Iterator[tuple[int, ArmBundle]]:
    """Each bundle that can be read, with its arm's place in the draft; validation tells the others.

    Args:
        parts: of the draft.
        folder: what its paths are relative to.
    """
    for index, arm in enumerate(parts.arms or ()):
        if arm is None or arm.bundle is None:
            continue
        try:
            tree = read_bundle(folder / arm.bundle)
        except InputRefused:
            continue
        mention = arm.install.mention_in_instructions
        yield index, ArmBundle(arm.id, kind_of_bundle(tree).value, tree, mention)
