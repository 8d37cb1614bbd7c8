"""The filesystem's tools: effects, modes, limits, paths."""

from __future__ import annotations

import pytest

from esac_ag.suite.world import World
from esac_ag.suite.world import building as build
from tests.builders_world import HOME, a_workshop, answer, refusal, shell


def a_world() -> World:
    """The workshop with a binary file, a read-only one and a closed directory."""
    state = build.with_file(a_workshop(), f"{HOME}/blob", bytes(range(100)))
    state = build.with_file(state, f"{HOME}/fixed", "fixed\n", mode=0o444)
    state = build.with_file(state, f"{HOME}/private", "private\n", mode=0o200)
    state = build.with_file(state, f"{HOME}/vault/z", "z\n")
    state["fs"][f"{HOME}/vault"]["mode"] = "0555"
    return World(state)


def test_a_directory_is_listed_in_pages_by_name() -> None:
    """With kind, size and mode; hidden files too."""
    world = a_world()
    found = answer(world, "fs_list", path=f"{HOME}/", page_size=3)
    assert (found["path"], found["total"], found["next_page"]) == (HOME, 11, 2)
    assert found["entries"] == [
        {"name": ".hidden", "kind": "file", "size_bytes": 7, "mode": "0644"},
        {"name": "blob", "kind": "file", "size_bytes": 100, "mode": "0644"},
        {"name": "data", "kind": "directory", "size_bytes": 0, "mode": "0755"},
    ]
    assert refusal(world, "fs_list", path=f"{HOME}/blob") == "not-a-directory"
    assert refusal(world, "fs_list", path=f"{HOME}/nope") == "not-found"


def test_text_is_read_whole_and_binary_as_a_summary() -> None:
    """Sizes are bytes, not characters."""
    world = World(build.with_file(a_world().snapshot(), f"{HOME}/é", "é\n"))
    assert answer(world, "fs_read", path=f"{HOME}/é") == {"path": f"{HOME}/é", "size_bytes": 3, "text": "é\n"}
    blob = answer(world, "fs_read", path=f"{HOME}/blob")
    assert (blob["binary"], blob["size_bytes"]) == (True, 100)
    assert blob["first_bytes_hex"].startswith("00 01 02")
    assert len(blob["first_bytes_hex"].split()) == 64
    assert answer(world, "fs_stat", path=f"{HOME}/blob")["binary"] is True
    assert refusal(world, "fs_read", path=f"{HOME}/private") == "permission-denied"
    assert refusal(world, "fs_read", path=HOME) == "is-a-directory"
    assert refusal(world, "fs_read", path=f"{HOME}/fixed/x") == "not-a-directory"


def test_a_long_text_is_cut_and_says_so() -> None:
    """20,000 characters are shown."""
    world = World(build.with_file(a_workshop(), f"{HOME}/long", "x" * 20_001))
    shown = answer(world, "fs_read", path=f"{HOME}/long")
    assert (len(shown["text"]), shown["truncated"], shown["size_bytes"]) == (20_000, True, 20_001)
    assert "truncated" not in answer(world, "fs_read", path=f"{HOME}/fruit.txt")


def test_writing_creates_or_replaces_and_keeps_the_mode() -> None:
    """The parent has to be there and writable, and so has the file."""
    world = a_world()
    assert answer(world, "fs_write", path=f"{HOME}/new", content="")["size_bytes"] == 0
    assert answer(world, "fs_write", path=f"{HOME}/private", content="x")["size_bytes"] == 1
    assert world.snapshot()["fs"][f"{HOME}/private"] == {"kind": "file", "mode": "0200", "text": "x"}
    for path, code in (
        ("fixed", "permission-denied"),
        ("vault/new", "permission-denied"),
        ("nope/new", "not-found"),
        ("fixed/new", "not-a-directory"),
        ("data", "is-a-directory"),
    ):
        assert refusal(world, "fs_write", path=f"{HOME}/{path}", content="x") == code
    assert answer(world, "fs_write", path=f"{HOME}/vault/z", content="x")["size_bytes"] == 1


def test_appending_needs_an_existing_text_file() -> None:
    """Text is added at the end."""
    world = a_world()
    answer(world, "fs_append", path=f"{HOME}/no newline", content="!\n")
    assert answer(world, "fs_read", path=f"{HOME}/no newline")["text"] == "first\nlast!\n"
    for path, code in (
        ("nope", "not-found"),
        ("blob", "binary-file"),
        ("fixed", "permission-denied"),
        ("data", "is-a-directory"),
    ):
        assert refusal(world, "fs_append", path=f"{HOME}/{path}", content="x") == code


