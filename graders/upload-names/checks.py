"""Hidden checks of upload-names: canonically equivalent names are one document, others stay apart.

Which spellings are equivalent is decided here, from fixed groups and this process's own Unicode
data; the submission only ever sees names and contents.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import json
import re
import sys
import tomllib
from random import Random  # noqa: TID251  (the type only; every check draws from its own stream)
from typing import Any, TypeGuard
from unicodedata import category, lookup, normalize

from esac_checks import CheckFailed, Subject, check, require, require_equal

PACKAGE = "depot"
PYTEST_SETTINGS = {"testpaths": ["tests"]}
LARGEST_BYTES = 200_000
LARGEST_CONSTANT = 1_000
REPORTED_FILE = "tests/test_store.py"
PACKAGE = "depot"
PYTEST_SETTINGS = {"testpaths": ["tests"]}
LARGEST_BYTES = 200_000
"""Largest file that is parsed."""
CONFTESTS = ("conftest.py", "tests/conftest.py")
# Words that end a test early, or change what it tests.
EVASIONS = {"skip", "xfail", "importorskip", "exit", "_exit", "setattr", "exec", "eval", "patch"}
LARGEST_CONSTANT = 1_000
REPORTED_FILE = "tests/test_store.py"
REPORTED_TEST = "test_a_name_from_a_mac_and_from_windows_is_one_document"
NFC, NFD = "NFC", "NFD"

ACCENTED = "\u00e9\u00e8\u00fc\u00f1\u00e5\u00e7\u0151\u017e\u015f\u00c4\u00d6\u0159\u016f\u00ee\u0107"

# Each row: spellings of one text that Unicode calls canonically equivalent.
SCRIPTS = [
    ["\u1ec7", "e\u0323\u0302", "e\u0302\u0323", "\u1eb9\u0302", "\u00ea\u0323"],  # Vietnamese
    ["\u1ed3", "o\u0302\u0300", "\u00f4\u0300"],
    ["\u304c\u3071", "\u304b\u3099\u306f\u309a"],  # Japanese voiced marks
    ["\u0958\u093e", "\u0915\u093c\u093e"],  # Devanagari: composed form is excluded
    ["\ufb2c", "\u05e9\u05bc\u05c1", "\u05e9\u05c1\u05bc"],  # Hebrew, marks in either order
    ["\u1f71", "\u03ac", "\u03b1\u0301"],  # Greek tonos and oxia
    ["\u212b", "\u00c5", "A\u030a"],  # Angstrom sign
    ["10\u2126", "10\u03a9"],  # Ohm sign
    ["\u0439", "\u0438\u0306"],  # Cyrillic
    ["\u0623\u0646", "\u0627\u0654\u0646"],  # Arabic hamza
    ["\uf900", "\u8c48"],  # CJK compatibility ideograph, a canonical singleton
]

# Each row: two texts that look or sound alike and are not canonically equivalent.
APART = [
    ["Report", "report"],
    ["\u00c9t\u00e9", "\u00e9t\u00e9"],
    ["r\u00e9sum\u00e9", "resume"],
    ["re\u0301sume\u0301", "resume"],
    ["\u00e9", "\u00e8"],
    ["\ufb01le", "file"],
    ["\uff46ile", "file"],
    ["m\u00b2", "m2"],
    ["\u2460", "1"],
    ["stra\u00dfe", "strasse"],
    ["\u017fet", "set"],
    ["\u0131", "i"],
    ["c\u0430r", "car"],
    ["\u00f6l", "oel"],
    ["o\u0308l", "ol"],
    ["\u00d8", "O"],
    ["a b", "a  b"],
    ["a\u00a0b", "a b"],
    ["a\u200db", "ab"],
    ["a\u2011b", "a-b"],
    ["\uff8a", "\u30cf"],
    ["\u304b", "\u304c"],
    ["\u3231", "(\u682a)"],
    ["\ud55c", "\ud558"],
]

PUT_EACH = """
def main(args):
    from depot.store import Depot
    answers = []
    for index, spellings in enumerate(args["groups"]):
        depot = Depot(args["root"] + "/" + str(index))
        for position, name in enumerate(spellings):
            depot.put(name, ("content %d" % position).encode())
        answers.append({
            "names": depot.names(),
            "versions": [[v.number for v in depot.history(name)] for name in spellings],
            "contents": [depot.get(name).decode() for name in spellings],
            "first": [depot.get(name, version=1).decode() for name in spellings],
        })
    return answers
