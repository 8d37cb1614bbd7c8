"""The public form of a ledger: lines as they are, and lines with something withheld.

A line of which nothing is withheld is the original's, byte for byte. One with something withheld has two keys
more: `sha256`, the digest of the original line, and `withheld`, JSON pointers of what was replaced. The next
line names that digest as its `previous`, so the chain commits to the original; what was replaced can be
compared by whoever has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue, ValidationError

from esac_ag.attempt.events import Body, Line, ShadowNoted
from esac_ag.attempt.review_events import (
    AdjudicationPrepared,
    ArmsGuessed,
    ReviewLocked,
    ReviewPrepared,
)
from esac_ag.canonical import canonical_json, loads_strict, sha256_of_bytes
from esac_ag.report.publication_view import WITHHELD, LedgerHead

FIRST: Final = "0" * 64
ADJUDICATOR: Final = "adjudicator"
_OWN_KEYS: Final = ("sha256", "withheld")
_OF_SHADOW: Final = ("task", "by", "missed")
_PSEUDONYM: Final = re.compile(rf"reviewer-[1-9]\d*|{ADJUDICATOR}")


class ChainBroken(ValueError):
    """A public ledger contradicts itself; the message tells the line and what is wrong."""


@dataclass(frozen=True, slots=True)
class PublicLedger:
    """A public ledger that was read and follows line from line."""

    bodies: tuple[Body, ...]
    head: LedgerHead
    renamed: tuple[str, ...] = ()
    """Events of lines that have pseudonyms."""


def pseudonyms(reviewers: Iterable[str], adjudicator: str | None) -> dict[str, str]:
    """Pseudonym by name of everybody who reviewed.

    Args:
        reviewers: in the order of the ledger.
        adjudicator: none where nobody adjudicated.
    """
    names = {name: f"reviewer-{number}" for number, name in enumerate(reviewers, start=1)}
    return names if adjudicator is None else names | {adjudicator: ADJUDICATOR}


def public_lines(lines: Iterable[tuple[bytes, Line]], names: Mapping[str, str]) -> Iterator[bytes]:
    """The lines of a verified ledger as they are published.

    Args:
        lines: the original's, without their ends, and what each tells.
        names: pseudonym by name of each reviewer; empty to publish names.
    """
    for raw, line in lines:
        body, pointers = _public_body(line.body, names)
        if not pointers:
            yield raw
            continue
        public = line.model_copy(update={"body": body}).model_dump(mode="json")
        yield canonical_json({**public, "sha256": sha256_of_bytes(raw), "withheld": list(pointers)})


def read_public(raws: Iterable[bytes]) -> PublicLedger:
    """Read a public ledger and follow its chain.

    Raises:
        ChainBroken: a line cannot be read, or does not follow from the one before it.
    """
    previous, withheld, bodies = FIRST, 0, []
    renamed_events: list[str] = []
    for number, raw in enumerate(raws, start=1):
        line, digest = _read(number, raw)
        withheld += digest is not None
        if line.seq != number - 1 or line.previous != previous:
            raise ChainBroken(f"line {number} does not follow from the one before it")
        previous = digest or sha256_of_bytes(raw)
        bodies.append(line.body)
        if digest is not None and not isinstance(line.body, ShadowNoted):
            renamed_events.append(line.body.event)
    head = LedgerHead(sha256=previous, lines=len(bodies), withheld_lines=withheld)
    return PublicLedger(tuple(bodies), head, tuple(renamed_events))


def _read(number: int, raw: bytes) -> tuple[Line, str | None]:
    """A line, and the digest that it claims for its original, if something is withheld."""
    try:
        value = loads_strict(raw)
        if not isinstance(value, dict):
            raise ChainBroken(f"line {number} is no event")
        claimed = value.get("sha256") if "withheld" in value else None
        event = {name: part for name, part in value.items() if name not in _OWN_KEYS}
        line = Line.model_validate_json(canonical_json(event))
    except (ValidationError, ValueError, RecursionError) as error:
        raise ChainBroken(f"line {number} cannot be read") from error
    if "withheld" in value and not isinstance(claimed, str):
        raise ChainBroken(f"line {number} withholds something and names no digest")
    if "withheld" not in value and "sha256" in value:
        raise ChainBroken(f"line {number} names a digest and withholds nothing")
    # Whatever else a line withheld could be made up freely: only the next line speaks for its digest.
    if "withheld" in value and value["withheld"] != list(_withheld_in(line.body)):
        raise ChainBroken(f"line {number} withholds what is never withheld")
    return line, claimed if isinstance(claimed, str) else None


def _withheld_in(body: Body) -> tuple[str, ...]:
    """Pointers of what a public body withholds, as its values show; nothing where it is an original."""
    match body:
        case ShadowNoted(task=task, by=by, missed=missed) if {task, by, *missed} == {WITHHELD}:
            return tuple(f"/body/{name}" for name in _OF_SHADOW)
        case ReviewPrepared(packets=packets) if all(map(_PSEUDONYM.fullmatch, packets)):
            return ("/body/packets",)
        case ReviewLocked(reviewer=name) | ArmsGuessed(reviewer=name) if _PSEUDONYM.fullmatch(name):
            return ("/body/reviewer",)
        case AdjudicationPrepared(adjudicator=name) if name == ADJUDICATOR:
            return ("/body/adjudicator",)
        case _:
            return ()


def _public_body(body: Body, names: Mapping[str, str]) -> tuple[Body, tuple[str, ...]]:
    """A body without what is withheld, and pointers to that."""
    match body:
        case ShadowNoted():
            hidden = dict(zip(_OF_SHADOW, (WITHHELD, WITHHELD, (WITHHELD,) * len(body.missed)), strict=True))
            return body.model_copy(update=hidden), tuple(f"/body/{name}" for name in hidden)
        case ReviewPrepared(packets=packets) if names:
            renamed = {names[name]: digest for name, digest in packets.items()}
            return body.model_copy(update={"packets": renamed}), ("/body/packets",)
        case ReviewLocked(reviewer=name) | ArmsGuessed(reviewer=name) if names:
            return body.model_copy(update={"reviewer": names[name]}), ("/body/reviewer",)
        case AdjudicationPrepared(adjudicator=name) if names:
            return body.model_copy(update={"adjudicator": names[name]}), ("/body/adjudicator",)
        case _:
            return body, ()


def renamed(value: JsonValue, names: Mapping[str, str]) -> JsonValue:
    """A record of a review with pseudonyms in the places that hold people's names."""
    match value:
        case dict():
            return {key: _renamed_at(key, part, names) for key, part in value.items()}
        case list():
            return [renamed(part, names) for part in value]
        case _:
            return value


def _renamed_at(key: str, value: JsonValue, names: Mapping[str, str]) -> JsonValue:
    if key in {"reviewer", "name"} and isinstance(value, str):
        return names.get(value, value)
    if key == "not_asked" and isinstance(value, list):
        return [names.get(part, part) if isinstance(part, str) else part for part in value]
    return renamed(value, names)
