"""Unpacking keeps files, folders and links as data, and tells what it left out."""

from __future__ import annotations

import tarfile

import pytest

from esac_ag.archive import MAX_FINDINGS, TreeLimits, shown, unpack
from esac_ag.errors import SandboxLost
from esac_ag.tree import Directory, Link, RegularFile
from tests.builders_archive import a_folder, a_member, an_archive, chunks_of, unpacked


def test_files_folders_and_links_are_data() -> None:
    """Nothing is followed, and a target that leads outside is only text."""
    export = unpacked(
        an_archive(
            a_folder("d"),
            a_member("d/f", data=b"x", mode=0o755),
            a_member("d/l", kind=tarfile.SYMTYPE, target="/etc/passwd"),
        )
    )
    assert dict(export.tree) == {
        b"d": Directory(),
        b"d/f": RegularFile(b"x", executable=True),
        b"d/l": Link(b"/etc/passwd"),
    }
    assert export.findings == ()


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("chunk_bytes", [1, 511, 512, 513, 100_000])
def test_formats_and_chunks_do_not_matter(form: int, chunk_bytes: int) -> None:
    """Ustar prefixes, GNU long names and PAX headers are read, however the stream is cut."""
    name = "/".join(["long" * 20, "names" * 10])
    archive = an_archive(a_member(name, data=b"y" * 1000), a_member("z", data=b"1"), form=form)
    assert dict(unpacked(archive, chunk_bytes=chunk_bytes).tree) == {
        name.encode(): RegularFile(b"y" * 1000),
        b"z": RegularFile(b"1"),
    }


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (tarfile.FIFOTYPE, "a FIFO"),
        (tarfile.CHRTYPE, "a character device"),
        (tarfile.BLKTYPE, "a block device"),
        (tarfile.GNUTYPE_SPARSE, "a sparse file"),
        (b"Z", "unknown type"),
    ],
)
def test_special_files_are_left_out(kind: bytes, words: str) -> None:
    """Each kind that is not data has a finding, and what follows is kept."""
    export = unpacked(an_archive(a_member("odd", kind=kind), a_member("kept", data=b"x")))
    assert set(export.tree) == {b"kept"}
    assert len(export.findings) == 1
    assert "`odd`" in export.findings[0]
    assert words in export.findings[0]


@pytest.mark.parametrize("name", ["/etc/passwd", "../up", "a/../../up", ".."])
def test_paths_that_lead_out_are_left_out(name: str) -> None:
    """Absolute paths and `..` are never made relative by guessing."""
    export = unpacked(an_archive(a_member(name, data=b"x"), a_member("kept")))
    assert set(export.tree) == {b"kept"}
    assert len(export.findings) == 1


def test_a_hard_link_becomes_a_copy() -> None:
    """A second name of a file that is part of the export is a file of its own, and said so."""
    link = a_member("second", kind=tarfile.LNKTYPE, target="first")
    export = unpacked(an_archive(a_member("first", data=b"x"), link))
    assert export.tree[b"second"] == RegularFile(b"x")
    assert export.findings == ("`second` is a hard link and became a copy.",)


@pytest.mark.parametrize("target", ["missing", "/etc/passwd", "folder", "../first"])
def test_a_hard_link_to_anything_else_is_left_out(target: str) -> None:
    """What a hard link names outside of the export is not looked up."""
    link = a_member("second", kind=tarfile.LNKTYPE, target=target)
    export = unpacked(an_archive(a_folder("folder"), a_member("first"), link))
    assert set(export.tree) == {b"folder", b"first"}
    assert len(export.findings) == 1


def test_setuid_and_setgid_bits_are_dropped() -> None:
    """A file keeps its content and loses its privilege."""
    export = unpacked(an_archive(a_member("f", data=b"x", mode=0o6755)))
    assert export.tree[b"f"] == RegularFile(b"x", executable=True)
    assert export.findings == ("`f` lost its setuid or setgid bit.",)