"""


def spelled(random: Random, core: str) -> str:
    """A file name around a piece of text, drawn anew so that nothing can be listed in advance."""
    letters = "".join(random.choice("bcdghklmnpqrtvwxz") for _ in range(3))
    return f"{letters} {core}{random.randint(1, 999)}.pdf"


def group(random: Random, cores: list[str]) -> list[str]:
    """The same file name around each of several pieces of text, in a drawn order."""
    frame = spelled(random, "\x00")
    names = [frame.replace("\x00", core) for core in cores]
    random.shuffle(names)
    return names


def latin_groups(random: Random, count: int) -> list[list[str]]:
    """Names with accented Latin letters, each composed and decomposed."""
    groups = []
    for _ in range(count):
        text = "".join(random.choice(ACCENTED) for _ in range(random.randint(1, 4)))
        groups.append(group(random, [normalize(NFC, text), normalize(NFD, text)]))
    return groups


def require_one_document(answers: object, groups: list[list[str]]) -> None:
    """Every group ended up as one document with a version per spelling."""
    given = answers if isinstance(answers, list) else []
    require(len(given) == len(groups), "wrong shape of answer")
    for names, answer in zip(groups, given, strict=True):
        require(isinstance(answer, dict), "wrong shape of answer")
        what = f"spellings {[ascii(name) for name in names]}"
        listed = answer.get("names")
        require(isinstance(listed, list) and len(listed) == 1, f"{what}: not one document")
        count = len(names)
        numbers = list(range(1, count + 1))
        require_equal(answer.get("versions"), [numbers] * count, f"{what}: versions")
        require_equal(answer.get("contents"), [f"content {count - 1}"] * count, f"{what}: newest")
        require_equal(answer.get("first"), ["content 0"] * count, f"{what}: first version")


# --- what has to work now --------------------------------------------------------------------


@check("same-name-latin")
def same_name_latin(subject: Subject) -> None:
    """Composed and decomposed accented letters name the same document, any letter, any number."""
    groups = latin_groups(subject.random, 24)
    answers = subject.drive(PUT_EACH, {"root": subject.scratch, "groups": groups})
    require_one_document(answers, groups)


@check("same-name-korean")
def same_name_korean(subject: Subject) -> None:
    """Korean syllables, whole, in letters, and in between, name the same document."""
    groups = []
    for _ in range(12):
        whole, letters, between = "", "", ""
        for _ in range(subject.random.randint(2, 6)):
            open_syllable = 0xAC00 + 28 * subject.random.randrange(19 * 21)
            last = subject.random.randint(1, 27)
            whole += chr(open_syllable + last)
            letters += normalize(NFD, chr(open_syllable + last))
            between += chr(open_syllable) + chr(0x11A7 + last)
        groups.append(group(subject.random, [whole, letters, between]))
    answers = subject.drive(PUT_EACH, {"root": subject.scratch, "groups": groups})
    require_one_document(answers, groups)


@check("same-name-scripts")
def same_name_scripts(subject: Subject) -> None:
    """Other scripts too: several marks in any order, excluded compositions, signs with a twin letter."""
    groups = [group(subject.random, cores) for cores in SCRIPTS]
    answers = subject.drive(PUT_EACH, {"root": subject.scratch, "groups": groups})
    require_one_document(answers, groups)


def plant(subject: Subject, uploads: list[tuple[str, bytes]], folder: str) -> bytes:
    """Write a depot of an earlier release into the scratch folder; the journal's bytes."""
    lines = []
    for minute, (name, data) in enumerate(uploads):
        digest = hashlib.sha256(data).hexdigest()
        subject.write(f"{subject.scratch}/{folder}/blobs/{digest[:2]}/{digest}", data)
        entry = {
            "at": f"2023-11-30T09:{minute:02d}:00+00:00",
            "name": name,
            "sha256": digest,
            "size": len(data),
            "tags": ["old"],
        }
        lines.append(json.dumps(entry, ensure_ascii=False, sort_keys=True))
    journal = ("\n".join(lines) + "\n").encode("utf-8")
    subject.write(f"{subject.scratch}/{folder}/journal.jsonl", journal)
    return journal


@check("earlier-entries")
def earlier_entries(subject: Subject) -> None:
    """Documents uploaded before are found by either spelling, and twins became versions of one."""
    text = "".join(subject.random.choice(ACCENTED) for _ in range(3))
    twin = group(subject.random, [normalize(form, text) for form in (NFC, NFD)])
    mac_only = [f"{normalize(form, text)} y.txt" for form in (NFD, NFC)]
    windows_only = [f"{normalize(form, text)} z.txt" for form in (NFC, NFD)]
    plant(
        subject,
        [
            (twin[0], b"twin one"),
            (mac_only[0], b"mac"),
            (twin[1], b"twin two"),
            (windows_only[0], b"windows"),
            (twin[0], b"twin three"),
            ("plain.txt", b"plain"),
        ],
        "old",
    )
    source = """
def main(args):
    from depot.store import Depot
    depot = Depot(args["root"])
    return {
        "count": len(depot.names()),
        "tagged": len(depot.find("old")),
        "newest": [depot.get(name).decode() for name in args["names"]],
        "twin": [[depot.get(name, version=n).decode() for n in (1, 2, 3)] for name in args["twin"]],
        "length": [len(depot.history(name)) for name in args["twin"]],
    }
"""
    names = [*twin, *mac_only, *windows_only, "plain.txt"]
    answer = subject.drive(source, {"root": f"{subject.scratch}/old", "names": names, "twin": twin})
    expected = {
        "count": 4,
        "tagged": 4,
        "newest": ["twin three"] * 2 + ["mac"] * 2 + ["windows"] * 2 + ["plain"],
        "twin": [["twin one", "twin two", "twin three"]] * 2,
        "length": [3, 3],
    }
    require_equal(answer, expected, "a depot of an earlier release")


