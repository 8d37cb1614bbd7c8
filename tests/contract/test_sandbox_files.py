"""The sandbox contract: files go in, files come out, in both engines."""

from __future__ import annotations

import pytest

from esac_ag.clock import Deadline
from esac_ag.errors import UsageError
from esac_ag.sandbox.contract import TreeLimits
from esac_ag.tree import Directory, FileTree, Link, RegularFile
from tests.builders_sandbox import MIB, UID, WORK, a_memory_volume, a_volume, run
from tests.contract.conftest import Bench

TREE = FileTree(
    {
        b"empty": Directory(),
        b"folder": Directory(),
        b"folder/link": Link(b"../nowhere"),
        b"folder/run.sh": RegularFile(b"#!/bin/sh\n", executable=True),
        b"name with\nbreak": RegularFile(b"x"),
        b"not-utf-8-\xff": RegularFile(b"\x00\x01"),
        b"n" * 150: RegularFile(b"long"),
    }
)


def test_what_was_put_comes_out_as_it_was(bench: Bench) -> None:
    """Files, folders, links, execute bits and odd names survive the way in and out."""
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.put(TREE, WORK, uid=UID, gid=UID)
        export = sandbox.get(WORK, TreeLimits())
    assert dict(export.tree) == dict(TREE)
    assert export.findings == ()
    assert not export.capped


def test_processes_see_what_was_put_before_the_start(bench: Bench) -> None:
    """A disk volume takes files before the first process starts."""
    with bench.engine.create(bench.spec(argv=("cat", f"{WORK}/a"))) as sandbox:
        sandbox.put(FileTree.of_text({"a": "hello"}), WORK, uid=UID, gid=UID)
        sandbox.start()
        pieces: list[bytes] = []
        sandbox.wait(Deadline.after_s(30), sink=pieces.append)
    assert b"".join(pieces) == b"hello"


def test_a_memory_volume_takes_files_while_its_container_runs(bench: Bench) -> None:
    """What is put after the start is seen by commands and comes out again."""
    with bench.engine.create(bench.spec(volumes=(a_memory_volume(),))) as sandbox:
        sandbox.start()
        sandbox.put(FileTree.of_text({"a": "hello"}), WORK, uid=UID, gid=UID)
        assert run(sandbox, "cat", f"{WORK}/a").output == b"hello"
        sandbox.freeze()
        assert sandbox.get(WORK, TreeLimits()).tree.files()[b"a"].data == b"hello"


def test_a_memory_volume_takes_nothing_before_the_start(bench: Bench) -> None:
    """The start would empty it, so the attempt is refused rather than lost."""
    with bench.engine.create(bench.spec(volumes=(a_memory_volume(),))) as sandbox, pytest.raises(UsageError):
        sandbox.put(FileTree.of_text({"a": "hello"}), WORK, uid=UID, gid=UID)


def test_files_go_into_volumes_only(bench: Bench) -> None:
    """The root file system is no place for files."""
    with bench.engine.create(bench.spec()) as sandbox, pytest.raises(UsageError):
        sandbox.put(FileTree.of_text({"a": "hello"}), "/etc", uid=UID, gid=UID)


def test_missing_parents_inside_a_volume_are_made(bench: Bench) -> None:
    """A tree can be put below the volume's own folder, more than once."""
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.put(FileTree.of_text({"a": "1"}), f"{WORK}/deep/down", uid=UID, gid=UID)
        sandbox.put(FileTree.of_text({"b": "2"}), f"{WORK}/deep", uid=UID, gid=UID)
        export = sandbox.get(WORK, TreeLimits())
        below = sandbox.get(f"{WORK}/deep/down", TreeLimits())
    assert set(export.tree) == {b"deep", b"deep/down", b"deep/down/a", b"deep/b"}
    assert dict(below.tree) == {b"a": RegularFile(b"1")}


def test_the_user_can_write_in_its_volumes(bench: Bench) -> None:
    """A volume belongs to its owner, whether files were put into it or not."""
    volumes = (a_volume(), a_volume("/other"), a_memory_volume("/fast"))
    with bench.engine.create(bench.spec(volumes=volumes)) as sandbox:
        sandbox.put(FileTree.of_text({"deep/a": "1"}), f"{WORK}/sub", uid=UID, gid=UID)
        sandbox.start()
        for place in (WORK, "/other", "/fast", "/tmp"):
            assert run(sandbox, "sh", "-c", f"echo x > {place}/new").exit_code == 0