def test_the_last_of_two_members_of_one_name_counts() -> None:
    """Duplicates are not merged, and not silently."""
    export = unpacked(an_archive(a_member("f", data=b"1"), a_member("f", data=b"2")))
    assert export.tree[b"f"] == RegularFile(b"2")
    assert "more than once" in export.findings[0]


@pytest.mark.parametrize(
    ("one", "two"), [("README", "readme"), ("e\u0301", "\u00e9"), ("stra\u00dfe", "STRASSE")]
)
def test_names_that_collide_elsewhere_are_kept_and_told(one: str, two: str) -> None:
    """Names that a case-insensitive or normalising file system takes for one are both kept."""
    export = unpacked(an_archive(a_member(one), a_member(two)))
    assert len(export.tree) == 2
    assert "collides" in export.findings[0]


def test_nothing_lies_below_a_link_or_a_file() -> None:
    """A member below something that is no folder cannot be told apart from an attack, and is left out."""
    link = a_member("l", kind=tarfile.SYMTYPE, target="/etc")
    export = unpacked(an_archive(link, a_member("l/passwd"), a_member("f"), a_member("f/g")))
    assert set(export.tree) == {b"l", b"f"}
    assert len(export.findings) == 2


def test_each_repository_is_left_out_with_one_finding() -> None:
    """`.git` is skipped wherever it lies, as a folder or as a file."""
    names = [".git/config", ".git/HEAD", "sub/.git/config", "sub/file"]
    export = unpacked(an_archive(*(a_member(n) for n in names), a_member("other/.git", data=b"gitdir: x")))
    assert set(export.tree) == {b"sub/file"}
    assert len(export.findings) == 3


def test_names_are_bytes_and_shown_escaped() -> None:
    """Control characters, terminal escapes and broken UTF-8 are kept, and harmless to read about."""
    name = "a\x1b[31m\n\udcff"
    export = unpacked(an_archive(a_member(name, mode=0o4644), form=tarfile.GNU_FORMAT))
    assert set(export.tree) == {b"a\x1b[31m\n\xff"}
    assert export.findings == ("`a\\x1b[31m\\n\\xff` lost its setuid or setgid bit.",)


def test_shown_names_are_short_and_printable() -> None:
    """No name can flood or format a report."""
    assert shown(b"plain.txt") == "plain.txt"
    assert shown("\u202eevil".encode()).isascii()
    assert len(shown(b"\x00" * 10_000)) < 250
    assert shown(b"back\\slash") == "back\\\\slash"


def test_deep_and_long_paths_are_left_out() -> None:
    """Depth and length have limits, and what is within them is kept."""
    limits = TreeLimits(max_depth=3, max_path_bytes=20)
    export = unpacked(an_archive(a_member("a/b/c"), a_member("a/b/c2/d"), a_member("x" * 21)), limits)
    assert set(export.tree) == {b"a/b/c"}
    assert len(export.findings) == 2


def test_a_file_that_is_too_large_is_left_out_and_the_rest_kept() -> None:
    """One giant file does not cost the others."""
    limits = TreeLimits(max_file_bytes=10)
    export = unpacked(an_archive(a_member("big", data=b"x" * 11), a_member("small", data=b"x" * 10)), limits)
    assert set(export.tree) == {b"small"}
    assert export.capped


def test_bytes_in_all_are_capped() -> None:
    """What fits is kept, and the export says that it was capped."""
    members = [a_member(str(n), data=b"x" * 10) for n in range(9)]
    export = unpacked(an_archive(*members), TreeLimits(max_bytes=35))
    assert len(export.tree) == 3
    assert export.capped
    assert "35 bytes" in export.findings[0]


def test_hard_links_count_like_copies() -> None:
    """A thousand names of one file cannot multiply it beyond the cap."""
    links = [a_member(f"l{n}", kind=tarfile.LNKTYPE, target="f") for n in range(9)]
    export = unpacked(an_archive(a_member("f", data=b"x" * 10), *links), TreeLimits(max_bytes=35))
    assert len(export.tree) == 3
    assert export.capped


