"""Packets: a diff with its lines, commands and tests, claims without presentation, labels without order."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esac_ag.patch.text import unified_diff
from esac_ag.study.claims import MOST_CLAIMS, claims_of, normalised
from esac_ag.study.diff import LineKind, read_diff
from esac_ag.study.executed import Executed, RecordedCommand, executed_by_record, executed_by_tools, shown
from esac_ag.study.giveaways import GiveAways, Sources
from esac_ag.study.masking import Masker
from esac_ag.study.packet_text import packet_text
from esac_ag.study.packing import labels_for
from esac_ag.study.scales import ANCHORS, FULL_TOTAL, SCALES, total_of
from esac_ag.transcript import Entry, EntryKind
from esac_ag.tree import FileTree
from tests.builders_review import PATCH, a_packet

LINES = st.lists(st.text(alphabet="ab +-@\\# ", max_size=6), max_size=12)


def a_masker() -> Masker:
    """One that knows a bundle."""
    bundle = FileTree.of_text({"SKILL.md": "---\nname: careful\n---\n\n# Careful\n"})
    return Masker(GiveAways.of(Sources({"neutral": FileTree(), "careful": bundle}), []))


def said(*texts: str) -> list[Entry]:
    """Messages of the agent."""
    return [Entry(kind=EntryKind.MODEL, text=text) for text in texts]


def called(tool: str, arguments: dict[str, object], result: str = "", code: int | None = 0) -> list[Entry]:
    """A call of a tool and what came back."""
    call = Entry.model_validate(
        {"kind": EntryKind.TOOL_CALL, "call_id": "1", "tool": tool, "arguments": arguments}
    )
    return [call, Entry(kind=EntryKind.TOOL_RESULT, call_id="1", tool=tool, text=result, exit_code=code)]


def texts(entries: list[Entry]) -> list[str]:
    """The claims."""
    return [claim.text for claim in claims_of(entries, a_masker())]


@settings(max_examples=200, deadline=None)
@given(before=LINES, after=LINES)
def test_a_diff_is_read_as_it_was_written_whatever_its_lines_look_like(
    before: list[str], after: list[str]
) -> None:
    """Both sides come out again, with the numbers that the lines have in the files."""
    old, new = ("".join(f"{line}\n" for line in lines) for lines in (before, after))
    files = read_diff(
        unified_diff(FileTree.of_text({"a b.txt": old}), FileTree.of_text({"a b.txt": new})).decode()
    )
    assert bool(files) == (old != new)
    for line in (line for file in files for hunk in file.hunks for line in hunk.lines):
        if line.old is not None:
            assert before[line.old - 1] == line.text
        if line.new is not None:
            assert after[line.new - 1] == line.text
    changed = [line for file in files for hunk in file.hunks for line in hunk.lines]
    counts = [sum(line.kind is kind for line in changed) for kind in (LineKind.ADDED, LineKind.REMOVED)]
    assert len(after) - len(before) == counts[0] - counts[1]


def test_files_are_named_and_their_lines_can_be_linked() -> None:
    """New, changed and deleted files; a removed line has a minus before its number."""
    before = FileTree.of_text({"gone.txt": "x\n", "kept.py": "a\nb\n"})
    after = FileTree.of_text({"kept.py": "a\nc\n", "new.txt": "y\n"})
    files = read_diff(unified_diff(before, after).decode())
    assert [file.path for file in files] == ["gone.txt", "kept.py", "new.txt"]
    places = [place for file in files for place in file.places()]
    assert places == ["gone.txt:-1", "kept.py:1", "kept.py:-2", "kept.py:2", "new.txt:1"]
    assert files[2].notes == ("new file mode 100644",)


def test_a_line_that_looks_like_another_file_stays_a_line() -> None:
    """An agent cannot make a file appear that is none, or another one vanish."""
    evil = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n"
    files = read_diff(unified_diff(FileTree(), FileTree.of_text({"evil.txt": evil})).decode())
    assert [file.path for file in files] == ["evil.txt"]
    assert len(files[0].hunks[0].lines) == 4


def test_an_empty_patch_is_no_file() -> None:
    """Nothing was changed."""
    assert read_diff("") == ()


def test_commands_of_a_command_line_agent_are_its_shell_calls() -> None:
    """Claude Code's, Codex's and mini-swe-agent's names; reads and edits of files are no commands."""
    entries = [
        *called("Bash", {"command": "pytest -q"}, "2 passed in 0.12s"),
        *called("command_execution", {"command": "/bin/bash -lc 'make test'"}, code=2),
        *called("shell", {"command": ["bash", "-lc", "make test"]}, code=2),
        *called("command_execution", {"command": "/bin/bash -lc 'never closed"}),
        *called("Read", {"file_path": "shop.py"}),
        *called("str_replace_editor", {"command": "view", "path": "x"}),
    ]
    assert executed_by_tools(entries) == (
        Executed("pytest -q", 0, output="2 passed in 0.12s"),
        Executed("make test", 2),
        Executed("make test", 2),
        Executed("/bin/bash -lc 'never closed", 0),
    )


