"""The suite's tables and pages for people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rich import box
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from esac_ag.plural import plural
from esac_ag.report.escaping import visible
from esac_ag.suite.constitution import MODIFIER_POINTS, TOTAL_POINTS
from esac_ag.suite.selftest import REFERENCE, PolicyStanding

if TYPE_CHECKING:
    from rich.console import Console

    from esac_ag.suite.contract import Efficiency
    from esac_ag.suite.facts import SuiteListing
    from esac_ag.suite.inspection import Answers, Inspection
    from esac_ag.suite.selftest import ItemSelftest, SuiteSelftest

MARKS: Final = {PolicyStanding.MET: "met", PolicyStanding.MISSED: "MISSED", PolicyStanding.NOT_RUN: "not run"}


def print_listing(listing: SuiteListing, console: Console) -> None:
    """A line per item, then what each measures."""
    # As it stands it fits 80 columns; what an item measures is on a line of its own below.
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("item", "category", "points", "turns", "modifier", "judged"):
        table.add_column(name, no_wrap=True)
    for item in listing.items:
        table.add_row(
            item.id,
            item.category.value,
            f"{item.points:.2f}",
            str(item.turns),
            "yes" if item.efficiency is not None else "no",
            "yes" if item.judged else "no",
        )
    console.print(table)
    console.print("\nWhat each measures")
    for item in listing.items:
        console.print(Padding(Text(f"{item.id}: {visible(item.measures)}"), (0, 0, 0, 2)))
    console.print()
    console.print(
        f"{listing.suite_version}: {plural(len(listing.items), 'item')}, {listing.points:g} points, and "
        f"{MODIFIER_POINTS} of the efficiency modifier: {TOTAL_POINTS} in all"
    )


def print_inspection(shown: Inspection, console: Console) -> None:
    """Everything that an inspection holds, as plain text."""
    for text in _inspection(shown):
        for line in text.split("\n"):
            console.print(visible(line), soft_wrap=True, markup=False)


def print_selftest(found: SuiteSelftest, console: Console) -> None:
    """A line per item, then what missed and what did not run."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    for name in ("item", "reference", "levels", "shortcuts", "result"):
        table.add_column(name, no_wrap=True)
    for item in found.items:
        table.add_row(*_tested(item))
    console.print(table)
    for item in found.items:
        for policy in item.policies:
            if policy.standing is PolicyStanding.MISSED:
                console.print(
                    f"MISSED {item.item_id}, {policy.policy}: {policy.why} "
                    f"(predeclared {policy.most:.2f}, earned {policy.fraction:.4f})",
                    soft_wrap=True,
                    markup=False,
                )
    for line in (*_judged(found), *_left_out(found)):
        console.print(line, soft_wrap=True, markup=False)
    console.print(
        f"{found.met} policies met, {found.missed} missed, {found.not_run} not run "
        f"in {found.place.value} ({found.pool.value} pool, fingerprint {found.seed_fingerprint[:12]})",
        soft_wrap=True,
    )


def _tested(item: ItemSelftest) -> tuple[str, ...]:
    reference = next(policy for policy in item.policies if policy.policy == REFERENCE)
    cuts = [policy for policy in item.policies if policy is not reference]
    measured = [policy.fraction for policy in cuts if policy.fraction is not None]
    levels = (reference.action_level, reference.token_level)
    return (
        item.item_id,
        "-" if reference.fraction is None else f"{reference.fraction:.2f}",
        "-" if None in levels else f"{levels[0]}, {levels[1]}",
        f"{len(cuts)}, best {max(measured):.2f}" if measured else f"{len(cuts)}",
        MARKS[item.standing],
    )


def _judged(found: SuiteSelftest) -> Iterator[str]:
    judges: dict[str, list[str]] = {}
    for item in found.items:
        if item.judged_by is not None:
            judges.setdefault(item.judged_by, []).append(item.item_id)
    for judge, items in judges.items():
        yield f"judged by {judge}: {', '.join(items)}"


def _left_out(found: SuiteSelftest) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for item in found.items:
        if item.standing is PolicyStanding.NOT_RUN:
            why = next(policy.why for policy in item.policies if policy.standing is PolicyStanding.NOT_RUN)
            reasons.setdefault(why, []).append(item.item_id)
    for why, items in reasons.items():
        yield f"not run: {', '.join(items)}: {why}"


def _inspection(shown: Inspection) -> Iterator[str]:
    item = shown.item
    yield f"{item.id}: {item.title} ({item.category.value}, {item.points:.2f} points)"
    yield f"Measures: {item.measures}"
    yield f"Pool: {shown.pool.value}, seed fingerprint {shown.seed_fingerprint}"
    if shown.canary is not None:
        yield f"Canary: {shown.canary}"
    yield f"Caps: {item.turns} tool-call turns, {item.output_tokens} output tokens a model call"
    yield from _envelope(item.efficiency)
    yield from ("", "Prompt", shown.prompt, "", "Tools")
    for tool in shown.tools:
        yield f"  {tool.name}: {tool.description}"
        yield f"    {json.dumps(tool.parameters, ensure_ascii=False)}"
    yield from ("", "Initial state")
    yield from json.dumps(shown.initial_state, ensure_ascii=False, indent=2, sort_keys=True).split("\n")
    yield from ("", "Checks")
    for check in shown.checks:
        yield f"  {check.id}: {100 * check.share:.1f} %"
    for criterion in shown.rubric:
        yield f"  {criterion.id} (judged, weight {criterion.weight:g}): {criterion.question}"
        yield from (f"    {score} = {anchor}" for score, anchor in enumerate(criterion.anchors))
    if shown.answers is None:
        yield from ("", "Answers and reference: not shown of the held-out pool.")
    else:
        yield from _answers(shown.answers)


def _envelope(scale: Efficiency | None) -> Iterator[str]:
    if scale is None:
        yield "Efficiency: does not count for the modifier"
        return
    for name, envelope in (("actions", scale.actions), ("tokens", scale.tokens)):
        bounds = ", ".join(
            f"{level}: {bound:g}" for level, bound in zip(range(6, 1, -1), envelope.levels, strict=True)
        )
        yield f"Efficiency, most {name} for level {bounds}"
    weights = ", ".join(f"{name} {weight:g}" for name, weight in scale.rule.model_dump().items())
    yield f"Weights of actions: {weights}"


def _answers(answers: Answers) -> Iterator[str]:
    yield from ("", "Reference")
    for call in answers.reference.calls:
        yield f"  {call.tool} {json.dumps(call.arguments, ensure_ascii=False)}"
        yield f"    {'(a program would have to be run for this reply)' if call.reply is None else call.reply}"
    for turn in answers.reference.turns[1:]:
        yield f"  {turn.role}: {turn.text}"
    yield from ("", "Expected", json.dumps(answers.expected, ensure_ascii=False, sort_keys=True))
    if answers.questions:
        yield from ("", "Answers of the simulated user, by topic")
        yield from (f"  {topic or 'anything else'}: {text}" for topic, text in answers.questions.items())
    if answers.hidden_tests:
        names = ", ".join(test.id for test in answers.hidden_tests)
        yield from ("", f"Hidden tests: {names} (their text: --json)")
