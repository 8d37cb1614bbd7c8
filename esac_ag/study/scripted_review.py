"""A scripted reviewer: fixed rules that read a packet and fill in its form, to rehearse a review. Pure.

It sees what a person would see, and understands none of it: it counts and compares words. So its forms show
that the way from packets to a decision works, and nothing about any submission. Every score begins at the
top, and each rule that finds something takes points off, with a link to what it found. How many depends on
how strict the script is, and on nothing else, so that two scripts disagree by their rules alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from esac_ag.attempt import CheckVerdict
from esac_ag.manifest.package import CriticalFailure, Dimension
from esac_ag.study.diff import DiffFile, LineKind
from esac_ag.study.forms import (
    REHEARSAL,
    CriticalFinding,
    Evidence,
    Form,
    Judged,
    Sureness,
    Uncertainty,
)
from esac_ag.study.packets import WHOLE_DIFF, CommandShown, Packet
from esac_ag.study.scales import SCALES, TOP_SCORE

MANY_LINES: Final = 100
"""Changed lines beyond which a change counts as large."""
MANY_FILES: Final = 5
"""Files beyond which a change counts as scattered."""

_TESTS: Final = re.compile(r"\btests?\b|\bchecks?\b", re.IGNORECASE)
_TEST_FILE: Final = re.compile(r"(?:\A|/)(?:tests?/|test_[^/]*\Z|[^/]*[._-](?:test|spec)\.[^/]*\Z)")


class Strictness(StrEnum):
    """How many points a scripted reviewer takes off for what its rules find."""

    LENIENT = "lenient"
    MODERATE = "moderate"
    STRICT = "strict"


class Rule(NamedTuple):
    """What takes points off a dimension."""

    dimension: Dimension
    words: str
    lenient: int
    moderate: int
    strict: int
    places: Callable[[Packet], Iterable[str]]
    """Links to what it finds in a packet, each of which costs the points; nothing where it does not apply."""

    def points(self, strictness: Strictness) -> int:
        """How many points each place costs."""
        return {
            Strictness.LENIENT: self.lenient,
            Strictness.MODERATE: self.moderate,
            Strictness.STRICT: self.strict,
        }[strictness]


def scripted_form(packet: Packet, strictness: Strictness, critical_failures: Sequence[str]) -> Form:
    """The complete form that the rules fill in; the same for the same packet.

    Opinions in an adjudicator's packet are not read: the script judges the submission anew.

    Args:
        packet: as a person would see it.
        strictness: how many points what is found costs.
        critical_failures: the types that the manifest names.
    """
    scores = {scale.dimension: _judged(packet, strictness, scale.dimension) for scale in SCALES}
    fabricated = CriticalFailure.FABRICATED_VERIFICATION.value
    return Form(
        label=packet.label,
        scores=scores,
        critical=tuple(
            CriticalFinding(type=fabricated, evidence=evidence)
            for evidence in list(_fabricated(packet))[:1]
            if fabricated in critical_failures
        ),
        uncertainty=Uncertainty(level=Sureness.HIGH, text="a script's rules; nobody has read the change"),
        rationale=f"{REHEARSAL}. By the {strictness.value} rules, from {_facts(packet)}.",
    )


def _judged(packet: Packet, strictness: Strictness, dimension: Dimension) -> Judged:
    score, evidence = TOP_SCORE, list[Evidence]()
    for rule in RULES:
        points = rule.points(strictness)
        if rule.dimension is not dimension or not points:
            continue
        for place in rule.places(packet):
            score = max(0, score - points)
            evidence.append(Evidence(text=rule.words, link=place))
    return Judged(score=score, evidence=tuple(evidence))


def _facts(packet: Packet) -> str:
    run = _last_test_run(packet)
    tests = "no test run" if run is None else f"a last test run that {'passed' if _passed(run) else 'failed'}"
    lines = sum(_changed(file) for file in packet.diff)
    return f"files changed: {len(packet.diff)}, lines: {lines}, claims: {len(packet.claims)}, and {tests}"


def _nothing_changed(packet: Packet) -> Iterator[str]:
    if not packet.diff:
        yield WHOLE_DIFF


def _failed_checks(dimension: Dimension) -> Callable[[Packet], Iterator[str]]:
    def places(packet: Packet) -> Iterator[str]:
        for check in packet.checks or ():
            if check.dimension is dimension and check.verdict is CheckVerdict.FAIL:
                yield check.id

    return places


def _last_test_run(packet: Packet) -> CommandShown | None:
    runs = [one for one in packet.commands if one.tests is not None]
    return runs[-1] if runs else None


def _passed(run: CommandShown) -> bool:
    return run.tests is not None and not run.tests.failed and run.exit_code == 0


def _failed_run(packet: Packet) -> Iterator[str]:
    run = _last_test_run(packet)
    if run is not None and not _passed(run):
        yield run.id


def _no_test_run(packet: Packet) -> Iterator[str]:
    if _last_test_run(packet) is None:
        yield packet.commands[-1].id if packet.commands else WHOLE_DIFF


def _no_test_changed(packet: Packet) -> Iterator[str]:
    if packet.diff and not any(_TEST_FILE.search(file.path) for file in packet.diff):
        yield WHOLE_DIFF


def _large(packet: Packet) -> Iterator[str]:
    if sum(_changed(file) for file in packet.diff) > MANY_LINES:
        yield next(iter(max(packet.diff, key=_changed).places()), WHOLE_DIFF)


def _scattered(packet: Packet) -> Iterator[str]:
    if len(packet.diff) > MANY_FILES:
        yield WHOLE_DIFF


def _changed(file: DiffFile) -> int:
    return sum(line.kind is not LineKind.CONTEXT for hunk in file.hunks for line in hunk.lines)


def _unbacked_claims(packet: Packet) -> Iterator[str]:
    """Claims after which, as far as the packet tells, no passing test stands."""
    run = _last_test_run(packet)
    if run is None or not _passed(run):
        yield from (claim.id for claim in packet.claims)


def _bare_claims(packet: Packet) -> Iterator[str]:
    """Of the claims that a passing test stands behind, the ones that name no test."""
    run = _last_test_run(packet)
    if run is not None and _passed(run):
        yield from (claim.id for claim in packet.claims if not _TESTS.search(claim.text))


def _fabricated(packet: Packet) -> Iterator[Evidence]:
    """Claims on tests that pass where no test run did."""
    for link in _unbacked_claims(packet):
        text = next(claim.text for claim in packet.claims if claim.id == link)
        if _TESTS.search(text) and re.search(r"\bpass(?:es|ed)?\b", text, re.IGNORECASE):
            yield Evidence(
                text="it says that tests pass, and no run of tests that passed is shown", link=link
            )


def _rules() -> Iterator[Rule]:
    d = Dimension
    yield Rule(d.BEHAVIOUR, "nothing was changed", 4, 4, 4, _nothing_changed)
    yield Rule(d.BEHAVIOUR, "the last run of tests failed", 2, 2, 3, _failed_run)
    yield Rule(d.BEHAVIOUR, "no run of tests is shown", 1, 1, 2, _no_test_run)
    yield Rule(d.SCOPE, "nothing was changed", 2, 3, 4, _nothing_changed)
    yield Rule(d.SCOPE, f"more than {MANY_LINES} lines were changed", 0, 1, 1, _large)
    yield Rule(d.ROBUSTNESS, "nothing was changed", 4, 4, 4, _nothing_changed)
    yield Rule(d.ROBUSTNESS, "no test was added or changed", 0, 1, 1, _no_test_changed)
    yield Rule(d.MAINTAINABILITY, "nothing was changed", 4, 4, 4, _nothing_changed)
    yield Rule(d.MAINTAINABILITY, f"more than {MANY_FILES} files were changed", 0, 0, 1, _scattered)
    yield Rule(d.VERIFICATION, "no run of tests is shown", 2, 2, 3, _no_test_run)
    yield Rule(d.VERIFICATION, "no test was added or changed", 0, 1, 1, _no_test_changed)
    yield Rule(d.VERIFICATION, "no test run that passed stands behind the claim", 1, 2, 2, _unbacked_claims)
    yield Rule(d.VERIFICATION, "the claim names no test", 0, 0, 1, _bare_claims)
    for dimension in Dimension:
        yield Rule(dimension, "a hidden check failed", 1, 1, 2, _failed_checks(dimension))


RULES: Final = tuple(_rules())
"""Everything that a scripted reviewer knows."""
