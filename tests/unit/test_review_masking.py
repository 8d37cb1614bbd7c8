"""What gives an arm away is masked however it is written, and a second look finds what masking missed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esac_ag.seen_words import as_phrase, words_of
from esac_ag.study.diff import LineKind, read_diff
from esac_ag.study.giveaways import GiveAways, Sources
from esac_ag.study.leaks import LeakScan
from esac_ag.study.masking import Masker
from esac_ag.study.packets import MASK, Claim
from esac_ag.study.plain import plain
from esac_ag.tree import FileTree
from tests.builders_review import a_packet

PHRASE = "before you change anything at all read the contracts of the repository"
BUNDLE = FileTree.of_text(
    {
        "SKILL.md": "---\nname: read-first\ndescription: Look well before you leap.\n---\n\n"
        f"# Read it first of all\n\n{PHRASE}.\n",
        "references/how-far.md": "A local repair is enough.\n",
    }
)
SOURCES = Sources(
    bundles={"neutral": FileTree(), "read-first": BUNDLE},
    names=("acme/wonder-3", "wonder-3"),
    ids=("0123456789abcdef", "autumn-2026"),
)
FULL_WIDTH = "".join(chr(ord(char) + 0xFEE0) for char in "read-first")
REQUEST = "The total is wrong. Prices are neutral."


def a_masker(*known: str) -> Masker:
    """A masker for a task that holds the request, and more texts."""
    return Masker(GiveAways.of(SOURCES, [REQUEST, *known]))


TELLING = {
    "an id": "as read-first says",
    "an id in other letters": "as Read_First says",
    "an id with a space": "as read first says",
    "full-width letters": f"as {FULL_WIDTH} says",
    "an invisible character": "as read-\u200bfi\u00adrst says",
    "colours": "as read-\x1b[1mfirst\x1b[0m says",
    "escapes of XML": "as &#114;ead-first says",
    "an escape without its end": "as &ltread-first",
    "a letter before what nobody sees": "as s\u200bread-first",
    "accents": "as r\u0301ead-f\u00edrst says",
    "a phrase": f"I know: {PHRASE}!",
    "a phrase over lines": "before you change\nanything at all read\nthe contracts of the repository",
    "a phrase numbered": "1: before you change anything at all\n2: read the contracts of the repository",
    "a phrase in another case": PHRASE.upper(),
    "a short text": "a local repair is enough",
    "a description": "Look well before you leap",
    "a heading": "Read it first of all",
    "a place": "cat ~/.claude/skills/x/notes.txt",
    "a home": "ls /agent/home/.codex",
    "a file": "see references/how-far.md",
    "a file's name": "see how-far.md",
    "a signature": "Co-Authored-By: Claude <noreply@anthropic.com>",
    "another signature": "Generated with [Claude Code](https://claude.com)",
    "a model": "I am Wonder-3",
    "a vendor": "as ChatGPT would",
    "an attempt": "in 0123456789abcdef",
    "a study": "for autumn-2026",
}


@pytest.mark.parametrize("text", TELLING.values(), ids=TELLING)
def test_text_that_gives_an_arm_away_is_masked(text: str) -> None:
    """In prose, and in code: the marked place is all that is left of it."""
    for masked in (a_masker().prose(text), a_masker().code(text)):
        assert MASK in masked
        shown = plain(masked).text
        for piece in (
            "first",
            "change anything",
            "repair",
            "leap",
            "claude",
            "wonder",
            "how-far",
            "abcdef",
            "2026",
        ):
            assert piece not in shown


@pytest.mark.parametrize(
    "text",
    [
        "I ran the tests carefully and they pass.",
        "git commit -m 'round half up'",
        "total = round(price, 2)  # the portal rounds half up",
        "before you change anything, look",
        "reading first the header",
        "read(); first()",
        "what I read.\n\n- First, the tests pass",
        "run all the tests",
    ],
)
def test_ordinary_text_is_left_as_it_is(text: str) -> None:
    """Masking that hits everything would leave nothing to review."""
    masker = a_masker()
    assert (masker.prose(text), masker.code(text), masker.count) == (text, text, 0)


def test_what_the_task_holds_too_gives_nothing_away_in_code() -> None:
    """A word of the repository stays in the diff; what an agent says with it is masked all the same."""
    assert a_masker().code("price.neutral = True") == "price.neutral = True"
    assert a_masker().prose("I am in the neutral arm") == f"I am in the {MASK}"


def test_a_phrase_that_is_everybodys_is_no_giveaway() -> None:
    """A bundle may quote the repository."""
    masker = a_masker(f"README: {PHRASE}")
    assert masker.prose(PHRASE) == PHRASE


def test_an_arm_named_beside_the_word_is_masked_even_where_the_task_has_the_name() -> None:
    """`the read-first skill` is no word of a repository."""
    masker = a_masker("read-first caches")
    assert masker.code("# as the read-first skill says") == f"# as the {MASK} says"
    assert masker.code("a read-first cache") == "a read-first cache"


def test_lines_of_a_diff_keep_their_number_when_a_phrase_spans_them() -> None:
    """Evidence points at lines, so none may vanish."""
    added = "before you change anything\nat all read the contracts\nof the repository"
    patch = "diff --git a/x.md b/x.md\n--- a/x.md\n+++ b/x.md\n@@ -1 +1,4 @@\n kept\n" + "".join(
        f"+{line}\n" for line in added.split("\n")
    )
    (file,) = a_masker().diff(read_diff(patch))
    lines = file.hunks[0].lines
    assert [line.new for line in lines] == [1, 2, 3, 4]
    assert [line.text for line in lines if line.kind is LineKind.ADDED] == [MASK] * 3


def test_names_of_files_in_a_diff_are_masked() -> None:
    """A copied skill shows by its path already."""
    patch = "diff --git a/skills/read-first/SKILL.md b/skills/read-first/SKILL.md\nnew file mode 100644\n"
    (file,) = a_masker().diff(read_diff(patch))
    assert file.path == MASK


def test_each_masked_place_counts_once() -> None:
    """Overlapping findings are one place."""
    masker = a_masker()
    assert (
        masker.prose("as the read-first skill says; and read-first again")
        == f"as the {MASK} says; and {MASK} again"
    )
    assert masker.count == 2


@pytest.mark.parametrize(
    "text", ["what I read.\n\n- First, it works", "see autumn-20261", "read();\nfirst()"]
)
def test_the_second_look_takes_no_ordinary_text_for_a_leak(text: str) -> None:
    """A refusal that nobody can do anything about would end the review."""
    packet = a_packet(claims=(Claim(id="claim-1", text=text),))
    assert LeakScan.of(SOURCES, [REQUEST]).leaks(packet) == ()


def test_paths_of_the_repository_are_not_masked_because_they_hold_skills() -> None:
    """A repository may have a folder of that name; the bundle's own place in it is masked all the same."""
    masker = a_masker("src/skills/list.py")
    assert masker.code("src/skills/list.py") == "src/skills/list.py"
    assert masker.code("src/skills/read-first/notes.md") == f"src/{MASK}/notes.md"


