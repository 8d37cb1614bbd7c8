"""The example that `esac-ag task new` begins with: a slug of a title, with one bug."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from esac_ag.manifest.package import CheckKind, CriticalFailure, Dimension

_HEAD = '''"""Names for addresses."""

from __future__ import annotations


def slug(title: str) -> str:
    """A title in lower case, with one hyphen for whatever separates its words."""
'''
_TAIL = """    if not result:
        raise ValueError("a title needs a letter or a digit")
    return result
"""
_TEST = """from titles.slug import slug


def test_a_plain_title_is_joined_by_hyphens() -> None:
    assert slug("Two words") == "two-words"


def test_separators_in_a_row_make_one_hyphen() -> None:
    assert slug("Bread -- and butter") == "bread-and-butter"
"""
SNAPSHOT: Mapping[str, str] = {
    "README.md": "# titles\n\n`python3 -m titles TITLE` prints the slug of a title. "
    "Tests: `python3 -m pytest`.\n",
    "titles/__init__.py": "",
    "titles/__main__.py": "import sys\n\nfrom titles.slug import slug\n\nprint(slug(sys.argv[1]))\n",
    "titles/slug.py": _HEAD
    + '    result = "".join(sign if sign.isalnum() else "-" for sign in title.lower()).strip("-")\n'
    + _TAIL,
    "tests/test_slug.py": _TEST,
}
"""A tiny repository whose public tests fail in one place."""
BASELINE = "tests/test_slug.py::test_separators_in_a_row_make_one_hyphen"
REQUEST = """A title with several separators in a row, such as "Bread -- and butter", gets a slug with several
hyphens. Please repair this; the tests have to pass.
"""
ORACLE = """# What is right

`slug` gives one hyphen for any run of signs that are neither letters nor digits, and none at either end.

## Implicit requirements

- Titles of letters and digits keep their slugs; a title without any is refused with `ValueError`, as before.
- The command line gives the same answers as the function.

## Unacceptable

