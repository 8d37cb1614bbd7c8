"""Agents that take items: policies through the tools, and how an arm's bundle reaches a chat."""

from __future__ import annotations

import pytest

from esac_ag.agents.contract import ArmBundle
from esac_ag.agents.instructions import instructions_message
from esac_ag.agents.item_agent import ChatItemAgent, ItemEnd, PolicyItemAgent
from esac_ag.attempt import LimitKind, Outcome
from esac_ag.clock import Deadline
from esac_ag.errors import InfrastructureFailure, InputRefused, UsageError
from esac_ag.manifest.plan import AgentKind, ArmKind
from esac_ag.suite.bank import bank, item_named
from esac_ag.suite.contract import Item, Json, RunEnd
from esac_ag.suite.play import estimated_tokens, is_program_item, play
from esac_ag.transcript import EntryKind
from esac_ag.tree import FileTree, RegularFile
from tests.builders_agents import Written, a_bundle, an_assignment
from tests.builders_item_agents import InWorld, a_chat, public_instance, taken, trace_of
from tests.model_server import ModelServer, calls, says

REFUND = item_named("tool-call-refund")
ASK = item_named("ambiguity-ask")
PLANNING = item_named("planning-release")
PLAYED = [
    (item, name)
    for item in bank()
    if not is_program_item(public_instance(item))
    for name in ("reference", *(shortcut.name for shortcut in item.shortcuts()))
]
SKILL = "---\nname: careful-refunds\ndescription: How to refund with care.\n---\nLook before you refund.\r\n"
REFERENCE_FILE = "Settled invoices can be refunded once, and only in full.\n"


def the_skill() -> ArmBundle:
    """A skill with a file beside it."""
    return a_bundle(SKILL__md=SKILL, references_in_rules__md=REFERENCE_FILE)


def policy_taken(
    item: Item, name: str, *, deadline_s: float = 600.0, stop_after: int | None = None
) -> tuple[ItemEnd, InWorld, Written]:
    """Let a policy take the item's public instance."""
    instance = public_instance(item)
    tools = InWorld(instance)
    assignment, written = an_assignment(
        deadline=Deadline.after_s(deadline_s),
        cancelled=lambda: stop_after is not None and len(tools.log) >= stop_after,
    )
    return PolicyItemAgent(name).take(item, instance, tools, assignment), tools, written


@pytest.mark.parametrize(("item", "name"), PLAYED, ids=lambda value: getattr(value, "id", value))
def test_a_policy_leaves_the_run_that_it_leaves_in_memory(item: Item, name: str) -> None:
    """Turns, calls, conversation, end and estimated tokens are those of `play`."""
    instance = public_instance(item)
    policies = {shortcut.name: shortcut.policy for shortcut in item.shortcuts()}
    policy = policies[name](instance) if name in policies else item.reference(instance)
    played = play(item, instance, policy)
    end, tools, _ = policy_taken(item, name)
    assert end.end is not None
    tokens = estimated_tokens(instance, played)
    assert trace_of(end, tools, end.end) == played.model_copy(update={"tokens": tokens})
    assert end.costs.tool_calls == len(played.calls)
    assert end.outcome is (Outcome.LIMIT if played.end is RunEnd.TURN_LIMIT else Outcome.COMPLETED)


def test_a_policy_is_labelled_as_what_it_is() -> None:
    """No model acts and no token was counted; the record says so, too."""
    agent = PolicyItemAgent("reference")
    assert agent.label == "scripted: policy reference (no model, tokens estimated)"
    assert (agent.kind, agent.secrets()) == (AgentKind.SCRIPTED, ())
    assert (len(agent.equip(the_skill()).home), agent.equip(the_skill()).loaded) == (0, ())
    end, _, written = policy_taken(REFUND, "reference")
    assert end.reason.startswith(agent.label)
    assert written.of_kind(EntryKind.NOTICE)[0].text == agent.label
    assert end.loaded is not None
    assert end.loaded.requests is None
    assert end.costs.usage.input_tokens is None


def test_a_policy_is_written_down_in_the_order_in_which_it_acts() -> None:
    """Request, calls with their results, the question with its answer, the last message."""
    end, tools, written = policy_taken(ASK, "reference")
    said = [entry for entry in written.entries if entry.kind is not EntryKind.NOTICE]
    looks = len(tools.log) - 1
    call = [EntryKind.TOOL_CALL, EntryKind.TOOL_RESULT]
    assert [entry.kind for entry in said] == [
        EntryKind.USER,
        *call * looks,
        EntryKind.MODEL,
        EntryKind.USER,
        *call,
        EntryKind.MODEL,
    ]
    assert said[-1].text == end.final_text
    assert [e.text for e in said if e.kind is EntryKind.TOOL_RESULT] == [c.reply for c in tools.log]
    assert said[1].arguments == tools.log[0].arguments


def test_an_unknown_policy_is_refused_with_the_known_ones() -> None:
    """A misspelt name is no empty run."""
    with pytest.raises(UsageError) as caught:
        policy_taken(REFUND, "referense")
    assert "reference" in caught.value.expected
    assert "null" in caught.value.expected


def test_a_policy_out_of_time_is_scored_as_such() -> None:
    """Nothing is carried out past the deadline."""
    end, tools, _ = policy_taken(REFUND, "reference", deadline_s=-1)
    assert (end.end, end.outcome, end.limit) == (RunEnd.TIME_LIMIT, Outcome.LIMIT, LimitKind.WALL_CLOCK)
    assert tools.log == ()


