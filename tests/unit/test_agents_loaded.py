"""What reaches a model of an arm's bundle, and the proof of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from esac_ag.agents.chat import make_chat_agent
from esac_ag.agents.contract import AgentEnd, ArmBundle
from esac_ag.agents.instructions import SYSTEM_MESSAGE, equipment, system_message
from esac_ag.agents.loaded import LoadedInstructions, SeenRequest, Sighting, loaded_instructions
from esac_ag.attempt import Outcome
from esac_ag.canonical import sha256_of_bytes
from esac_ag.errors import InputRefused
from esac_ag.front_matter import front_matter
from esac_ag.manifest.plan import ArmKind
from esac_ag.sandbox.contract import CommandResult
from esac_ag.tree import FileTree, RegularFile
from tests.builders_agents import AnsweringSandbox, a_bundle, a_manifest, an_assignment, exited
from tests.model_server import ModelServer, Scripted, calls, submits

SKILL = """\
---
name: careful-change
description: How to judge the size of a change before making it.
---
# Careful change

Look for every caller before you touch a shared function, and read its tests.
"""
REFERENCE = "# Callers\n\nA caller may have its own reason to differ, which its tests tell you about.\n"
SKILL_PLACE = "/agent/home/skills/some-arm/SKILL.md"
REFERENCE_PLACE = "/agent/home/skills/some-arm/references/callers.md"


def the_skill() -> ArmBundle:
    """A skill with a reference."""
    return a_bundle(SKILL__md=SKILL, references_in_callers__md=REFERENCE)


def holding(bundle: ArmBundle) -> AnsweringSandbox:
    """A sandbox in which the bundle's files lie, and whose `cat` prints the reference."""

    def answer(argv: list[str]) -> CommandResult:
        if argv[0] != "sha256sum":
            return exited(0, REFERENCE.encode())
        files = equipment(bundle).home.files()
        lines = [
            f"{sha256_of_bytes(files[path.removeprefix('/agent/home/').encode()].data)}  {path}\0"
            for path in argv[3:]
        ]
        return exited(0, "".join(lines).encode())

    return AnsweringSandbox(answer)


def treated(
    bundle: ArmBundle | None,
    script: list[Scripted],
    *,
    sandbox: AnsweringSandbox | None = None,
    bundles: tuple[ArmBundle, ...] = (),
) -> tuple[AgentEnd, LoadedInstructions, ModelServer]:
    """Run a chat agent under an arm."""
    arm = bundle.arm_id if bundle else "neutral"
    assignment, _ = an_assignment(arm=arm, bundle=bundle, bundles=bundles)
    with ModelServer(script) as server:
        agent = make_chat_agent(a_manifest(), {"ESAC_AG_BASE_URL": server.base_url})
        end = agent.act(sandbox or (holding(bundle) if bundle else AnsweringSandbox()), assignment)
    assert end.loaded is not None
    return end, end.loaded, server


def test_a_skill_lies_in_home_and_stands_in_the_system_message() -> None:
    """The agent tells where it put the bundle; the message holds the skill and the reference's path."""
    agent = make_chat_agent(a_manifest(), {"ESAC_AG_BASE_URL": "http://127.0.0.1:1"})
    equipped = agent.equip(the_skill())
    assert set(equipped.home) == {b"skills/some-arm/SKILL.md", b"skills/some-arm/references/callers.md"}
    assert set(equipped.loaded) == {SKILL_PLACE, REFERENCE_PLACE, "message:system"}
    message = system_message(the_skill())
    assert message.startswith(SYSTEM_MESSAGE)
    assert SKILL.strip() in message
    assert REFERENCE_PLACE in message
    assert REFERENCE.strip() not in message


def test_the_control_gets_nothing() -> None:
    """Neither a file nor a word beyond what every arm gets."""
    agent = make_chat_agent(a_manifest(), {"ESAC_AG_BASE_URL": "http://127.0.0.1:1"})
    assert (len(agent.equip(None).home), agent.equip(None).loaded) == (0, ())
    assert system_message(None) == SYSTEM_MESSAGE


def test_instructions_stand_in_the_system_message_whole() -> None:
    """An AGENTS.md is not only listed, with CRLF read as LF."""
    bundle = a_bundle(kind=ArmKind.INSTRUCTIONS, AGENTS__md="Do it\r\nwell.\r\n")
    assert "Do it\nwell." in system_message(bundle)
    assert set(equipment(bundle).home) == {b"instructions/some-arm/AGENTS.md"}


def test_a_plain_folder_is_listed_only() -> None:
    """What has no main file cannot stand in the message; its paths do."""
    bundle = a_bundle(kind=ArmKind.FOLDER, notes__txt="secret sauce")
    message = system_message(bundle)
    assert "/agent/home/bundles/some-arm/notes.txt" in message
    assert "secret sauce" not in message


def test_a_bundle_that_is_named_in_instructions_gets_one_line_more() -> None:
    """The manifest's `mention_in_instructions` adds a line and changes nothing before it."""
    plain = system_message(the_skill())
    mentioned = system_message(replace(the_skill(), mention_in_instructions=True))
    assert mentioned.startswith(plain)
    assert len(mentioned.removeprefix(plain).strip().splitlines()) == 1


