"""A served review whose submissions try to be more than text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from esac_ag.conduct.review_prepare import prepare_review
from esac_ag.pages.guard import Secrets
from esac_ag.pages.review_app import review_application
from esac_ag.pages.review_site import ReviewSite
from esac_ag.pages.serving import PageServer
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.memory_process import FakeProcess
from esac_ag.study.packets import Packet
from tests.builders_conduct import PROGRAMS, a_runnable_study, an_engine, folder_of, run
from tests.builders_review import Reviewed

HOSTILE = "<script>alert(1)</script>"
SOURCE = f'''\
def total(order: list[int]) -> int:
    """The sum. {HOSTILE}"""
    if not order:
        return 0
    label = "user\u202eadmin\u202c"  # \u0434\u043b\u044f "you" & 'me'
\treturn sum(order) + {"1" * 700}
'''
ODD_PATH = 'odd "na\'me" <b>.py'
BOOK: dict[str, Any] = {
    "format_version": 1,
    "tasks": {
        "*": {
            "plays": {
                "right": [
                    {"do": "run", "argv": ["change"]},
                    {"do": "run", "argv": ["touch", "fixed.txt"]},
                    {
                        "do": "say",
                        "text": f"I ran the tests and they pass.\n\nIt works {HOSTILE}: `verified`.",
                    },
                ],
                "wrong": [{"do": "say", "text": "It works now."}],
            },
            "arms": {"neutral": {"wrong": 1}, "careful": {"right": 1}},
        }
    },
}
"""The bundle's arm writes files of hostile text; the control changes nothing."""


def change(process: FakeProcess) -> int:
    """What the bundle's arm does to the repository."""
    process.files.write(process.path("shop.py"), SOURCE.encode())
    process.files.write(process.path(ODD_PATH), f"# {HOSTILE}\n".encode())
    process.write(HOSTILE)
    return 0


@dataclass(frozen=True, slots=True)
class ServedReview:
    """A review whose page is served."""

    reviewed: Reviewed
    server: PageServer
    secrets: Secrets
    name: str = "ada"

    @property
    def url(self) -> str:
        """Where the pages begin."""
        return self.server.url

    def packets(self) -> tuple[Packet, ...]:
        """Of the reviewer, in order."""
        return self.reviewed.desk(self.name).book.packets

    def changing(self) -> Packet:
        """The first packet that changes something."""
        return next(packet for packet in self.packets() if packet.diff)

    def client(self) -> httpx.Client:
        """Asks as the page's own forms do."""
        headers = {"origin": f"http://127.0.0.1:{self.server.port}"}
        return httpx.Client(base_url=self.url, headers=headers, trust_env=False)

    def after(self, answer: httpx.Response) -> str:
        """The page that a redirect leads to."""
        address = f"http://127.0.0.1:{self.server.port}{answer.headers['location']}"
        return httpx.get(address, trust_env=False).text


def a_review_with_hostile_text(folder: Path, **changes: Any) -> Reviewed:  # noqa: ANN401  (fields of the manifest)
    """Eight packets for each of `ada` and `ben`, half of them without a change."""
    study = a_runnable_study(folder, book=BOOK, repetitions=1, **changes)
    run(study, an_engine(programs=PROGRAMS | {"change": change}))
    reviewed = Reviewed(folder_of(study).path, Workspace(folder))
    prepare_review(reviewed.path, workspace=reviewed.workspace, reviewers=["ada", "ben"])
    return reviewed


@contextmanager
def served(reviewed: Reviewed, name: str = "ada") -> Iterator[ServedReview]:
    """The page of one person."""
    secrets = Secrets()
    site = ReviewSite(reviewed.path, name)
    with PageServer(review_application(site, secrets.csrf), secrets) as server:
        yield ServedReview(reviewed, server, secrets, name)