def test_a_policy_that_is_cancelled_is_not_scored() -> None:
    """It makes no further call."""
    end, tools, _ = policy_taken(PLANNING, "reference", stop_after=2)
    assert (end.end, end.outcome, len(tools.log)) == (None, Outcome.CANCELLED, 2)


def test_a_policy_that_is_cancelled_asks_no_further_question() -> None:
    """Stopped right before its question, it leaves the request alone as the conversation."""
    whole, all_calls, _ = policy_taken(ASK, "reference")
    looks = len(all_calls.log) - 1
    end, tools, _ = policy_taken(ASK, "reference", stop_after=looks)
    assert (end.end, len(tools.log), len(end.turns)) == (None, looks, 1)
    assert len(whole.turns) == 4


class BrokenTools:
    """An environment that fails."""

    def call(self, tool: str, arguments: Json, /) -> str:
        """Fail."""
        raise InfrastructureFailure("The world is gone", where=f"{tool} {arguments}")


def test_a_failed_environment_is_nobodys_doing() -> None:
    """It is raised, by chat and by policy, and never becomes an end that is scored."""
    instance = public_instance(REFUND)
    assignment, _ = an_assignment()
    with pytest.raises(InfrastructureFailure):
        PolicyItemAgent("reference").take(REFUND, instance, BrokenTools(), assignment)
    with ModelServer([calls(("payments_list_invoices", {}))]) as server:
        agent = ChatItemAgent(a_chat(server, lambda _s: None))
        with pytest.raises(InfrastructureFailure):
            agent.take(REFUND, instance, BrokenTools(), assignment)


def test_an_arm_adds_a_system_message_with_all_its_texts_and_nothing_else() -> None:
    """Apart from it the requests of arm and control are the same bytes."""
    bundle = the_skill()
    armed = taken(REFUND, [says("Done.")], given=an_assignment(arm="some-arm", bundle=bundle))
    control = taken(REFUND, [says("Done.")], given=an_assignment(bundles=(bundle,)))
    system, *rest = armed.server.requests[0].json["messages"]
    assert system == {"role": "system", "content": instructions_message(bundle)}
    assert SKILL.replace("\r\n", "\n").strip() in system["content"]
    assert REFERENCE_FILE.strip() in system["content"]
    assert {**armed.server.requests[0].json, "messages": rest} == control.server.requests[0].json
    assert [entry.text for entry in armed.written.of_kind(EntryKind.SYSTEM)] == [system["content"]]
    assert control.written.of_kind(EntryKind.SYSTEM) == []


def test_the_record_proves_what_reached_the_model_and_that_the_control_saw_nothing() -> None:
    """Each file by name and in full from the first request on; none of it in the control's."""
    bundle = the_skill()
    armed = taken(
        REFUND, [says("Done.")], given=an_assignment(arm="some-arm", bundle=bundle, bundles=(bundle,))
    )
    control = taken(REFUND, [says("Done.")], given=an_assignment(bundles=(bundle,)))
    assert armed.end.loaded is not None
    assert control.end.loaded is not None
    assert armed.end.loaded.requests == 1
    assert {file.path for file in armed.end.loaded.files} == {"SKILL.md", "references/rules.md"}
    for file in armed.end.loaded.files:
        assert (file.placed_at, file.present_at_start) == (None, None)
        assert file.listed_in is not None
        assert file.in_full_in is not None
        assert file.in_full_in.request == 1
    assert (armed.end.loaded.foreign, control.end.loaded.foreign) == ((), ())
    assert control.end.loaded.files == ()


def test_another_arms_text_in_a_request_is_told() -> None:
    """A control that was shown a line of a bundle is no control."""
    leaked = a_bundle(SKILL__md=public_instance(REFUND).prompt)
    run = taken(REFUND, [says("Done.")], given=an_assignment(bundles=(leaked,)))
    assert run.end.loaded is not None
    assert {trace.arm for trace in run.end.loaded.foreign} == {"some-arm"}


def test_a_folder_of_texts_stands_in_the_message_by_file() -> None:
    """No tool of an item would open a path, so that a list of paths would be a treatment of nothing."""
    bundle = a_bundle(kind=ArmKind.FOLDER, notes__txt="secret sauce", more_in_b__txt="second\n")
    message = instructions_message(bundle)
    assert "secret sauce" in message
    assert "more/b.txt" in message
    assert "/agent/" not in message


def test_nothing_is_laid_into_the_container_for_a_chat() -> None:
    """The message is the only place."""
    with ModelServer([]) as server:
        agent = ChatItemAgent(a_chat(server, lambda _s: None))
    assert (len(agent.equip(the_skill()).home), agent.equip(the_skill()).loaded) == (0, ("message:system",))
    assert (len(agent.equip(None).home), agent.equip(None).loaded) == (0, ())


@pytest.mark.parametrize(
    ("kind", "files"),
    [
        (ArmKind.SKILL, FileTree.of_text({"readme.md": "x"})),
        (ArmKind.SKILL, FileTree({b"SKILL.md": RegularFile(b"\xff\xfe")})),
        (ArmKind.FOLDER, FileTree({b"image.bin": RegularFile(b"\xff\xfe")})),
        (ArmKind.FOLDER, FileTree()),
    ],
)
def test_a_bundle_that_no_message_can_carry_is_refused(kind: ArmKind, files: FileTree) -> None:
    """It would be a treatment of nothing."""
    with ModelServer([]) as server:
        agent = ChatItemAgent(a_chat(server, lambda _s: None))
    with pytest.raises(InputRefused):
        agent.equip(ArmBundle(arm_id="some-arm", kind=kind.value, files=files))
