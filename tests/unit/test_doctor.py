"""The doctor's conclusions, from plain figures."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from esac_ag import clock
from esac_ag.sandbox.doctor import Check, DoctorReport, Status
from esac_ag.sandbox.doctor.engine import engine_checks
from esac_ag.sandbox.doctor.limits import Inside, Swap, judge
from esac_ag.sandbox.doctor.machine import engine_clock, machine_checks
from esac_ag.sandbox.doctor.model import prove_model_socket
from esac_ag.sandbox.memory import InMemoryEngine
from esac_ag.sandbox.memory_process import FakeProcess, Program
from esac_ag.sandbox.model_socket import RELAY_PROGRAM

MIB = 1024 * 1024


def _inside(**changes: object) -> Inside:
    zeros = "0" * 16
    seen = Inside(
        status={"CapEff": zeros, "CapPrm": zeros, "CapBnd": zeros, "NoNewPrivs": "1", "Seccomp": "2"},
        uid=10001,
        written_roots=[],
        interfaces=["lo"],
        tmp_bytes=8 * MIB,
        workspace_bytes=12 * MIB,
        children=23,
        elapsed_s=0.4,
        processor_s=0.07,
        throttled=4,
        swap=Swap(memory_and_swap=None, memory=None, swap_max="0"),
    )
    return seen.model_copy(update=changes)


def _named(checks: Iterable[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks}


def _engine(**changes: object) -> dict[str, Check]:
    info: dict[str, object] = {
        "CgroupVersion": "2",
        "CgroupDriver": "systemd",
        "Driver": "overlay2",
        "DockerRootDir": "/nonexistent",
        "SecurityOptions": ["name=seccomp,profile=builtin"],
        **changes,
    }
    return _named(engine_checks(info, {"Version": "27.0", "ApiVersion": str(changes.get("api", "1.46"))}))


def test_limits_that_take_effect_are_ok() -> None:
    """A container that met every limit leaves nothing to remedy."""
    assert {check.status for check in judge(_inside())} == {Status.OK}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("no swap", {"swap": Swap(memory_and_swap=None, memory=None, swap_max="max")}),
        ("no swap", {"swap": Swap(memory_and_swap="2", memory="1", swap_max=None)}),
        ("pids limit", {"children": None}),
        ("pids limit", {"children": 150}),
        ("cpu quota", {"throttled": 0, "processor_s": 0.2}),
        ("cpu quota", {"throttled": None, "processor_s": 0.4}),
        ("tmp size", {"tmp_bytes": None}),
        ("workspace size", {"workspace_bytes": 13 * MIB}),
        ("read-only root", {"written_roots": ["/etc"]}),
        ("no network", {"interfaces": ["eth0", "lo"]}),
        ("no capabilities", {"status": {"CapEff": "0", "CapPrm": "0", "CapBnd": "00000000a80425fb"}}),
        ("no capabilities", {"status": {}}),
        ("no new privileges", {"status": {"NoNewPrivs": "0"}}),
        ("seccomp filter", {"status": {"Seccomp": "0"}}),
        ("not root", {"uid": 0}),
    ],
)
def test_a_limit_without_effect_is_a_failure_with_a_remedy(name: str, change: dict[str, Any]) -> None:
    """What a container was able to do is held against what it was given."""
    check = _named(judge(_inside(**change)))[name]
    assert check.status is Status.FAILURE
    assert check.remedy


@pytest.mark.parametrize(
    "change",
    [
        {"swap": Swap(memory_and_swap=None, memory="1", swap_max=None)},
        {"throttled": None},
        {"throttled": None, "processor_s": 0.1},
        {"throttled": 0, "processor_s": 0.01},
    ],
)
def test_what_the_kernel_does_not_tell_is_a_warning(change: dict[str, Any]) -> None:
    """Unknown is neither good nor bad, and is said."""
    statuses = {check.status for check in judge(_inside(**change))}
    assert statuses == {Status.OK, Status.WARNING}


def test_a_usual_engine_is_ok_and_a_far_disk_is_unknown() -> None:
    """The disk of an engine on another machine cannot be measured from here."""
    checks = _engine()
    assert checks["free disk"].status is Status.WARNING
    assert {check.status for name, check in checks.items() if name != "free disk"} == {Status.OK}


@pytest.mark.parametrize(
    ("change", "name", "status"),
    [
        ({"CgroupDriver": "none"}, "cgroups", Status.FAILURE),
        ({"SecurityOptions": []}, "security options", Status.FAILURE),
        ({"SecurityOptions": ["name=seccomp,profile=unconfined"]}, "security options", Status.FAILURE),
        ({"Driver": "vfs"}, "storage", Status.WARNING),
        ({"api": "1.24"}, "engine", Status.WARNING),
        ({"api": ""}, "engine", Status.WARNING),
    ],
)
def test_an_unusual_engine_is_told(change: dict[str, object], name: str, status: Status) -> None:
    """Each peculiarity that matters to a study has its own line and remedy."""
    check = _engine(**change)[name]
    assert check.status is status
    assert check.remedy


@pytest.mark.parametrize(("skew_s", "status"), [(0, Status.OK), (60, Status.WARNING), (-60, Status.WARNING)])
def test_clocks_that_differ_are_a_warning(skew_s: int, status: Status) -> None:
    """The engine tells nanoseconds; time stamps of one study come from both clocks."""
    told = (datetime.fromisoformat(clock.now()) + timedelta(seconds=skew_s)).strftime("%Y-%m-%dT%H:%M:%S.%f")
    assert engine_clock(told + "123Z").status is status


@pytest.mark.parametrize("told", ["", "yesterday", "2026-01-01T00:00:00"])
def test_an_unreadable_clock_of_the_engine_is_a_warning(told: str) -> None:
    """A time without zone cannot be compared."""
    assert engine_clock(told).status is Status.WARNING


def test_rooms_that_are_missing_are_named(tmp_path: Path) -> None:
    """A folder that is no workspace fails; no workspace at all is only a warning."""
    (tmp_path / "arms").mkdir()
    check = _named(machine_checks(tmp_path))["workspace"]
    assert check.status is Status.FAILURE
    assert "graders" in check.found
    assert "arms" not in check.found.partition("lacks")[2]
    assert _named(machine_checks(None))["workspace"].status is Status.WARNING


def test_the_exit_code_tells_the_worst() -> None:
    """Warnings let a script go on, failures do not, and a missing engine is told apart."""
    fine = Check(name="a", status=Status.OK, found="")
    doubtful = Check(name="b", status=Status.WARNING, found="", remedy="look")
    bad = Check(name="c", status=Status.FAILURE, found="", remedy="mend")
    assert DoctorReport(checks=(fine, doubtful), engine_reachable=True).exit_code() == 0
    assert DoctorReport(checks=(fine, bad), engine_reachable=True).exit_code() == 1
    assert DoctorReport(checks=(bad,), engine_reachable=False).exit_code() == 2


def test_where_a_socket_cannot_be_mounted_the_other_way_to_a_model_is_named() -> None:
    """A study without command-line agents needs neither, so this is no failure."""

    def elsewhere(process: FakeProcess) -> int:
        process.write("unreachable: No such file or directory\n")
        return 1

    programs: dict[tuple[str, ...], Program] = {RELAY_PROGRAM: elsewhere}
    check = prove_model_socket(InMemoryEngine(programs), "any:1")
    assert (check.status, check.found) == (Status.WARNING, "unreachable: No such file or directory")
    assert '"model_way": "network"' in check.remedy


def test_a_socket_that_was_reached_from_inside_is_ok() -> None:
    """The test's container connects to a socket that the doctor listens on."""
    engine = InMemoryEngine()
    assert prove_model_socket(engine, "any:1").status is Status.OK
    assert list(engine.leftovers("memory")) == []
