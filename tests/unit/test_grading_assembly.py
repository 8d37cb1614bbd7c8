"""What is judged: restored files, left-out caches and links, and what enters the grader's container."""

from __future__ import annotations

import json

import pytest

from esac_ag.grading.assembly import grader_contents, judged_tree
from esac_ag.grading.container import grader_spec, public_spec, workspace_mib
from esac_ag.manifest.plan import GraderLimits
from esac_ag.tree import Directory, FileTree, Link, RegularFile
from tests.builders_grading import LIMITS, SNAPSHOT, a_package, a_submission, private_files


def test_restored_paths_hold_the_snapshots_files_alone() -> None:
    """Changed, added and removed files below a restored folder are as they were frozen."""
    submission = a_submission({"tests/test_total.py": "", "tests/conftest.py": "", "testsuite/x": "kept"})
    judged = judged_tree(submission, SNAPSHOT, ["tests/"])
    assert {p: n for p, n in judged.items() if p.startswith(b"tests/")} == {
        p: n for p, n in SNAPSHOT.items() if p.startswith(b"tests/")
    }
    assert b"testsuite/x" in judged


@pytest.mark.parametrize("node", [Link(b"prices"), RegularFile(b""), Link(b"/etc")])
@pytest.mark.parametrize("place", [b"deep", b"deep/er", b"deep/er/file"])
def test_what_stands_in_the_way_of_a_restored_file_is_removed(place: bytes, node: Link | RegularFile) -> None:
    """A link or a file in the middle of the path does not swallow what is restored."""
    snapshot = FileTree.of_text({"deep/er/file": "frozen"})
    judged = judged_tree(FileTree({place: node}), snapshot, ["deep/er/file"])
    assert dict(judged) == dict(snapshot)


def test_a_folder_in_place_of_a_restored_file_is_removed() -> None:
    """Whatever lies below the restored path goes."""
    judged = judged_tree(
        FileTree({b"f": Directory(), b"f/x": RegularFile(b"")}), FileTree.of_text({"f": "y"}), ["f"]
    )
    assert dict(judged) == dict(FileTree.of_text({"f": "y"}))


def test_caches_and_installed_packages_of_a_submission_are_left_out() -> None:
    """What no task hash covers does not run."""
    submission = a_submission(
        {"a/__pycache__/x.py": "", "x.pyc": "", "node_modules/y": "", ".git/hooks/z": ""}
    )
    assert dict(judged_tree(submission, SNAPSHOT, [])) == dict(a_submission())


@pytest.mark.parametrize(
    ("target", "kept"),
    [
        (b"b", True),
        (b"../b", True),
        (b"../x/../b", True),
        (b"../../b", False),
        (b"/etc/passwd", False),
        (b"..", True),
        (b"../..", False),
        (b"x/../../../y", False),
    ],
)
def test_links_stay_only_when_they_lead_inside(target: bytes, *, kept: bool) -> None:
    """Read as text, from the link's own folder."""
    assert (b"a/link" in judged_tree(FileTree({b"a/link": Link(target)}), SNAPSHOT, [])) is kept


def test_only_the_checks_of_the_private_package_enter_the_container() -> None:
    """Oracle, references and decoys stay outside."""
    private = private_files(oracle_md="x", references_right="y").merged({b"oracle.md": RegularFile(b"z")})
    contents = grader_contents(a_package(), private, SNAPSHOT, SNAPSHOT, seed="s", limits=LIMITS)
    assert [path for path in contents if path.startswith(b"private/")] == [b"private/checks.py"]
    plan = contents[b"judge.json"]
    assert isinstance(plan, RegularFile)
    assert json.loads(plan.data)["checks"][0] == {"id": "multiplies", "timeout_s": 8}


def test_the_judge_has_three_capabilities_and_the_subject_none() -> None:
    """Root in the grader's container can start and end processes of others, and nothing else."""
    spec = grader_spec(image="i", limits=LIMITS, study="s", attempt="a")
    assert spec.capabilities == ("SETUID", "SETGID", "KILL")
    public = public_spec(image="i", limits=LIMITS, study="s", attempt="a", command="true")
    assert (public.capabilities, public.uid) == ((), 10003)


def test_files_can_never_fill_the_containers_memory() -> None:
    """Memory file systems together leave room for the judge, whatever the limits say."""
    limits = GraderLimits(memory_mib=256, workspace_mib=4096)
    spec = grader_spec(image="i", limits=limits, study="s", attempt="a")
    assert sum(mount.size_bytes for mount in spec.scratch) + 64 * 1024**2 <= (256 - 96) * 1024**2
    assert workspace_mib(GraderLimits()) == GraderLimits().workspace_mib