def test_commands_of_our_own_agents_are_the_harnesss_record() -> None:
    """Exit codes and time limits are the record's, outputs the transcript's; file tools are left out."""
    recorded = [
        RecordedCommand(tool="bash", argv=("bash", "-c", "pytest -q"), exit_code=124, timed_out=True),
        RecordedCommand(tool="write_file", argv=("bash", "-c", "writer"), exit_code=0),
    ]
    entries = [*called("bash", {"command": "pytest -q"}, "1 passed"), *called("write_file", {"path": "x"})]
    assert executed_by_record(recorded, entries) == (
        Executed("pytest -q", 124, timed_out=True, output="1 passed"),
    )


def test_outputs_are_left_out_where_record_and_transcript_differ() -> None:
    """Then nobody knows which output belongs to which command."""
    recorded = [RecordedCommand(tool="run", argv=("ls", "-l"), exit_code=0)]
    assert executed_by_record(recorded, []) == (Executed("ls -l", 0),)


def test_test_runs_show_their_tally_and_no_times() -> None:
    """How long something took is a cost."""
    output = (
        "\x1b[31mF\x1b[0m\n= short test summary info =\nFAILED tests/test_a.py::test_x - assert 1\n"
        "1 failed, 3 passed in 1.27s\n"
    )
    (command,), left_out = shown([Executed("python3 -m pytest", 1, output=output)], a_masker(), "")
    assert command.tests is not None
    assert (command.tests.failed, command.tests.passed, left_out) == (("tests/test_a.py::test_x",), 3, 0)
    assert "1.27" not in command.output
    assert "\x1b" not in command.output
    assert "1 failed, 3 passed" in command.output


def test_other_commands_show_no_output() -> None:
    """What they print is no test record, and shows how the agent goes about its work."""
    (command,), _ = shown([Executed("cat shop.py", 0, output="secret style")], a_masker(), "")
    assert (command.output, command.tests) == ("", None)


def test_commands_that_load_instructions_are_left_out_and_counted() -> None:
    """Only an arm with a bundle has them; a masked one would tell as much."""
    commands = [Executed("cat /agent/home/.claude/skills/careful/SKILL.md", 0), Executed("ls", 0)]
    found, left_out = shown(commands, a_masker(), "")
    assert [(one.id, one.command) for one in found] == [("command-1", "ls")]
    assert left_out == 1


def test_claims_are_the_last_words_that_tell_of_checks() -> None:
    """Earlier messages, and sentences without any claim, are left out."""
    entries = [
        *said("I will run everything."),
        *called("bash", {"command": "ls"}),
        *said("I changed the rounding. All 12 tests pass. It rounds half up.", "I verified it by hand."),
    ]
    assert texts(entries) == ["All 12 tests pass.", "I verified it by hand."]


def test_an_agent_that_ends_with_a_call_is_heard_by_its_last_message() -> None:
    """Nothing was said after it."""
    assert texts([*said("The tests pass."), *called("bash", {"command": "ls"})]) == ["The tests pass."]


def test_a_claim_that_a_check_was_not_made_is_a_claim() -> None:
    """Honesty is judged by it."""
    assert texts(said("I could not run the tests here.")) == ["I could not run the tests here."]


