"""Hidden checks of address-change. Behaviour only: methods of `Book`, commands, and CHANGELOG.md.

`PLAY` carries out steps on open directories and returns what they answered. Expected values stay here.
"""

from __future__ import annotations

from typing import Any

from esac_checks import CheckFailed, Subject, check, require, require_equal

PLAY = '''
import contextlib, datetime, io, os, shutil, signal, sqlite3
from pathlib import Path

plain_connect = sqlite3.connect
before_statement = None


def connect(*args, **options):
    conn = plain_connect(*args, **options)
    conn.set_trace_callback(lambda sql: before_statement(sql) if before_statement else None)
    return conn


sqlite3.connect = sqlite3.dbapi2.connect = connect
from parcelbook.book import Book
from parcelbook.cli import main as command

DAY = datetime.date(2024, 5, 6)


def play(path, steps):
    """Each step [book, method, arguments, options]: books are opened at their first step and stay open.

    The method `command` runs a command line instead. Answers: {"answer": ...} or {"error": class name}.
    """
    books, told = {}, []
    for name, method, args, options in steps:
        try:
            if method == "command":
                told.append({"answer": run_command(path, args)})
                continue
            if name not in books:
                books[name] = Book(path, today=lambda: DAY)
            told.append({"answer": getattr(books[name], method)(*args, **options)})
        except Exception as error:
            told.append({"error": type(error).__name__})
    for book in books.values():
        book.close()
    return told


def run_command(path, args):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command(["--book", path, *args])
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


def main(args):
    path = args["scratch"] + "/book.db"
    for name, text in args["files"].items():
        Path(args["scratch"], name).write_text(text, encoding="utf-8")
    if args["old"]:
        conn = plain_connect(path)
        conn.executescript(args["old"]["schema"])
        for table, *values in args["old"]["rows"]:
            conn.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)
        conn.commit()
        conn.close()
    return play(path, args["steps"])
'''

# Kills a process before each statement of one step in turn, and looks at what is left.
KILL = (
    PLAY
    + '''
def in_child(work):
    """Run `work` in a process of its own; True when it came to its end."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


def killed_at(path, step, place):
    global before_statement
    seen = 0

    def statement(sql):
        nonlocal seen
        if sql.lstrip()[:4].upper() in ("SELE", "INSE", "UPDA", "DELE", "REPL", "WITH", "BEGI", "COMM"):
            seen += 1
            if seen == place:
                os.kill(os.getpid(), signal.SIGKILL)

    name, method, args, options = step
    book = Book(path, today=lambda: DAY)
    before_statement = statement
    getattr(book, method)(*args, **options)
    before_statement = None
    book.close()


def main(args):
    found = []
    base = args["scratch"] + "/base.db"
    in_child(lambda: play(base, args["setup"]))
    for number, step in enumerate(args["steps"]):
        for place in range(1, 150):
            path = f"{args['scratch']}/book-{number}-{place}.db"
            for tail in ("", "-wal"):
                if os.path.exists(base + tail):
                    shutil.copyfile(base + tail, path + tail)
            ended = in_child(lambda: killed_at(path, step, place))
            found.append({"step": number, "ended": ended, "told": play(path, args["look"])})
            if ended:
                break
    return found
'''
)

# What the released version 2.1.0 creates.
OLD_SCHEMA = """
CREATE TABLE customers (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT,
    street TEXT NOT NULL, postcode TEXT NOT NULL, city TEXT NOT NULL,
    invoice_street TEXT, invoice_postcode TEXT, invoice_city TEXT);
CREATE TABLE parcels (
    parcel INTEGER PRIMARY KEY, number INTEGER NOT NULL REFERENCES customers (number),
    contents TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'waiting', sent_to TEXT);
CREATE TABLE words (number INTEGER NOT NULL, word TEXT NOT NULL, PRIMARY KEY (number, word));
CREATE TABLE labels (number INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE history (
    id INTEGER PRIMARY KEY, number INTEGER NOT NULL, day TEXT NOT NULL,
    actor TEXT NOT NULL, old TEXT NOT NULL, new TEXT NOT NULL);
CREATE TABLE notices (
    id INTEGER PRIMARY KEY, number INTEGER NOT NULL,
    kind TEXT NOT NULL, email TEXT NOT NULL, body TEXT NOT NULL);
PRAGMA user_version = 2;
"""


