"""Secrets that cannot be redacted, because the records themselves need them as words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import esac_ag
from esac_ag import clock
from esac_ag.artifacts.redaction import forms_of
from esac_ag.errors import UsageError
from esac_ag.rooms.trees import read_tree


def refuse_words_of_ours(secrets: Mapping[str, str], *texts: bytes) -> None:
    """Refuse a secret that stands in what ESAC-AG itself writes.

    Known secrets are replaced in everything that is written. One that is a word of the records (`completed`,
    an item's id, a tool's name, today's date) would be replaced there, too, and nobody could read or score
    them. Every such word stands in the package's source or in what the run is about. Values that are
    shorter than eight characters are place-holders and never replaced.

    Args:
        secrets: by where they come from.
        texts: what the run is about: its plan, its instances.

    Raises:
        UsageError: a secret is such a word; no message shows it.
    """
    forms = {where: found for where, secret in secrets.items() if (found := forms_of(secret))}
    if not forms:
        return
    vocabulary = b"\n".join([*package_sources(), *texts, clock.now().encode()])
    for where, looked_for in forms.items():
        if any(form in vocabulary for form in looked_for):
            raise UsageError(
                "A key or seed is a word that the records themselves need, so it cannot be kept out of them.",
                where=where,
                expected="a value that stands in no source, plan or item of the suite, such as a random one",
                found="a word of these, which is not shown",
                remedy="give another seed (esac-ag suite seed new), another key, or leave the variable unset",
            )


def package_sources() -> list[bytes]:
    """Every file of the package: all words that ESAC-AG itself can write stand in one of them."""
    package = read_tree(Path(esac_ag.__file__).parent, skip_ignored=True).tree
    return [node.data for node in package.files().values()]
