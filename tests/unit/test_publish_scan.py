"""What must not be published is found in every disguise that the documentation names, and is never told."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import re
import zipfile
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from esac_ag.archive import pack
from esac_ag.study import packed
from esac_ag.study.disclosure import Disclosure, DisclosureKind, Writer
from esac_ag.study.disclosure_scan import DisclosureScan, LocalName
from esac_ag.study.private_texts import PrivatePhrases, PrivateText
from esac_ag.tree import FileTree, Link, RegularFile
from tests.builders_publish import HIDDEN, KEY, PHRASE, SECRET, SKILL

WHAT = "the value of the environment variable SOME_KEY"


def a_scan(*, public: tuple[str, ...] = ()) -> DisclosureScan:
    """A search for one secret, one bundle, one grader with a solution, and one machine."""
    phrases = PrivatePhrases.of(
        [
            PrivateText(SKILL, DisclosureKind.PRIVATE_PROMPT, "a bundle", whole=True),
            PrivateText("Ask what the numbers mean", DisclosureKind.PRIVATE_PROMPT, "a title", whole=True),
            PrivateText(HIDDEN, DisclosureKind.HELD_OUT, "checks", code=True),
            PrivateText(
                "+    return sum(round(price * count, 2) for price, count in order.lines) + order.fee\n",
                DisclosureKind.HELD_OUT,
                "a solution",
                code=True,
                free=True,
            ),
        ],
        public,
    )
    local = LocalName(re.compile(r"/srv/lab/ada(?![\w-])"), ("/srv/lab",), "a path", agents_may=False)
    home = LocalName(re.compile(r"/root(?![\w-])"), ("/root",), "a home", agents_may=True)
    return DisclosureScan({SECRET: WHAT}, phrases, (local, home), {"rounding-of-half-cents": "an id"})


def found(data: bytes | str, writer: Writer = Writer.HARNESS, path: str = "a.json") -> list[Disclosure]:
    """What is found in one file."""
    return list(a_scan().found_in(path, data.encode() if isinstance(data, str) else data, writer))


def kinds(data: bytes | str, writer: Writer = Writer.HARNESS) -> set[DisclosureKind]:
    """Kinds of what is found in one file."""
    return {finding.kind for finding in found(data, writer)}


def unicode_escaped(text: str) -> str:
    """Every character as JSON's escape."""
    return "".join(f"\\u{ord(character):04x}" for character in text)


def zipped(data: bytes) -> bytes:
    """A zip file with one member."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("notes/a.txt", data)
    return buffer.getvalue()


def odd_zip(name: bytes) -> bytes:
    """A zip file whose member's name the format does not allow; it says that names are UTF-8."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("\xe9.txt", "x")
    return buffer.getvalue().replace("\xe9.txt".encode(), name.rjust(6, name[:1]))


def tarred(data: bytes) -> bytes:
    """A tar archive with one member."""
    return pack(FileTree({b"notes/a.txt": RegularFile(data)}), uid=0, gid=0)


def wrapped(text: str) -> bytes:
    """A line that is longer than what programs write in one, with the text over the end of that."""
    return f"{'x' * 50} {text} {'y' * 50}\n".encode()


def tabled(text: str) -> bytes:
    """A table of Parquet with the text in a cell, compressed."""
    buffer = io.BytesIO()
    table = pa.table({"reason": ["done", f"see {text}, then " + "x" * 1000]})
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