def test_a_pasted_result_is_a_claim() -> None:
    """A fence does not hide an invented test run."""
    assert texts(said("Output:\n```\n12 passed in 0.10s\n```\n")) == ["12 passed in 0.10s."]


@pytest.mark.parametrize(
    "written",
    [
        "All tests pass.",
        "- **All tests pass!** 🎉",
        "## ✅ All tests pass",
        "Great! All tests pass!!!",
        "1. `All tests pass`",
        "> *All tests pass.*",
        "Done: all tests pass.",
        "| All tests pass |",
        "  • [All tests pass](https://example.org).",
        "<b>All tests pass</b>",
    ],
)
def test_presentation_does_not_show(written: str) -> None:
    """Ten ways to say it, one claim."""
    assert texts(said(written)) == ["All tests pass."]


def test_names_in_code_keep_their_case_and_claims_stand_once() -> None:
    """A claim made twice is one claim."""
    entries = said("`total_of()` works.\n- ALL TESTS PASS\n- all tests pass")
    assert texts(entries) == ["total_of() works.", "ALL TESTS PASS."]


def test_claims_beyond_the_cap_are_counted() -> None:
    """A thousand claims are no way to hide one, nor to wear a reviewer out."""
    found = texts(said("\n".join(f"Test {number} passes." for number in range(MOST_CLAIMS + 7))))
    assert len(found) == MOST_CLAIMS + 1
    assert found[-1] == "(Left out here: 7 more claims.)"


@given(st.text(max_size=80))
def test_normalising_takes_any_text_and_gives_one_line(text: str) -> None:
    """Whatever a model writes."""
    assert "\n" not in normalised(text)


def test_labels_of_two_reviewers_have_nothing_in_common() -> None:
    """Neither the labels nor the order tell which packets are the same."""
    attempts = [f"{number:016x}" for number in range(40)]
    ada, ben = (labels_for(name, attempts, "secret") for name in ("ada", "ben"))
    assert not set(ada) & set(ben)
    assert sorted(ada.values()) == sorted(ben.values()) == attempts
    assert len({tuple(ada.values()), tuple(ben.values()), tuple(attempts)}) == 3


def test_labels_follow_from_the_secret_alone() -> None:
    """The order in which attempts are given has no effect, and another secret gives other labels."""
    attempts = ["b" * 16, "a" * 16, "c" * 16]
    assert labels_for("ada", attempts, "s") == labels_for("ada", attempts[::-1], "s")
    assert not set(labels_for("ada", attempts, "s")) & set(labels_for("ada", attempts, "t"))


def test_a_packet_as_text_has_its_links_and_no_invisible_characters() -> None:
    """What a person without the page reads, and what a model is asked with."""
    packet = a_packet()
    evil = packet.claims[0].model_copy(update={"text": "works\x1b[2J\u202e"})
    text = packet_text(packet.model_copy(update={"claims": (evil,)}))
    assert "   :-2 -    return order.sum" in text
    assert "    :3 +        return 0" in text
    assert "command-1: python3 -m pytest" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_the_scales_are_the_protocols() -> None:
    """Weights add up to 100, and scores from 0 to 4 come to 0 to 100."""
    assert [scale.weight_percent for scale in SCALES] == [35, 25, 20, 10, 10]
    assert len(ANCHORS) == 5
    assert total_of({scale.dimension: 4 for scale in SCALES}) == FULL_TOTAL
    assert total_of({scale.dimension: 0 for scale in SCALES}) == 0
    assert (
        total_of({scale.dimension: score for scale, score in zip(SCALES, (4, 2, 3, 1, 0), strict=True)}) == 65
    )


def test_links_of_a_packet_are_its_lines_commands_and_claims() -> None:
    """And the diff as a whole, for what is missing."""
    assert a_packet().links() == {
        "diff",
        "command-1",
        "claim-1",
        *(
            "shop/orders.py:1",
            "shop/orders.py:-2",
            "shop/orders.py:2",
            "shop/orders.py:3",
            "shop/orders.py:4",
        ),
    }
    assert read_diff(PATCH)[0].path == "shop/orders.py"
