"""Attacks from inside an agent's container, played end to end: each is graded, none is a free retry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from esac_ag.attempt import GRADED_OUTCOMES, LimitKind, Outcome
from esac_ag.conduct.audit import audit
from esac_ag.conduct.reporting import write_report
from esac_ag.report.view import RunState
from esac_ag.tree import Directory, Link
from tests.builders_attacks import ARMS, Actions, Attacked, attacked, python, shell
from tests.builders_commands import command, in_a_terminal

pytestmark = pytest.mark.docker

FIX: dict[str, Any] = {"do": "run", "argv": ["touch", "fixed.txt"]}
"""What the hidden check wants; a play that still comes to it passes."""
LATE: dict[str, Any] = {"do": "run", "argv": ["touch", "late.txt"]}
LATE_TRIES = 12
"""Where no process is left: the engine needs some itself to start a command, so one alone can be refused."""
FAKES = "tar git python3 sh bash touch cat ls docker node esac-ag"
START_FILES = ".bashrc .profile .bash_profile .bash_login .zshenv .pythonrc .gitconfig"
ODD_NAMES = [
    b"new\nline",
    b"return\rhere",
    b"\xff\xfe",
    b"Case",
    b"case",
    b"\x1b[31mred\x1b]0;title\x07",
    b"<script>alert(1)<x>",
    b"| a | b |",
    b"=1+1",
    b"-rf",
    b" ",
    b"[x](http:evil)",
    b"back\\slash",
    b"`id`$(id)",
    "\u202egpj.exe".encode(),
]
DEEP, TOO_DEEP = 60, 200
SHOUTED = "\x1b[31mred\x1b]0;title\x07 <script>alert(1)</script> [x](http://evil.example) | cell | \u202e"


def tampering(marker: Path) -> dict[str, Actions]:
    """Attacks that aim at whoever handles the workspace afterwards; `marker` is a path of the host."""
    fake = f"#!/bin/sh\ntouch {marker}\necho ran >> /agent/home/ran\n"
    write_fakes = (
        f"for name in {FAKES}; do printf %s '{fake}' > $name; chmod 755 $name; done; "
        f"mkdir -p bin ~/bin; /bin/cp {FAKES} bin; /bin/cp {FAKES} ~/bin; /bin/cp tar /usr/local/bin/tar"
    )
    write_start_files = (
        f"for name in {START_FILES}; do echo 'export PATH=/agent/workspace:$HOME/bin:$PATH "
        f"BASH_ENV=/agent/workspace/start LD_PRELOAD=/agent/workspace/evil.so' > ~/$name; done; "
        f"printf %s '{fake}' > start; cp start ld.so.preload; head -c 4096 /dev/urandom > evil.so; "
        f"echo 'import os; os.system(\"touch {marker}\")' | tee sitecustomize.py "
        "usercustomize.py conftest.py; "
        "mkdir -p ~/.local/lib/python3.11/site-packages; cp sitecustomize.py "
        "~/.local/lib/python3.11/site-packages/evil.pth"
    )
    git = f"""
        printf %s '{fake}' > evil; chmod 755 evil
        for hook in pre-commit post-commit post-checkout post-index-change reference-transaction; do
          cp evil .git/hooks/$hook; done
        me=/agent/workspace/evil
        git config user.email a@b; git config user.name n; git config core.fsmonitor $me
        git config core.pager $me; git config diff.external $me; git config core.sshCommand $me
        git config filter.x.clean $me; git config filter.x.smudge $me; git config diff.x.textconv $me
        echo '* filter=x diff=x' > .gitattributes
        echo "NAME = 'changed'" > shop.py
        git update-index --skip-worktree shop.py; git update-index --assume-unchanged shop.py
        echo ignored.txt > .gitignore; echo excluded.txt >> .git/info/exclude
        echo one > ignored.txt; echo two > excluded.txt
        git add -f evil ignored.txt; git commit -qm mine; git status --short
        git init -q nested; echo inner > nested/inner.py
        cd nested; git -c user.email=a@b -c user.name=n add .
        git -c user.email=a@b -c user.name=n commit -qm n; cat ~/ran
    """
    signals = "for s in $(seq 1 64); do kill -$s 1; done; kill -KILL -1; kill -KILL $$"
    edits = (
        "echo more >> ~/skills/careful/SKILL.md; rm ~/skills/careful/references/more.md; "
        "mkdir ~/skills/other; echo x > ~/skills/other/SKILL.md"
    )
    special = (
        "mkfifo pipe; mknod null c 1 3; mknod disk b 8 0; ln shop.py hard.py; cp /bin/true suid; "
        "chmod 6755 suid; ln -s /etc/passwd out; ln -s loop loop; ln -s ../../../../etc up; "
        "mkdir closed; echo in > closed/in; chmod 0 closed/in closed"
    )
    listener = "import socket; s = socket.socket(socket.AF_UNIX); s.bind('sock')"
    names = (
        f"import os\nfor name in {ODD_NAMES!r}:\n    open(name, 'wb').write(b'x')\n"
        f"for letter, depth in (('d', {DEEP}), ('e', {TOO_DEEP})):\n"
        "    deep = '/'.join([letter] * depth)\n    os.makedirs(deep)\n"
        "    open(deep + '/bottom', 'w').close()\n"
        "os.mkfifo(b'\\x1b[2J<b>pipe</b>'.replace(b'/', b'|'))\n"
        f"print({SHOUTED!r})\n"
    )
    return {
        "right": [FIX],
        "tools": [shell(write_fakes), FIX],
        "start-files": [shell(write_start_files), FIX],
        "git": [shell(git), FIX],
        "bundle": [shell(edits), FIX],
        "signals": [shell(signals), FIX],
        "special": [shell(special), python(listener), FIX],
        "names": [python(names), FIX],
    }


FILL_INODES = """
import os
os.mkdir("many")
count = 0
try:
    while True:
        open(f"many/{count}", "w").close()
        count += 1
