"""The manipulation check in a report: the notice at its top, and its section."""

from __future__ import annotations

from collections.abc import Iterator

from esac_ag.manifest.plan import AgentKind
from esac_ag.report.escaping import markdown as safe
from esac_ag.report.manipulation_view import (
    CLAUSE_WORDS,
    CheckState,
    Clause,
    ClauseKind,
    ClauseTally,
    ManipulationCheck,
)
from esac_ag.report.markdown_table import code, table
from esac_ag.report.numbers import NO_VALUE

RESULT_WORDS = {
    CheckState.PASSED: "passed",
    CheckState.FAILED: "FAILED",
    CheckState.NOT_CHECKABLE: "not checkable",
}


def manipulation_notice(check: ManipulationCheck, agent: AgentKind, counted: int) -> str | None:
    """What a reader must know of the check before any number; none when it passed, or nothing could act."""
    match check.state:
        case CheckState.PASSED:
            return None
        case CheckState.FAILED:
            failed = [clause for clause in check.clauses if clause.state is CheckState.FAILED]
            return (
                f"Manipulation check FAILED: {_names(failed)}. The arms did not differ as planned in every "
                "run, so the numbers below do not show what the bundles do."
            )
        case CheckState.NOT_CHECKABLE:
            if agent is AgentKind.SCRIPTED or not counted:
                return None
            open_ = [clause for clause in check.clauses if clause.state is CheckState.NOT_CHECKABLE]
            return (
                f"Manipulation check not possible in full: {_names(open_)}. It is not shown that every arm "
                "was loaded and the control was not."
            )


def _names(clauses: list[Clause]) -> str:
    return ", ".join(clause.kind.value for clause in clauses)


def manipulation_section(check: ManipulationCheck, arms: tuple[str, ...]) -> Iterator[str]:
    """Each clause with its counts by arm."""
    yield "## Were the arms loaded?"
    yield ""
    yield f"Manipulation check: **{RESULT_WORDS[check.state]}**" + (
        f": {safe(check.reason, limit=2000)}." if check.reason else "."
    )
    yield ""
    if not check.clauses:
        return
    yield "Counted runs in which it holds, by arm; a run of which it is not known is told apart."
    yield ""
    yield from table(
        ("What has to hold", "Result", *(code(arm) for arm in arms)),
        [
            (CLAUSE_WORDS[clause.kind], RESULT_WORDS[clause.state], *clause_counts(clause, arms))
            for clause in check.clauses
        ],
    )
    yield ""
    yield from (f"- {safe(text, limit=1000)}" for text in manipulation_findings(check))
    yield ""


def manipulation_findings(check: ManipulationCheck) -> Iterator[str]:
    """What stands beside the clauses: the offer, reading that is left to the agent, single runs."""
    if check.tools is not None:
        yield f"Tools offered in every run: {_listed(check.tools)}."
    if check.bundled_skills is not None:
        yield f"The agent's own skills, listed in every run: {_listed(check.bundled_skills)}."
    for clause in check.clauses:
        if clause.kind is ClauseKind.READ:
            for tally in clause.arms:
                if tally.runs and not tally.must_hold_in_all:
                    yield (
                        f"Whether the first file of {tally.arm} is read in full is left to the agent: it was "
                        f"in {tally.held} of {tally.runs} runs."
                    )
    yield from check.findings


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"


def clause_counts(clause: Clause, arms: tuple[str, ...]) -> list[str]:
    """In how many runs of each arm it holds."""
    by_arm = {tally.arm: tally for tally in clause.arms}
    return [_count(by_arm.get(arm)) for arm in arms]


def _count(tally: ClauseTally | None) -> str:
    if tally is None:
        return NO_VALUE
    unknown = f", {tally.unknown} not known" if tally.unknown else ""
    return f"{tally.held} of {tally.runs}{unknown}"
