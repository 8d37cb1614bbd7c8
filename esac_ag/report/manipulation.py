"""The manipulation check: whether every arm was really loaded, and the control really was not.

A comparison says something about bundles only if each run had its own bundle and none of another. The check
is a function of the counted attempts' `loaded-instructions.json`. What is not known is never passed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from esac_ag.manifest.plan import AgentKind, Arm, ArmKind
from esac_ag.report.loaded_facts import FileFacts, LoadedFacts
from esac_ag.report.manipulation_view import (
    CLAUSE_WORDS,
    CheckState,
    Clause,
    ClauseKind,
    ClauseTally,
    ManipulationCheck,
)

ENTRIES = {
    ArmKind.NONE: frozenset[str](),
    ArmKind.SKILL: frozenset({"SKILL.md"}),
    ArmKind.INSTRUCTIONS: frozenset({"AGENTS.md", "CLAUDE.md"}),
    ArmKind.FOLDER: frozenset[str](),
}
"""The files that an agent is to begin with; one of them is enough, and any file of a plain folder."""
MOST_FINDINGS = 20
_WORST_FIRST = (CheckState.FAILED, CheckState.NOT_CHECKABLE, CheckState.PASSED)


@dataclass(frozen=True, slots=True)
class RunProof:
    """A counted attempt, and what is recorded of its instructions; none when it left no such record."""

    attempt_id: str
    loaded: LoadedFacts | None


Proofs = Mapping[str, Sequence[RunProof]]
"""Counted attempts by arm."""
Offer = tuple[tuple[str, ...], tuple[str, ...]]
"""Tools, and skills of the agent's own."""
Judge = Callable[[Arm, LoadedFacts], bool | None]


def manipulation_check(arms: Sequence[Arm], agent: AgentKind, proofs: Proofs) -> ManipulationCheck:
    """Judge every clause; pure.

    An entry file has to be read in full in every run where the agent itself is to show it (instructions) or
    is told to read it (`mention_in_instructions`). Where reading is left to the model, how often it read is a
    finding, and the clause fails only if no run did. An incomplete proof makes the check not checkable.

    Args:
        arms: the manifest's, in its order.
        agent: what acted.
        proofs: the counted attempts of every arm.
    """
    if agent is AgentKind.SCRIPTED:
        return ManipulationCheck(
            state=CheckState.NOT_CHECKABLE, reason="scripted agents send no requests to a model"
        )
    if not any(proofs.get(arm.id) for arm in arms):
        return ManipulationCheck(state=CheckState.NOT_CHECKABLE, reason="no attempt counts yet")
    offer = _common_offer(proofs)
    clauses = tuple(_clauses(arms, proofs, offer))
    state = _worst(clause.state for clause in clauses)
    same = next(clause for clause in clauses if clause.kind is ClauseKind.SAME_OFFER).state
    tools, skills = offer if offer and same is CheckState.PASSED else (None, None)
    return ManipulationCheck(
        state=state,
        reason="; ".join(_reason(clause) for clause in clauses if clause.state is state)
        if state is not CheckState.PASSED
        else "",
        clauses=clauses,
        tools=tools,
        bundled_skills=skills,
        findings=tuple(_findings(arms, proofs, offer))[:MOST_FINDINGS],
    )


def _reason(clause: Clause) -> str:
    words = CLAUSE_WORDS[clause.kind]
    counts = ", ".join(
        f"{tally.held} of {tally.runs} runs of {tally.arm}"
        for tally in clause.arms
        if tally.held < tally.runs or not tally.runs
    )
    verb = "does not hold" if clause.state is CheckState.FAILED else "is not shown"
    return f"that {words} {verb} everywhere ({counts})"


def _clauses(arms: Sequence[Arm], proofs: Proofs, offer: Offer | None) -> Iterator[Clause]:
    bundles = [arm for arm in arms if arm.kind is not ArmKind.NONE]
    controls = [arm for arm in arms if arm.kind is ArmKind.NONE]
    judges = _judges(offer)
    for kind in ClauseKind:
        concerned: Sequence[Arm] = bundles
        if kind is ClauseKind.CONTROL_CLEAN:
            concerned = controls
        elif kind in {ClauseKind.SAME_OFFER, ClauseKind.COMPLETE}:
            concerned = arms
        tallies = tuple(_tally(kind, judges[kind], arm, proofs.get(arm.id, ())) for arm in concerned)
        yield Clause(kind=kind, state=_worst(_state(kind, one) for one in tallies), arms=tallies)