except OSError as error:
    print(count, error.errno)
"""
FILL_PROCESSES = """
import os, time
if os.fork() == 0:
    os.setsid()
    for number in (0, 1, 2):
        os.close(number)
    while True:
        try:
            if os.fork() == 0:
                time.sleep(600)
        except OSError:
            time.sleep(0.01)
time.sleep(1)
"""
FLOOD = "yes | head -c 200000000"
BOMB = "timeout -s KILL 2 python3 -I -c 'import os\nwhile True:\n try: os.fork()\n except OSError: pass'"
EAT = (
    "head -c 60M /dev/zero > /dev/shm/a; head -c 15M /dev/zero > /tmp/a; python3 -c 'x = bytearray(1 << 28)'"
)
EXHAUSTION: dict[str, Actions] = {
    "right": [FIX],
    "memory": [FIX, shell(EAT), LATE],
    "first-process": [FIX, shell(f"echo 1000 > /proc/1/oom_score_adj; {EAT}; sleep 60"), LATE],
    "space": [FIX, shell("dd if=/dev/zero of=big bs=1M; cat /dev/urandom > more"), LATE],
    "inodes": [FIX, python(FILL_INODES)],
    "processes": [FIX, python(FILL_PROCESSES), *[LATE] * LATE_TRIES],
    "bomb": [FIX, shell(FLOOD), shell(BOMB), *[LATE] * LATE_TRIES],
    "sparse": [FIX, shell("truncate -s 10G huge; ls -l huge")],
}
FILES = 31_000
WORKSPACE_MIB = 32


@pytest.fixture(scope="module")
def marker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A path of the host, which appears when the host runs something of an agent's."""
    return tmp_path_factory.mktemp("host") / "ran"


@pytest.fixture(scope="module")
def tampered(tmp_path_factory: pytest.TempPathFactory, marker: Path) -> Attacked:
    """Eight attempts to be run, read or believed by the harness; and its report on them."""
    limits = {
        "wall_clock_s": 60,
        "memory_mib": 256,
        "workspace_mib": WORKSPACE_MIB,
        "tmp_mib": 16,
        "pids": 64,
    }
    root = tmp_path_factory.mktemp("tampered")
    found = attacked(root, tampering(marker), limits=limits, arms={"bundle": "careful"})
    write_report(found.records.folder.path)
    return found


@pytest.fixture(scope="module")
def exhausted(tmp_path_factory: pytest.TempPathFactory) -> Attacked:
    """Eight attempts to use up the machine; and the harness's report on them."""
    limits = {
        "wall_clock_s": 60,
        "memory_mib": 160,
        "workspace_mib": WORKSPACE_MIB,
        "tmp_mib": 16,
        "pids": 64,
        "files": FILES,
    }
    found = attacked(tmp_path_factory.mktemp("exhausted"), EXHAUSTION, limits=limits, arms={})
    write_report(found.records.folder.path)
    return found


@pytest.fixture(params=["tampered", "exhausted"])
def study(request: pytest.FixtureRequest) -> Attacked:
    """Each of the two studies."""
    found: Attacked = request.getfixturevalue(request.param)
    return found


def test_every_attack_is_graded_at_its_first_launch_and_leaves_nothing(study: Attacked) -> None:
    """Never the infrastructure's fault, never a free retry; no container, no volume, a sound ledger."""
    assert len(study.records.attempts) == len(study.cells) == 8
    outcomes = {name: study.attempt(name).outcome for name in study.cells}
    assert set(outcomes.values()) <= GRADED_OUTCOMES, outcomes
    assert {study.attempt(name).ordinal for name in study.cells} == {1}
    assert study.watcher.spoiled_cells == []
    assert study.left == ()
    assert audit(study.records.folder.path).clean
    view, _ = write_report(study.records.folder.path)
    runs = [run for task in view.task_arms for run in task.runs]
    assert {run.state for run in runs} == {RunState.GRADED}
    assert len(runs) == 4 * len(ARMS)