DISGUISES: dict[str, Callable[[str], bytes]] = {
    "plain": lambda text: f"see {text}, then".encode(),
    "behind bytes that are no UTF-8": lambda text: b"\xff\xfe\x00\x9f" + text.encode() + b"\xc3",
    "JSON": lambda text: json.dumps({"a": [text]}).encode(),
    "JSON in JSON in JSON": lambda text: json.dumps(json.dumps(json.dumps({"a": f"\n{text}"}))).encode(),
    "escapes of JSON": lambda text: f'{{"a": "{unicode_escaped(text)}"}}'.encode(),
    "XML": lambda text: "".join(f"&#{ord(character)};" for character in text).encode(),
    "a URL": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()).encode(),
    "base64": lambda text: b'{"blob": "' + base64.b64encode(f"x {text} y".encode()) + b'"}',
    "base64 of URLs": lambda text: base64.urlsafe_b64encode(f"<? {text} ?>".encode()),
    "base64 twice": lambda text: base64.b64encode(base64.b64encode(f"a {text}".encode())),
    "UTF-16": lambda text: text.encode("utf-16"),
    "split by characters that are not seen": lambda text: "\u200b".join(text).encode(),
    "gzip": lambda text: gzip.compress(text.encode()),
    "base64 wrapped as `base64` does": lambda text: base64.encodebytes(
        f"{'x' * 50} {text} {'y' * 50}\n".encode()
    ),
    "base64 wrapped in JSON": lambda text: json.dumps(
        {"output": base64.encodebytes(wrapped(text)).decode() + "done\n"}
    ).encode(),
    "base64 in a patch": lambda text: b"+" + base64.b64encode(f"a {text} b".encode()) + b"\n",
    "base64 wrapped in a patch": lambda text: b"".join(
        b"+" + line + b"\n" for line in base64.encodebytes(f"{'x' * 50} {text} y".encode()).splitlines()
    ),
    "hex": lambda text: f'{{"dump": "{text.encode().hex()}"}}'.encode(),
    "hex wrapped as `xxd -p` does": lambda text: "\n".join(
        re.findall(".{1,60}", f"{'x' * 20} {text}".encode().hex())
    ).encode(),
    "colours of a terminal": lambda text: json.dumps(
        {"output": f"{text[:9]}\x1b[01;31m\x1b[K{text[9:]}\x1b[m"}
    ).encode(),
    "zip": lambda text: zipped(text.encode()),
    "zstd": lambda text: zstandard.ZstdCompressor().compress(text.encode()),
    "the second frame of zstd": lambda text: b"".join(
        zstandard.ZstdCompressor().compress(part) for part in (b"first ", text.encode())
    ),
    "bzip2": lambda text: bz2.compress(text.encode()),
    "xz": lambda text: lzma.compress(text.encode()),
    "a program with a zip file behind it": lambda text: b"#!/usr/bin/env python3\n" + zipped(text.encode()),
    "tar": lambda text: tarred(text.encode()),
    "Parquet": tabled,
    "tar in gzip, escaped": lambda text: gzip.compress(tarred(json.dumps({"a": text}).encode())),
}


@pytest.mark.parametrize("disguise", DISGUISES)
@pytest.mark.parametrize(
    ("text", "kind"), [(SECRET, DisclosureKind.SECRET), (KEY, DisclosureKind.KEY_FORMAT)]
)
def test_a_secret_is_found_in_every_disguise_and_never_told(
    disguise: str, text: str, kind: DisclosureKind
) -> None:
    """The finding names the place and the kind; no finding repeats the text."""
    findings = found(DISGUISES[disguise](text))
    assert kind in {finding.kind for finding in findings}, disguise
    told = " ".join(finding.model_dump_json() + finding.sentence() for finding in findings)
    assert text not in told
    assert text[8:] not in told


@pytest.mark.parametrize("disguise", sorted(set(DISGUISES) - {"split by characters that are not seen"}))
def test_a_phrase_of_a_bundle_is_found_in_every_disguise(disguise: str) -> None:
    """Eight of its words in a row, whatever the letters and marks."""
    assert DisclosureKind.PRIVATE_PROMPT in kinds(DISGUISES[disguise](PHRASE)), disguise


@pytest.mark.parametrize(
    "key",
    [
        "AKIAIOSFODNN7ABCDEFG",
        "ghp_" + "a1" * 18,
        "github_pat_" + "A1b2" * 15,
        "glpat-" + "a1B2" * 5,
        "xoxb-1234567890-abcdef123456",
        "hf_" + "aB1c" * 9,
        "gsk_" + "aB1c" * 12,
        "AIza" + "aB1-c" * 7,
        "xai-" + "aB1c" * 12,
        "sk-proj-" + "aB1_" * 12,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "postgres://user:hunter2@db.example.com/x",
        "npm_config //registry.example.com/:_authToken=npm_abc123",
        "Authorization: Bearer 0123456789abcdef0123456789",
    ],
)
def test_keys_of_well_known_forms_are_found(key: str) -> None:
    """Whoever's they are, in a text or as a value."""
    assert DisclosureKind.KEY_FORMAT in kinds(f'{{"note": "{key}"}}')
    assert DisclosureKind.KEY_FORMAT in kinds(f"a line\n{key}\n")


@pytest.mark.parametrize(
    "text",
    [
        "ab" * 32,
        f"{'0f' * 32}  report/report.json",
        "task-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "https://example.com:8443/v1",
        "sha256:" + "1" * 64,
        "it sk-ips every-thing-that-has-no-number",
        "the bearer of this letter is entitled to everything in it",
    ],
)
def test_what_every_record_holds_is_no_key(text: str) -> None:
    """Digests, ids and addresses are found nowhere."""
    assert found(json.dumps({"a": text})) == []


