"""A script reviews in place of a person, to rehearse a review: through the same packets, forms and checks."""

from __future__ import annotations

from pathlib import Path

from esac_ag.conduct.review_desk import ReviewDesk
from esac_ag.conduct.review_exchange import take_forms
from esac_ag.record import Record
from esac_ag.study.forms import REHEARSAL, Author, AuthorKind
from esac_ag.study.scripted_review import Strictness, scripted_form


class ScriptedReview(Record):
    """What `review rehearse` did."""

    reviewer: str
    author: Author
    says: str = REHEARSAL
    """Always: a script's review is no evidence."""
    filled_in: int
    """Forms that were filled in now."""
    before: int
    """Forms that were the same already."""


def rehearse(study: Path, reviewer: str, strictness: Strictness) -> ScriptedReview:
    """Have a script fill in the forms of a reviewer's name, or of the adjudicator's.

    It gets what an export gives a person, the packets and blank forms of that name, and its forms are taken
    as an import takes a file's: each is checked, and complete ones are submitted.

    Args:
        study: the study's folder below results/.
        reviewer: a name that the review was prepared for, and whose forms nobody else began.
        strictness: of the script.

    Raises:
        UsageError: somebody else began the forms, or they are locked.
        SubstitutionRefused: something that the ledger names was changed.
    """
    desk = ReviewDesk.open(study, reviewer)
    author = Author(kind=AuthorKind.SCRIPTED, label=strictness.value)
    forms = tuple(
        scripted_form(packet, strictness, desk.book.critical_failures) for packet in desk.book.packets
    )
    taken = take_forms(desk, forms, author)
    return ScriptedReview(reviewer=reviewer, author=author, filled_in=taken.replaced, before=taken.unchanged)
