"""How real agents list skills and show files, and what of other arms' bundles is found in any form."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from esac_ag.agents.loaded import LoadedInstructions, SeenRequest, known_texts, loaded_instructions
from esac_ag.agents.wire_requests import split_by_author, texts_of
from esac_ag.attempt.loaded import TraceKind
from esac_ag.tree import FileTree

SKILL = """\
---
name: marker-skill
description: Zebra quokka description.
---
# Body

\tTabbed xyzzy.
  - indented ünï $HOME <b> & "q"

The end of it.
"""
BODY = SKILL.split("---\n")[2]
CRLF = "one line\r\ntwo line\r\n\r\nthree line here\r\n"
HOME = "/agent/home/.codex/skills/some-arm"
CLAUDE_LISTING = (
    "The following skills are available for use with the Skill tool:\n\n"
    "{own}- plugin-authoring: Make a mod: a change to the interface.\n\nToday's date is 2026-11-30."
)
CODEX_LISTING = (
    "<skills_instructions>\n## Skills\nA skill is a set of instructions.\n### Skill roots\n- `r0` = `/x`\n"
    "### Available skills\n{own}</skills_instructions>"
)
OPENCODE_LISTING = (
    "<available_skills>\n  <skill>\n    <name>customize-opencode</name>\n"
    "    <location>&lt;built-in&gt;</location>\n  </skill>\n{own}</available_skills>"
)


def the_files(**more: str) -> FileTree:
    """The skill, and further files."""
    return FileTree.of_text({"SKILL.md": SKILL, **more})


def asked(*pieces: str, number: int = 1, whole: bool = True) -> SeenRequest:
    """A request that held these texts."""
    return SeenRequest(number, f"{number:064x}", pieces, ("bash",), whole=whole)


def seen(
    *requests: SeenRequest, files: FileTree | None = None, agent: str | None = "codex"
) -> LoadedInstructions:
    """The record of the arm `some-arm` whose requests these were."""
    files = files or the_files()
    placed = {path: f"{HOME}/{path.decode()}" for path in files.files()}
    return loaded_instructions(
        "some-arm", files, placed=placed, present={}, others={}, requests=requests, agent=agent
    )


def foreign(
    *pieces: str,
    other: FileTree | None = None,
    own: FileTree | None = None,
    known: tuple[str, ...] = (),
) -> LoadedInstructions:
    """The record of another arm, whose one request held these texts."""
    return loaded_instructions(
        "neutral" if own is None else "own-arm",
        own,
        placed={},
        present={},
        others={"some-arm": other or the_files()},
        requests=[asked(*pieces)],
        known=known,
    )


def numbered(text: str, form: str) -> str:
    """The text as a tool that reads files shows it."""
    return "\n".join(form.format(i) + line for i, line in enumerate(text.splitlines(), start=1))


@pytest.mark.parametrize(
    ("agent", "own", "listing", "rest"),
    [
        (
            "claude-code",
            "- some-arm (marker-skill): Zebra quokka description.\n",
            CLAUDE_LISTING,
            ("plugin-authoring",),
        ),
        (
            "codex",
            "- marker-skill: Zebra quokka description. (file: r0/some-arm/SKILL.md)\n",
            CODEX_LISTING,
            (),
        ),
        (
            "opencode",
            "<skill><name>marker-skill</name>\n<description>Zebra quokka description.</description></skill>",
            OPENCODE_LISTING,
            ("customize-opencode",),
        ),
    ],
)
def test_a_skill_is_listed_as_each_agent_lists_it(
    agent: str, own: str, listing: str, rest: tuple[str, ...]
) -> None:
    """By name and description, without its path; what is left of the list are the agent's own skills."""
    loaded = seen(asked("hello"), asked(listing.format(own=own), number=2), agent=agent)
    sighting = loaded.files[0].listed_in
    assert sighting is not None
    assert sighting.request == 2
    assert loaded.bundled_skills == rest
    control = loaded_instructions(
        "neutral",
        None,
        placed={},
        present={},
        others={"some-arm": the_files()},
        requests=[asked(listing.format(own=""))],
        agent=agent,
    )
    assert (control.foreign, control.bundled_skills) == ((), rest)


