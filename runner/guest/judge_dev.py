"""The judge outside Docker, for authors of checks: see the docstring of judge.py.

The same supervisor, users and places, in mount, process, network and IPC namespaces that end with it.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

from judge_places import Places
from judge_processes import GRADER, SUBJECT
from judge_supervisor import supervise

BASE = "/mnt"
"""Covered with a memory file system that only this process and its children see."""


def main(arguments: list[str]) -> int:
    """Enter the namespaces, lay out the places, judge, tell."""
    options = _options(arguments)
    if os.getuid() != 0:
        sys.exit("--dev needs root: it changes to other users and makes namespaces")
    if os.getpid() != 1:
        flags = ["--mount", "--pid", "--fork", "--mount-proc", "--ipc", "--net", "--kill-child"]
        os.execvp("unshare", ["unshare", *flags, _interpreter(), "-I", "-B", *sys.argv])  # noqa: S606
    _loopback_up()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1g,mode=0755", "tmpfs", BASE], check=True)
    places = Places(grade=BASE + "/grade", subject=BASE + "/subject", shared=())
    declared = _lay_out(options, places)
    os.umask(0o022)
    since_s = time.monotonic()
    result = supervise(places)
    duration_s = time.monotonic() - since_s
    return _tell(result, declared, duration_s)


def _interpreter() -> str:
    """The system's Python: one below somebody's home cannot be run by the other two users."""
    system = "/usr/bin/python3"
    return system if os.access(system, os.X_OK) else sys.executable


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="judge.py")
    parser.add_argument("--dev", action="store_true", required=True)
    parser.add_argument("--grader", type=Path, required=True, help="folder with grader.json and checks.py")
    parser.add_argument("--snapshot", type=Path, required=True, help="the task's public folder")
    parser.add_argument("--submission", type=Path, help="what is judged; the snapshot when left out")
    parser.add_argument("--patch", type=Path, help="applied to what is judged, with git apply -p1")
    parser.add_argument("--seed", default="dev")
    parser.add_argument("--only", action="append", help="run this check only; may be repeated")
    parser.add_argument("--total-s", type=float, default=600.0)
    return parser.parse_args(arguments)


def _loopback_up() -> None:
    """A new network namespace has its loopback interface down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sh14x", b"lo", 0x41)  # IFF_UP | IFF_RUNNING
        fcntl.ioctl(handle, 0x8914, request)  # SIOCSIFFLAGS


def _lay_out(options: argparse.Namespace, places: Places) -> int:
    """Fill the places; returns the number of checks that grader.json declares."""
    package = json.loads((options.grader / "grader.json").read_bytes())
    if package.get("folders"):
        sys.exit(f"--dev has no folders {', '.join(package['folders'])}: use esac-ag task check")
    checks = [
        {"id": c["id"], "timeout_s": c.get("timeout_s", 20.0)}
        for c in package["checks"]
        if not options.only or c["id"] in options.only
    ]
    grade = Path(places.grade)
    grade.mkdir(mode=0o700)
    (grade / "private").mkdir()
    shutil.copy(options.grader / "checks.py", grade / "private")
    if (options.grader / "files").is_dir():
        shutil.copytree(options.grader / "files", grade / "private" / "files")
    shutil.copytree(options.snapshot, grade / "snapshot", symlinks=True, ignore=_ignored)
    submission = grade / "submission"
    shutil.copytree(options.submission or options.snapshot, submission, symlinks=True, ignore=_ignored)
    if options.patch:
        command = ["git", "apply", "-p1", "--whitespace=nowarn", str(options.patch.resolve())]
        subprocess.run(command, cwd=submission, check=True)
    _restore(package.get("restore", []), grade / "snapshot", submission)
    (grade / "out").mkdir()
    config = {
        "format_version": 1,
        "checks": checks,
        "seed": options.seed,
        "total_s": options.total_s,
        "file_bytes": 128 * 1024 * 1024,
        "only": bool(options.only),
    }
    (grade / "judge.json").write_text(json.dumps(config))
    for path in [grade, *grade.rglob("*")]:
        os.chown(path, GRADER, GRADER, follow_symlinks=False)
    Path(places.subject).mkdir(mode=0o755)
    os.chown(places.subject, SUBJECT, SUBJECT)
    return len(checks)


def _ignored(_folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name in (".git", "__pycache__", ".pytest_cache")]


def _restore(paths: list[str], snapshot: Path, submission: Path) -> None:
    for path in paths:
        target = submission / path
        if target.is_symlink() or target.is_file():
            target.unlink()
        elif target.is_dir():
            shutil.rmtree(target)
        source = snapshot / path
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True)
        elif source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)


def _tell(result: dict, declared: int, duration_s: float) -> int:
    passed = sum(record["verdict"] == "pass" for record in result["checks"])
    print(f"{passed} of {declared} checks passed, {duration_s:.2f} s")
    for record in result["checks"]:
        print(f"  {record['duration_s']:7.3f} s  {record['verdict']}  {record['id']}")
    if result["status"] != "graded":
        return 2
    return 0 if passed == declared else 1
