"""One log file put away: copied or moved by its size, under a path made of the UTC date and week."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final

from esac_ag.suite.world import building

from .draws import Draws
from .moments import clock_time, local, offset, spoken_day, utc
from .tool_call_first import Call, Draft, FirstCallItem

HOSTS: Final = ("edge", "core", "relay", "store", "batch")
SERVICES: Final = (
    ("gateway", "gatekeeper"), ("ledger", "ledgerd"), ("mailer", "mailerd"), ("search", "searchd"),
    ("billing", "billings"), ("import", "imports"),
)  # fmt: skip
EAST: Final = (("Auckland", 780), ("Adelaide", 630), ("Osaka", 540), ("Kathmandu", 345), ("Pune", 330))
WEST: Final = (("Honolulu", -600), ("Denver", -360), ("Toronto", -240))
FIRST_MONDAY: Final = date(2026, 3, 2)
FIRST_WEEK: Final = 10
KIB: Final = 1024
ORDINALS: Final = (
    "current one",
    "newest rotated one",
    "second newest rotated one",
    "third newest rotated one",
)


@dataclass(frozen=True, slots=True)
class _Log:
    host: str
    service: str
    age: int
    """0 is the current file; rotated ones count from 1."""
    size_bytes: int
    last: datetime

    @property
    def path(self) -> str:
        return _source(self.host, self.service, self.age)


def _source(host: str, service: str, age: int) -> str:
    return f"/var/log/{host}/{service}.log" + (f".{age}" if age else "")


def _target(log: _Log, moment: datetime) -> str:
    week = FIRST_WEEK + (moment.date() - FIRST_MONDAY).days // 7
    stem = f"{moment.year}{moment.month:02}{moment.day:02}-{moment.hour:02}"
    return f"/archive/{log.host}/{moment.year}-w{week:02}/{log.service}-{stem}.log"


def _state(draws: Draws, log: _Log, hosts: tuple[str, str], services: tuple[str, str]) -> dict[str, Any]:
    state = building.empty_state()
    for host in hosts:
        for week in range(FIRST_WEEK - 1, FIRST_WEEK + 5):
            state = building.with_directory(state, f"/archive/{host}/2026-w{week:02}")
        for service in services:
            for age in range(4):
                path = _source(host, service, age)
                size = log.size_bytes if path == log.path else draws.between(1400, 2600)
                state = building.with_file(state, path, _content(service, size))
    return state


def _content(service: str, size_bytes: int) -> str:
    line = f"{service} request served\n"
    return (line * (size_bytes // len(line) + 1))[: size_bytes - 1] + "\n"


def build(draws: Draws) -> Draft:
    """Draw an instance."""
    stem = draws.pick(HOSTS)
    number = draws.between(2, 9)
    # edge-3 and edge-13: a careless search finds both.
    hosts = draws.shuffled((f"{stem}-{number}", f"{stem}-1{number}"))
    services = draws.shuffled(draws.pick(SERVICES))
    city, minutes = draws.pick(draws.pick((EAST, WEST)))
    week = draws.between(1, 4)
    # Around the change of the week: the local day and the UTC day lie in different weeks.
    change = utc(FIRST_MONDAY + timedelta(days=7 * week), 0)
    behind = draws.between(1, abs(minutes) - 1)
    last = change + timedelta(minutes=-behind if minutes > 0 else behind)
    limit = draws.between(3, 6)
    moves = bool(draws.below(2))
    # Between the limit in thousands of bytes and in KiB, or just above both.
    size = limit * KIB + draws.between(1, 90) if moves else limit * KIB - draws.between(1, 22 * limit)
    log = _Log(hosts[0], services[0], draws.between(1, 3), size, last)
    shown = local(last, minutes)
    arguments = {"source": log.path, "destination": _target(log, last)}
    tool, twin = ("fs_move", "fs_copy") if moves else ("fs_copy", "fs_move")
    prompt = "\n".join(
        [
            (
                f"Please put one log of {log.service} on {log.host} away: the {ORDINALS[log.age]}, {size} "
                f"bytes. Its last line was written on {spoken_day(shown)} at {clock_time(shown)} in {city} "
                f"(UTC{offset(minutes)})."
            ),
            "",
            (
                f"House rules: logs of up to {limit} KiB are copied, larger ones are moved. The current "
                "log of a service is SERVICE.log in /var/log/HOST; a rotated one has .1 after that, an "
                "older one .2, and so on. In the archive it lies in /archive/HOST/YEAR-wWEEK and is called "
                "SERVICE-YYYYMMDD-HH.log, where week, day and hour are those of its last line in UTC. Weeks "
                "begin on Monday, have two digits, and Monday 2 March 2026 began week 10. The folders are "
                f"there. Do not mistake {log.host} for {hosts[1]}, nor {log.service} for {services[1]}."
            ),
        ]
    )
    local_target = {**arguments, "destination": _target(log, shown)}
    return Draft(
        prompt=prompt,
        state=_state(draws, log, (hosts[0], hosts[1]), (services[0], services[1])),
        call=Call(tool, arguments),
        derived=(log.path,),
        computed=(arguments["destination"], arguments["destination"].rsplit("/", 1)[1]),
        lures={
            "twin-tool": Call(twin, arguments),
            "local-date": Call(tool, local_target),
            "current-log": Call(tool, {**arguments, "source": _source(log.host, log.service, 0)}),
            "twin-host": Call(tool, {**arguments, "source": _source(hosts[1], log.service, log.age)}),
        },
    )


ITEM: Final = FirstCallItem(
    id="tool-call-rotation",
    title="One log put away by the rules",
    measures="Whether copy or move, source and destination follow from rules, units and a time zone.",
    offered=(
        "fs_list",
        "fs_stat",
        "fs_read",
        "fs_move",
        "fs_copy",
        "fs_append",
        "fs_mkdir",
        "fs_delete",
    ),
    build=build,
    lures=("twin-tool", "local-date", "current-log", "twin-host"),
    tokens=(7_000, 10_000, 14_000, 19_000, 28_000),
)
