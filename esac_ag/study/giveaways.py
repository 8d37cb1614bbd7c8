"""What gives an arm away in a text: ids, names, files and phrases of bundles, signatures, names of models.

Phrases are runs of eight words, and shorter texts, headings and descriptions as a whole. What the task's
request or repository holds too is everybody's, and gives nothing away.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from esac_ag.front_matter import front_matter
from esac_ag.seen_words import readable_text
from esac_ag.study.plain import Plain, Span, plain
from esac_ag.tree import FileTree

RUN_WORDS: Final = 8
SHORTEST_PHRASE: Final = 5
"""Headings, descriptions and texts with fewer words occur by chance: `Run all the tests`."""
SHORTEST_NAME: Final = 4
"""Ids and names with fewer characters occur by chance; they are looked for beside `skill` only."""

_HEADING: Final = re.compile(r"^#{1,6}[ \t]+(.+)$", re.MULTILINE)

SIGNATURES: Final = (
    r"co-authored-by:[^\n]*",
    (
        r"(?:generated|written|created|made) (?:with|by|using) [^\n]{0,40}?"
        r"(?:claude|codex|opencode|copilot|gemini|cursor|mini-swe-agent|gpt)[^\n]*"
    ),
    r"[\w.+-]{1,64}@(?:anthropic|openai|google|cursor)\.com",
)
"""What agents put below their work."""
VENDORS: Final = (
    r"claude(?:[ -](?:code|opus|sonnet|haiku|fable)(?:[ -][\d.]+)*)?",
    r"anthropic",
    r"openai",
    r"chatgpt",
    r"gpt-?\d[\w.-]*",
    r"codex(?:[ -]cli)?",
    r"opencode",
    r"mini-swe-agent",
    r"gemini(?:[ -][\d.]+\w*)?",
    r"deepseek(?:-[\w.]+)?",
    r"qwen[\d.]*(?:-[\w.]+)*",
    r"(?:github )?copilot",
)
"""Names of agents and models that sign their work."""
HOME: Final = (r"/agent/home(?:/[\w./@+-]*)?",)
"""The agent's home in its container, where there is more than instructions."""
PLACES: Final = (
    r"(?:~|\$home|/agent/home)/?\.(?:claude|codex|agents|config/opencode)(?:/[\w./@+-]*)?",
    r"\.(?:claude|codex|agents|opencode)/[\w./@+-]*",
    r"(?:[\w.~/@+-]{0,200}/)?skills/[\w./@+-]+",
    r"skill\.md",
)
"""Where agents look for their instructions."""
ABOUT_INSTRUCTIONS: Final = (
    r"skills?",
    r"claude\.md",
    r"agents\.md",
    r"system prompt",
    r"(?:custom |my |the |given )?instruction(?:s|(?:s)? (?:file|bundle)s?)",
    r"instruction bundle",
)
"""Words in which an agent tells that it was given instructions, which the control was not."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What is looked for, from the sealed plan."""

    bundles: Mapping[str, FileTree]
    """By arm; empty for the control."""
    names: tuple[str, ...] = ()
    """Names of model and agent that are long enough to be no chance."""
    ids: tuple[str, ...] = ()
    """Ids of the study and of attempts: exact, wherever they stand."""