@pytest.mark.parametrize(
    "files",
    [FileTree.of_text({"readme.md": "x"}), FileTree({b"SKILL.md": RegularFile(b"\xff\xfe")})],
)
def test_a_skill_without_a_readable_skill_file_is_refused(files: FileTree) -> None:
    """It would be a treatment of nothing, so it is refused before any container is made."""
    agent = make_chat_agent(a_manifest(), {"ESAC_AG_BASE_URL": "http://127.0.0.1:1"})
    with pytest.raises(InputRefused):
        agent.equip(ArmBundle(arm_id="some-arm", kind="skill", files=files))


def test_the_record_proves_what_reached_the_model() -> None:
    """Each file: there at the start, listed in a request, and in full once the model read it."""
    _, loaded, server = treated(
        the_skill(), [calls(("bash", {"command": f"cat {REFERENCE_PLACE}"})), submits()]
    )
    first, second = (sha256_of_bytes(request.body) for request in server.requests)
    by_path = {file.path: file for file in loaded.files}
    skill, reference = by_path["SKILL.md"], by_path["references/callers.md"]
    assert loaded.requests == 2
    assert skill.present_at_start is True
    assert skill.in_full_in == Sighting(request=1, request_sha256=first)
    assert reference.present_at_start is True
    assert reference.listed_in == Sighting(request=1, request_sha256=first)
    assert reference.in_full_in == Sighting(request=2, request_sha256=second)


def test_a_file_that_the_model_never_read_is_recorded_as_listed_only() -> None:
    """Not in full is told apart from in full."""
    _, loaded, _ = treated(the_skill(), [submits()])
    reference = next(file for file in loaded.files if file.path == "references/callers.md")
    assert reference.listed_in is not None
    assert reference.in_full_in is None


def test_a_bundle_that_did_not_arrive_is_no_fair_attempt() -> None:
    """The attempt is spoiled before the model is asked, because the arm would be measured without it."""
    sandbox = AnsweringSandbox(lambda _argv: exited(1, b"0000  " + SKILL_PLACE.encode() + b"\0"))
    end, loaded, server = treated(the_skill(), [submits()], sandbox=sandbox)
    assert end.outcome is Outcome.INFRA
    assert [file.present_at_start for file in loaded.files] == [False, False]
    assert server.requests == []


def test_the_controls_requests_hold_nothing_of_any_bundle() -> None:
    """The record of a clean control shows that all requests were looked through and nothing was found."""
    _, loaded, _ = treated(None, [calls(("bash", {"command": "ls"})), submits()], bundles=(the_skill(),))
    assert (loaded.requests, loaded.files, loaded.foreign) == (2, (), ())


@pytest.mark.parametrize(
    "leak",
    [
        "careful-change",
        "How to judge the size of a change before making it.",
        "a caller may have its own reason to differ which its tests tell you about",
    ],
)
def test_a_trace_of_another_arm_is_found_wherever_it_came_from(leak: str) -> None:
    """A name, a description or a line of another arm's bundle in any request is told with its request."""
    _, loaded, server = treated(
        None,
        [calls(("bash", {"command": "ls"})), submits()],
        sandbox=AnsweringSandbox(lambda _argv: exited(0, f"... {leak} ...".encode())),
        bundles=(the_skill(),),
    )
    assert ("some-arm", leak) in [(trace.arm, trace.marker) for trace in loaded.foreign]
    assert loaded.foreign_counts == {"some-arm": len(loaded.foreign)}
    digests = {trace.seen_in.request_sha256 for trace in loaded.foreign}
    assert digests == {sha256_of_bytes(server.requests[1].body)}


def test_what_an_arm_shares_with_another_is_no_trace_of_the_other() -> None:
    """A line that both bundles hold proves nothing."""
    own = FileTree.of_text({"SKILL.md": SKILL})
    loaded = loaded_instructions(
        "some-arm",
        own,
        placed={},
        present={},
        others={"other": FileTree.of_text({"SKILL.md": SKILL, "more.md": REFERENCE})},
        requests=[SeenRequest(1, "0" * 64, (SKILL,))],
    )
    assert loaded.foreign == ()
    assert loaded.files[0].present_at_start is None


def test_an_agent_without_requests_proves_nothing_of_them() -> None:
    """No requests seen is null, not a clean nought."""
    loaded = loaded_instructions("neutral", None, placed={}, present={}, others={}, requests=None)
    assert loaded.requests is None


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (
            SKILL,
            {"name": "careful-change", "description": "How to judge the size of a change before making it."},
        ),
        ("---\nname: 'x: y'\nmetadata:\n  author: me\n---\n", {"name": "x: y", "metadata": "author: me"}),
        ("---\ndescription: >\n  one\n  two\n---\n", {"description": "one two"}),
        ("---\nname: open", {}),
        ("no head", {}),
        ("", {}),
    ],
)
def test_front_matter_is_read_as_skills_use_it(text: str, fields: dict[str, str]) -> None:
    """Plain, quoted and folded values; an open head is none."""
    assert front_matter(text) == fields