def test_members_are_capped() -> None:
    """Reading stops after the number of members that may be kept."""
    export = unpacked(an_archive(*(a_member(str(n)) for n in range(9))), TreeLimits(max_members=4))
    assert len(export.tree) == 4
    assert export.capped


def test_what_is_left_out_is_not_read_for_ever() -> None:
    """A giant sparse file, or any number of special files, ends the reading."""
    big = unpacked(an_archive(a_member("big", data=b"x" * 5000), a_member("z")), TreeLimits(max_bytes=1000))
    assert big.capped
    fifos = (a_member(f"f{n}", kind=tarfile.FIFOTYPE) for n in range(50))
    many = unpacked(an_archive(*fifos, a_member("z")), TreeLimits(max_members=10))
    assert many.capped
    assert b"z" not in many.tree


def test_a_stream_is_read_no_further_than_its_caps() -> None:
    """The rest of a capped stream, terabytes perhaps, is never asked for."""
    archive = an_archive(a_member("a", data=b"x" * 100), a_member("b", data=b"y" * 100_000))
    asked = 0

    def counting() -> object:
        nonlocal asked
        for chunk in chunks_of(archive, 512):
            asked += 1
            yield chunk

    export = unpack(counting(), TreeLimits(max_bytes=1000))  # type: ignore[arg-type]
    assert set(export.tree) == {b"a"}
    assert export.capped
    assert asked <= 4


def test_time_is_capped() -> None:
    """An export that takes too long keeps what it has."""
    answers = iter([False, True, True])
    export = unpack(
        [an_archive(a_member("a"), a_member("b"))], TreeLimits(), out_of_time=lambda: next(answers)
    )
    assert set(export.tree) == {b"a"}
    assert export.capped


def test_findings_are_capped() -> None:
    """Ten thousand odd members do not make ten thousand sentences."""
    export = unpacked(an_archive(*(a_member(f"f{n}", mode=0o4755) for n in range(MAX_FINDINGS + 50))))
    assert len(export.findings) == MAX_FINDINGS + 1
    assert export.findings[-1] == "Further findings were left out."


def test_leading_parts_are_stripped() -> None:
    """The folder that was asked for is no part of the names, of links' targets neither."""
    link = a_member("work/l", kind=tarfile.LNKTYPE, target="work/f")
    archive = an_archive(a_folder("work"), a_member("work/f", data=b"x"), link)
    export = unpack([archive], TreeLimits(), strip_parts=1)
    assert dict(export.tree) == {b"f": RegularFile(b"x"), b"l": RegularFile(b"x")}


def test_a_file_where_a_folder_was_asked_for_is_a_finding() -> None:
    """The path itself may have been replaced by the subject."""
    export = unpack([an_archive(a_member("work", data=b"x"))], TreeLimits(), strip_parts=1)
    assert dict(export.tree) == {}
    assert "not a folder" in export.findings[0]


@pytest.mark.parametrize(
    "archive",
    [
        b"",
        b"x" * 512,
        an_archive(a_member("f", data=b"x" * 2000))[:1024],
        an_archive(a_member("f", data=b"x" * 2000))[:2560],
        an_archive(a_member("f"), a_member("g"))[:512] + b"\x01" * 2000,
    ],
    ids=["empty", "noise", "cut in a file", "cut before the end", "noise after a member"],
)
def test_a_broken_stream_is_the_engines_fault(archive: bytes) -> None:
    """Half an export must not look like a whole one."""
    with pytest.raises(SandboxLost):
        unpacked(archive)


def test_a_giant_extended_header_is_refused() -> None:
    """Headers are held in memory, so they have a limit of their own."""
    with pytest.raises(SandboxLost):
        unpacked(an_archive(a_member("x" * 2_000_000)), chunk_bytes=100_000)
