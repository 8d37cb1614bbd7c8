"""Masking: what gives an arm away is replaced by `[masked]`, line by line, and counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from esac_ag.study.diff import DiffFile, DiffHunk, DiffLine, LineKind
from esac_ag.study.giveaways import GiveAways
from esac_ag.study.packets import MASK
from esac_ag.study.plain import Span, lines_of, plain, readings


@dataclass(slots=True)
class Masker:
    """Masks the texts of one packet and counts what it replaced."""

    giveaways: GiveAways
    count: int = 0

    def prose(self, text: str) -> str:
        """What an agent said, ran, or got printed."""
        return self._masked(text, prose=True)

    def code(self, text: str) -> str:
        """Added lines of a diff, and names of files: words that the repository has too are left."""
        return self._masked(text, prose=False)

    def loads_instructions(self, command: str) -> bool:
        """Whether a command names a bundle, or a place where instructions lie."""
        pattern = self.giveaways.instructions
        return pattern is not None and pattern.search(plain(command).text) is not None

    def diff(self, files: Iterable[DiffFile]) -> tuple[DiffFile, ...]:
        """A diff with its added lines, names and notes masked; all other lines are the repository's."""
        return tuple(
            DiffFile(
                path=self.code(file.path),
                notes=tuple(map(self.code, file.notes)),
                hunks=tuple(map(self._hunk, file.hunks)),
            )
            for file in files
        )

    def _hunk(self, hunk: DiffHunk) -> DiffHunk:
        """Added lines are masked together, for phrases go on over the ends of lines."""
        added = "\n".join(line.text for line in hunk.lines if line.kind is LineKind.ADDED)
        masked = iter(self.code(added).split("\n"))

        def shown(line: DiffLine) -> DiffLine:
            if line.kind is not LineKind.ADDED:
                return line
            return line.model_copy(update={"text": next(masked)})

        return DiffHunk(lines=tuple(map(shown, hunk.lines)))

    def _masked(self, text: str, *, prose: bool) -> str:
        found = [
            reads.origin(span)
            for reads in readings(text)
            for span in self.giveaways.found_in(reads, prose=prose)
        ]
        parts: list[str] = []
        place = 0
        for start, end in _merged(found):
            self.count += 1
            for from_, to in lines_of(text, (start, end)):
                parts += [text[place:from_], MASK]
                place = to
        return "".join([*parts, text[place:]])


def _merged(spans: Iterable[Span]) -> Iterator[Span]:
    """Spans in order, those that touch or overlap as one; empty ones left out."""
    open_: Span | None = None
    for start, end in sorted(spans):
        if open_ is not None and start <= open_[1]:
            open_ = open_[0], max(open_[1], end)
            continue
        if open_ is not None and open_[1] > open_[0]:
            yield open_
        open_ = start, end
    if open_ is not None and open_[1] > open_[0]:
        yield open_
