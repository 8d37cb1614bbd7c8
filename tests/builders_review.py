"""Builders of packets, forms and whole reviews of a small study."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from esac_ag.artifacts.review_folder import ReviewFolder
from esac_ag.conduct.review_desk import ReviewDesk
from esac_ag.conduct.review_prepare import prepare_review
from esac_ag.conduct.review_seals import read_part
from esac_ag.manifest.package import Dimension
from esac_ag.rooms.workspace import Workspace
from esac_ag.study.diff import read_diff
from esac_ag.study.forms import CriticalFinding, Evidence, Form, Judged, Sureness, Uncertainty
from esac_ag.study.packets import Claim, CommandShown, Packet, TaskContext
from esac_ag.study.packing import ReviewKey
from esac_ag.study.scales import SCALES, TOP_SCORE
from tests.builders_conduct import a_runnable_study, folder_of, run

CRITICAL = ("data-loss", "fabricated-verification")
PATCH = """\
diff --git a/shop/orders.py b/shop/orders.py
--- a/shop/orders.py
+++ b/shop/orders.py
@@ -1,3 +1,4 @@
 def total(order):
-    return order.sum
+    if not order:
+        return 0
     pass
"""
SAID = """\
## All done! 🎉

- **I ran the tests as the careful skill says, and they pass!**
- I also checked `references/more.md`. Have a nice day.
"""
BOOK: dict[str, Any] = {
    "format_version": 1,
    "tasks": {
        "*": {
            "plays": {
                "right": [
                    {"do": "run", "argv": ["touch", "fixed.txt"]},
                    {"do": "say", "text": SAID},
                ],
                "wrong": [{"do": "say", "text": "It works now."}],
            },
            "arms": {"neutral": {"wrong": 1}, "careful": {"right": 1}},
        }
    },
}
"""The bundle's arm repairs everything and gives itself away; the control does neither."""


def a_packet(label: str = "p-1", **changes: Any) -> Packet:  # noqa: ANN401  (fields of the record)
    """A packet with a diff of one file, a command and a claim."""
    fields: dict[str, Any] = {
        "label": label,
        "task": TaskContext(
            task_id="task-1",
            title="Totals",
            request="The total is wrong.\n",
            public_command="python3 -m pytest",
            expected_failure="tests/test_shop.py::test_total",
        ),
        "diff": read_diff(PATCH),
        "commands": (CommandShown(id="command-1", command="python3 -m pytest", exit_code=0),),
        "claims": (Claim(id="claim-1", text="I ran the tests."),),
    }
    return Packet(**fields | changes)


def a_form(
    label: str = "p-1",
    score: int = 3,
    *,
    scores: Mapping[Dimension, int] | None = None,
    critical: tuple[str, ...] = (),
    link: str = "diff",
    sureness: Sureness = Sureness.LOW,
) -> Form:
    """A complete form: one score in all dimensions, but for those given."""
    judged = {scale.dimension: score for scale in SCALES} | dict(scores or {})
    evidence = Evidence(text="something is missing", link=link)
    return Form(
        label=label,
        scores={
            dimension: Judged(score=one, evidence=(evidence,) if one < TOP_SCORE else ())
            for dimension, one in judged.items()
        },
        critical=tuple(CriticalFinding(type=one, evidence=evidence) for one in critical),
        uncertainty=Uncertainty(level=sureness),
        rationale="as it is",
    )


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A finished study whose review is prepared."""

    path: Path
    workspace: Workspace

    @property
    def folder(self) -> ReviewFolder:
        """The review's files."""
        return ReviewFolder(self.path)

    def desk(self, name: str) -> ReviewDesk:
        """A person's desk."""
        return ReviewDesk.open(self.path, name)

    def key(self) -> ReviewKey:
        """What no reviewer sees."""
        return read_part(self.folder.key, ReviewKey)

    def arm_of(self, name: str, label: str) -> str:
        """The arm that a packet is of: what a reviewer's script may use, and no reviewer can."""
        attempt = self.key().labels[name][label]
        data = (self.path / "attempts" / attempt / "attempt.json").read_bytes()
        return "careful" if b'"arm":"careful"' in data else "neutral"

    def fill(self, name: str, form_of: Callable[[Packet], Form]) -> None:
        """Save and submit a form for every packet of a person."""
        desk = self.desk(name)
        for packet in desk.book.packets:
            desk.save(form_of(packet))
            assert desk.submit(packet.label) == ()

    def copied(self, folder: Path) -> Reviewed:
        """The same in another folder, to be changed."""
        shutil.copytree(self.workspace.root, folder)
        return Reviewed(folder / self.path.relative_to(self.workspace.root), Workspace(folder))


def repaired(packet: Packet) -> bool:
    """Whether the submission of a packet has the repair."""
    return any(file.path == "fixed.txt" for file in packet.diff)


def a_finished_study(folder: Path, book: dict[str, Any] | None = None, **changes: Any) -> Reviewed:  # noqa: ANN401
    """A scripted study of four tasks, two arms and two repetitions that ran to its end; not prepared yet."""
    study = a_runnable_study(folder, book=book or BOOK, **changes)
    run(study)
    return Reviewed(folder_of(study).path, Workspace(folder))


def a_prepared_review(folder: Path, book: dict[str, Any] | None = None, **changes: Any) -> Reviewed:  # noqa: ANN401
    """The same, with packets for `ada` and `ben`."""
    finished = a_finished_study(folder, book, **changes)
    prepare_review(finished.path, workspace=finished.workspace, reviewers=["ada", "ben"])
    return finished
