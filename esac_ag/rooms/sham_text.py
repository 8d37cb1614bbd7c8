"""A text on lighthouses, of any number of words and letters: it tells nothing about code or about work.

Sentences are taken so that the words are as long on average as they have to be; what is then missing or too
much is made up by words of other lengths at the end. Nothing is drawn: the same measure gives the same text.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

_SENTENCES = (
    "The lamp at {place} is lit at dusk and put out at dawn.",
    "A keeper of {place} wrote in his log that the sea was as flat as a floor.",
    "Nineteenth century lighthouses frequently burned colza, paraffin or mineral oil.",
    "The tower on {place} has {number} steps from the door to the lamp.",
    "Granite blocks were dovetailed together, because breaking waves dislodge ordinary masonry.",
    "On a clear night its light is seen from {number} miles off.",
    "Fresnel arranged concentric prisms around the burner, concentrating scattered light horizontally.",
    "In fog a bell was rung, and in a gale no one heard it.",
    "Seabirds circle around the lantern room of {place} throughout the autumn migration.",
    "The boat with oil and bread came to {place} when the wind let it land.",
    "Automatic electric installations gradually replaced resident keepers during the twentieth century.",
    "The white tower of {place} has a red band, so it is not taken for the next one.",
    "Mercury baths allowed enormous revolving lenses to rotate almost without friction.",
    "It was said of {place} that the stairs were cold in every month but one.",
    "Distinctive flashing sequences distinguish neighbouring lighthouses along dangerous coastlines.",
    "The old lamp of {place} is in a glass case at the inn by the pier.",
    "Visitors nowadays photograph the abandoned signal station overlooking {place}.",
    "It took {number} men two summers to build the base, as the rock is dry at low tide only.",
)
_PLACES = ("Saltby Head", "Gull Rock", "Cape Morrow", "Anvil Point", "the Long Skerry", "Harrow Ness")
_NUMBERS = ("forty", "ninety", "seventeen", "sixty", "thirty", "eighteen")
_WORDS = (
    ("a", "a", "a"),
    ("of", "by", "in"),
    ("sea", "fog", "oil"),
    ("lamp", "tide", "gull"),
    ("tower", "light", "coast"),
    ("beacon", "keeper", "harbor"),
    ("lantern", "granite", "channel"),
    ("seashore", "lifeboat", "headland"),
    ("shoreline", "reflector", "navigator"),
    ("lighthouse", "breakwater", "watchtower"),
    ("lightkeeper", "paraffinoil", "lampburners"),
    ("illumination", "lighthouses'", "stormlantern"),
)
"""Words by their length, from one letter on."""
CHOICE = 5
"""Sentences that are at hand for the next place."""


def words_on_lighthouses(count: int, letters: int) -> list[str]:
    """So many words that have so many letters together, or as near as one letter each allows."""
    words: list[str] = []
    size = 0
    sentences = _sentences()
    hand = [next(sentences) for _ in range(CHOICE)]
    while len(words) < count:
        wanted = letters / count
        best = min(hand, key=lambda told: abs(size + _size(told) - wanted * (len(words) + len(told))))
        hand.remove(best)
        hand.append(next(sentences))
        words += best
        size += _size(best)
    return _fitted(words[:count], letters)


def _sentences() -> Iterator[list[str]]:
    places, numbers = itertools.cycle(_PLACES), itertools.cycle(_NUMBERS)
    for sentence in itertools.cycle(_SENTENCES):
        yield sentence.format(place=next(places), number=next(numbers)).split()


def _size(words: list[str]) -> int:
    return sum(map(len, words))


def _fitted(words: list[str], letters: int) -> list[str]:
    """The words with as many letters as there are to be, by other words at the end."""
    missing = letters - _size(words)
    for place in range(len(words) - 1, -1, -1):
        if not missing:
            break
        length = min(max(len(words[place]) + missing, 1), len(_WORDS))
        missing -= length - len(words[place])
        words[place] = _word(length, place)
    if missing > 0:
        each, more = divmod(missing, len(words))
        words = [_word(len(word) + each + (place < more), place) for place, word in enumerate(words)]
    return words


def _word(length: int, place: int) -> str:
    """A word of that length; a long one is several with hyphens."""
    parts: list[str] = []
    while length > len(_WORDS):
        parts.append(_WORDS[9][(place + len(parts)) % 3])
        length -= 11
    return "-".join([*parts, _WORDS[length - 1][place % 3]])
