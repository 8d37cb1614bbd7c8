"""Sham bundles: as long as a bundle and built like it, and about something else.

A sham arm tells the effect of a bundle's content from that of being given a text of that length at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from esac_ag.errors import InputRefused, UsageError
from esac_ag.front_matter import front_matter
from esac_ag.manifest.findings import shown_text
from esac_ag.manifest.plan import ArmKind
from esac_ag.record import Record
from esac_ag.rooms.freezing import bundle_to_freeze, kind_of_bundle, lay_down
from esac_ag.rooms.sham_short import MOST_WORDS, lines_on_lighthouses
from esac_ag.rooms.sham_text import words_on_lighthouses
from esac_ag.tree import FileTree, RegularFile

NAME = "lighthouse-notes"
TOLERANCE = 0.02
"""How far words and bytes of a sham may be from the bundle's."""
SLACK_BYTES = 12
"""The same for a bundle of a few words: whole sentences do not come in every length."""
_NAMES = (
    *("sea", "fogs", "tides", "beacon", "lantern", "seashore", "lightship", "lighthouse", "tide-tables"),
    *("beacon-notes", "lantern-notes", "seashore-notes", "lightship-notes", NAME),
)
"""By their length, from three letters on."""
_NAME_FORM = r"[a-z0-9]+(?:-[a-z0-9]+)*"
_ENTRY_NAMES = frozenset({"SKILL.md", "AGENTS.md", "CLAUDE.md"})
_FOLDERS = frozenset({"assets", "docs", "examples", "reference", "references", "scripts", "templates"})
"""Names that say nothing about what a bundle is about."""
_SUFFIXES = frozenset({".md", ".txt"})
_PREFIX = re.compile(r"[ \t]*(?:#{1,6}[ \t]+|[-*+][ \t]+(?:\[[ xX]\][ \t]+)?|\d{1,3}[.)][ \t]+|>[ \t]+)?")
_WORD = re.compile(r"[^ \t\n\r\f\v]+")
_AROUND = "`'\"()[],.;:*_"
_DESCRIPTION = ("About", "lighthouses.")


class Length(Record):
    """How long a bundle is, over all its files."""

    files: int
    words: int
    """Runs of bytes without white space."""
    size_bytes: int


class ShamBundle(Record):
    """A sham bundle that was laid down."""

    kind: ArmKind
    folder: str
    name: str
    """In the head of its SKILL.md, if it has one."""
    length: Length
    of_bundle: Length
    """The bundle that it is as long as."""
    written: bool
    """False when the same files were there before."""


@dataclass(slots=True)
class _Line:
    """A line that is to be filled: what it begins with, and its words; those to be made are None."""

    prefix: str
    words: list[str | None]


def write_sham(source: Path, output: Path, *, name: str | None = None) -> ShamBundle:
    """Write a sham of a bundle into a folder.

    Args:
        source: a skill folder, an instructions file or any folder.
        output: the folder; not there yet, or empty, or with the same sham.
        name: of the sham, as skills are named; by default `lighthouse-notes`, or for a short bundle one
            that is as long as its own.

    Raises:
        UsageError: the name is malformed.
        InputRefused: the source cannot be read or is empty or too short to be matched; other content has the
            place.
    """
    bundle = bundle_to_freeze(source)
    name = _name_for(bundle) if name is None else name
    if not re.fullmatch(_NAME_FORM, name):
        raise UsageError(
            "The sham's name is malformed.",
            where="--name",
            expected="lower-case letters and digits in parts joined by `-`",
            found=shown_text(name),
        )
    sham = sham_of(bundle, name)
    found, wanted = length_of(sham), length_of(bundle)
    if not _alike(found, wanted):
        raise InputRefused(
            "No sham of this bundle is as long as it.",
            where=shown_text(str(source)),
            expected=f"{wanted.words} words and {wanted.size_bytes} bytes, within {TOLERANCE:.0%}",
            found=f"{found.words} words and {found.size_bytes} bytes",
            remedy="Write the sham by hand; a bundle of a few words needs none of the same length.",
        )
    return ShamBundle(
        kind=kind_of_bundle(bundle),
        folder=shown_text(str(output)),
        name=name,
        length=found,
        of_bundle=wanted,
        written=lay_down(sham, output),
    )


def length_of(tree: FileTree) -> Length:
    """Files, words and bytes."""
    data = [node.data for node in tree.files().values()]
    return Length(
        files=len(data), words=sum(len(one.split()) for one in data), size_bytes=sum(map(len, data))
    )


def sham_of(bundle: FileTree, name: str) -> FileTree:
    """A tree of the same structure with another text; pure, the same for the same bundle.

    Folders and names that tell what a bundle is about become `part-1` and so on; headings, lists, fences and
    mentions of the bundle's own files stay; other file types become text, and nothing is executable.
    """
    paths = _new_paths([path.decode("utf-8", "backslashreplace") for path in bundle.files()])
    nodes: dict[bytes, RegularFile] = {}
    for number, ((old, new), node) in enumerate(
        zip(paths.items(), bundle.files().values(), strict=True), start=1
    ):
        own_name = name if old == "SKILL.md" else f"{name}-{number}"
        nodes[new.encode()] = RegularFile(_sham_file(node.data, paths, own_name))
    return FileTree(nodes)


