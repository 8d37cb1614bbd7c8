"""Oracle of the log report, and the drawing of its inputs; its source becomes part of hidden tests."""

# ruff: noqa: PLR2004  (line forms and draws are literal)

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def read_log_record(line: str, syntax: str) -> dict[str, Any] | None:
    """The record of a line; none when the line is bad."""
    found: dict[str, str] = {}
    if syntax == "keys":
        for word in line.split():
            key, _, value = word.partition("=")
            if key in found:
                return None
            found[key] = value
    elif syntax == "bars":
        cells = [cell.strip() for cell in line.split("|")]
        found = dict(zip(["at", "id", "svc", "user", "lvl", "ms"], cells, strict=False))
        if len(cells) != 6:
            return None
    else:
        words = line.split()
        if len(words) != 5 or words[2].count("/") != 1 or not words[4].endswith("ms"):
            return None
        svc, user = words[2].split("/")
        found = {"at": words[0][1:-1], "lvl": words[1], "svc": svc, "user": user}
        found |= {"id": words[3][1:], "ms": words[4][:-2]}
    if set(found) != {"at", "id", "svc", "user", "lvl", "ms"}:
        return None
    if found["lvl"] not in ("DEBUG", "INFO", "WARN", "ERROR"):
        return None
    if not (found["ms"].isascii() and found["ms"].isdigit()):
        return None
    return {**found, "ms": int(found["ms"])}


def seconds_of(clock: str) -> int:
    """Seconds since midnight of HH:MM:SS."""
    hours, minutes, seconds = clock.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds)


def log_records(lines: list[str], rules: dict[str, Any]) -> tuple[list[dict[str, Any]], int]:
    """The records that stand after duplicates and VOID lines, and the number of bad lines."""
    kept: dict[str, dict[str, Any]] = {}
    gone: set[str] = set()
    bad = 0
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split()
        if words[0] == "VOID":
            if len(words) != 3:
                bad += 1
                continue
            old = kept.get(words[1])
            if rules["void"] == "everywhere":
                gone.add(words[1])
            elif old:
                late = seconds_of(words[2]) - seconds_of(old["at"])
                if rules["void"] == "above" or 0 <= late <= rules["window_s"]:
                    del kept[words[1]]
            continue
        record = read_log_record(line, rules["syntax"])
        if record is None:
            bad += 1
            continue
        old = kept.get(record["id"])
        slower = old is not None and record["ms"] > old["ms"]
        if old is None or rules["duplicate"] == "last" or (rules["duplicate"] == "slowest" and slower):
            kept[record["id"]] = record
    return [record for record in kept.values() if record["id"] not in gone], bad