def test_another_arms_skill_in_the_list_is_no_skill_of_the_agents_own_arm() -> None:
    """It stays in what is compared across arms, and is a trace."""
    listing = CODEX_LISTING.format(own="- marker-skill: Zebra quokka description.\n")
    record = foreign(listing)
    assert record.bundled_skills == ("marker-skill",)
    assert {trace.kind for trace in record.foreign} == {TraceKind.NAME, TraceKind.DESCRIPTION}


def test_without_a_listing_only_a_known_agent_has_listed_none() -> None:
    """A program of one's own may list skills in a form that nobody knows."""
    assert seen(asked("hello"), agent="mini-swe-agent").bundled_skills == ()
    assert seen(asked("hello"), agent="my-program").bundled_skills is None
    assert seen(asked("hello"), agent=None).bundled_skills is None


@pytest.mark.parametrize(
    "shown",
    [
        SKILL,
        "Chunk ID: 679a51\nWall time: 0.0000 seconds\nOutput:\n" + SKILL,
        numbered(SKILL, "{}\t") + "\n11\t",
        numbered(SKILL, "{:6}\t"),
        numbered(SKILL, "{:6}→"),
        "<content>\n" + numbered(SKILL, "{}: ") + "\n\n(End of file - total 10 lines)\n</content>",
        numbered(SKILL, "{}:"),
        "Base directory for this skill: /agent/home/.claude/skills/some-arm\n" + BODY,
        '<skill_content name="marker-skill">\n# Skill: marker-skill\n' + BODY + "\nBase directory: x",
        SKILL.replace("\n", "\r\n"),
    ],
)
def test_a_file_is_read_in_full_however_the_tool_shows_it(shown: str) -> None:
    """Raw, numbered in five ways, with CRLF, and as a skill's body without its head."""
    record = seen(asked("hello"), asked("hello", shown, number=2))
    sighting = record.files[0].in_full_in
    assert sighting is not None
    assert (sighting.request, sighting.request_sha256) == (2, f"{2:064x}")


def test_a_file_with_crlf_is_found_without_it() -> None:
    """A tool numbers the lines of a CRLF file and drops the CR."""
    files = FileTree.of_text({"crlf.md": CRLF})
    record = seen(asked("1\tone line\n2\ttwo line\n3\t\n4\tthree line here\n5\t"), files=files)
    assert record.files[0].in_full_in is not None


@pytest.mark.parametrize(
    "shown",
    [
        SKILL.replace("The end of it.\n", ""),
        SKILL.replace("\tTabbed xyzzy.\n", "… 10 tokens truncated …\n"),
        "The end of it.\n" + SKILL.replace("The end of it.\n", "") + "\nanother line",
        "Zebra quokka description.",
    ],
)
def test_a_part_of_a_file_is_not_the_whole(shown: str) -> None:
    """A missing end, a cut middle, and lines that stand elsewhere than in the file."""
    assert seen(asked(shown)).files[0].in_full_in is None


def test_a_file_read_in_pages_is_complete_with_the_last_page() -> None:
    """The pages come in different requests; the one that completes the text is the evidence."""
    long = "".join(f"Line {i} tells {i * 7}.\n" for i in range(300))
    lines = long.splitlines(keepends=True)
    first, second = "".join(lines[:180]), "".join(lines[180:])
    files = FileTree.of_text({"long.md": long})
    record = seen(asked(first), asked(first, number=2), asked(first, second, number=3), files=files)
    sighting = record.files[0].in_full_in
    assert sighting is not None
    assert sighting.request == 3


