"""Applying an author's patch."""

from __future__ import annotations

import pytest

from esac_ag.errors import InputRefused
from esac_ag.grading import apply_patch
from esac_ag.grading.patching import make_patch
from esac_ag.patch import unified_diff
from tests.builders_grading import SNAPSHOT, a_submission


def test_a_patch_against_the_snapshot_gives_the_reference() -> None:
    """Nothing but the patched files changes."""
    patch = unified_diff(SNAPSHOT, a_submission())
    patched = apply_patch(SNAPSHOT, patch)
    assert patched.files() == a_submission().files()


@pytest.mark.parametrize(
    "patch",
    [
        b"nothing\n",
        b"--- a/missing\n+++ b/missing\n@@ -1 +1 @@\n-x\n+y\n",
        b"--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-other\n+y\n",
        b"--- /dev/null\n+++ b/../../escape\n@@ -0,0 +1 @@\n+y\n",
    ],
)
def test_a_patch_that_does_not_apply_is_refused_with_gits_reason(patch: bytes) -> None:
    """Never half a patch, and never outside of the tree."""
    with pytest.raises(InputRefused) as refused:
        apply_patch(SNAPSHOT, patch)
    assert refused.value.found


def test_a_git_that_does_not_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """An imported task may bring any trees along; that git is slow with them is no fault of the harness."""
    monkeypatch.setattr("esac_ag.grading.patching._TIMEOUT_S", 1e-6)
    with pytest.raises(InputRefused, match="cannot compare") as refused:
        make_patch(SNAPSHOT, a_submission())
    assert "did not end" in refused.value.found