def _name_for(bundle: FileTree) -> str:
    """A name that leaves a short bundle's text the room that its own name leaves."""
    entry = bundle.files().get(b"SKILL.md")
    if entry is None or length_of(bundle).words > MOST_WORDS:
        return NAME
    own = front_matter(entry.data.decode("utf-8", "replace")).get("name", "")
    return _NAMES[min(max(len(own) - len(_NAMES[0]), 0), len(_NAMES) - 1)]


def _alike(found: Length, wanted: Length) -> bool:
    slack = SLACK_BYTES if wanted.words <= MOST_WORDS else 0
    return abs(found.words - wanted.words) <= TOLERANCE * wanted.words and abs(
        found.size_bytes - wanted.size_bytes
    ) <= max(TOLERANCE * wanted.size_bytes, slack)


def _new_paths(paths: list[str]) -> dict[str, str]:
    """The sham's path for every path of the bundle, in order."""
    folders: dict[str, str] = {}
    new: dict[str, str] = {}
    for number, path in enumerate(paths, start=1):
        *parents, last = path.split("/")
        for parent in parents:
            if parent not in folders:
                folders[parent] = parent if parent in _FOLDERS else f"folder-{len(folders) + 1}"
        suffix = Path(last).suffix if Path(last).suffix in _SUFFIXES else ".txt"
        name = last if last in _ENTRY_NAMES else f"part-{number}{suffix}"
        new[path] = "/".join([*(folders[parent] for parent in parents), name])
    return new


def _sham_file(data: bytes, paths: dict[str, str], name: str) -> bytes:
    try:
        lines = data.decode("utf-8").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError:
        filled = [_Line("", [None] * len(data.split()))]
    else:
        filled = _lines(lines, paths, name)
    _match_words(filled, len(data.split()))
    fixed = len(_joined(filled))
    places = [(line, at) for line in filled for at, word in enumerate(line.words) if word is None]
    made = _made(filled, len(places), max(len(data) - fixed, len(places)))
    for (line, at), word in zip(places, made, strict=True):
        line.words[at] = word
    return _joined(filled)


def _made(lines: list[_Line], count: int, letters: int) -> list[str]:
    """The words for all places: whole sentences on each line where there are few."""
    counts = [line.words.count(None) for line in lines if None in line.words]
    short = lines_on_lighthouses(counts, letters) if count <= MOST_WORDS else None
    # Few words that are longer than any sentence's are no prose: code, data, a digest.
    fits = short is not None and sum(map(len, short)) >= letters - SLACK_BYTES
    return short if short is not None and fits else words_on_lighthouses(count, letters)


def _joined(lines: list[_Line]) -> bytes:
    """The text as it stands; words that are not made yet are empty."""
    return "\n".join(line.prefix + " ".join(word or "" for word in line.words) for line in lines).encode()


def _lines(lines: list[str], paths: dict[str, str], name: str) -> list[_Line]:
    """What is to be filled: a head of its own where there was one, then line for line."""
    end = lines.index("---", 1) if lines[0] == "---" and "---" in lines[1:] else None
    if end is None:
        return [_line(line, paths) for line in lines]
    described = [line for line in lines[1:end] if line.startswith("description:")]
    more = max((len(_WORD.findall(described[0])) - 1 if described else 0) - len(_DESCRIPTION), 0)
    head = [
        _Line("---", []),
        _Line(f"name: {name}", []),
        _Line("description: ", [*_DESCRIPTION, *[None] * more]),
        _Line("---", []),
    ]
    return head + [_line(line, paths) for line in lines[end + 1 :]]


def _line(line: str, paths: dict[str, str]) -> _Line:
    match = _PREFIX.match(line)
    prefix = match[0] if match else ""
    words = _WORD.findall(line[len(prefix) :])
    if words and words[0].startswith("```"):
        return _Line(prefix, ["```", *[None] * (len(words) - 1)])
    return _Line(prefix, [_own_file(word, paths) for word in words])


def _own_file(word: str, paths: dict[str, str]) -> str | None:
    """A mention of a file of the bundle, as a mention of the sham's file; none for other words."""
    bare = word.strip(_AROUND).removeprefix("./")
    return word.replace(bare, paths[bare]) if bare in paths else None


def _match_words(lines: list[_Line], wanted: int) -> None:
    """Add words to the last line that has some, or take some from the end."""
    count = sum(len(_WORD.findall(line.prefix)) + len(line.words) for line in lines)
    prose = [line for line in lines if None in line.words] or lines
    if count < wanted:
        prose[-1].words += [None] * (wanted - count)
    for line in reversed(prose):
        while count > wanted and line.words.count(None) > 1 and line.words[-1] is None:
            line.words.pop()
            count -= 1
