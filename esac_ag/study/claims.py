"""The agent's substantive verification claims: what it says that it ran, tested, verified, or that works.

They are taken from what the agent said last, sentence by sentence, by fixed rules, and lose everything that
is mere presentation: markup, emphasis, exclamation, pictures, the words that a sentence opens with.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from esac_ag.plural import plural
from esac_ag.study.masking import Masker
from esac_ag.study.packets import Claim
from esac_ag.transcript import Entry, EntryKind

MOST_CLAIMS: Final = 60
MOST_CHARACTERS: Final = 500
MOST_NESTED: Final = 8
"""Marks of quotes, lists and headings at the start of one line."""

_CLAIM: Final = re.compile(
    r"\b(?:(?:re-?)?(?:ran|runs?|running|executed?|executing)|(?:un)?test(?:s|ed|ing)?|verif(?:y|ied|ies|ying|ication)"
    r"|check(?:s|ed|ing)?|confirm(?:s|ed|ing)?|validat(?:e[sd]?|ing|ion)|reproduc(?:e[sd]?|ing)|pass(?:es|ed|ing)?"
    r"|fail(?:s|ed|ing|ures?)?|works?|working|worked|green|succeed(?:s|ed)?|successful(?:ly)?|compiles?|compiled|builds?"
    r"|built|coverage|covered|covers|regressions?|no longer|fix(?:es|ed)|resolv(?:es|ed)|linted|type-?checks?"
    r"|now (?:\w+ly )?\w+s)\b",
    re.IGNORECASE,
)
_FENCE: Final = re.compile(r"^\s*(?:```|~~~).*$", re.MULTILINE)
_LINK: Final = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^)\n]{0,500}\)")
_TAG: Final = re.compile(r"</?[A-Za-z][^>]{0,200}>")
_LINE_START: Final = re.compile(r"^[ \t]*(?:[-*+•>|]+|#{1,6}|\d{1,3}[.)]|\[[ xX]\])[ \t]+")
_EMPHASIS: Final = re.compile(r"\*\*|__|`|~~|(?<![\w*])\*(?=\w)|(?<=[\w.!?,;:)])\*(?![\w*])")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?;])[\"')\]]*\s+(?=[A-Z0-9\"'(\[`])")
_OPENING: Final = re.compile(
    r"^(?:(?:great|perfect|done|excellent|awesome|nice|success|summary|results?|status|note|ok|okay"
    r"|all done|verification|tests?|testing|finally|also|additionally|in addition|then|next|so|and)"
    r"\s*[:,!.\u2013\u2014-]+\s*)+",
    re.IGNORECASE,
)
_PICTURES: Final = frozenset({"So", "Sk", "Cs", "Co", "Cn", "Cf", "Cc", "Mn"})


def claims_of(entries: Sequence[Entry], masker: Masker) -> tuple[Claim, ...]:
    """The claims of what the agent said last, in its order, each once.

    Sentences beyond `MOST_CLAIMS` are left out, and the last claim says so.
    """
    found: dict[str, str] = {}
    for sentence in _sentences(last_words(entries)):
        text = normalised(sentence)
        if text and _CLAIM.search(text):
            found.setdefault(text.casefold(), text)
    # Masked together: a phrase may go on from one sentence to the next.
    texts = masker.prose("\n".join(found.values())).split("\n") if found else []
    kept = texts[:MOST_CLAIMS]
    if len(texts) > MOST_CLAIMS:
        kept.append(f"(Left out here: {plural(len(texts) - MOST_CLAIMS, 'more claim')}.)")
    return tuple(Claim(id=f"claim-{number}", text=text) for number, text in enumerate(kept, start=1))


def last_words(entries: Sequence[Entry]) -> str:
    """What the agent said after its last tool call; or its last message, if it said nothing then."""
    said: list[str] = []
    for entry in reversed(entries):
        if entry.kind is EntryKind.MODEL and entry.text.strip():
            said.append(entry.text)
        if entry.kind in {EntryKind.TOOL_CALL, EntryKind.TOOL_RESULT} and said:
            break
    return "\n".join(reversed(said))


def normalised(sentence: str) -> str:
    """One sentence without its presentation; empty when nothing is left."""
    text = _TAG.sub("", _LINK.sub(r"\1", sentence))
    for _ in range(MOST_NESTED):
        text = _LINE_START.sub("", text)
    text = _EMPHASIS.sub("", text).replace("|", " ")
    text = "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) not in _PICTURES)
    text = " ".join(text.translate({0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"'}).split())
    text = _OPENING.sub("", text).strip(" \t-\u2013\u2014:!,;")
    text = re.sub(r"!+", ".", text)
    if not text:
        return ""
    text = text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"
    first = text.split(" ", 1)[0]
    # A name in code keeps its case; a word of a sentence begins with a capital letter.
    text = text[0].upper() + text[1:] if first.isalpha() and first.islower() else text
    return text if text.endswith((".", "?", "…")) else text + "."


def _sentences(text: str) -> Iterator[str]:
    """Sentences and lines; what stands in a fence is a claim as well: a pasted result of tests."""
    for line in _FENCE.sub("", text).splitlines():
        yield from _SENTENCE_END.split(_EMPHASIS.sub("", _LINK.sub(r"\1", line)))
