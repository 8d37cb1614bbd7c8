"""Whether a message asks: a question mark counts when it is the writer's own."""

from __future__ import annotations

import pytest

from esac_ag.agents.questions import asks


@pytest.mark.parametrize(
    "text",
    [
        "Which one do you mean?",
        "Which one do you mean?!",
        "(Is it this one?)",
        "**Shall I go on?**",
        'Do you mean "A" or "B"?',
        "Don't you want Nora's meeting?",
        "Is it the users' list, or the owners'?",
        'A 5" screen, or a 7" one?',
        "`ls` or `dir`?",
        "```\ncode\n```\nIs that right?",
        "> quoted\n\nIs that right?",
        "你要哪一个？请告诉我",  # noqa: RUF001
        "أي واحد؟",
        "One sentence. Or two? Then a third.",
    ],
)
def test_a_question_of_the_writers_own_asks(text: str) -> None:
    """Whatever stands around it."""
    assert asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Done.",
        'I answered "Which one?" already.',
        "I answered 'Which one?' already.",
        "I answered ‘Which one?’ already.",  # noqa: RUF001
        "I answered “Which one?” already.",
        "Ich habe „Welche?“ gelesen.",
        "Il a dit « Lequel ? » hier.",
        "Es hieß »Welche?« gestern.",
        "Use `ls a?` here.",
        "```\nls a?\n```",
        "```\nls a?",
        "~~~sh\nls a?\n~~~",
        "> Which one?\nThe first.",
        "See https://example.org/a?b=1 for more.",
    ],
)
def test_a_quoted_question_asks_nothing(text: str) -> None:
    """Neither do code and addresses."""
    assert not asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "Done. Is there anything else?",
        "Booked it. Do you want something else, or can I close this?",
        "All set!\nDo you need further assistance?",
    ],
)
def test_an_offer_that_closes_a_message_asks_nothing(text: str) -> None:
    """A polite ending is no question about the task."""
    assert not asks(text)


def test_a_question_beside_a_closing_offer_asks() -> None:
    """The offer takes nothing away from what is really asked."""
    assert asks("Which of the two do you mean? Is there anything else?")
    assert asks("Is there anything else? Which of the two do you mean?")
    assert asks("Is there anything else that I have to know of it, such as which of the two Noras you mean?")


def test_marks_in_a_row_are_one_mark() -> None:
    """However many there are: the sentence before them is looked at once."""
    assert not asks("Done. Is there anything else" + "?" * 1_000_000)
    assert not asks("Done. Is there anything else" + "?" * 1_000_000 + "x")
    assert asks("Done. Which one" + "؟?" * 500_000)


def test_many_marks_in_one_sentence_cost_no_more_than_their_number() -> None:
    """A look back has an end, so a long sentence is not read anew for each of its marks."""
    assert not asks("Is there anything else?," * 50_000)
    assert asks("Done. Is there anything else" + "?," * 500_000)


@pytest.mark.parametrize("piece", ["„", "“", "«", "»", "'", '"', "`", "````", "~~~", "\n>", "> ", "‘"])  # noqa: RUF001
def test_a_long_text_of_opening_marks_is_read_to_its_end(piece: str) -> None:
    """No text keeps the harness busy: what opens and never closes is looked at once."""
    assert not asks(piece * 1_000_000)