NOISE = (
    "\u200b",
    "\u00ad",
    "&amp;",
    "&lt",
    "&#x2d",
    "&zwj;",
    "\x1b[1m",
    "1: ",
    "3|",
    "\u00e9",
    "\u017f",
    "\u0130",
)
HIDING = st.lists(
    st.tuples(st.integers(0, 80), st.sampled_from([*NOISE, "*", "- ", "\r\n", "\x00"])), max_size=4
)


@settings(max_examples=300, deadline=None)
@given(
    before=st.text(max_size=5),
    after=st.text(max_size=5),
    hiding=HIDING,
    telling=st.sampled_from(["read-first", PHRASE, "wonder-3", "autumn-2026", "0123456789abcdef"]),
)
def test_whatever_hides_it_the_second_look_finds_nothing_after_masking(
    before: str, after: str, hiding: list[tuple[int, str]], telling: str
) -> None:
    """Masking and scanning are two implementations, and agree on hostile texts: no text stops a review."""
    for place, noise in hiding:
        telling = telling[:place] + noise + telling[place:]
    text = a_masker().prose(f"{before}{telling}{after}")
    packet = a_packet(claims=(Claim(id="claim-1", text=text),), commands=())
    assert LeakScan.of(SOURCES, [REQUEST]).leaks(packet) == ()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("as read-first says", "an arm's id"),
        (PHRASE, "a phrase of a bundle"),
        ("by wonder-3", "a model's name"),
        ("in 0123456789ABCDEF", "the id of the study or of an attempt"),
    ],
)
def test_the_second_look_finds_what_was_not_masked_and_says_where(text: str, what: str) -> None:
    """By pointer and kind; the text itself is not repeated."""
    leaks = LeakScan.of(SOURCES, [REQUEST]).leaks(a_packet(claims=(Claim(id="claim-1", text=text),)))
    assert {(leak.pointer, leak.what) for leak in leaks} == {("/claims/0/text", what)}


def test_the_second_look_finds_a_phrase_that_is_spread_over_claims() -> None:
    """Each piece alone is too short to be a phrase."""
    pieces = PHRASE.split(" ")
    claims = tuple(
        Claim(id=f"claim-{at}", text=" ".join(pieces[at : at + 4])) for at in range(0, len(pieces), 4)
    )
    leaks = LeakScan.of(SOURCES, [REQUEST]).leaks(a_packet(claims=claims, commands=()))
    assert {leak.what for leak in leaks} == {"a phrase of a bundle"}


def test_the_tasks_own_text_is_not_searched() -> None:
    """It is the same for all arms."""
    packet = a_packet()
    task = packet.task.model_copy(update={"request": "Wonder-3 read-first"})
    assert LeakScan.of(SOURCES, [task.request]).leaks(packet.model_copy(update={"task": task})) == ()


def test_masking_takes_linear_time_on_a_long_line_made_of_separators() -> None:
    """A hostile line of half a million characters; patterns that go back and forth would never end."""
    text = "a/b-c.d+" * 60_000
    assert a_masker().code(text) == text


def test_short_ids_are_looked_for_only_where_they_are_said_to_be_arms() -> None:
    """An arm called `a` does not mask every article."""
    sources = Sources(bundles={"neutral": FileTree(), "a": FileTree()})
    masker = Masker(GiveAways.of(sources, []))
    assert masker.prose("a test of the skill a, in arm a") == f"a test of the {MASK}, in {MASK}"


def test_plain_text_tells_where_each_character_comes_from() -> None:
    """Spans of what is read are spans of what is written, whatever lies between."""
    text = "x\u200b&amp;\x1b[31mÉy"
    reads = plain(text)
    assert reads.text == "x&ey"
    assert text[slice(*reads.origin((2, 4)))] == "Éy"
    assert as_phrase(words_of("a b")) in as_phrase(words_of("A  b"))
    assert re.fullmatch(r"\[masked\]", MASK)