def test_the_run_beside_the_attacks_is_untouched(study: Attacked) -> None:
    """An honest run in the same study passes with its one new file and nothing to remark."""
    attempt = study.attempt("right")
    assert study.grading("right").score == 100.0
    assert (attempt.outcome, study.findings("right")) == (Outcome.COMPLETED, "")
    assert set(study.submission("right").files()) == {b"fixed.txt", b"shop.py"}


def test_nothing_of_a_workspace_runs_on_the_host(tampered: Attacked, marker: Path) -> None:
    """Fake tools, start files, hooks, filters and preloaded libraries are bytes to the harness."""
    for name in ("tools", "start-files", "git"):
        assert tampered.grading(name).score == 100.0, name
        assert tampered.findings(name) in {
            "",
            "`nested/.git` was left out: repositories are not taken over.",
        }
    assert str(marker).encode() in tampered.submission("tools").files()[b"tar"].data
    # The attacks are armed: Git did run them, inside.
    assert "ran" in tampered.told("git")[0]
    assert not marker.exists()
    assert list(marker.parent.iterdir()) == []


def test_fake_tools_are_only_files_of_the_submission(tampered: Attacked) -> None:
    """All of them are exported as the agent left them, none was called on the way out."""
    files = tampered.submission("tools").files()
    fakes = {name.encode() for name in FAKES.split()}
    assert fakes | {b"bin/" + name for name in fakes} | {b"fixed.txt", b"shop.py"} == set(files)
    assert "Read-only file system" in tampered.told("tools")[0]


def test_a_patch_shows_what_git_was_told_to_hide(tampered: Attacked) -> None:
    """Skip-worktree, assume-unchanged, ignore rules, own commits: files and frozen snapshot decide."""
    patch = (tampered.folder("git") / "patch.diff").read_text()
    assert "+NAME = 'changed'" in patch
    for hidden in ("ignored.txt", "excluded.txt", "evil", "nested/inner.py", ".gitattributes"):
        assert f"+++ b/{hidden}" in patch, hidden
    submission = tampered.submission("git")
    assert [path for path in submission if b".git" in path.split(b"/")] == []
    assert "nested/.git" in tampered.findings("git")


def test_edits_of_the_arms_installed_files_are_on_record(tampered: Attacked) -> None:
    """Changed and removed files are findings; the run is graded all the same."""
    findings = tampered.findings("bundle")
    assert "`home/skills/careful/SKILL.md`" in findings
    assert "`home/skills/careful/references/more.md`" in findings
    assert tampered.grading("bundle").score == 100.0
    others = [name for name in tampered.cells if name != "bundle"]
    assert [name for name in others if "home/skills" in tampered.findings(name)] == []


def test_no_signal_ends_the_first_process(tampered: Attacked) -> None:
    """All sixty-four of them, then everything else killed: the container goes on, and so does the play."""
    assert tampered.attempt("signals").outcome is Outcome.COMPLETED
    assert tampered.grading("signals").score == 100.0


def test_special_files_are_left_out_or_made_plain(tampered: Attacked) -> None:
    """FIFOs and sockets stay behind, devices cannot be made, links are kept as links, set-id bits go."""
    submission = tampered.submission("special")
    assert set(submission.files()) == {b"fixed.txt", b"shop.py", b"hard.py", b"suid", b"closed/in"}
    links = {path: node.target for path, node in submission.items() if isinstance(node, Link)}
    assert links == {b"out": b"/etc/passwd", b"loop": b"loop", b"up": b"../../../../etc"}
    findings = tampered.findings("special")
    assert "`pipe` was left out: it is a FIFO" in findings
    assert "is a hard link" in findings
    assert "`suid` lost its setuid or setgid bit" in findings
    assert tampered.told("special")[0].count("Operation not permitted") == 2
    assert tampered.grading("special").score == 100.0


def test_odd_names_and_deep_folders_are_kept_byte_for_byte(tampered: Attacked) -> None:
    """Newlines, invalid UTF-8, escapes, markup and case collisions are names; too deep is left out."""
    submission = tampered.submission("names")
    bottom = b"/".join([b"d"] * DEEP) + b"/bottom"
    assert set(submission.files()) == {*ODD_NAMES, b"fixed.txt", b"shop.py", bottom}
    assert isinstance(submission.get(bottom.removesuffix(b"/bottom")), Directory)
    assert b"e" in submission
    assert "is deeper than" in tampered.findings("names")
    assert "collides" in tampered.findings("names")
    assert "\\x1b[2J" in tampered.findings("names")
    assert tampered.grading("names").score == 100.0