def test_a_very_long_line_that_a_tool_cut_is_told() -> None:
    """The file counts as read, and how many of its lines were cut is recorded."""
    wide = "wide " + "word " * 900 + "\nsecond line\n"
    cut = f"1: {wide[:1990]}... (line truncated to 2000 chars)\n2: second line\n\n(End of file)"
    record = seen(asked(cut), files=FileTree.of_text({"wide.md": wide}))
    assert record.files[0].in_full_in is not None
    assert record.files[0].lines_cut == 1
    whole = seen(asked(cut + "\n\n" + wide), files=FileTree.of_text({"wide.md": wide}))
    assert whole.files[0].in_full_in is not None
    assert whole.files[0].lines_cut == 0


@pytest.mark.parametrize(
    ("leak", "kind"),
    [
        ("cat /agent/home/.codex/skills/some-arm/SKILL.md", TraceKind.PATH),
        ("use marker-skill.", TraceKind.NAME),
        ("zebra   Quokka\ndescription", TraceKind.DESCRIPTION),
        ("so the tabbed XYZZY: indented ünï home, (b) Q the end", TraceKind.TEXT),
        (numbered(BODY, "{:6}\t"), TraceKind.TEXT),
    ],
)
def test_any_form_of_a_leak_is_a_trace(leak: str, kind: TraceKind) -> None:
    """Place, name, description, and eight words in a row across lines, numbers, case and punctuation."""
    record = foreign("harmless", leak)
    assert kind in {trace.kind for trace in record.foreign}
    assert {trace.arm for trace in record.foreign} == {"some-arm"}


def test_seven_words_in_a_row_are_no_trace() -> None:
    """They occur by chance."""
    assert foreign("tabbed xyzzy indented ünï home b q").foreign == ()
    assert len(foreign("tabbed xyzzy indented ünï home b q the").foreign) == 1


def test_a_short_file_is_a_trace_as_a_whole() -> None:
    """A bundle of less than eight words would else leave none."""
    other = FileTree.of_text({"AGENTS.md": "# Rules\n\nAlways xyzzy first.\n"})
    assert len(foreign("the rules: always xyzzy first!", other=other).foreign) == 1
    assert foreign("always xyzzy", other=other).foreign == ()


def test_what_is_everybodys_or_the_arms_own_is_no_trace() -> None:
    """The request, the snapshot and the own bundle may hold the same words."""
    snapshot = FileTree.of_text({"README.md": BODY})
    said = f"{BODY} marker-skill"
    assert foreign(said).foreign_counts == {"some-arm": 2}
    assert foreign(BODY, known=tuple(known_texts("Do it.", snapshot))).foreign == ()
    assert foreign(said, known=tuple(known_texts("Use marker-skill.", snapshot))).foreign == ()
    assert foreign(said, own=the_files()).foreign == ()


def test_a_name_of_one_plain_word_is_a_trace_in_a_listing_only() -> None:
    """A skill called `review` is not there because somebody wrote that word."""
    other = FileTree.of_text({"SKILL.md": "---\nname: review\ndescription: Look twice at it.\n---\nx\n"})
    assert foreign("please review src/review/main.py (review)", other=other).foreign == ()
    for listing in ("a:\n- review: something", "<name>review</name>", "see skills/review/SKILL.md"):
        assert [trace.kind for trace in foreign(listing, other=other).foreign] == [TraceKind.NAME]


def test_traces_are_counted_beyond_those_that_are_recorded() -> None:
    """A bundle that leaked in a hundred places fills no record."""
    text = "\n".join(" ".join(f"word{n}x{i}" for i in range(9)) for n in range(100))
    pieces = [" ".join(f"word{n}x{i}" for i in range(8)) for n in range(100)]
    record = foreign(*pieces, other=FileTree.of_text({"notes.md": text}))
    assert len(record.foreign) == 20
    assert record.foreign_counts == {"some-arm": 100}


def test_the_tools_are_those_of_the_first_request_that_offers_any() -> None:
    """An agent may ask for a title of the conversation first, without tools."""
    title = SeenRequest(1, "1" * 64, ("title?",), ())
    record = seen(title, asked("hello", number=2), SeenRequest(3, "3" * 64, (), ("other",)))
    assert record.tools == ("bash",)
    assert seen(title).tools == ()
    assert loaded_instructions("a", None, placed={}, present={}, others={}, requests=[]).tools is None


