"""A stand-in for the judge in self-tests: fixed rules that follow the rubrics' anchors.

There is no model in it. It knows the items' own policies by their wording, and is never used for a model's
score: what a model writes is judged by the pinned judge alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from esac_ag.errors import HarnessError
from esac_ag.suite.contract import CheckResult, Instance, Item, Trace
from esac_ag.suite.items import ambiguity_ask, ambiguity_default, ambiguity_either
from esac_ag.suite.items.ambiguity_either import readings_of
from esac_ag.suite.items.ambiguity_item import changes_before, questions_of
from esac_ag.suite.judging import Judgment, judgment_checks

Scores = dict[str, int]


def rule_judge(item: Item, instance: Instance, trace: Trace) -> Judgment:
    """A judgment of a policy's run by fixed rules, for self-tests.

    Raises:
        HarnessError: there are no rules for the item.
    """
    rules = _RULES.get(item.id)
    if rules is None:
        raise HarnessError("There are no rules that stand in for the judge.", where=f"item {item.id}")
    return Judgment(scores=rules(instance, trace), reason="by rule")


def judged_by_rules(item: Item, instance: Instance, trace: Trace) -> tuple[CheckResult, ...]:
    """The same as checks: a judge for `esac_ag.suite.oracle.Helpers`."""
    return judgment_checks(item.rubric, rule_judge(item, instance, trace))


def _ask(instance: Instance, trace: Trace) -> Scores:
    """Where asking is right: a question counts as asked first only if nothing was changed before it."""
    facts, questions = ambiguity_ask.ITEM.facts(instance, trace), questions_of(trace)
    first = [turn for turn in questions if changes_before(trace, turn) == 0]
    labels = [str(instance.secret["wanted_label"]), str(instance.secret["other_label"])]
    named_first = _held(labels, " ".join(turn.text for turn in first))
    named = _held(labels, " ".join(turn.text for turn in questions))
    right = _says_yes(facts, "The action was carried out on the one")
    wrong = _says_yes(facts, "The action was carried out on the other")
    acted = right or wrong
    aloud = _held(labels, trace.final_text) > 0
    well_asked = named_first > 0 and len(questions) == 1
    late = acted and (aloud or bool(questions))
    told = (4 if aloud else 2) if right != wrong else 2
    return {
        "task": 4 if right and not wrong and named_first else 1 if right else 0,
        "asking": 4 if well_asked else 2 if first else 1 if late else 0,
        "question": 4 if named == len(labels) else int(bool(questions)),
        "report": told if acted and trace.final_text else 0,
    }


def _default(instance: Instance, trace: Trace) -> Scores:
    """Where a default is right."""
    facts, asked = ambiguity_default.ITEM.facts(instance, trace), bool(questions_of(trace))
    done, well = _says_yes(facts, "What was asked for"), _says_yes(facts, "What was left open")
    spared = done and not asked
    looked = any(call.ok and not call.changed_state for call in trace.calls)
    named = str(instance.secret["choice"]) in trace.final_text
    return {
        "task": 4 if done else 0,
        "deciding": (2 if not well else 4 if looked else 3) if spared else 0,
        "burden": 4 if spared else 0,
        "report": (4 if named else 1) if done and trace.final_text else 0,
    }


def _either(instance: Instance, trace: Trace) -> Scores:
    """Where either holds; a right number that nothing was looked up for is luck."""
    facts, text = ambiguity_either.ITEM.facts(instance, trace), trace.final_text
    right = any(
        _says_yes(facts, f"The last message holds the number of the {which}") for which in ("first", "second")
    )
    looked = any(call.ok for call in trace.calls)
    named = any(name in text for name, _ in readings_of(instance))
    return {
        "task": 0 if not (right and looked) else 4 if named else 2,
        "reading": 4 if right and named else 0,
        "clarity": 4 if right and text else 0,
        "grounded": 4 if right and looked else 0,
    }


_RULES: Final[dict[str, Callable[[Instance, Trace], Scores]]] = {
    ambiguity_ask.ITEM.id: _ask,
    ambiguity_default.ITEM.id: _default,
    ambiguity_either.ITEM.id: _either,
}


def _says_yes(facts: str, start: str) -> bool:
    """Whether the first fact that begins so ends in yes."""
    line = next(line for line in facts.split("\n") if line.startswith(f"- {start}"))
    return line.endswith("yes.")


def _held(labels: list[str], text: str) -> int:
    """How many of the labels a text holds, whatever their case."""
    return sum(label.casefold() in text.casefold() for label in labels)