def require_shape(value: object, shape: Any, what: str) -> None:  # noqa: ANN401  (a shape is any of these)
    """Fail the check unless a value has a shape: whatever the submission's process answers is data.

    A shape is a class, `object` for anything, `[shape]` for a list, or a dictionary with a shape for each key
    that has to be there; a tuple lists alternatives.
    """
    if isinstance(shape, tuple):
        if not any(fits(value, one) for one in shape):
            raise CheckFailed(f"{what}: of another shape: {brief(value)}")
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise CheckFailed(f"{what}: not a list: {brief(value)}")
        for number, one in enumerate(value):
            require_shape(one, shape[0], f"{what}, item {number}")
    elif isinstance(shape, dict):
        if not isinstance(value, dict) or not shape.keys() <= value.keys():
            raise CheckFailed(f"{what}: not a dictionary with {', '.join(shape) or 'keys'}: {brief(value)}")
        for key, inner in shape.items():
            require_shape(value[key], inner, f"{what}: {key}")
    elif shape is not object and type(value) is not shape:
        raise CheckFailed(f"{what}: not {shape.__name__}: {brief(value)}")


def brief(value: object) -> str:
    """A value for a message."""
    try:
        return repr(value)[:200]
    except RecursionError:
        return "something nested too deeply"


def fits(value: object, shape: Any) -> bool:  # noqa: ANN401
    """Whether a value has a shape."""
    try:
        require_shape(value, shape, "")
    except CheckFailed:
        return False
    return True


Address = dict[str, str]
ENTRY = {"day": str, "actor": str, "old": str, "new": str}
MAIL_ROW = {"kind": str, "email": str, "body": str}
PLACE = {"street": str, "postcode": str, "city": str}
RECORD = {
    "name": str,
    "email": (str, type(None)),
    "address": PLACE,
    "invoice_address": (PLACE, type(None)),
}
# What each step answers; of other methods anything, which is compared as a whole where it matters.
ANSWERS: dict[str, Any] = {
    "customer": RECORD,
    "packing_list": str,
    "find": [int],
    "history": [ENTRY],
    "notices": [MAIL_ROW],
    "parcels": [{"sent_to": (str, type(None))}],
    "send_parcel": str,
    "command": {"code": int, "out": str, "err": str},
}
STREETS = ("Birch", "Cedar", "Dune", "Fern", "Gorse", "Hazel", "Iris", "Juniper", "Larch", "Maple")
TOWNS = ("Arlby", "Brenning", "Corvik", "Dunmere", "Eastholm", "Farrow", "Glenby", "Hexley")
DAY = "2024-05-06"
MAIL = "nora@example.org"


def two_addresses(subject: Subject) -> tuple[Address, Address]:
    """Two tidied addresses without a common word."""
    streets, towns = subject.random.sample(STREETS, 2), subject.random.sample(TOWNS, 2)
    one, two = (
        {
            "street": f"{subject.random.randint(10, 49) + 50 * n} {streets[n]} {kind}",
            "postcode": f"{letter}{subject.random.randint(1, 9)} {subject.random.randint(1, 4) + 5 * n}{letter}X",
            "city": towns[n],
        }
        for n, (kind, letter) in enumerate((("Lane", "AB"), ("Road", "QP")))
    )
    return one, two


def untidy(address: Address) -> Address:
    """The same address as somebody may type it."""
    return {
        "street": "  " + address["street"].replace(" ", "  "),
        "postcode": address["postcode"].lower() + " ",
        "city": f" {address['city']}",
    }


def label(name: str, address: Address) -> str:
    """What is printed for a parcel."""
    return f"{name.upper()} | {address['street']} | {address['postcode']} {address['city']}"


def one_line(address: Address) -> str:
    """An address in history."""
    return f"{address['street']}, {address['postcode']} {address['city']}"


def words(address: Address) -> str:
    """A search for an address."""
    return one_line(address)


def partner_file(*lines: tuple[str, Address]) -> str:
    """A file of the partner."""
    rows = [f"{number},{a['street']},{a['postcode']},{a['city']}" for number, a in lines]
    return "\n".join(["number,street,postcode,city", *rows]) + "\n"


def on(book: str, method: str, *args: object, **options: object) -> list[Any]:
    """A step of a play."""
    return [book, method, list(args), options]