def test_a_proof_that_lacks_a_request_is_not_complete() -> None:
    """It is told, whatever else was found."""
    assert seen(asked("hello")).complete is True
    assert seen(asked("hello"), asked(number=2, whole=False)).complete is False
    nothing = loaded_instructions("a", None, placed={}, present={}, others={}, requests=None)
    assert nothing.complete is None


def test_what_was_unchanged_at_the_end_joins_the_record_by_path() -> None:
    """What the export does not tell is not known; the rest of the record stays."""
    before = seen(asked(SKILL), files=the_files(**{"b.md": "b", "c.md": "c"}))
    after = before.at_end({"SKILL.md": True, "b.md": False, "c.md": None})
    assert [file.unchanged_at_end for file in after.files] == [True, False, None]
    assert after.at_end({}).files == before.files


@pytest.mark.parametrize(
    "unit", ["<skills_instructions>", "<skills_instructions>### Available skills\n", "<available_skills>"]
)
def test_a_request_of_a_million_beginnings_of_listings_is_read_in_one_pass(unit: str) -> None:
    """A model can have its shell send one; a pattern that tries every pair would not end in a day."""
    assert seen(asked(unit * 200_000), agent="my-program").bundled_skills is None


COMMON = "import json\nimport os\nimport re\nimport sys\nfrom pathlib import Path\nfrom typing import Any\n"


def test_what_the_model_wrote_itself_is_no_trace_when_a_tool_shows_it_again() -> None:
    """Half of all programs begin alike; what was given before the model wrote it is a trace all the same."""
    other = the_files(**{"scripts/check.py": COMMON})
    call = SeenRequest(2, "2" * 64, (f"1\t{COMMON}",), ("bash",), written=(f"I write {COMMON}",))
    arms = {"some-arm": other}
    requests = [asked("Mend the sum."), call]
    own = loaded_instructions("neutral", None, placed={}, present={}, others=arms, requests=requests)
    assert own.foreign == ()
    requests = [asked(f"Files: {COMMON}"), call]
    given = loaded_instructions("neutral", None, placed={}, present={}, others=arms, requests=requests)
    assert [trace.seen_in.request for trace in given.foreign] == [1]


def test_the_words_of_a_licence_are_no_trace() -> None:
    """Many repositories hold them, and what is installed beside them."""
    legal = "Permission is hereby granted, free of charge, to any person obtaining a copy of this software"
    assert foreign(legal, other=the_files(**{"LICENSE.txt": legal})).foreign == ()
    assert foreign(legal, other=the_files(**{"rules.md": legal})).foreign != ()


CONVERSATIONS: dict[str, dict[str, JsonValue]] = {
    "chat completions": {
        "messages": [
            {"role": "system", "content": "given one"},
            {"role": "assistant", "content": "own", "tool_calls": [{"function": {"arguments": "own too"}}]},
            {"role": "tool", "content": "given two"},
        ]
    },
    "responses": {
        "instructions": "given one",
        "input": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "own"}]},
            {"type": "function_call", "name": "shell", "arguments": "own too"},
            {"type": "function_call_output", "output": "given two"},
        ],
    },
    "messages": {
        "system": [{"type": "text", "text": "given one"}],
        "messages": [
            {"role": "assistant", "content": [{"type": "text", "text": "own"}, {"input": {"x": "own too"}}]},
            {"role": "user", "content": [{"type": "tool_result", "content": "given two"}]},
        ],
    },
}


@pytest.mark.parametrize("protocol", CONVERSATIONS)
def test_a_request_tells_who_wrote_what(protocol: str) -> None:
    """Each protocol sends the model's own words back with every request."""
    given, written = split_by_author(CONVERSATIONS[protocol])
    assert {"given one", "given two"} <= set(texts_of(given))
    assert {"own", "own too"} <= set(texts_of(written))
    assert not {"own", "own too"} & set(texts_of(given))
    assert not {"given one", "given two"} & set(texts_of(written))