- Repairing the reported title only. Changing the delivered test.
"""
FIRST = "tasks/{id} and graders/{id} hold a small example, sealed, whose proof holds: esac-ag task check {id}"
NEXT = (
    "Put your repository in place of tasks/{id}/public, with one public test that fails.",
    "Say in tasks/{id}/request.md what the agent is to do, and name the failing test in task.json.",
    "Write down in graders/{id}/oracle.md what is right.",
    "Declare the checks in graders/{id}/grader.json and write them in checks.py: at least eight.",
    "Make two reference patches that differ in approach, and three decoys, with git diff.",
    "After each step: esac-ag task seal {id}, then esac-ag task check {id}. docs/graders.md tells the rest.",
)


def _repaired(body: str, *, head: str = _HEAD) -> dict[str, str]:
    return {"titles/slug.py": head + body + _TAIL}


REFERENCES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "one-expression": (
        "every run of separators is replaced by a regular expression",
        _repaired(
            '    result = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")\n',
            head=_HEAD.replace("annotations\n", "annotations\n\nimport re\n"),
        ),
    ),
    "words-joined": (
        "the title is taken apart into words, which are joined",
        _repaired(
            '    spaced = "".join(sign if sign.isalnum() else " " for sign in title.lower())\n'
            '    result = "-".join(spaced.split())\n'
        ),
    ),
}
"""Why, and the files that change, by id."""
_OLD = '    result = "".join(sign if sign.isalnum() else "-" for sign in title.lower()).strip("-")\n'
DECOYS: Mapping[str, tuple[str, tuple[str, ...], Mapping[str, str]]] = {
    "reported-title-only": (
        "special-casing of the title in the request",
        ("any-run-of-separators",),
        _repaired(_OLD + '    result = result.replace("bread----and", "bread-and")\n'),
    ),
    "pairs-only": (
        "two hyphens become one, once: longer runs stay",
        ("any-run-of-separators",),
        _repaired(_OLD + '    result = result.replace("--", "-").replace("--", "-")\n'),
    ),
    "weakened-test": (
        "the delivered test is changed instead of the code",
        ("reported-title", "delivered-test-kept"),
        {"tests/test_slug.py": _TEST.replace('"bread-and-butter"', '"bread----and-butter"')},
    ),
}
"""Why, the checks that fail, and the files that change, by id."""


@dataclass(frozen=True, slots=True)
class _Checks:
    declared: tuple[tuple[str, str, CheckKind, Dimension, float, CriticalFailure | None], ...]
    text: str


CHECKS = _Checks(
    declared=(
        (
            "reported-title",
            "The reported title has single hyphens",
            CheckKind.MUST_NOW_WORK,
            Dimension.BEHAVIOUR,
            2.0,
            CriticalFailure.MISSING_CENTRAL_REQUIREMENT,
        ),
        (
            "any-run-of-separators",
            "Any run of separators makes one hyphen",
            CheckKind.MUST_NOW_WORK,
            Dimension.ROBUSTNESS,
            3.0,
            CriticalFailure.MISSING_CENTRAL_REQUIREMENT,
        ),
        (
            "command-line",
            "The command line prints the same",
            CheckKind.MUST_NOW_WORK,
            Dimension.BEHAVIOUR,
            1.0,
            None,
        ),
        (
            "plain-titles",
            "Plain titles keep their slugs",
            CheckKind.MUST_STILL_WORK,
            Dimension.BEHAVIOUR,
            2.0,
            None,
        ),
        ("ends-bare", "No hyphen at either end", CheckKind.MUST_STILL_WORK, Dimension.BEHAVIOUR, 1.0, None),
        ("digits-kept", "Digits are kept", CheckKind.MUST_STILL_WORK, Dimension.BEHAVIOUR, 1.0, None),
        (
            "empty-titles-refused",
            "A title without letters or digits is refused",
            CheckKind.MUST_STILL_WORK,
            Dimension.ROBUSTNESS,
            1.0,
            None,
        ),
        (
            "delivered-test-kept",
            "The delivered test stands unchanged",
            CheckKind.GUARD,
            Dimension.VERIFICATION,
            1.0,
            CriticalFailure.FABRICATED_VERIFICATION,
        ),
    ),
    text='''"""Hidden checks, run by another user than the submission, never importing it: docs/graders.md."""

from esac_checks import Subject, check, require_equal, require_raises

WORDS = ["bread", "butter", "salt", "42", "oil", "tea"]


def some_words(subject: Subject, number: int) -> list[str]:
    """Words that are drawn at grading time, so that no submission can know them."""
    return [subject.random.choice(WORDS) for _ in range(number)]


def slug(subject: Subject, title: str) -> object:
    """The submission's answer, from a process of its own."""
    return subject.call("titles.slug:slug", title)


@check("reported-title")
def reported_title(subject: Subject) -> None:
    require_equal(slug(subject, "Bread -- and butter"), "bread-and-butter", "the reported title")


@check("any-run-of-separators")
def any_run_of_separators(subject: Subject) -> None:
    for length in (2, 3, 7):
        first, second = some_words(subject, 2)
        between = "".join(subject.random.choice(" -_.,/") for _ in range(length))
        require_equal(slug(subject, first + between + second), f"{first}-{second}", f"a run of {length}")


@check("command-line")
def command_line(subject: Subject) -> None:
    first, second = some_words(subject, 2)
    done = subject.run(["python3", "-m", "titles", f"{first} -- {second}"])
    require_equal((done.exit_code, done.stdout), (0, f"{first}-{second}\\n".encode()), "what is printed")


@check("plain-titles")
def plain_titles(subject: Subject) -> None:
    words = some_words(subject, 3)
    require_equal(slug(subject, " ".join(words).title()), "-".join(words), "a plain title")


@check("ends-bare")
def ends_bare(subject: Subject) -> None:
    (word,) = some_words(subject, 1)
    require_equal(slug(subject, f"- {word}!"), word, "a title with separators at its ends")


@check("digits-kept")
def digits_kept(subject: Subject) -> None:
    number = str(subject.random.randint(10, 99999))
    require_equal(slug(subject, f"Issue {number}"), f"issue-{number}", "a title with a number")


@check("empty-titles-refused")
def empty_titles_refused(subject: Subject) -> None:
    require_raises("ValueError", lambda: slug(subject, " -- "))


@check("delivered-test-kept")
def delivered_test_kept(subject: Subject) -> None:
    path = "tests/test_slug.py"
    require_equal(subject.read(path), subject.snapshot_read(path), "the delivered test")
''',
)
"""The checks as `grader.json` declares them and as `checks.py` has them."""