@dataclass(frozen=True, slots=True)
class GiveAways:
    """Patterns and phrases for one task; `found_in` tells where a text holds any."""

    code: re.Pattern[str] | None
    """For lines of the diff."""
    prose: re.Pattern[str] | None
    """For commands, outputs, claims: more than in code."""
    instructions: re.Pattern[str] | None
    """Places and files of bundles: a command that holds one loads instructions."""
    runs: frozenset[str]
    phrases: frozenset[tuple[str, ...]]
    _first_words: frozenset[str] = field(default=frozenset(), repr=False)

    @classmethod
    def of(cls, sources: Sources, known: Iterable[str]) -> GiveAways:
        """What gives an arm away in submissions of one task.

        Args:
            sources: from the plan.
            known: what every arm of the task is given: its request and the texts of its snapshot.
        """
        everybodys = [plain(text) for text in known]
        runs, phrases = _phrases(sources.bundles.values())
        for text in everybodys:
            words = [word for word, _ in text.words()]
            runs -= set(_runs(words))
            joined = f" {' '.join(words)} "
            phrases = {phrase for phrase in phrases if f" {' '.join(phrase)} " not in joined}
        own, marked = _arm_patterns(sources.bundles), _marked(sources.bundles)
        places = _new(PLACES, everybodys)
        files = _new(_file_patterns(sources.bundles.values()), everybodys)
        names = _new([*map(_spelled, sources.names), *VENDORS], everybodys)
        always = [*map(_exact, sources.ids), *SIGNATURES, *places, *HOME, *marked, *files, *names]
        return cls(
            code=_joined([*always, *_new(own, everybodys)]),
            prose=_joined([*always, *own, *_new(ABOUT_INSTRUCTIONS, everybodys)]),
            instructions=_joined([*places, *marked, *files]),
            runs=frozenset(runs),
            phrases=frozenset(phrases),
            _first_words=frozenset(run.partition(" ")[0] for run in runs) | {p[0] for p in phrases},
        )

    def found_in(self, text: Plain, *, prose: bool) -> Iterator[Span]:
        """Spans of the plain text; they may overlap."""
        pattern = self.prose if prose else self.code
        if pattern is not None:
            yield from (found.span() for found in pattern.finditer(text.text) if found[0])
        words = text.words()
        lengths = sorted({len(phrase) for phrase in self.phrases})
        for place, (word, span) in enumerate(words):
            if word not in self._first_words:
                continue
            run = words[place : place + RUN_WORDS]
            if " ".join(one for one, _ in run) in self.runs:
                yield span[0], run[-1][1][1]
            for length in lengths:
                piece = words[place : place + length]
                if tuple(one for one, _ in piece) in self.phrases:
                    yield span[0], piece[-1][1][1]


def _phrases(bundles: Iterable[FileTree]) -> tuple[set[str], set[tuple[str, ...]]]:
    """Runs of eight words, and shorter texts that are phrases as a whole."""
    runs: set[str] = set()
    phrases: set[tuple[str, ...]] = set()
    for tree in bundles:
        for node in tree.files().values():
            text = readable_text(node.data)
            whole = [text, *short_texts(text)]
            runs.update(_runs([word for word, _ in plain(text).words()]))
            for piece in whole:
                words = tuple(word for word, _ in plain(piece).words())
                if SHORTEST_PHRASE <= len(words) < RUN_WORDS:
                    phrases.add(words)
    return runs, phrases


def short_texts(text: str) -> list[str]:
    """What of a bundle's file is a phrase by itself: its description, and its headings."""
    return [front_matter(text).get("description", ""), *_HEADING.findall(text)]


def _runs(words: list[str]) -> Iterator[str]:
    return (" ".join(words[at : at + RUN_WORDS]) for at in range(len(words) - RUN_WORDS + 1))


def _names_of(bundles: Mapping[str, FileTree]) -> set[str]:
    """Ids of arms, and names of their skills."""
    heads = (
        front_matter(readable_text(node.data)) for tree in bundles.values() for node in tree.files().values()
    )
    return {*bundles, *(head["name"] for head in heads if head.get("name"))}


def _arm_patterns(bundles: Mapping[str, FileTree]) -> list[str]:
    return [_spelled(name) for name in sorted(_names_of(bundles)) if len(name) >= SHORTEST_NAME]


def _marked(bundles: Mapping[str, FileTree]) -> list[str]:
    """Names that are said to be an arm's, of whatever length."""
    names = "|".join(_spelled(name) for name in sorted(_names_of(bundles), key=lambda one: (-len(one), one)))
    if not names:
        return []
    return [
        rf"(?:skills?|arm|bundle)[\s:`\"'/(]{{1,3}}(?:{names})",
        rf"(?:{names})[`\"')]?\s(?:skill|arm|bundle)",
    ]


def _file_patterns(bundles: Iterable[FileTree]) -> list[str]:
    """Paths of bundles' files, and their names."""
    paths = {path.decode("utf-8", "replace") for tree in bundles for path in tree.files()}
    names = {posixpath.basename(path) for path in paths}
    long = sorted(one for one in paths | names if len(one) >= SHORTEST_NAME)
    return [re.escape(plain(one).text) for one in sorted(long, key=lambda one: (-len(one), one))]


def _spelled(name: str) -> str:
    """A name with whatever stands between its parts."""
    parts = re.findall(r"[^\W_]+", plain(name).text)
    return r"[\W_]{0,2}".join(map(re.escape, parts))


def _exact(text: str) -> str:
    return re.escape(plain(text).text)


def _new(patterns: Iterable[str], known: list[Plain]) -> list[str]:
    """The patterns that no known text holds."""
    return [one for one in patterns if not any(_bounded(one).search(text.text) for text in known)]


def _bounded(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_])(?:{pattern})(?![^\W_])")


def _joined(patterns: list[str]) -> re.Pattern[str] | None:
    return _bounded("|".join(patterns)) if patterns else None
