"""Hidden checks of upload-names: canonically equivalent names are one document, others stay apart.

Which spellings are equivalent is decided here, from fixed groups and this process's own Unicode
data; the submission only ever sees names and contents.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
import tomllib
from random import Random  # noqa: TID251  (the type only; every check draws from its own stream)
from unicodedata import normalize

from esac_checks import Subject, check, require, require_equal

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


@check("public-tests")
def public_tests(subject: Subject) -> None:
    """The public tests as they were delivered pass, the reported one included."""
    for path in subject.snapshot_files():
        if path.startswith("tests/"):
            subject.write(path, subject.snapshot_read(path))
    ran = subject.run(["python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"], timeout_s=40)
    require_equal(ran.exit_code, 0, "exit code of the delivered public tests")


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


# --- guards ----------------------------------------------------------------------------------


def parsed(data: bytes, path: str) -> ast.Module:
    """Python source of the submission as a tree; what cannot be parsed fails the check."""
    require(len(data) <= 1_000_000, f"{path} is too large to be source")
    try:
        return ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        require(False, f"{path} cannot be parsed: {type(error).__name__}")
        raise  # not reached: require has raised


def sources(subject: Subject) -> list[str]:
    """The submission's Python files, without its tests."""
    return [
        path
        for path in subject.files()
        if path.endswith(".py") and not path.startswith("tests/") and path != "conftest.py"
    ]


def test_functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


@check("reported-test-kept")
def reported_test_kept(subject: Subject) -> None:
    """The reported test, as submitted, is still red on the untouched package: it can still catch the defect."""
    for path in subject.snapshot_files():
        if path.startswith("depot/"):
            subject.write(path, subject.snapshot_read(path))
    argv = ["python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", REPORTED_TEST]
    ran = subject.run(argv, timeout_s=40)
    # 1: it failed, as it must; 2: it needs something that only the solution has, also fine
    red = ran.exit_code == 2 or (ran.exit_code == 1 and b" failed" in ran.stdout)
    require(red, f"on the untouched package the reported test ends with {ran.exit_code}, not red")


@check("contract-tests-kept")
def contract_tests_kept(subject: Subject) -> None:
    """Every delivered public test is still there by name, and none is skipped or expected to fail."""
    found: dict[str, ast.FunctionDef] = {}
    for path in subject.files():
        if path.endswith(".py") and "test" in path:
            for function in test_functions(parsed(subject.read(path), path)):
                found[function.name] = function
    for path in subject.snapshot_files():
        if not (path.startswith("tests/") and path.endswith(".py")):
            continue
        for function in test_functions(ast.parse(subject.snapshot_read(path))):
            require(function.name in found, f"{function.name} is gone")
            names = {
                node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
                for node in ast.walk(found[function.name])
            }
            require(
                not names & {"skip", "skipif", "xfail", "importorskip"},
                f"{function.name} is skipped or expected to fail",
            )


@check("standard-library-only")
def standard_library_only(subject: Subject) -> None:
    """The package goes on importing the standard library and itself only, and declares nothing."""
    known = set(sys.stdlib_module_names) | {"tests"}
    known |= {path.split("/")[0].removesuffix(".py") for path in subject.snapshot_files()}
    known |= {path.split("/")[0].removesuffix(".py") for path in sources(subject)}
    for path in sources(subject):
        for node in ast.walk(parsed(subject.read(path), path)):
            modules: list[str] = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                modules = [node.module or ""]
            for module in modules:
                require(module.split(".")[0] in known, f"{path} imports {module}")
    try:
        project = tomllib.loads(subject.read("pyproject.toml").decode("utf-8"))
    except ValueError:  # TOMLDecodeError and UnicodeDecodeError
        require(False, "pyproject.toml cannot be read")
        raise
    table = project.get("project")
    require(isinstance(table, dict), "pyproject.toml has no project table")
    require_equal(table.get("dependencies", []), [], "declared dependencies")


@check("no-letter-tables")
def no_letter_tables(subject: Subject) -> None:
    """The package holds no table of letters: Unicode's own data is there already.

    Counted are the different non-ASCII letters and marks in the string constants of one module,
    without docstrings; a message or an example may hold a few.
    """
    for path in sources(subject):
        tree = parsed(subject.read(path), path)
        docstrings = {
            id(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        foreign: set[str] = set()
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and id(node) not in docstrings:
                foreign |= {character for character in text if ord(character) > 127}
        require(len(foreign) < 12, f"{path} holds {len(foreign)} different non-ASCII characters")