def test_the_root_is_read_only(bench: Bench) -> None:
    """Outside of volumes and scratch mounts nothing can be written."""
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.start()
        result = run(sandbox, "sh", "-c", "echo x > /new")
    assert result.exit_code != 0
    assert b"ead-only file system" in result.output


def test_a_disk_volume_keeps_its_files_after_the_end(bench: Bench) -> None:
    """What the first process left on disk can be read when it has ended."""
    with bench.engine.create(bench.spec(argv=("sh", "-c", f"echo x > {WORK}/a"))) as sandbox:
        sandbox.start()
        sandbox.wait(Deadline.after_s(30))
        assert sandbox.get(WORK, TreeLimits()).tree.files()[b"a"].data == b"x\n"


def test_a_memory_volume_is_empty_after_the_end(bench: Bench) -> None:
    """Who needs files of a memory volume has to read them before the first process ends."""
    spec = bench.spec(argv=("sh", "-c", f"echo x > {WORK}/a"), volumes=(a_memory_volume(),))
    with bench.engine.create(spec) as sandbox:
        sandbox.start()
        sandbox.wait(Deadline.after_s(30))
        assert dict(sandbox.get(WORK, TreeLimits()).tree) == {}


def test_a_memory_volume_has_a_size(bench: Bench) -> None:
    """The cap holds, and what fitted stays."""
    with bench.engine.create(bench.spec(volumes=(a_memory_volume(size_bytes=MIB),))) as sandbox:
        sandbox.start()
        sandbox.put(FileTree({b"big": RegularFile(bytes(700_000))}), WORK, uid=UID, gid=UID)
        result = run(sandbox, "sh", "-c", f"cat {WORK}/big > {WORK}/copy")
    assert result.exit_code != 0
    assert b"No space left on device" in result.output


def test_a_memory_volume_has_a_number_of_files(bench: Bench) -> None:
    """Files beyond the cap cannot be made, however small they are."""
    with bench.engine.create(bench.spec(volumes=(a_memory_volume(max_files=5),))) as sandbox:
        sandbox.start()
        results = [run(sandbox, "sh", "-c", f"echo x > {WORK}/{n}").exit_code == 0 for n in range(6)]
    assert results == [True] * 4 + [False] * 2


def test_a_path_without_anything_gives_a_finding(bench: Bench) -> None:
    """A folder that the subject removed is no failure of the engine."""
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.put(FileTree.of_text({"file": "x"}), WORK, uid=UID, gid=UID)
        for path in (f"{WORK}/none", f"{WORK}/file"):
            export = sandbox.get(path, TreeLimits())
            assert dict(export.tree) == {}
            assert len(export.findings) == 1


def test_repositories_are_left_out_with_one_finding(bench: Bench) -> None:
    """What git knows of the agent's doings plays no part."""
    files = {".git/config": "x", ".git/objects/00/11": "y", "a": "z"}
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.put(FileTree.of_text(files), WORK, uid=UID, gid=UID)
        export = sandbox.get(WORK, TreeLimits())
    assert dict(export.tree) == {b"a": RegularFile(b"z")}
    assert export.findings == ("`.git` was left out: repositories are not taken over.",)


def test_an_export_keeps_to_its_limits(bench: Bench) -> None:
    """What fits is kept, and that something did not is said."""
    tree = FileTree({b"%02d" % n: RegularFile(bytes(1000)) for n in range(20)})
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.put(tree, WORK, uid=UID, gid=UID)
        export = sandbox.get(WORK, TreeLimits(max_bytes=5500))
    assert export.tree.size_bytes() == 5000
    assert export.capped
    assert "capped" in export.findings[0]


def test_a_frozen_sandbox_does_not_change(bench: Bench) -> None:
    """Two readings of a frozen container agree, although a process was writing all the time."""
    spec = bench.spec(argv=("sh", "-c", f"echo x > {WORK}/a; sleep 0.2; yes > {WORK}/b"))
    with bench.engine.create(spec) as sandbox:
        sandbox.start()
        sandbox.freeze()
        first = sandbox.get(WORK, TreeLimits())
        assert sandbox.get(WORK, TreeLimits()).tree.exact_sha256() == first.tree.exact_sha256()