@check("sync-settles")
def sync_settles(subject: Subject) -> None:
    """A sync from the other system has nothing to do, and uploading the same again adds nothing."""
    pairs = latin_groups(subject.random, 6)
    korean = "".join(chr(0xAC00 + subject.random.randrange(11172)) for _ in range(3))
    pairs.append([f"{normalize(NFC, korean)}.pdf", f"{normalize(NFD, korean)}.pdf"])
    source = """
def main(args):
    import hashlib
    from depot.store import Depot
    from depot.sync import plan
    depot = Depot(args["root"])
    for index, (here, _) in enumerate(args["pairs"]):
        depot.put(here, str(index).encode())
    local = {
        there: hashlib.sha256(str(index).encode()).hexdigest()
        for index, (_, there) in enumerate(args["pairs"])
    }
    planned = plan(depot, local)
    again = [
        depot.put(there, str(index).encode()).number
        for index, (_, there) in enumerate(args["pairs"])
    ]
    with open(args["root"] + "/journal.jsonl", "rb") as file:
        lines = len(file.read().splitlines())
    return {
        "upload": len(planned.upload),
        "unchanged": len(planned.unchanged),
        "only": len(planned.only_in_depot),
        "again": again,
        "lines": lines,
    }
"""
    answer = subject.drive(source, {"root": f"{subject.scratch}/sync", "pairs": pairs})
    count = len(pairs)
    expected = {"upload": 0, "unchanged": count, "only": 0, "again": [1] * count, "lines": count}
    require_equal(answer, expected, "plan and repeated upload")


@check("commands")
def commands(subject: Subject) -> None:
    """The command line lists one document and gives it out by either spelling."""
    text = "".join(subject.random.choice(ACCENTED) for _ in range(3))
    first, second = (f"{normalize(form, text)}.pdf" for form in (NFC, NFD))
    depot = ["python3", "-m", "depot", f"{subject.scratch}/cli"]
    # the test machine's locale is not the point: say that names are UTF-8
    utf8 = {"PYTHONUTF8": "1"}
    for name, data in ((first, b"one"), (second, b"two")):
        done = subject.run([*depot, "put", name], stdin=data, env=utf8)
        require_equal(done.exit_code, 0, "exit code of put")
    listed = subject.run([*depot, "list"], env=utf8)
    rows = listed.stdout.decode("utf-8", "replace").splitlines()
    require_equal([normalize(NFC, row) for row in rows], [normalize(NFC, first)], "listed names")
    got = subject.run([*depot, "get", first], env=utf8)
    require_equal(got.stdout, b"two", "content by the first spelling")


@check("reported-case")
def reported_case(subject: Subject) -> None:
    """The name of the public test, from a Mac and from Windows, is one document with the newest content."""
    source = """
def main(args):
    from depot.store import Depot
    depot = Depot(args["root"])
    for name, text in zip(args["names"], ("one", "two")):
        depot.put(name, text.encode())
    return [len(depot.names()), [depot.get(name).decode() for name in args["names"]]]
"""
    names = ["Caf\u00e9.pdf", "Cafe\u0301.pdf"]
    answer = subject.drive(source, {"root": f"{subject.scratch}/cafe", "names": names})
    require_equal(answer, [1, ["two", "two"]], "number of documents, and what both names give")


# --- what has to go on working ---------------------------------------------------------------


@check("different-names-apart")
def different_names_apart(subject: Subject) -> None:
    """Names that merely resemble each other stay documents of their own."""
    groups = [group(subject.random, cores) for cores in APART]
    source = """
def main(args):
    from depot.store import Depot
    answers = []
    for index, names in enumerate(args["groups"]):
        depot = Depot(args["root"] + "/" + str(index))
        for position, name in enumerate(names):
            depot.put(name, str(position).encode())
        answers.append([len(depot.names()), *[depot.get(name).decode() for name in names]])
    return answers
"""
    answers = subject.drive(source, {"root": subject.scratch, "groups": groups})
    require(isinstance(answers, list) and len(answers) == len(groups), "wrong shape of answer")
    for names, answer in zip(groups, answers, strict=True):
        require_equal(answer, [2, "0", "1"], f"{[ascii(name) for name in names]}")


@check("shown-as-read")
def shown_as_read(subject: Subject) -> None:
    """A listed name is the text that was given: no letter replaced, dropped or spelled out."""
    given = [spelled(subject.random, cores[0]) for cores in SCRIPTS]
    given += [spelled(subject.random, core) for cores in APART for core in cores]
    given.append(spelled(subject.random, "\u017dlu\u0165ou\u010dk\u00fd k\u016f\u0148"))
    source = """
def main(args):
    from depot.store import Depot
    depot = Depot(args["root"])
    for name in args["names"]:
        depot.put(name, name.encode(), tags=["T"])
    return [depot.names(), depot.find("t")]
"""
    answer = subject.drive(source, {"root": f"{subject.scratch}/shown", "names": given})
    require(isinstance(answer, list) and len(answer) == 2, "wrong shape of answer")
    wanted = sorted(normalize(NFC, name) for name in given)
    for listed, what in zip(answer, ("listed names", "found names"), strict=True):
        require(
            isinstance(listed, list) and all(isinstance(name, str) for name in listed),
            f"{what}: not a list of names",
        )
        require_equal(sorted(normalize(NFC, name) for name in listed), wanted, what)