def controls(data: bytes) -> set[int]:
    """Control characters other than the end of a line."""
    return {byte for byte in data if byte < 0x20 and byte != 0x0A}


def test_no_record_or_report_holds_a_raw_escape(tampered: Attacked) -> None:
    """What a command shouted, and what files are called, is escaped wherever it is written for people."""
    assert "\x1b[31mred" in tampered.told("names")[0]
    folder = tampered.records.folder.path
    texts = [path for path in folder.rglob("*") if path.suffix in {".json", ".jsonl", ".md", ".csv", ".html"}]
    assert {"attempt.json", "report.html", "report.csv", "transcript.jsonl"} <= {path.name for path in texts}
    assert [path for path in texts if controls(path.read_bytes())] == []
    for name in ("report.md", "report.html"):
        report = (folder / "report" / name).read_text()
        assert "<script>" not in report
        assert "//evil.example" not in report
    assert controls((tampered.folder("names") / "patch.diff").read_bytes()) <= {0x09}


def test_the_terminal_is_not_steered(tampered: Attacked) -> None:
    """The report shows the study without a title, a cleared screen or an unseen turn of direction."""
    folder = tampered.records.folder.path
    plain = command("report", folder, folder=tampered.root)
    assert controls((plain.stdout + plain.stderr).encode()) == set()
    _, shown = in_a_terminal("report", folder, folder=tampered.root)
    assert "report.html" in shown
    assert [bad for bad in ("\x1b]0;", "\x1b[2J", "\x07", "\u202e") if bad in shown] == []


def test_memory_that_runs_out_is_a_limit_and_what_was_done_counts(exhausted: Attacked) -> None:
    """The work from before is graded."""
    attempt = exhausted.attempt("memory")
    assert (attempt.outcome, attempt.limit) == (Outcome.LIMIT, LimitKind.MEMORY)
    assert exhausted.grading("memory").score == 100.0


def test_a_container_that_dies_of_memory_is_graded_as_the_untouched_snapshot(exhausted: Attacked) -> None:
    """An agent that offers its first process to the kernel loses its work and gains no retry."""
    attempt = exhausted.attempt("first-process")
    assert (attempt.outcome, attempt.limit) == (Outcome.LIMIT, LimitKind.MEMORY)
    assert "lost" in exhausted.findings("first-process")
    assert set(exhausted.submission("first-process").files()) == {b"shop.py"}
    assert exhausted.grading("first-process").score == 0.0


def test_a_full_workspace_is_exported_as_it_is(exhausted: Attacked) -> None:
    """Writes fail inside at the cap, which counts every byte; the rest is an ordinary submission."""
    assert "No space left on device" in exhausted.told("space")[1]
    submission = exhausted.attempt("space").submission
    assert submission is not None
    assert WORKSPACE_MIB * 2**20 * 0.9 < submission.size_bytes <= WORKSPACE_MIB * 2**20
    assert exhausted.grading("space").score == 100.0


def test_thirty_thousand_files_are_a_submission_and_more_cannot_be_made(exhausted: Attacked) -> None:
    """The volume's own limit on files holds inside."""
    count, error = exhausted.told("inodes")[1].split()
    assert error == "28"
    assert 30_000 < int(count) < FILES
    submission = exhausted.attempt("inodes").submission
    assert submission is not None
    assert submission.files == int(count) + 2
    assert exhausted.attempt("inodes").costs.touched_files == int(count) + 1
    assert exhausted.grading("inodes").score == 100.0


def test_bombs_and_floods_end_and_the_play_goes_on(exhausted: Attacked) -> None:
    """No process left, endless forks, two hundred megabytes of output: the cap holds, the work counts."""
    for name in ("processes", "bomb"):
        assert exhausted.grading(name).score == 100.0
        assert exhausted.attempt(name).outcome is Outcome.COMPLETED
        assert b"late.txt" in exhausted.submission(name).files()
    assert exhausted.attempt("bomb").output_truncated
    written = sum(path.stat().st_size for path in exhausted.folder("bomb").rglob("*") if path.is_file())
    assert written < 8_000_000


def test_a_sparse_file_of_ten_gigabytes_is_left_out(exhausted: Attacked) -> None:
    """It is not unfolded on the host; what comes after it in the export is lost, and the record says so."""
    findings = exhausted.findings("sparse")
    assert "`huge` was left out: its 10737418240 bytes" in findings
    assert "capped" in findings
    submission = exhausted.attempt("sparse").submission
    assert submission is not None
    assert submission.size_bytes < 2**20
    assert exhausted.grading("sparse").score == 100.0