def log_value(times: list[int], rules: dict[str, Any]) -> int:
    """The value of a group's times."""
    times = sorted(times)
    count, total = len(times), sum(times)
    if rules["metric"] == "total":
        return total
    if rules["metric"] == "mean":
        return (2 * total + count) // (2 * count)
    if rules["metric"] == "median":
        return times[(count - 1) // 2]
    if rules["metric"] == "spread":
        return times[-1] - times[0]
    place: int = (rules["percent"] * count + 99) // 100 - 1
    return times[place]


def solve_log(text: str, rules: dict[str, Any]) -> list[str]:
    """The report's lines."""
    records, bad = log_records(text.split("\n"), rules)
    groups: dict[str, list[int]] = {}
    order = ["DEBUG", "INFO", "WARN", "ERROR"]
    for record in records:
        if rules["filter"] == "level" and order.index(record["lvl"]) < order.index(rules["least_level"]):
            continue
        if rules["filter"] == "slow" and record["lvl"] != "ERROR" and record["ms"] < rules["slow_ms"]:
            continue
        names = {"service": record["svc"], "user": record["user"], "hour": record["at"][:2] + ":00"}
        names["service-level"] = record["svc"] + "/" + record["lvl"]
        groups.setdefault(names[rules["group"]], []).append(record["ms"])
    rows = sorted((name, log_value(times, rules), len(times)) for name, times in groups.items())
    if rules["names"] == "descending":
        rows.reverse()
    rows.sort(key=lambda row: row[1] if rules["values"] == "ascending" else -row[1])
    if rules["cut"] == "least":
        listed = [row for row in rows if row[2] >= rules["least_records"]]
    else:
        listed = [
            row
            for place, row in enumerate(rows)
            if place < rules["top"] or row[1] == listed_last(rows, rules)
        ]
    lines = [rules["row"].format(name=name, value=value, count=count) for name, value, count in listed]
    return [*lines, f"{rules['labels'][0]}: {len(rows) - len(listed)}", f"{rules['labels'][1]}: {bad}"]


def listed_last(rows: list[tuple[str, int, int]], rules: dict[str, Any]) -> int:
    """The value of the last row within the top."""
    place: int = min(rules["top"], len(rows)) - 1
    return rows[place][1]


def log_line(record: dict[str, Any], syntax: str, below: Callable[[int], int]) -> str:
    """A record as a line."""
    if syntax == "keys":
        words = [f"{key}={value}" for key, value in record.items()]
        first = below(len(words))
        return " ".join(words[first:] + words[:first])
    if syntax == "bars":
        bar = ["|", " | "][below(2)]
        return bar.join(str(record[key]) for key in ("at", "id", "svc", "user", "lvl", "ms"))
    return (
        f"[{record['at']}] {record['lvl']} {record['svc']}/{record['user']} #{record['id']} {record['ms']}ms"
    )


def clock_of(seconds: int) -> str:
    """HH:MM:SS of seconds since midnight."""
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def log_record(below: Callable[[int], int], rules: dict[str, Any], facet: str, number: int) -> dict[str, Any]:
    """A drawn record."""
    coarse = facet in ("ties", "all")
    at = 8 * 3600 + number * 240 + below(200)
    lvl = ["DEBUG", "INFO", "WARN", "ERROR"][below(4)]
    ms = (1 + below(4)) * 100 if coarse else 20 + below(900)
    if facet not in ("filter", "all", "ties"):
        if rules["filter"] == "level":
            lvl = ["WARN", "ERROR"][below(2)]
        else:
            ms += rules["slow_ms"]
    svc = rules["services"][below(len(rules["services"]))]
    user = rules["users"][below(len(rules["users"]))]
    return {"at": clock_of(at), "id": f"r{100 + number}", "svc": svc, "user": user, "lvl": lvl, "ms": ms}


def make_log(below: Callable[[int], int], rules: dict[str, Any], facet: str) -> str:
    """An input that brings a facet of the rules to bear."""
    count = 18 + below(8)
    records = [log_record(below, rules, facet, number) for number in range(count)]
    lines = [log_line(record, rules["syntax"], below) for record in records]
    if facet in ("duplicates", "all"):
        for _ in range(7):
            again = {**log_record(below, rules, facet, count + 3), "id": records[below(count)]["id"]}
            lines.insert(below(len(lines) + 1), log_line(again, rules["syntax"], below))
    if facet in ("voids", "all"):
        for number in range(7):
            old = records[below(count)]
            late = rules["window_s"] + [-90, -1, 0, 1, 90, 400][below(6)]
            void = f"VOID {old['id']} {clock_of(seconds_of(old['at']) + late)}"
            place = below(len(lines) + 1)
            lines.insert(place, void)
            if number % 3 == 2:
                again = {**log_record(below, rules, facet, count + 5), "id": old["id"]}
                lines.insert(place + 1 + below(len(lines) - place), log_line(again, rules["syntax"], below))
        lines.insert(below(len(lines) + 1), "VOID r999 09:00:00")
    if facet in ("bad", "all"):
        for kind in range(6):
            broken: dict[str, Any] = log_record(below, rules, facet, below(count))
            broken["id"] = f"x{kind}"
            if kind < 3:
                broken["ms"] = ["12.5", "-40", "fast", "1e3", ""][below(5)]
            elif kind < 5:
                broken["lvl"] = ["TRACE", "warn", "Error", "FATAL"][below(4)]
            line = log_line(broken, rules["syntax"], below)
            if kind == 5:
                line = ["VOID r100", "rotated to next file", "*** 12"][below(3)]
            lines.insert(below(len(lines) + 1), line)
        lines.insert(below(len(lines) + 1), "")
        lines.insert(below(len(lines) + 1), "# rotated")
    return "\n".join(lines) + "\n"