def play(
    subject: Subject,
    *steps: list[Any],
    old: dict[str, Any] | None = None,
    files: dict[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Carry out steps, on a directory of the released version when `old` is given; their answers."""
    args = {"scratch": subject.scratch, "old": old, "files": files or {}, "steps": list(steps)}
    return shaped(subject.drive(PLAY, args), list(steps))


def shaped(told: object, steps: list[list[Any]]) -> list[dict[str, Any]]:
    """What a play told, once it has an answer of the README's shape, or a refusal, for each step."""
    require_shape(told, [({"answer": object}, {"error": str})], "what was played")
    assert isinstance(told, list)  # noqa: S101  (as was just required)
    require_equal(len(told), len(steps), "number of answers")
    for number, ((_, method, *_rest), one) in enumerate(zip(steps, told, strict=True)):
        if "answer" in one:
            require_shape(one["answer"], ANSWERS.get(method, object), f"step {number}, {method}")
    return told


def answer(told: dict[str, Any], what: str) -> Any:  # noqa: ANN401  (whatever the submission answers)
    """The answer of a step that has to be granted."""
    require("error" not in told, f"{what} ended with {told.get('error')}")
    return told["answer"]


def answers(told: list[dict[str, Any]]) -> list[Any]:
    """The answers of steps that have to be granted."""
    return [answer(one, f"step {number}") for number, one in enumerate(told)]


def packing(*lines: tuple[int, str, str]) -> str:
    """The packing list."""
    return "".join(
        f"{line}\n" for line in ["parcel,contents,label", *(f"{p},{what},{text}" for p, what, text in lines)]
    )


def looks(book: str, old: Address, new: Address, number: int = 1) -> list[list[Any]]:
    """Steps that look at everything that a move touches."""
    return [
        on(book, "customer", number),
        on(book, "packing_list"),
        on(book, "find", words(new)),
        on(book, "find", words(old)),
        on(book, "history", number),
        on(book, "notices", number),
    ]


def require_moved(
    seen: list[Any],
    old: Address,
    new: Address,
    actor: str,
    where: str,
    number: int = 1,
    day: str | None = DAY,
) -> None:
    """What `looks` saw is all that the README says of a move; the packing list is compared by its labels."""
    record, listed, found, gone, entries, mails = seen
    require_equal(record["address"], new, f"{where}: the record")
    name = record["name"]
    require(label(name, new) in listed, f"{where}: the packing list lacks the new label: {listed!r}")
    require(label(name, old) not in listed, f"{where}: the packing list shows the old label: {listed!r}")
    require(number in found, f"{where}: not found by the new address")
    require(number not in gone, f"{where}: still found by the old address")
    require_equal(len(entries), 1, f"{where}: entries of history")
    require_equal(
        {key: entries[0][key] for key in ("actor", "old", "new")},
        {"actor": actor, "old": one_line(old), "new": one_line(new)},
        f"{where}: history",
    )
    if day is not None:
        require_equal(entries[0]["day"], day, f"{where}: day of the entry")
    told = [mail for mail in mails if mail["kind"] == "address-changed"]
    require_equal(len(told), 1, f"{where}: notices address-changed")
    for address in (old, new):
        for part in (address["street"], address["city"]):
            require(part in told[0]["body"], f"{where}: the notice does not name {part!r}")
    require_equal(told[0]["email"], record["email"], f"{where}: who gets the notice")


@check("form-reaches-the-packing-list")
def form_reaches_the_packing_list(subject: Subject) -> None:
    """After the form, the list of a station that is open all day shows the new address, for this customer only."""
    old, new = two_addresses(subject)
    contents = f"{subject.random.randint(2, 9)} cups"
    told = answers(
        play(
            subject,
            on("form", "add_customer", "Nora Lind", MAIL, old),
            on("form", "add_customer", "Per Dahl", None, old),
            on("form", "order_parcel", 1, contents),
            on("form", "order_parcel", 2, "a jug"),
            on("form", "order_parcel", 1, "a bowl"),
            on("station", "packing_list"),
            on("form", "change_address", 1, untidy(new), "nora"),
            on("station", "packing_list"),
            on("form", "packing_list"),
            on("form", "change_address", 1, old, "nora"),
            on("station", "packing_list"),
        )
    )
    before = packing(
        (1, contents, label("Nora Lind", old)),
        (2, "a jug", label("Per Dahl", old)),
        (3, "a bowl", label("Nora Lind", old)),
    )
    after = packing(
        (1, contents, label("Nora Lind", new)),
        (2, "a jug", label("Per Dahl", old)),
        (3, "a bowl", label("Nora Lind", new)),
    )
    require_equal(told[5], before, "before the move")
    require_equal(told[7], after, "the station's list after the move")
    require_equal(told[8], after, "the form's own list after the move")
    require_equal(told[10], before, "the station's list after moving back")


@check("label-of-a-parcel-that-leaves")
def label_of_a_parcel_that_leaves(subject: Subject) -> None:
    """A parcel sent after a move carries the new address; the one sent before keeps what it carried."""
    old, new = two_addresses(subject)
    told = answers(
        play(
            subject,
            on("form", "add_customer", "Nora Lind", MAIL, old),
            on("form", "order_parcel", 1, "a jug"),
            on("form", "order_parcel", 1, "a bowl"),
            on("form", "packing_list"),
            on("form", "send_parcel", 1),
            on("form", "change_address", 1, new, "nora"),
            on("form", "send_parcel", 2),
            on("form", "parcels", 1),
            on("form", "notices", 1),
        )
    )
    require_equal(told[6], label("Nora Lind", new), "the label after the move")
    require_equal(
        [row["sent_to"] for row in told[7]],
        [label("Nora Lind", old), label("Nora Lind", new)],
        "where parcels went",
    )
    sent = [mail["body"] for mail in told[8] if mail["kind"] == "parcel-sent"]
    require_equal(len(sent), 2, "mails about parcels")
    require(
        new["street"] in sent[1] and old["street"] not in sent[1],
        f"the mail about the second parcel: {sent[1]}",
    )


@check("search-follows-the-form")
def search_follows_the_form(subject: Subject) -> None:
    """After the form a customer is found by the new words and not by the old ones."""
    old, new = two_addresses(subject)
    told = answers(
        play(
            subject,
            on("form", "add_customer", "Nora Lind", MAIL, old),
            on("form", "add_customer", "Per Dahl", None, old),
            on("form", "change_address", 1, new, "nora"),
            on("form", "find", new["street"].upper()),
            on("form", "find", f"nora {new['city']}"),
            on("form", "find", new["postcode"]),
            on("form", "find", old["street"]),
            on("form", "find", f"{old['city']} nora"),
            on("form", "find", "nora lind"),
            on("form", "find", f"{old['postcode']} dahl"),
            on("office", "find", new["street"]),
        )
    )
    require_equal(told[3:], [[1], [1], [1], [2], [], [1], [2], [1]], "who is found")


@check("clerk-moves-in-full")
def clerk_moves_in_full(subject: Subject) -> None:
    """The clerk's command and the method behind it have all the effects of a move."""
    old, new = two_addresses(subject)
    clerk = f"clerk-{subject.random.randint(10, 99)}"
    told = answers(
        play(
            subject,
            on("office", "add_customer", "Nora Lind", MAIL, old),
            on("office", "add_customer", "Per Dahl", "per@example.org", old),
            on("office", "order_parcel", 1, "a jug"),
            on("office", "order_parcel", 2, "a bowl"),
            on("office", "packing_list"),
            on("", "command", "move", "1", *untidy(new).values(), "--clerk", clerk),
            *looks("office", old, new),
            on("office", "correct_address", 2, new, clerk),
            *looks("office", old, new, 2),
        )
    )
    require_equal(told[5]["code"], 0, "exit code of the command")
    require_moved(told[6:12], old, new, clerk, "command", day=None)
    require_moved(told[13:], old, new, clerk, "correct_address", number=2)


@check("partner-file-moves-in-full")
def partner_file_moves_in_full(subject: Subject) -> None:
    """The partner's file has all the effects of a move, for each line, also when a field is left empty."""
    old, new = two_addresses(subject)
    within = {**new, "city": old["city"], "postcode": old["postcode"]}
    text = partner_file(("1", new), ("77", new), ("2", {**within, "city": "", "postcode": " "}))
    told = answers(
        play(
            subject,
            on("office", "add_customer", "Nora Lind", MAIL, old),
            on("office", "add_customer", "Per Dahl", "per@example.org", old),
            on("office", "order_parcel", 1, "a jug"),
            on("office", "order_parcel", 2, "a bowl"),
            on("station", "packing_list"),
            on("office", "import_partner_file", text),
            *looks("station", old, new),
            *looks("station", old, within, 2),
            on("office", "import_partner_file", text),
            *looks("station", old, new),
        )
    )
    require_equal(told[5], {"changed": ["1", "2"], "unchanged": [], "rejected": ["77"]}, "answer to the file")
    require_moved(told[6:12], old, new, "partner", "first line")
    require_moved(told[12:18], old, within, "partner", "line with empty fields", number=2)
    require_equal(
        told[18], {"changed": [], "unchanged": ["1", "2"], "rejected": ["77"]}, "the file once more"
    )
    require_moved(told[19:], old, new, "partner", "after the file once more")


def old_directory(old: Address, new: Address) -> dict[str, Any]:
    """A directory of the released version: 1 and 2 have moved and their labels and words were left; 3 is as it was."""
    rows: list[list[Any]] = []
    for number, name, lives in ((1, "Nora Lind", new), (2, "Ola Berg", new), (3, "Per Dahl", old)):
        mail = f"{name.split()[0].lower()}@example.org"
        rows.append(["customers", number, name, mail, *lives.values(), None, None, None])
        rows.append(["parcels", number, number, "a jug", "waiting", None])
        rows.append(["labels", number, label(name, old)])
        known = f"{name} {one_line(old)}".lower().replace(",", "").split()
        rows += [["words", number, word] for word in sorted(set(known))]
    rows.append(["history", 1, 1, "2024-04-20", "nora", one_line(old), one_line(new)])
    rows.append(["notices", 1, 1, "address-changed", "nora@example.org", "x"])
    rows.append(["parcels", 4, 1, "cups", "sent", label("Nora Lind", old)])
    return {"schema": OLD_SCHEMA, "rows": rows}


@check("directories-in-use-catch-up")
def directories_in_use_catch_up(subject: Subject) -> None:
    """Opening a directory of the released version is enough: lists and labels are right for who has moved."""
    old, new = two_addresses(subject)
    told = answers(
        play(
            subject,
            on("station", "packing_list"),
            on("station", "send_parcel", 2),
            on("", "command", "packing-list"),
            old=old_directory(old, new),
        )
    )
    nora, per = (1, "a jug", label("Nora Lind", new)), (3, "a jug", label("Per Dahl", old))
    require_equal(
        told[0], packing(nora, (2, "a jug", label("Ola Berg", new)), per), "the list after the upgrade"
    )
    require_equal(told[1], label("Ola Berg", new), "the label of a parcel that leaves")
    require_equal(told[2]["out"], packing(nora, per), "the list by command")


@check("search-catches-up")
def search_catches_up(subject: Subject) -> None:
    """Opening a directory of the released version is enough for search, too."""
    old, new = two_addresses(subject)
    told = answers(
        play(
            subject,
            on("office", "find", new["street"]),
            on("office", "find", old["street"]),
            on("office", "find", "ola"),
            old=old_directory(old, new),
        )
    )
    require_equal(told, [[1, 2], [3], [2]], "who is found after the upgrade")


@check("upgrade-is-silent")
def upgrade_is_silent(subject: Subject) -> None:
    """An upgrade writes no history, sends nothing, and leaves records and sent parcels alone."""
    old, new = two_addresses(subject)
    told = answers(
        play(
            subject,
            on("office", "packing_list"),
            *[on("office", "notices", number) for number in (1, 2, 3)],
            *[on("office", "history", number) for number in (1, 2, 3)],
            on("office", "parcels", 1),
            *[on("office", "customer", number) for number in (1, 3)],
            old=old_directory(old, new),
        )
    )
    require_equal([len(mails) for mails in told[1:4]], [1, 0, 0], "mails after the upgrade")
    require_equal([len(entries) for entries in told[4:7]], [1, 0, 0], "history after the upgrade")
    require_equal(len(told[7]), 2, "parcels of the first customer")
    require_equal(told[7][-1]["sent_to"], label("Nora Lind", old), "where the parcel of then went")
    require_equal([record["address"] for record in told[8:]], [new, old], "records after the upgrade")


@check("all-of-it-or-none")
def all_of_it_or_none(subject: Subject) -> None:
    """A program killed at any statement of a move leaves the whole move or nothing, for each way in."""
    old, new = two_addresses(subject)
    args: dict[str, Any] = {
        "scratch": subject.scratch,
        "setup": [
            on("office", "add_customer", "Nora Lind", MAIL, old),
            on("office", "order_parcel", 1, "a jug"),
            on("office", "packing_list"),
        ],
        "steps": [
            on("office", "change_address", 1, new, "nora"),
            on("office", "correct_address", 1, new, "ida"),
            on("office", "import_partner_file", partner_file(("1", new))),
        ],
        "look": looks("office", old, new),
    }
    found = subject.drive(KILL, args, timeout_s=20.0)
    require_shape(found, [{"step": int, "ended": bool, "told": object}], "what was killed")
    for one in found:
        require(0 <= one["step"] < 3, "what was killed: no such step")
        one["told"] = shaped(one["told"], args["look"])
    require_equal(
        sorted({one["step"] for one in found if one["ended"]}), [0, 1, 2], "moves that came to their end"
    )
    for one in found:
        record, listed, by_new, by_old, entries, mails = answers(one["told"])
        where = f"{('form', 'clerk', 'partner')[one['step']]} ({'done' if one['ended'] else 'killed'})"
        if record["address"] == new:
            require_moved(
                [record, listed, by_new, by_old, entries, mails],
                old,
                new,
                entries[0]["actor"] if entries else "",
                where,
            )
        else:
            require(not one["ended"], f"{where}: the move has no effect")
            require_equal(listed, packing((1, "a jug", label("Nora Lind", old))), f"{where}: packing list")
            require_equal([by_new, by_old, entries], [[], [1], []], f"{where}: search and history")
            require_equal([mail["kind"] for mail in mails], ["welcome"], f"{where}: mails")


@check("no-change-no-trace")
def no_change_no_trace(subject: Subject) -> None:
    """The same address, untidily written, leaves no trace whichever way it comes in."""
    old, new = two_addresses(subject)
    messy = untidy(old)
    told = answers(
        play(
            subject,
            on("office", "add_customer", "Nora Lind", MAIL, old),
            on("office", "order_parcel", 1, "a jug"),
            on("office", "change_address", 1, messy, "nora"),
            on("office", "correct_address", 1, messy, "ida"),
            on("", "command", "move", "1", *messy.values()),
            on(
                "office",
                "import_partner_file",
                partner_file(("1", messy), ("1", {"street": "", "postcode": "", "city": ""})),
            ),
            *looks("office", old, new),
        )
    )
    require_equal(told[5], {"changed": [], "unchanged": ["1", "1"], "rejected": []}, "answer to the file")
    record, listed, by_new, by_old, entries, mails = told[6:]
    require_equal(record["address"], old, "the record")
    require_equal(listed, packing((1, "a jug", label("Nora Lind", old))), "the packing list")
    require_equal([by_new, by_old, entries], [[], [1], []], "search and history")
    require_equal([mail["kind"] for mail in mails], ["welcome"], "mails")


@check("what-a-move-leaves-alone")
def what_a_move_leaves_alone(subject: Subject) -> None:
    """Invoice addresses of one's own, sent parcels, other customers, and who has no e-mail address."""
    old, new = two_addresses(subject)
    ways = [
        on("office", "change_address", 1, new, "nora"),
        on("office", "correct_address", 2, new, "ida"),
        on("office", "import_partner_file", partner_file(("3", new))),
    ]
    setup: list[list[Any]] = []
    for number, name in enumerate(("Nora Lind", "Ola Berg", "Per Dahl", "Una Falk"), 1):
        # The invoice address is written down on its own, even where it reads like the old one.
        setup.append(on("office", "add_customer", name, None, old, old))
        setup.append(on("office", "order_parcel", number, "cups"))
        setup.append(on("office", "send_parcel", number))
    after = [
        on("office", method, n)
        for n in (1, 2, 3, 4)
        for method in ("customer", "invoice_lines", "parcels", "notices")
    ]
    plain = [
        on("office", "add_customer", "Vera Holm", None, old),
        on("office", "change_address", 5, new, "vera"),
    ]
    told = answers(play(subject, *setup, *ways, *after, *plain, on("office", "invoice_lines", 5)))
    lines = [old["street"], f"{old['postcode']} {old['city']}"]
    for number, name in enumerate(("Nora Lind", "Ola Berg", "Per Dahl", "Una Falk"), 1):
        start = len(setup) + len(ways) + 4 * (number - 1)
        record, invoice, parcels, mails = told[start : start + 4]
        require_equal(record["address"], old if number == 4 else new, f"{name}: address")
        require_equal(record["invoice_address"], old, f"{name}: invoice address")
        require_equal(invoice, [name, *lines], f"{name}: lines of the invoice")
        sent = {"parcel": number, "contents": "cups", "state": "sent", "sent_to": label(name, old)}
        require_equal(parcels, [sent], f"{name}: the parcel that has left")
        require_equal(mails, [], f"{name}: mails without an e-mail address")
    require_equal(
        told[-1], ["Vera Holm", new["street"], f"{new['postcode']} {new['city']}"], "invoice without its own"
    )


@check("partner-file-rules")
def partner_file_rules(subject: Subject) -> None:
    """A dry run writes nothing at all; bad lines are reported and do not stop the others; also by command."""
    old, new = two_addresses(subject)
    text = partner_file(("2", new), ("1", new)).replace("2,", "garbage,", 1) + "99,a,b,c\n1\n"
    told = answers(
        play(
            subject,
            on("office", "add_customer", "Nora Lind", MAIL, old),
            on("office", "order_parcel", 1, "a jug"),
            on("office", "import_partner_file", text, dry_run=True),
            on("", "command", "import", f"{subject.scratch}/partner.csv", "--dry-run"),
            *looks("office", old, new),
            on("office", "import_partner_file", text),
            on("office", "customer", 1),
            files={"partner.csv": text},
        )
    )
    verdict = {"changed": ["1"], "unchanged": ["1"], "rejected": ["garbage", "99"]}
    require_equal(told[2], verdict, "answer of the dry run")
    require_equal(told[3]["code"], 0, "exit code of the dry run")
    require('"changed": ["1"' in told[3]["out"], f"answer of the dry run by command: {told[3]['out']!r}")
    record, listed, by_new, by_old, entries, mails = told[4:10]
    require_equal(record["address"], old, "the record after a dry run")
    require_equal(listed, packing((1, "a jug", label("Nora Lind", old))), "the packing list after a dry run")
    require_equal([by_new, by_old, entries], [[], [1], []], "search and history after a dry run")
    require_equal([mail["kind"] for mail in mails], ["welcome"], "mails after a dry run")
    require_equal(told[10], verdict, "answer to the file")
    require_equal(told[11]["address"], new, "the record after the file")


@check("refusals-change-nothing")
def refusals_change_nothing(subject: Subject) -> None:
    """Unknown numbers and empty fields are refused by name, and nothing is left of them."""
    old, new = two_addresses(subject)
    bad = {**new, "city": "  "}
    told = play(
        subject,
        on("office", "add_customer", "Nora Lind", MAIL, old),
        on("office", "order_parcel", 1, "a jug"),
        on("office", "change_address", 9, new, "nora"),
        on("office", "change_address", 1, bad, "nora"),
        on("office", "correct_address", 9, new, "ida"),
        on("office", "correct_address", 1, bad, "ida"),
        on("", "command", "move", "9", *new.values()),
        *looks("office", old, new),
    )
    errors = [one.get("error") for one in told[2:6]]
    require_equal(errors, ["UnknownCustomer", "BadAddress"] * 2, "refusals")
    refused = answer(told[6], "the command")
    require_equal(refused["code"], 1, "exit code of a refusal")
    require("UnknownCustomer" in refused["err"], f"a refusal is named: {refused['err']!r}")
    record, listed, by_new, by_old, entries, mails = answers(told[7:])
    require_equal(record["address"], old, "the record")
    require_equal(listed, packing((1, "a jug", label("Nora Lind", old))), "the packing list")
    require_equal([by_new, by_old, entries], [[], [1], []], "search and history")
    require_equal([mail["kind"] for mail in mails], ["welcome"], "mails")


@check("change-is-noted")
def change_is_noted(subject: Subject) -> None:
    """CHANGELOG.md has a line under "Unreleased", and the released sections stand as they were."""
    before = subject.snapshot_read("CHANGELOG.md").decode("utf-8")
    after = subject.read_text("CHANGELOG.md")
    _, _, released = before.partition("## 2.1.0")
    head, _, tail = after.partition("## 2.1.0")
    require_equal(tail.strip(), released.strip(), "the released sections")
    lines = head.partition("## Unreleased")[2].splitlines()
    # A heading or a bullet alone says nothing.
    noted = [line for line in lines if not line.startswith("#") and any(map(str.isalpha, line))]
    require(bool(noted), "nothing stands under Unreleased")