@pytest.mark.parametrize(
    "start", ["sk-", "xai-", "eyJ", "=eyJ", "eyJ.", "bearer ", "\\", "A", "+", "\x1b[", "A\n"]
)
def test_a_text_of_beginnings_takes_no_time(start: str) -> None:
    """An agent may write what it likes; where time grew as the square of the size, this took minutes."""
    assert {finding.kind for finding in found(start * (200_000 // len(start)))} <= {DisclosureKind.KEY_FORMAT}


def test_a_finding_tells_the_line_and_how_it_was_hidden() -> None:
    """A reader has to find what is meant."""
    (plain,) = found(f"one\ntwo\n{SECRET}\n", path="report/report.md")
    assert (plain.path, plain.line, plain.read_as, plain.what) == ("report/report.md", 3, "", WHAT)
    assert plain.sentence() == f"report/report.md:3: {WHAT}"
    (hidden,) = found(DISGUISES["base64"](SECRET))
    assert hidden.read_as == "base64"
    assert {finding.path for finding in found(DISGUISES["tar"](SECRET))} == {"a.json", "a.json!notes/a.txt"}


def test_names_are_searched_and_shown_escaped() -> None:
    """A file's own name, a member's, and where a link leads to."""
    (name,) = found("", path=f"attempts/a\n{SECRET}/patch.diff")
    assert name.line is None
    assert "file's name" in name.what
    assert "\n" not in name.path
    tree = FileTree({f"x\n{SECRET}".encode(): RegularFile(b""), b"link": Link(b"/srv/lab/ada")})
    findings = found(pack(tree, uid=0, gid=0))
    assert {finding.kind for finding in findings} == {DisclosureKind.SECRET, DisclosureKind.LOCAL}
    assert all("\n" not in finding.path for finding in findings)


def test_hidden_checks_are_found_by_their_source_and_their_id() -> None:
    """Twelve words in a row of the source; what only imports is everybody's."""
    assert kinds(f"```python\n{HIDDEN}```") == {DisclosureKind.HELD_OUT}
    quoted = '{"price": "0.125", "count": 3}]) require(answer == "0.38", "half cents are rounded up only'
    assert kinds(json.dumps(quoted)) == {DisclosureKind.HELD_OUT}
    assert kinds("check rounding-of-half-cents failed") == {DisclosureKind.HELD_OUT}
    assert found("from esac_ag_checks import Subject, check, require") == []


def test_a_solution_is_the_agents_own_where_the_agent_wrote_it() -> None:
    """Two people repair the same line alike; in the harness's own files it is a leak."""
    patch = "+    return sum(round(price * count, 2) for price, count in order.lines) + order.fee"
    assert kinds(patch, Writer.HARNESS) == {DisclosureKind.HELD_OUT}
    assert found(patch, Writer.AGENT) == []
    assert kinds(f"{patch}\n{HIDDEN}", Writer.AGENT) == {DisclosureKind.HELD_OUT}


def test_paths_of_this_machine_are_found_and_those_of_containers_are_not() -> None:
    """`/root` in a transcript is the container's; in a record of ours it is this machine's."""
    assert kinds("wrote /srv/lab/ada/results", Writer.AGENT) == {DisclosureKind.LOCAL}
    assert found("/srv/lab/adamant") == []
    assert found("ls /root/.cache", Writer.AGENT) == []
    assert kinds("ls /root/.cache", Writer.HARNESS) == {DisclosureKind.LOCAL}


def test_what_is_public_anyway_is_no_secret() -> None:
    """Phrases that a published text has, too, are not looked for."""
    scan = a_scan(public=(SKILL,))
    assert list(scan.found_in("a", PHRASE.encode(), Writer.HARNESS)) == []
    assert list(scan.found_in("a", HIDDEN.encode(), Writer.HARNESS))


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(b"a" * 1000)[:-9],
        zipped(b"a" * 1000)[:60],
        zstandard.ZstdCompressor().compress(b"".join(b"%d " % n for n in range(9999)))[:-9],
        zstandard.ZstdCompressor().compress(b"a") + b"more",
        odd_zip(b"\xff.txt"),
        odd_zip(b"\0.txt"),
        b"7z\xbc\xaf\x27\x1c" + b"\0" * 30,
        gzip.compress(gzip.compress(gzip.compress(gzip.compress(b"deep")))),
        pack(FileTree({b"../up": RegularFile(b"x")}), uid=0, gid=0),
    ],
    ids=[
        *("cut gzip", "cut zip", "cut zstd", "more behind zstd", "a name that is no text", "an empty name"),
        *("7z", "deep", "path that leads out"),
    ],
)
def test_an_archive_that_cannot_be_searched_to_its_end_is_a_finding(data: bytes) -> None:
    """What nobody looked into is not known to be clean."""
    assert kinds(data) == {DisclosureKind.NOT_SCANNED}


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file that holds a large one is refused when the limit is reached."""
    monkeypatch.setattr(packed, "MOST_BYTES", 100_000)
    bomb = gzip.compress(b"\0" * 10_000_000)
    assert len(bomb) < packed.MOST_BYTES
    assert kinds(bomb) == {DisclosureKind.NOT_SCANNED}
    assert found(gzip.compress(b"\0" * 10_000)) == []