def _tally(kind: ClauseKind, judge: Judge, arm: Arm, runs: Sequence[RunProof]) -> ClauseTally:
    # Equal facts are one object mostly, so each is judged once, however many runs have it.
    facts = {id(run.loaded): run.loaded for run in runs}
    verdicts = Counter[bool | None]()
    for key, count in Counter(id(run.loaded) for run in runs).items():
        loaded = facts[key]
        verdicts[None if loaded is None else judge(arm, loaded)] += count
    shown_or_told = arm.kind is ArmKind.INSTRUCTIONS or arm.install.mention_in_instructions
    return ClauseTally(
        arm=arm.id,
        runs=len(runs),
        held=verdicts[True],
        failed=verdicts[False],
        unknown=verdicts[None],
        must_hold_in_all=kind is not ClauseKind.READ or shown_or_told,
    )


def _state(kind: ClauseKind, tally: ClauseTally) -> CheckState:
    if kind is ClauseKind.COMPLETE and tally.failed:
        return CheckState.NOT_CHECKABLE
    if tally.failed and (tally.must_hold_in_all or tally.failed == tally.runs):
        return CheckState.FAILED
    if tally.unknown or not tally.runs:
        return CheckState.NOT_CHECKABLE
    return CheckState.PASSED


def _worst(states: Iterable[CheckState]) -> CheckState:
    return min(states, key=_WORST_FIRST.index, default=CheckState.PASSED)


def _judges(offer: Offer | None) -> dict[ClauseKind, Judge]:
    return {
        ClauseKind.PRESENT: lambda _, loaded: _all(file.present_at_start for file in loaded.files),
        ClauseKind.LISTED: lambda arm, loaded: _reached(
            arm,
            loaded,
            # Instructions are given whole; a skill that was read without an offer was found by chance.
            lambda file: file.listed or (arm.kind is not ArmKind.SKILL and file.in_full),
        ),
        ClauseKind.READ: lambda arm, loaded: _reached(arm, loaded, lambda file: file.in_full),
        ClauseKind.UNCHANGED: lambda _, loaded: _all(file.unchanged_at_end for file in loaded.files),
        ClauseKind.CONTROL_CLEAN: _clean,
        ClauseKind.NO_FOREIGN: _clean,
        ClauseKind.SAME_OFFER: lambda _, loaded: _same(loaded, offer),
        ClauseKind.COMPLETE: lambda _, loaded: loaded.complete,
    }


def _all(facts: Iterable[bool | None]) -> bool | None:
    """False if one is, else not known if one is not known or there is none."""
    found = list(facts)
    if False in found:
        return False
    return True if found and None not in found else None


def _reached(arm: Arm, loaded: LoadedFacts, how: Callable[[FileFacts], bool]) -> bool | None:
    entries = ENTRIES[arm.kind]
    files = [file for file in loaded.files if not entries or file.path in entries]
    if any(map(how, files)):
        return True
    # What is not in the requests that are known may have been in one that is lost.
    return False if files and loaded.complete else None


def _clean(_: Arm, loaded: LoadedFacts) -> bool | None:
    if loaded.foreign:
        return False
    return True if loaded.complete else None


def _offer(loaded: LoadedFacts) -> Offer | None:
    if loaded.tools is None or loaded.bundled_skills is None:
        return None
    return loaded.tools, loaded.bundled_skills


def _same(loaded: LoadedFacts, offer: Offer | None) -> bool | None:
    mine = _offer(loaded)
    return None if mine is None else mine == offer


def _common_offer(proofs: Proofs) -> Offer | None:
    """What most runs were offered."""
    known = Counter(
        offer for runs in proofs.values() for run in runs if run.loaded and (offer := _offer(run.loaded))
    )
    return known.most_common(1)[0][0] if known else None


def _findings(arms: Sequence[Arm], proofs: Proofs, offer: Offer | None) -> Iterator[str]:
    """Traces and differing offers, run by run."""
    for arm in arms:
        for run in proofs.get(arm.id, ()):
            if run.loaded is None:
                yield f"{run.attempt_id} ({arm.id}) left no record of what was loaded"
                continue
            for trace in run.loaded.foreign:
                kind = "something" if trace.kind is None else trace.kind.value
                yield (
                    f"{run.attempt_id} ({arm.id}): request {trace.seen_in.request} held {kind} of "
                    f"{trace.arm}: {trace.marker}"
                )
            if _same(run.loaded, offer) is False:
                tools, skills = run.loaded.tools or (), run.loaded.bundled_skills or ()
                yield (
                    f"{run.attempt_id} ({arm.id}): other tools or skills than in most runs: tools "
                    f"{', '.join(tools) or 'none'}; skills {', '.join(skills) or 'none'}"
                )
            for file in run.loaded.files:
                if file.present_at_start is False or file.unchanged_at_end is False:
                    when = "missing at the start" if file.present_at_start is False else "changed at the end"
                    yield f"{run.attempt_id} ({arm.id}): {file.path} {when}"