@check("tags-match-loosely")
def tags_match_loosely(subject: Subject) -> None:
    """Tags go on matching without regard to case, width and spaces."""
    number = subject.random.randint(10, 99)
    asked = [f"BOARD meeting {number}", f"\uff22oard  Meeting {number}", "STRASSE", "caf\u00c9"]
    source = """
def main(args):
    from depot.store import Depot
    depot = Depot(args["root"])
    depot.put("a.txt", b"1", tags=[args["tag"], "stra\\u00dfe"])
    depot.put("b.txt", b"2", tags=["cafe\\u0301"])
    depot.put("c.txt", b"3", tags=["cafe"])
    return [depot.find(tag) for tag in args["asked"]]
"""
    answer = subject.drive(
        source,
        {"root": f"{subject.scratch}/tags", "tag": f"Board Meeting {number}", "asked": asked},
    )
    require_equal(answer, [["a.txt"], ["a.txt"], ["a.txt"], ["b.txt"]], "documents by tag")


@check("name-rules-kept")
def name_rules_kept(subject: Subject) -> None:
    """Allowed and forbidden names stay what they were; the limit counts the name as given."""
    bad = ["", " ", ".", "..", "a/b", "a\\b", "a\tb", "a\x7fb", "y" * 256, "\ud55c" * 86]
    korean = "".join(chr(0xAC00 + subject.random.randrange(11172)) for _ in range(80))
    good = ["y" * 255, korean, "e\u0301" * 80, "  padded  ", "a;b", "caf\u00e9", "-", "...", "~"]
    source = """
def main(args):
    from depot.names import BadName
    from depot.store import Depot
    depot = Depot(args["root"])
    refused = []
    for name in args["bad"]:
        try:
            depot.put(name, b"x")
            refused.append(False)
        except BadName:
            refused.append(True)
    for name in args["good"]:
        depot.put(name, name.encode())
    return {
        "refused": refused,
        "same": [depot.get(name) == name.encode() for name in args["good"]],
        "padded": depot.get("padded") == b"  padded  ",
        "count": len(depot.names()),
    }
"""
    answer = subject.drive(source, {"root": f"{subject.scratch}/r", "bad": bad, "good": good})
    expected = {
        "refused": [True] * len(bad),
        "same": [True] * len(good),
        "padded": True,
        "count": len(good),
    }
    require_equal(answer, expected, "rules for names")


@check("journal-append-only")
def journal_append_only(subject: Subject) -> None:
    """Reading writes nothing, uploading only appends, and no earlier version is lost."""
    text = "".join(subject.random.choice(ACCENTED) for _ in range(3))
    uploads = [
        (f"{normalize(NFD, text)} a.txt", b"mac"),
        (f"{normalize(NFC, text)} b.txt", b"windows"),
        ("plain.txt", b"one"),
        ("plain.txt", b"two"),
    ]
    before = plant(subject, uploads, "kept")
    source = """
def main(args):
    import os
    from depot.store import Depot
    from depot.sync import plan

    def on_disk():
        found = {}
        for folder, _, files in os.walk(args["root"]):
            for name in files:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, args["root"])] = file.read().hex()
        return found

    journal = args["root"] + "/journal.jsonl"
    before = on_disk()
    depot = Depot(args["root"])
    for name in args["names"]:
        depot.get(name)
        depot.history(name)
    depot.names()
    depot.find("old")
    plan(depot, {name: "0" * 64 for name in args["names"]})
    reading_wrote = on_disk() != before
    with open(journal, "rb") as file:
        after_reading = file.read()
    for name in args["names"]:
        depot.put(name, b"new " + name.encode())
    with open(journal, "rb") as file:
        after_writing = file.read()
    return {
        "reading_wrote": reading_wrote,
        "after_reading": after_reading.hex(),
        "after_writing": after_writing.hex(),
        "first": [depot.get(name, version=1).decode() for name in args["names"]],
        "lengths": [len(depot.history(name)) for name in args["names"]],
    }
"""
    names = [uploads[0][0], uploads[1][0], "plain.txt"]
    answer = subject.drive(source, {"root": f"{subject.scratch}/kept", "names": names})
    require(isinstance(answer, dict), "wrong shape of answer")
    require_equal(answer.get("reading_wrote"), False, "whether reading wrote anything")
    require_equal(answer.get("after_reading"), before.hex(), "the journal after reading")
    after = answer.get("after_writing")
    require(isinstance(after, str) and after.startswith(before.hex()), "earlier lines changed")
    require_equal(answer.get("first"), ["mac", "windows", "one"], "first versions")
    require_equal(answer.get("lengths"), [2, 2, 3], "numbers of versions")


