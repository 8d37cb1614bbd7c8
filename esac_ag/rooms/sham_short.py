"""A few words on lighthouses: whole sentences that fill given lines, where long text has no room to begin.

Each line gets sentences that have exactly its words together, each once as long as others are left, and
letters as near as they come to what is wanted. Nothing is drawn: the same measure gives the same text.
"""

from __future__ import annotations

from collections.abc import Sequence

MOST_WORDS = 60
"""Of a text that is filled so; above it sentences can be cut without harm."""
_SENTENCES = tuple(
    text.split()
    for text in (
        "Fog.",
        "Tides.",
        "Beacons.",
        "Lighthouses.",
        "Lightkeepers'.",
        "I see.",
        "Gulls fly.",
        "Fog falls.",
        "Lanterns glow.",
        "Keepers' logs.",
        "Lighthouses shine.",
        "Lighthousekeepers remember.",
        "It is far.",
        "The sea rose.",
        "Fog came in.",
        "A gull cried loudly.",
        "The lantern burned.",
        "Lighthouse keepers slept.",
        "Approaching fishermen whistled.",
        "It is at sea.",
        "The fog was low.",
        "An old lamp shone.",
        "The tower stood alone.",
        "Seabirds circled overhead silently.",
        "Breakers covered the causeway.",
        "Lighthouses illuminate treacherous coastlines.",
        "It is as far as I go.",
        "The oil lamp was lit.",
        "A gull sat on it.",
        "The harbour bell rang twice.",
        "Keepers polished the great lens.",
        "Granite foundations withstood enormous breakers.",
        "The fog is on the sea.",
        "A keeper wrote in the log.",
        "The keeper climbed the spiral stairs.",
        "Sailors counted the flashes every night.",
        "It is at sea in the fog.",
        "The boat came in with the tide.",
        "The white tower stands on the headland.",
        "Passing steamers greeted the lightkeeper every morning.",
    )
)


def lines_on_lighthouses(counts: Sequence[int], letters: int) -> list[str] | None:
    """The words of all lines, or none where no sentences fit one.

    Args:
        counts: of the words of each line.
        letters: of all words together; the text comes as near as it can.
    """
    lines: list[list[list[str]]] = []
    for number, count in enumerate(counts):
        left = letters - sum(_size(line) for line in lines)
        wanted = round(left * count / max(sum(counts[number:]), 1))
        chosen = _composed(_unused(lines, len(lines)), count, wanted) or _composed(_SENTENCES, count, wanted)
        if chosen is None:
            return None
        lines.append(chosen)
    _mend(lines, counts, letters)
    return [word for line in lines for sentence in line for word in sentence]


def _mend(lines: list[list[list[str]]], counts: Sequence[int], letters: int) -> None:
    """Choose one line again where that brings the letters nearer."""
    for number, count in enumerate(counts):
        missing = letters - sum(_size(line) for line in lines)
        if not missing:
            return
        wanted = _size(lines[number]) + missing
        other = _composed(_unused(lines, number), count, wanted)
        if other is not None and abs(wanted - _size(other)) < abs(missing):
            lines[number] = other


def _unused(lines: Sequence[list[list[str]]], number: int) -> list[list[str]]:
    """Sentences that no other line than this one has."""
    used = [sentence for at, line in enumerate(lines) if at != number for sentence in line]
    return [sentence for sentence in _SENTENCES if sentence not in used]


def _composed(sentences: Sequence[list[str]], count: int, letters: int) -> list[list[str]] | None:
    """Sentences, each once, of exactly so many words and letters as near as can be; none if none fit."""
    reached: dict[tuple[int, int], tuple[list[str], ...]] = {(0, 0): ()}
    for sentence in sentences:
        size = sum(map(len, sentence))
        for (words, so_far), chosen in list(reached.items()):
            place = (words + len(sentence), so_far + size)
            known = reached.get(place)
            # A few long sentences read better than many short ones.
            if place[0] <= count and (known is None or len(chosen) + 1 < len(known)):
                reached[place] = (*chosen, sentence)
    fitting = {so_far: chosen for (words, so_far), chosen in reached.items() if words == count}
    if not fitting:
        return None
    return list(fitting[min(fitting, key=lambda so_far: (abs(so_far - letters), so_far))])


def _size(line: Sequence[list[str]]) -> int:
    return sum(len(word) for sentence in line for word in sentence)
