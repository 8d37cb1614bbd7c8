"""The few plain fields at the head of a SKILL.md: `key: value` lines between two lines of dashes."""

from __future__ import annotations

FENCE = "---"


def front_matter(text: str) -> dict[str, str]:
    """Top-level plain values by key; empty when the text has no head.

    A folded or literal value (`>` or `|`) is joined by spaces. This reads what skills use, not all of YAML:
    what it does not understand is left out.
    """
    lines = text.split("\n")
    if lines[0].strip() != FENCE:
        return {}
    fields: dict[str, list[str]] = {}
    key = ""
    for line in lines[1:]:
        if line.strip() == FENCE:
            return {name: " ".join(parts).strip().strip("\"'") for name, parts in fields.items()}
        name, colon, value = line.partition(":")
        if colon and name == name.strip() and name:
            key, value = name, value.strip()
            fields[key] = [] if value[:1] in {">", "|"} else [value]
        elif key and line.startswith(" "):
            fields[key].append(line.strip())
    return {}
