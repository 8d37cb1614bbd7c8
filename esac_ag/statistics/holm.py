"""Holm's adjustment of several comparisons."""

from __future__ import annotations

from collections.abc import Mapping


def holm(shares: Mapping[str, float]) -> dict[str, float]:
    """Adjusted shares, by name: the chance that any true null hypothesis falls at alpha stays below alpha.

    The k-th smallest of m is multiplied by m - k + 1, is at least as large as the one before, and at most 1
    (Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6,
    1979). It holds whatever the dependence between the comparisons, which here share a control.

    Raises:
        ValueError: a share is outside 0 to 1.
    """
    if not all(0 <= share <= 1 for share in shares.values()):
        raise ValueError("a share is outside 0 to 1")
    adjusted, highest = {}, 0.0
    for place, (name, share) in enumerate(sorted(shares.items(), key=lambda item: (item[1], item[0]))):
        highest = max(highest, min(1.0, share * (len(shares) - place)))
        adjusted[name] = highest
    return adjusted
