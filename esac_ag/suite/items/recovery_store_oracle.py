"""Oracle of the store replay, and the drawing of its inputs; its source becomes part of hidden tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def store_key(name: str, aliases: dict[str, str]) -> str:
    """What a name stands for."""
    while name in aliases:
        name = aliases[name]
    return name


def store_words(line: str, rules: dict[str, Any]) -> list[str]:
    """A line's words, the amount of put, take and move at the end."""
    words = line.split()
    if words and words[0] in rules["verbs"][:3] and rules["amounts"] == "first":
        return [words[0], *words[2:], words[1]]
    return words


def store_row(name: str, amount: int, rules: dict[str, Any]) -> str:
    """A name's line of the report."""
    return {
        "blank": f"{name} {amount}",
        "colon": f"{name}: {amount}",
        "equals": f"{name}={amount}",
        "times": f"{amount} x {name}",
        "arrow": f"{name} -> {amount}",
    }[rules["row"]]


def store_step(words: list[str], state: dict[str, Any], rules: dict[str, Any]) -> dict[str, Any] | None:
    """The state after put, take, move or alias; none when it is refused."""
    stock, aliases, lost = dict(state["stock"]), dict(state["aliases"]), state["lost"]
    put, take, move = rules["verbs"][:3]
    if words[0] == rules["verbs"][6]:
        old = store_key(words[2], aliases)
        if words[1] in aliases or stock.get(words[1]) or old == words[1]:
            return None
        aliases[words[1]] = words[2]
        return {"stock": stock, "aliases": aliases, "lost": lost}
    amount = int(words[-1])
    if words[0] in (take, move):
        source = store_key(words[1], aliases)
        if stock.get(source, 0) < amount:
            if words[0] == move or rules["short"] == "refuse":
                return None
            amount = stock.get(source, 0)
        stock[source] = stock.get(source, 0) - amount
    if words[0] in (put, move):
        target = store_key(words[-2], aliases)
        new = stock.get(target, 0) + amount
        if new > rules["capacity"] and rules["full"] == "refuse":
            return None
        stock[target] = min(new, rules["capacity"])
        lost += new - stock[target]
    return {"stock": stock, "aliases": aliases, "lost": lost}


def solve_store(text: str, rules: dict[str, Any]) -> list[str]:
    """The lines of the report."""
    state: dict[str, Any] = {"stock": {}, "aliases": {}, "lost": 0}
    saved: list[dict[str, Any]] = []
    refused = 0
    begin, commit, rollback, alias = rules["verbs"][3:]
    for line in text.split("\n"):
        words = store_words(line, rules)
        if not words:
            continue
        if words[0] == begin:
            saved.append(state)
        elif words[0] in (commit, rollback):
            if not saved:
                refused += 1
            elif words[0] == commit:
                saved.pop()
            else:
                state = saved.pop()
        else:
            after = None if words[0] == alias and saved else store_step(words, state, rules)
            refused += after is None
            state = after or state
    if saved and rules["unfinished"] == "undone":
        state = saved[0]
    held = [(name, amount) for name, amount in state["stock"].items() if amount]
    turn = {"name": 0, "largest": -1, "smallest": 1}[rules["sorted"]]
    held.sort(key=lambda pair: (turn * pair[1], pair[0]))
    counts = [f"{rules['labels'][0]} {state['lost']}", f"{rules['labels'][1]} {refused}"]
    return [*(store_row(*pair, rules) for pair in held), rules["joint"].join(counts)]


def make_store(below: Callable[[int], int], rules: dict[str, Any], facet: str) -> str:
    """An input that brings a place of the script to bear."""
    every = facet == "all"
    keys, capacity = rules["keys"], rules["capacity"]
    put, take, move, begin, commit, rollback, alias = rules["verbs"]
    lines = [f"{put} {key} {30 + below(capacity - 130)}" for key in keys[:4]]

    def some() -> list[str]:
        found = [f"{[put, take][below(2)]} {keys[below(4)]} {1 + below(25)}" for _ in range(1 + below(3))]
        return [*found, f"{move} {keys[below(2)]} {keys[2 + below(2)]} {1 + below(12)}"]

    lines += some()
    if every or facet == "undo-order":
        for _ in range(2):
            key, first = keys[below(4)], 1 + below(9)
            changes = [f"{take} {key} {first}", f"{put} {key} {first + 1 + below(9)}"]
            lines += [f"{put} {key} 10", begin, *changes, *(some() if every else []), rollback]
    if every or facet == "nested":
        for _ in range(2):
            # Nothing else moves this one, so that what is left of it never adds up to nothing.
            inner = [f"{put} {keys[5]} 10", f"{take} {keys[5]} {1 + below(9)}", *some()]
            lines += [begin, *some(), begin, *inner, commit, rollback]
    if every or facet == "unknown":
        lines.insert(2 + below(len(lines) - 2), f"{take} {keys[4]} {1 + below(9)}")
    if every or facet == "unopened":
        lines += [[commit, rollback][below(2)], *some()]
    if every or facet == "self-move":
        key = keys[below(4)]
        lines += [f"{put} {key} 3", f"{move} {key} {key} {1 + below(3)}"]
    if every or facet == "full":
        lines += [f"{put} {key} {capacity - 20 + below(15)}" for key in (keys[0], keys[3])]
        lines += [f"{put} {keys[5]} {capacity - 5}", f"{move} {keys[5]} {keys[below(4)]} {60 + below(20)}"]
        lines += [f"{move} {keys[below(4)]} {keys[5]} {6 + below(20)}"]
    if every or facet == "chain":
        lines += [
            f"{alias} {keys[6]} {keys[1]}",
            f"{alias} {keys[7]} {keys[6]}",
            f"{put} {keys[7]} {1 + below(9)}",
        ]
        lines += [f"{alias} {keys[1]} {keys[8]}", f"{put} {keys[6]} {1 + below(9)}", f"{take} {keys[7]} 2"]
    if every or facet == "unfinished":
        lines += [f"{put} {keys[0]} 20", begin, f"{take} {keys[0]} {11 + below(9)}", begin, *some()]
        lines += [commit] if below(2) else []
    if rules["amounts"] == "first":
        rows = [line.split() for line in lines]
        counted = (put, take, move)
        lines = [" ".join([row[0], row[-1], *row[1:-1]] if row[0] in counted else row) for row in rows]
    return "\n".join(lines) + "\n"