def test_directories_are_made_one_at_a_time() -> None:
    """An existing path, or a missing parent, is an error."""
    world = a_world()
    answer(world, "fs_mkdir", path=f"{HOME}/made")
    assert refusal(world, "fs_mkdir", path=f"{HOME}/made") == "already-exists"
    assert refusal(world, "fs_mkdir", path=f"{HOME}/a/b") == "not-found"
    assert refusal(world, "fs_mkdir", path=f"{HOME}/vault/b") == "permission-denied"


def test_moving_takes_everything_below_along() -> None:
    """The destination is the full new path, free, and not inside of the source."""
    world = a_world()
    answer(world, "fs_move", source=f"{HOME}/logs", destination=f"{HOME}/data/logs")
    assert shell(world, "find data -name c.log; ls logs")[1] == "data/logs/old/c.log\n"
    for source, destination, code in (
        ("data", "data/logs/in", "invalid-path"),
        ("fruit.txt", "people.csv", "already-exists"),
        ("fruit.txt", "data", "already-exists"),
        ("nope", "x", "not-found"),
        ("fruit.txt", "nope/x", "not-found"),
        ("vault/z", "z", "permission-denied"),
        ("fruit.txt", "vault/f", "permission-denied"),
    ):
        arguments = {"source": f"{HOME}/{source}", "destination": f"{HOME}/{destination}"}
        assert refusal(world, "fs_move", **arguments) == code
    assert refusal(world, "fs_move", source="/", destination="/tmp/root") == "invalid-path"


def test_copying_keeps_the_mode_and_the_bytes() -> None:
    """Files alone."""
    world = a_world()
    answer(world, "fs_copy", source=f"{HOME}/fixed", destination="/tmp/fixed")
    answer(world, "fs_copy", source=f"{HOME}/blob", destination="/tmp/blob")
    files = world.snapshot()["fs"]
    assert files["/tmp/fixed"] == files[f"{HOME}/fixed"]
    assert files["/tmp/blob"] == files[f"{HOME}/blob"]
    assert refusal(world, "fs_copy", source=f"{HOME}/data", destination="/tmp/data") == "is-a-directory"
    assert refusal(world, "fs_copy", source=f"{HOME}/blob", destination="/tmp/fixed") == "already-exists"
    assert refusal(world, "fs_copy", source=f"{HOME}/private", destination="/tmp/p") == "permission-denied"


def test_deleting_spares_read_only_files_and_full_directories() -> None:
    """And the root."""
    world = a_world()
    answer(world, "fs_delete", path=f"{HOME}/fruit.txt")
    for path, code in (
        (f"{HOME}/fruit.txt", "not-found"),
        (f"{HOME}/fixed", "permission-denied"),
        (f"{HOME}/vault/z", "permission-denied"),
        (f"{HOME}/data", "not-empty"),
        ("/", "invalid-path"),
    ):
        assert refusal(world, "fs_delete", path=path) == code
    answer(world, "fs_mkdir", path=f"{HOME}/made")
    answer(world, "fs_delete", path=f"{HOME}/made")


@pytest.mark.parametrize("path", ["fruit.txt", "./x", "/a\0b", "/" + "x" * 256, "/a" * 498 + "/bb"])
def test_paths_are_absolute_and_bounded(path: str) -> None:
    """Relative ones, NUL, and components that are too long are no paths."""
    expected = "not-found" if path.endswith("bb") else "invalid-path"
    assert refusal(World(a_workshop()), "fs_stat", path=path) == expected


def test_dots_in_paths_are_resolved() -> None:
    """The reply names the path that was meant."""
    world = World(a_workshop())
    assert answer(world, "fs_stat", path=f"{HOME}//data/../././fruit.txt")["path"] == f"{HOME}/fruit.txt"
    assert answer(world, "fs_stat", path="/../..")["path"] == "/"


def test_the_filesystem_is_full_at_its_limits() -> None:
    """By bytes of a file, and by the number of paths."""
    state = build.with_file(a_workshop(), f"{HOME}/big", "x" * 262_140)
    world = World(state)
    assert refusal(world, "fs_append", path=f"{HOME}/big", content="12345") == "no-space"
    assert answer(world, "fs_append", path=f"{HOME}/big", content="1234")["size_bytes"] == 262_144
    nodes = {f"/tmp/{number}": {"kind": "directory", "mode": "0755"} for number in range(4096)}
    crowded = World({**state, "fs": {**state["fs"], **nodes}})
    assert refusal(crowded, "fs_write", path="/tmp/one more", content="") == "no-space"
    assert refusal(crowded, "fs_mkdir", path="/tmp/one more") == "no-space"