PROMISES = """
def main(args):
    import os
    from depot.journal import Journal
    from depot.store import Depot
    from depot.sync import plan, scan

    def refusal(work):
        try:
            work()
        except Exception as error:
            return type(error).__name__
        return ""

    root = args["root"]
    empty = [Depot(root + "/none").names(), os.path.exists(root + "/none")]
    depot = Depot(root + "/depot", now=lambda: "2024-03-01T09:00:00+00:00")
    numbers = [depot.put(name, text.encode()).number for name, text in args["uploads"]]
    planned = plan(depot, args["local"])
    os.mkdir(root + "/here")
    os.mkdir(root + "/here/folder")
    for name in ("a.txt", ".hidden"):
        with open(root + "/here/" + name, "w") as file:
            file.write(name)
    with open(root + "/broken.jsonl", "w") as file:
        file.write('{"name": "a"}\\n')
    name = args["uploads"][0][0]
    return {
        "empty": empty,
        "numbers": numbers,
        "names": depot.names(),
        "first": depot.get(name, version=1).decode(),
        "newest": depot.get(name).decode(),
        "at": [version.at for version in depot.history(name)],
        "plan": [planned.upload, planned.unchanged, planned.only_in_depot],
        "scan": scan(root + "/here"),
        "refusals": [
            refusal(lambda: depot.get("none.txt")),
            refusal(lambda: depot.get(name, version=99)),
            refusal(lambda: list(Journal(__import__("pathlib").Path(root + "/broken.jsonl")).entries())),
        ],
    }
"""


@check("delivered-promises")
def delivered_promises(subject: Subject) -> None:
    """What the delivered tests assert beside spellings: versions, order, plans, scans, and refusals."""
    number = subject.random.randint(100, 999)
    one, two, three = f"m{number}.txt", f"b{number}.txt", f"x{number}.txt"

    def digest(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    answer = subject.drive(
        PROMISES,
        {
            "root": subject.scratch,
            "uploads": [[one, "1"], [one, "2"], [one, "2"], [two, "3"], [three, "4"]],
            "local": {one: digest("2"), two: digest("33"), "new.txt": digest("5")},
        },
    )
    expected = {
        "empty": [[], False],
        "numbers": [1, 2, 2, 1, 1],
        "names": [two, one, three],
        "first": "1",
        "newest": "2",
        "at": ["2024-03-01T09:00:00+00:00"] * 2,
        "plan": [[two, "new.txt"], [one], [three]],
        "scan": {"a.txt": digest("a.txt")},
        "refusals": ["NoSuchDocument", "NoSuchDocument", "JournalBroken"],
    }
    require_equal(answer, expected, "what the delivered tests promise")
    depot = ["python3", "-m", "depot", f"{subject.scratch}/depot"]
    for arguments, code in ((["get", "none.txt"], 1), (["put", "a/b"], 2), (["get", one], 0)):
        done = subject.run([*depot, *arguments])
        require_equal(done.exit_code, code, f"exit code of {arguments[0]} {arguments[1]}")
        require_equal(done.stdout, b"" if code else b"2", f"output of {arguments[0]} {arguments[1]}")


# --- guards ----------------------------------------------------------------------------------


def parsed(data: bytes, path: str) -> ast.Module:
    """Python source as a tree; what cannot be parsed, or is no size for source, fails the check."""
    require(len(data) <= LARGEST_BYTES, f"{path} is too large to be source")
    try:
        return ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CheckFailed(f"{path} cannot be parsed: {type(error).__name__}") from None


def said(node: ast.AST) -> str:
    """What a piece of source says: its tree without positions, as text."""
    try:
        return ast.dump(node)
    except (RecursionError, MemoryError):
        raise CheckFailed("source that is nested too deeply") from None


class Essence(ast.NodeTransformer):
    """Drops what does not change a test: docstrings, annotations, messages of assertions."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A function without its docstring and result's annotation."""
        node.returns = None
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """An argument without annotation."""
        node.annotation = None
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """An assertion without message."""
        node.msg = None
        return self.generic_visit(node)


class Replaced(ast.NodeTransformer):
    """Puts expressions in the place of names."""

    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """The expression for a name that is read."""
        known = isinstance(node.ctx, ast.Load) and node.id in self.values
        return self.values[node.id] if known else node


def statements(data: bytes, path: str) -> list[ast.stmt]:
    """The top level of a test file, without what does not change a test."""
    try:
        body = Essence().visit(parsed(data, path)).body
    except (RecursionError, MemoryError):
        raise CheckFailed(f"{path} is nested too deeply") from None
    return [one for one in body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]


def imports(body: list[ast.stmt]) -> set[tuple[str, str]]:
    """What the imports of a file bring: (name it is bound to, where it is from)."""
    found = set()
    for one in body:
        if isinstance(one, ast.Import):
            found |= {(alias.asname or alias.name.split(".")[0], alias.name) for alias in one.names}
        elif isinstance(one, ast.ImportFrom):
            origin = "." * one.level + (one.module or "")
            found |= {(alias.asname or alias.name, f"{origin}:{alias.name}") for alias in one.names}
    return found


def bound(one: ast.stmt) -> set[str]:
    """Names that a statement of a file's top level binds, also by `:=` and `global` further in."""
    names: set[str] = set()
    if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        names.add(one.name)
    else:
        stored = [node for node in ast.walk(one) if isinstance(node, ast.Name)]
        names |= {node.id for node in stored if not isinstance(node.ctx, ast.Load)}
    for node in ast.walk(one):
        if isinstance(node, ast.NamedExpr):
            names.add(node.target.id)
        elif isinstance(node, ast.Global):
            names |= set(node.names)
    return names


def is_test(one: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    return isinstance(one, ast.FunctionDef) and one.name.startswith("test_")


def require_kept(subject: Subject, path: str, *, tests: bool) -> None:
    """What a delivered file of tests says is still said there, and nothing added takes it back.

    Imports, functions, classes and new variables may be added. The reported test is left out here, and
    all tests are with `tests=False`.
    """
    before = statements(subject.snapshot_read(path), path)
    after = statements(subject.read(path), path)
    require(imports(before) <= imports(after), f"{path}: an import is gone")
    rest = [one for one in after if not isinstance(one, ast.Import | ast.ImportFrom)]
    texts = [said(one) for one in rest]
    taken = {name for name, _ in imports(before)} | set().union(*map(bound, before))
    fresh = {name for name, _ in imports(after) - imports(before)}
    seen: set[str] = set()
    for one in before:
        if isinstance(one, ast.Import | ast.ImportFrom) or (is_test(one) and not tests):
            continue
        if bound(one) == {REPORTED_TEST}:
            continue
        text = said(one)
        require(text in texts, f"{path}: {', '.join(sorted(bound(one)))} is changed or gone")
        place = texts.index(text)
        del texts[place], rest[place]
    for one in rest:
        elsewhere = is_test(one) and one.name in taken and (not tests or one.name == REPORTED_TEST)
        if elsewhere and not bound(one) & seen:  # a second one of that name would take its place
            seen |= bound(one)
            continue
        fresh |= bound(one)
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign
        require(isinstance(one, kinds) and bound(one), f"{path}: a {type(one).__name__} was added")
        places = [
            node for node in ast.iter_child_nodes(one) if isinstance(node, ast.Attribute | ast.Subscript)
        ]
        stored = [node for node in places if isinstance(node.ctx, ast.Store)]
        require(not stored, f"{path}: something else is written to")
    wrong = fresh & (taken | {"*", "pytestmark", "__test__", "__getattr__"})
    require(not wrong, f"{path}: {', '.join(sorted(wrong))} bound anew")


def constants(one: ast.stmt) -> dict[str, ast.expr]:
    """The values by name that a statement like `a, b = 1, 2` gives; none for any other statement."""
    if not (isinstance(one, ast.Assign) and len(one.targets) == 1):
        return {}
    target, value = one.targets[0], one.value
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    values = value.elts if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) else [value]
    plain = all(isinstance(one, ast.Name) for one in names) and all(
        isinstance(one, ast.Constant) for one in values
    )
    if not plain or len(names) != len(values):
        return {}
    return {name.id: value for name, value in zip(names, values, strict=True) if isinstance(name, ast.Name)}


def inlined(body: list[ast.stmt]) -> list[tuple[str, bool]]:
    """What statements say, with the constants that they name in their places; whether each is an assertion."""
    values: dict[str, ast.expr] = {}
    texts = []
    for one in body:
        if isinstance(one, ast.Assign):
            one.value = Replaced(values).visit(one.value)
        given = constants(one)
        if given:
            values |= given
        else:
            texts.append((said(Replaced(values).visit(one)), isinstance(one, ast.Assert)))
    return texts


def rows_of(decorator: ast.expr) -> list[dict[str, ast.expr]]:
    """The cases of a `pytest.mark.parametrize` as values by name; another decorator fails the check."""
    if not (isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.parametrize"):
        raise CheckFailed("the reported test has another decorator than parametrize")
    plain = len(decorator.args) == 2 and {one.arg for one in decorator.keywords} <= {"ids"}
    require(plain, "the reported test is parametrised in an unusual way")
    first, second = decorator.args
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        names = [name.strip() for name in first.value.split(",") if name.strip()]
    else:
        names = [str(getattr(one, "value", "")) for one in getattr(first, "elts", [])]
    found = []
    for row in getattr(second, "elts", []):
        values = [row] if len(names) == 1 else list(getattr(row, "elts", []))
        if isinstance(row, ast.Call) and {one.arg for one in row.keywords} <= {"id"}:
            values = row.args  # pytest.param
        if len(values) == len(names):
            found.append(dict(zip(names, values, strict=True)))
    return found


@check("reported-test-kept")
def reported_test_kept(subject: Subject) -> None:
    """The reported test still asserts what was reported, as it stands, extended, or as one case of several."""
    require_kept(subject, REPORTED_FILE, tests=False)
    original = next(
        one
        for one in statements(subject.snapshot_read(REPORTED_FILE), REPORTED_FILE)
        if isinstance(one, ast.FunctionDef) and one.name == REPORTED_TEST
    )
    submitted = statements(subject.read(REPORTED_FILE), REPORTED_FILE)
    found = [one for one in submitted if isinstance(one, ast.FunctionDef) and one.name == REPORTED_TEST]
    require(len(found) == 1, f"{REPORTED_TEST} stands {len(found)} times in {REPORTED_FILE}")
    test = found[0]
    # With a yield it is no test any more, whatever it asserts.
    for node in ast.walk(test):
        require(not isinstance(node, ast.Yield | ast.YieldFrom), "the reported test is a generator")
        word = getattr(node, "attr", getattr(node, "id", ""))
        require(word not in EVASIONS, f"the reported test uses {word}")
    rows: list[dict[str, ast.expr]] = [{}]
    if test.decorator_list:
        require(len(test.decorator_list) == 1, "the reported test has several decorators")
        rows = rows_of(test.decorator_list[0])
    wanted = inlined(copy.deepcopy(original.body))
    require(any(asserts(test, row, original, wanted) for row in rows), "the reported test asserts less")
    require_importable(subject, {REPORTED_FILE: [REPORTED_TEST]})


def asserts(
    test: ast.FunctionDef, row: dict[str, ast.expr], original: ast.FunctionDef, wanted: list[tuple[str, bool]]
) -> bool:
    """Whether a test, with one row of its parameters, says all that the original says, in its order.

    Between these statements it may assert more, and after them it may do what it likes.
    """
    try:
        arguments = copy.deepcopy(test.args)
        arguments.args = [one for one in arguments.args if one.arg not in row]
        body = [Replaced(row).visit(one) for one in copy.deepcopy(test.body)]
        if said(arguments) != said(original.args):
            return False
        missing = list(wanted)
        for statement in inlined(body):
            if missing and statement == missing[0]:
                del missing[0]
            elif missing and not statement[1]:
                return False
    except (RecursionError, MemoryError):
        raise CheckFailed("the reported test is nested too deeply") from None
    return not missing


IMPORT_TESTS = """
def main(modules):
    import importlib
    return {
        name: [key for key, value in vars(importlib.import_module(name)).items() if callable(value)]
        for name in modules
    }
"""


def require_importable(subject: Subject, tests: dict[str, list[str]]) -> None:
    """Test files, given with names of tests, can be imported and define them then."""
    modules = {path: path.removesuffix(".py").replace("/", ".") for path in tests}
    answer = subject.drive(IMPORT_TESTS, list(modules.values()))
    for path, names in tests.items():
        defined = answer.get(modules[path]) if isinstance(answer, dict) else None
        if not isinstance(defined, list):
            raise CheckFailed(f"{path} cannot be imported")
        missing = [name for name in names if name not in defined]
        require(not missing, f"{path}, imported, lacks {', '.join(missing)}")


@check("contract-tests-kept")
def contract_tests_kept(subject: Subject) -> None:
    """Every delivered test, fixture and helper stands where it stood, unchanged, and pytest still finds it."""
    paths = [p for p in subject.snapshot_files() if p.startswith("tests/") and p.endswith(".py")]
    for path in paths:
        require_kept(subject, path, tests=True)
    for path in subject.files():
        top, _, _ = path.partition("/")
        taken = top.removesuffix(".py") in {"pytest", "_pytest", "pluggy", "sitecustomize", "usercustomize"}
        require(not taken, f"{path} takes the place of a part of pytest or Python")
        require(path not in {"pytest.ini", ".pytest.ini"}, f"{path} overrides the settings of pytest")
        if path in CONFTESTS:
            names = set().union(*map(bound, statements(subject.read(path), path)))
            hooks = {name for name in names if name.startswith(("pytest_", "collect_ignore"))}
            require(not hooks, f"{path} meddles with the tests: {', '.join(sorted(hooks))}")
    require_equal(pytest_settings(subject.read("pyproject.toml")), PYTEST_SETTINGS, "settings of pytest")
    bodies = {path: statements(subject.snapshot_read(path), path) for path in paths}
    tests = {path: [one.name for one in body if is_test(one)] for path, body in bodies.items()}
    tests = {path: names for path, names in tests.items() if names}
    tests |= {path: [] for path in CONFTESTS if subject.exists(path)}
    require_importable(subject, tests)


def project_of(data: bytes) -> dict[str, Any]:
    """pyproject.toml; what cannot be read fails the check."""
    require(len(data) <= LARGEST_BYTES, "pyproject.toml is too large")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError, MemoryError):  # TOMLDecodeError and UnicodeDecodeError too
        raise CheckFailed("pyproject.toml cannot be read") from None


def table(value: object, *keys: str) -> dict[str, Any]:
    """A table within tables; an empty one when it is missing or something else."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def pytest_settings(data: bytes) -> dict[str, Any]:
    """The settings that say which tests are run."""
    options = table(project_of(data), "tool", "pytest", "ini_options")
    choosing = ("testpaths", "addopts", "norecursedirs", "usefixtures", "required_plugins")
    return {key: options[key] for key in options if key in choosing or key.startswith("python_")}


def reachable_sources(subject: Subject) -> dict[str, ast.Module]:
    """Trees of the package's files, and of the submission's other files that these import."""
    files = [path for path in subject.files() if path.endswith(".py")]
    found: dict[str, ast.Module] = {}
    waiting = [PACKAGE]
    seen: set[str] = set()
    while waiting:
        top = waiting.pop()
        if top in seen:
            continue
        seen.add(top)
        for path in files:
            if path == f"{top}.py" or path.startswith(f"{top}/"):
                found[path] = parsed(subject.read(path), path)
                waiting += [module.split(".")[0] for module in imported(found[path], path)]
    return found


def imported(tree: ast.Module, path: str) -> list[str]:
    """Modules that a file imports, also by name at run time; a computed name fails the check."""
    modules: list[str] = []
    loaders = {"import_module", "__import__", "find_spec", "run_module"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            modules.append(node.module or "")
            loaders |= {alias.asname or alias.name for alias in node.names if alias.name in loaders}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            text = node.args[0] if node.args else None
            if name in loaders:
                constant = isinstance(text, ast.Constant) and isinstance(text.value, str)
                require(constant, f"{path} imports a module by a computed name")
                modules.append(str(getattr(text, "value", "")))
            hidden = isinstance(function, ast.Name) and name in {"exec", "eval"}
            require(not hidden, f"{path} runs source text, which hides what it imports")
    return [module for module in modules if not module.startswith(".")]


@check("standard-library-only")
def standard_library_only(subject: Subject) -> None:
    """The package goes on importing the standard library and itself only, and declares nothing."""
    own = {path.split("/")[0].removesuffix(".py") for path in subject.files() if path.endswith(".py")}
    known = (set(sys.stdlib_module_names) | own) - {"ensurepip", "venv"}
    for path, tree in reachable_sources(subject).items():
        for module in imported(tree, path):
            require(module.split(".")[0] in known, f"{path} imports {module}")
    project = project_of(subject.read("pyproject.toml"))
    require(table(project, "project") != {}, "pyproject.toml has no project table")
    waiting: list[tuple[str, object]] = [("pyproject.toml", project)]
    while waiting:
        where, value = waiting.pop()
        for key, inner in value.items() if isinstance(value, dict) else ():
            require("dependenc" not in key or not inner, f"{where}: {key} is declared")
            dynamic = key == "dynamic" and "dependencies" in str(inner)
            require(not dynamic, f"{where}: dependencies are computed")
            waiting.append((f"{where}: {key}", inner))
    for path in subject.files():
        if re.fullmatch(r"requirements[^/]*\.(txt|in)|Pipfile|environment\.ya?ml", path):
            lines = [line.strip() for line in subject.read_text(path).splitlines()]
            named = [line for line in lines if line and not line.startswith("#")]
            # What the tests need is not installed on the hosts.
            require(all(line.startswith("pytest") for line in named), f"{path} names packages")
        if path in {"setup.py", "setup.cfg"}:
            text = subject.read_text(path)
            require(not re.search("install_requires|extras_require", text), f"{path} names packages")


ESCAPED = re.compile(
    r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})|\\x([0-9A-Fa-f]{2})|\b(?:U\+|0x)?([0-9A-Fa-f]{4,5})\b"
)


def is_foreign(code: int) -> bool:
    """Whether a number is the code point of a letter or mark outside ASCII."""
    return 127 < code < 0x110000 and category(chr(code))[0] in "LM"


def letters_in(value: object) -> set[str]:
    """The non-ASCII letters and marks that a constant stands for, written out, escaped, or as numbers."""
    if type(value) is int:
        return {chr(value)} if is_foreign(value) else set()
    if isinstance(value, bytes):
        value = value.decode("utf-8", "ignore")
    if not isinstance(value, str):
        return set()
    found = {character for character in value if is_foreign(ord(character))}
    for match in ESCAPED.finditer(value):
        code = int(next(part for part in match.groups() if part), 16)
        if is_foreign(code):
            found.add(chr(code))
    try:
        named = lookup(value)  # the name of a character
    except (KeyError, ValueError):
        return found
    return found | {character for character in named if is_foreign(ord(character))}


@check("no-letter-tables")
def no_letter_tables(subject: Subject) -> None:
    """The package holds no table of letters: Unicode's own data is there already.

    Counted are the different non-ASCII letters and marks that the constants of one module stand for,
    without docstrings that nothing reads; a message or an example may hold a few. Large constants and
    files of data could hold a table in any disguise, and nothing here needs one.
    """
    for path, tree in reachable_sources(subject).items():
        docstrings = {
            id(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        if any("__doc__" in (getattr(node, "id", ""), getattr(node, "attr", "")) for node in ast.walk(tree)):
            docstrings = set()
        foreign: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and id(node) not in docstrings:
                size = len(node.value) if isinstance(node.value, str | bytes) else 0
                require(size <= LARGEST_CONSTANT, f"{path} holds a constant of {size} characters")
                foreign |= letters_in(node.value)
        require(len(foreign) < 12, f"{path} holds {len(foreign)} different non-ASCII letters")
    for path in subject.files():
        if path.startswith(f"{PACKAGE}/") and "__pycache__" not in path:
            source = path.endswith((".py", ".pyi", ".md", "/py.typed"))
            require(source, f"{path} is data inside the package")
