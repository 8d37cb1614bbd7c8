"""Hidden checks of stock-reservations. Behaviour only, through the entry points of the README.

Concurrency is not left to luck. `HARNESS` runs operations of the submission in forked processes whose
SQLite statements are traced. One process is stopped before its k-th statement, a second one runs until
it has ended or stands still behind a lock, then the first goes on; this is done for every k. Crashes
kill a process before its k-th statement, faults make its k-th write raise OperationalError once.
All of it sees only statements, so it works whatever the submission's layout is.
"""

from __future__ import annotations

from typing import Any

from esac_checks import CheckFailed, Subject, check, require, require_equal

HARNESS = '''
import sys
here = sys.path.pop(0)  # the submission's folder: only the workers import from there
import importlib.machinery, json, os, select, shutil, signal, sqlite3, time
import collections.abc, contextlib, dataclasses, fcntl, functools, pathlib, threading, typing  # once, for all workers

MODULES = ("shop", "marketplace", "warehouse", "report", "db", "errors")
POINTS = ("SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "REPLACE", "BEGIN", "SAVEPOINT", "COMMIT", "END", "RELEASE")
WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE", "WITH")
QUIET_S, STILL_S, END_S = 0.08, 0.8, 12.0
MOST_PLACES, WAVE = 16, 12
before_statement = before_execute = None
plain_connect = sqlite3.connect


def word(sql):
    return (sql.lstrip().split(None, 1) or [""])[0].rstrip(";").upper()


class Cursor(sqlite3.Cursor):
    def execute(self, sql, *rest):
        if before_execute:
            before_execute(sql)
        return super().execute(sql, *rest)

    def executemany(self, sql, *rest):
        if before_execute:
            before_execute(sql)
        return super().executemany(sql, *rest)


class Connection(sqlite3.Connection):
    def cursor(self, factory=Cursor):
        return super().cursor(factory)

    def execute(self, sql, *rest):
        return self.cursor().execute(sql, *rest)

    def executemany(self, sql, *rest):
        return self.cursor().executemany(sql, *rest)


def connect(*args, **options):
    if len(args) < 6:
        options.setdefault("factory", Connection)
    conn = plain_connect(*args, **options)
    conn.set_trace_callback(lambda sql: before_statement(sql) if before_statement else None)
    return conn


sqlite3.connect = sqlite3.dbapi2.connect = connect
signal.signal(signal.SIGUSR1, lambda *_: None)  # before any fork: see Worker.wake


def compiled(folder):
    """Code of the submission's files, compiled once and run by the workers only."""
    codes = {}
    for path in pathlib.Path(folder).rglob("*.py"):
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError, OSError):
            codes[str(path)] = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    return codes


loader = importlib.machinery.SourceFileLoader
codes, read_code = compiled(here + "/stockroom"), loader.get_code
loader.get_code = lambda self, name: codes.get(self.path) or read_code(self, name)


PARTS = ("stock", "reservations", "movements", "events")


def perform(path, operation):
    module, function, *args = operation
    if module == "look":
        return {one: {part: perform(one, ("report", part)) for part in PARTS} for one in function}
    return getattr(importlib.import_module("stockroom." + module), function)(path, *args)


class Worker:
    """One operation in a forked process; `text` collects what it reports: . at the start and per statement, P stopped, R result."""

    def __init__(self, path, operation, stop_at=0, kill_at=0, fail_at=0):
        self.text, self.ended = b"", False
        self.reader, report = os.pipe()
        order, self.writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.reader), os.close(self.writer)
            os.close(3)  # the answer is not a worker's to give
            self._child(path, operation, stop_at, kill_at, fail_at, report, order)
        os.close(report), os.close(order)

    def _child(self, path, operation, stop_at, kill_at, fail_at, report, order):
        global before_statement, before_execute
        seen = {"points": 0, "writes": 0}

        def statement(sql):
            os.write(report, b".")
            if word(sql) not in POINTS:
                return
            seen["points"] += 1
            if seen["points"] == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            if seen["points"] == stop_at:
                os.write(report, b"P")
                os.read(order, 1)

        def execute(sql):
            if word(sql) not in WRITES:
                return
            seen["writes"] += 1
            if seen["writes"] == fail_at:
                raise sqlite3.OperationalError("database is locked")

        try:
            sys.path.insert(0, here)
            for name in MODULES:
                importlib.import_module("stockroom." + name)
            os.write(report, b".")
            before_statement, before_execute = statement, execute
            result = {"answer": perform(path, operation)}
        except BaseException as error:
            result = {"error": type(error).__name__, "text": str(error)}
        before_statement = None
        os.write(report, b"R" + json.dumps({**result, **seen}).encode())
        os._exit(0)

    def read(self, timeout_s):
        """Take what has been reported; False when nothing came in time."""
        if self.ended or not select.select([self.reader], [], [], timeout_s)[0]:
            return False
        data = os.read(self.reader, 65536)
        self.text += data
        if not data:
            self.ended = True
            os.waitpid(self.pid, 0)
            os.close(self.reader), os.close(self.writer)
        return bool(data)

    def until_stopped(self):
        limit = time.monotonic() + END_S
        while not self.ended and b"P" not in self.text.split(b"R")[0] and time.monotonic() < limit:
            self.read(0.2)

    def go_on(self):
        if not self.ended:
            os.write(self.writer, b"g")

    def wake(self):
        """Cut short SQLite's wait for a lock: it sleeps 0.1 s at a time, some builds a whole second."""
        if not self.ended:
            os.kill(self.pid, signal.SIGUSR1)

    def result(self):
        limit = time.monotonic() + END_S
        while not self.ended and time.monotonic() < limit:
            self.read(0.2)
        if not self.ended:
            os.kill(self.pid, signal.SIGKILL)
            while not self.ended:
                self.read(1.0)
        _, found, rest = self.text.partition(b"R")
        return json.loads(rest) if found else {"error": "Died", "points": 0, "writes": 0}


def until_still(workers):
    """Until all have started and none has reported anything for a while: who has not ended stands behind a lock."""
    limit = time.monotonic() + STILL_S
    while time.monotonic() < limit:
        running = {worker.reader: worker for worker in workers if not worker.ended}
        ready = select.select(list(running), [], [], QUIET_S)[0] if running else []
        if not ready and all(worker.text for worker in workers):
            return
        for reader in ready:
            running[reader].read(0)


def run(path, *operations):
    """Operations one after the other, each in its own process; their results."""
    return [Worker(path, operation).result() for operation in operations]


def look_all(paths):
    """What the reports say of each database, read in a process of its own; {"error": ...} when that failed."""
    found = Worker("", ("look", paths)).result()
    return found.get("answer") or {path: {"error": found} for path in paths}


def copies(base, label, count):
    """`count` copies of a database that nobody has open."""
    paths = []
    for number in range(1, count + 1):
        path = f"{base}.{label}.{number}"
        for tail in ("", "-wal"):
            if os.path.exists(base + tail):
                shutil.copyfile(base + tail, path + tail)
        paths.append(path)
    return paths


def places(cases, kind):
    """(case number, place, copy of its database) for each place of each case's first operation."""
    workers = [Worker(copies(base, "measure", 1)[0], operation) for base, operation, *_ in cases]
    counts = [min(worker.result()[kind], MOST_PLACES) for worker in workers]
    found = []
    for number, ((base, *_), count) in enumerate(zip(cases, counts)):
        found += [(number, place, path) for place, path in enumerate(copies(base, "x", count), 1)]
    return found


def waves(things):
    return [things[start:start + WAVE] for start in range(0, len(things), WAVE)]


def interleave(cases):
    """Per case (base, first, second): an outcome for each statement of `first` that `second` can come before."""
    outcomes = [[] for _ in cases]
    for wave in waves(places(cases, "points")):
        firsts = [Worker(path, cases[number][1], stop_at=place) for number, place, path in wave]
        for one in firsts:
            one.until_stopped()
        seconds = [Worker(path, cases[number][2]) for number, _, path in wave]
        until_still(seconds)
        for one in firsts:
            one.go_on()
        ones = [one.result() for one in firsts]
        for two in seconds:
            two.wake()
        twos = [two.result() for two in seconds]
        seen = look_all([path for _, _, path in wave])
        for (number, _, path), one, two in zip(wave, ones, twos):
            outcomes[number].append({"first": one, "second": two, **seen[path]})
    return outcomes


def disturb(cases, how):
    """Per case (base, operation): an outcome for each place where it is disturbed, and then sent again.

    how = kill_at: killed before a statement; how = fail_at: one write fails.
    """
    outcomes = [[] for _ in cases]
    for wave in waves(places(cases, "points" if how == "kill_at" else "writes")):
        workers = [Worker(path, cases[number][1], **{how: place}) for number, place, path in wave]
        ones = [worker.result() for worker in workers]
        workers = [Worker(path, cases[number][1]) for number, _, path in wave]
        twos = [worker.result() for worker in workers]
        seen = look_all([path for _, _, path in wave])
        for (number, _, path), one, two in zip(wave, ones, twos):
            outcomes[number].append({"hurt": one, "again": two, **seen[path]})
    return outcomes


def prepare(scratch, scenarios):
    """Cases with a database each, made by the scenario's first part."""
    cases = []
    for number, (setup, *operations) in enumerate(scenarios):
        base = f"{scratch}/base-{number}.db"
        for result in run(base, *setup):
            if "error" in result:
                raise RuntimeError(f"the set-up was refused: {result}")
        cases.append((base, *operations))
    return cases
'''

INTERLEAVE = (
    HARNESS
    + """
def main(args):
    return interleave(prepare(args["scratch"], args["scenarios"]))
"""
)

DISTURB = (
    HARNESS
    + """
def main(args):
    return disturb(prepare(args["scratch"], args["scenarios"]), args["how"])
"""
)

# Plays operations one after the other on one database, and reads the report at the end.
PLAY = (
    HARNESS
    + """
def main(args):
    path = f"{args['scratch']}/play.db"
    if args.get("script"):
        conn = plain_connect(path)
        conn.executescript(args["script"])
        conn.close()
    return {"results": run(path, *args["operations"]), **look_all([path])[path]}
"""
)

# What the released version 1.3.0 creates.
OLD_SCHEMA = """
CREATE TABLE items (sku TEXT PRIMARY KEY, on_hand INTEGER NOT NULL DEFAULT 0);
CREATE TABLE reservations (
    id INTEGER PRIMARY KEY AUTOINCREMENT, channel TEXT NOT NULL, request_key TEXT NOT NULL,
    sku TEXT NOT NULL REFERENCES items (sku), quantity INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'open', closed_by TEXT);
CREATE INDEX reservations_by_sku ON reservations (sku, status);
CREATE TABLE movements (
    id INTEGER PRIMARY KEY AUTOINCREMENT, operation TEXT NOT NULL, request_key TEXT NOT NULL,
    sku TEXT NOT NULL REFERENCES items (sku), delta INTEGER NOT NULL);
CREATE TABLE feed_seen (order_no TEXT NOT NULL);
CREATE TABLE outbox (id INTEGER PRIMARY KEY AUTOINCREMENT, topic TEXT NOT NULL, about TEXT NOT NULL);
PRAGMA user_version = 3;
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


State = dict[str, Any]
RESERVATION = {"id": int, "channel": str, "request_key": str, "sku": str, "quantity": int, "status": str}
MOVEMENT = {"id": int, "operation": str, "request_key": str, "sku": str, "delta": int}
COUNTS = {"on_hand": int, "held": int, "available": int}
FEED = {"accepted": [str], "repeated": [str], "refused": [str]}
RESULT = ({"answer": object}, {"error": str})
MOVED = {"receive": "received", "write_off": "written-off", "recount": "recounted"}


def scenario(setup: list[Any], *operations: list[Any]) -> list[Any]:
    """Operations that prepare a database, and the ones that are put to the test."""
    return [setup, *operations]


def require_sound(state: State, where: str) -> None:
    """The promises of the README that hold after whatever happened (no recount below held in these tests)."""
    for sku, line in state["stock"].items():
        held = sum(r["quantity"] for r in state["reservations"] if r["sku"] == sku and r["status"] == "open")
        booked = sum(m["delta"] for m in state["movements"] if m["sku"] == sku)
        require_equal(line["held"], held, f"{where}: held of {sku}")
        require_equal(line["on_hand"], booked, f"{where}: on_hand against the book of {sku}")
        require(line["available"] >= 0, f"{where}: {sku} is promised beyond the shelf: {line}")
    require_one_event_each(state, where)


def require_one_event_each(state: State, where: str) -> None:
    """Each effect has exactly one row in the outbox."""
    due = []
    for row in state["reservations"]:
        about = f"reservation:{row['id']}"
        due.append(("reserved", about))
        if row["status"] in ("released", "shipped"):
            due.append((row["status"], about))
    moved = [row for row in state["movements"] if row["operation"] in MOVED]
    due += [(MOVED[row["operation"]], f"movement:{row['id']}") for row in moved]
    topics = {"reserved", "released", "shipped", *MOVED.values()}
    sent = [(event["topic"], event["about"]) for event in state["events"] if event["topic"] in topics]
    require_equal(
        [list(pair) for pair in sorted(sent)], [list(pair) for pair in sorted(due)], f"{where}: events"
    )


def granted(result: State) -> bool:
    """True when an operation was granted; an import counts by its first order."""
    answer = result.get("answer")
    if isinstance(answer, dict) and "accepted" in answer:
        return bool(answer["accepted"])
    return isinstance(answer, dict)


def require_refusal(result: State, names: tuple[str, ...], where: str) -> None:
    """An operation that was not granted was refused as documented: by exception, an order by its verdict."""
    if granted(result):
        return
    if "answer" in result:
        require_shape(result["answer"], FEED, f"{where}: neither granted nor refused")
        require(bool(result["answer"]["refused"]), f"{where}: the order was not refused: {result['answer']}")
    else:
        require(
            result["error"] in names,
            f"{where}: ended with {result['error']}: {str(result.get('text'))[:300]}",
        )


def require_state(state: object, where: str) -> None:
    """What the reports say has the shape that the README gives it."""
    require_shape(state, {}, f"{where}: reports")
    assert isinstance(state, dict)  # noqa: S101  (as was just required)
    require("error" not in state, f"{where}: reading the reports failed: {str(state.get('error'))[:300]}")
    require_shape(state.get("stock"), {}, f"{where}: stock")
    for sku, line in state["stock"].items():
        require_shape(line, COUNTS, f"{where}: stock of {sku}")
    require_shape(state.get("reservations"), [RESERVATION], f"{where}: reservations")
    require_shape(state.get("movements"), [MOVEMENT], f"{where}: movements")
    require_shape(state.get("events"), [{"topic": str, "about": str}], f"{where}: events")


def require_outcomes(found: object, sides: tuple[str, str], scenarios: list[Any]) -> list[list[State]]:
    """Outcomes for each scenario, each with the results of two sides and a sound shape."""
    require_shape(found, [[dict(zip(sides, (RESULT, RESULT), strict=True))]], "outcomes")
    assert isinstance(found, list)  # noqa: S101  (as was just required)
    require_equal(len(found), len(scenarios), "scenarios with outcomes")
    for outcomes in found:
        for outcome in outcomes:
            require_state(outcome, "after two requests")
    return found


def race(subject: Subject, scenarios: list[Any]) -> list[list[State]]:
    """All interleavings of each scenario's two operations."""
    args = {"scratch": subject.scratch, "scenarios": scenarios}
    found = require_outcomes(subject.drive(INTERLEAVE, args, timeout_s=25.0), ("first", "second"), scenarios)
    for outcomes in found:
        require(len(outcomes) >= 2, "an operation that touches the database has statements to stop at")
    return found


def hurt(subject: Subject, how: str, scenarios: list[Any]) -> list[list[State]]:
    """All disturbances of each scenario's operation, which is then sent again."""
    args = {"scratch": subject.scratch, "how": how, "scenarios": scenarios}
    return require_outcomes(subject.drive(DISTURB, args, timeout_s=25.0), ("hurt", "again"), scenarios)


def play(subject: Subject, operations: list[Any], script: str = "") -> State:
    """Operations in a row on one database (made by `script`, when given)."""
    state: State = subject.drive(
        PLAY, {"scratch": subject.scratch, "operations": operations, "script": script}
    )
    require_shape(state, {"results": [RESULT]}, "what was played")
    require_equal(len(state["results"]), len(operations), "results")
    require_state(state, "at the end")
    return state


def answers(state: State) -> list[Any]:
    """The answers of a play, or the name of the refusal."""
    return [one.get("answer", one.get("error")) for one in state["results"]]


def counts_of(state: State, sku: str, where: str) -> dict[str, int]:
    """The counts of a SKU, which has to be there."""
    require_shape(state["stock"], {sku: COUNTS}, f"{where}: stock")
    counts: dict[str, int] = state["stock"][sku]
    return counts


def require_status(answer: object, status: str, where: str) -> None:
    """A request about a reservation was granted and left it so."""
    require_shape(answer, {"status": str}, where)
    require_equal(answer["status"] if isinstance(answer, dict) else None, status, where)


def names(subject: Subject) -> tuple[str, str]:
    """A SKU and a prefix for keys."""
    return f"sku-{subject.random.randint(100, 999)}", f"k{subject.random.randint(1000, 9999)}"


def tight(subject: Subject) -> tuple[int, int, int]:
    """A shelf and two requests that each fit, but not together; two units or more each."""
    one, two = subject.random.randint(2, 6), subject.random.randint(2, 6)
    return max(one, two) + subject.random.randint(0, min(one, two) - 1), one, two


@check("buyers-share-the-shelf")
def buyers_share_the_shelf(subject: Subject) -> None:
    """Two carts that do not both fit: exactly one is promised, wherever one comes into the other."""
    sku, key = names(subject)
    shelf, one, two = tight(subject)
    last = scenario(
        [["warehouse", "receive", key + "-goods", sku, 1]],
        ["shop", "reserve", key + "-a", sku, 1],
        ["shop", "reserve", key + "-b", sku, 1],
    )
    several = scenario(
        [["warehouse", "receive", key + "-goods", sku, shelf]],
        ["shop", "reserve", key + "-a", sku, one],
        ["shop", "reserve", key + "-b", sku, two],
    )
    for outcomes in race(subject, [last, several]):
        require_one_winner(outcomes, "two carts")


@check("channels-share-the-shelf")
def channels_share_the_shelf(subject: Subject) -> None:
    """Shop, marketplace and breakage draw on the same units: exactly one of two gets what fits only once."""
    sku, key = names(subject)
    shelf, one, two = tight(subject)
    setup = [["warehouse", "receive", key + "-goods", sku, shelf]]
    cart = ["shop", "reserve", key + "-cart", sku, one]
    feed = ["marketplace", "import_orders", [{"order_no": key + "-order", "sku": sku, "quantity": two}]]
    other = ["marketplace", "import_orders", [{"order_no": key + "-other", "sku": sku, "quantity": one}]]
    broken = ["warehouse", "write_off", key + "-broken", sku, two]
    pairs: dict[str, tuple[list[Any], list[Any]]] = {
        "cart, feed": (cart, feed),
        "feed, feed": (feed, other),
        "breakage, cart": (broken, cart),
    }
    found = race(subject, [scenario(setup, *pair) for pair in pairs.values()])
    for where, outcomes in zip(pairs, found, strict=True):
        require_one_winner(outcomes, where)


def require_one_winner(outcomes: list[State], where: str) -> None:
    """Exactly one of the two was granted, the other was refused, and nothing is promised twice."""
    for outcome in outcomes:
        require_sound(outcome, where)
        for side in ("first", "second"):
            require_refusal(outcome[side], ("OutOfStock",), where)
        require_equal(
            [granted(outcome["first"]), granted(outcome["second"])].count(True), 1, f"{where}: winners"
        )


@check("shelf-agrees-with-the-book")
def shelf_agrees_with_the_book(subject: Subject) -> None:
    """Movements that meet are all counted: on_hand stays the sum of the book."""
    sku, key = names(subject)
    start, more, less = (
        subject.random.randint(20, 40),
        subject.random.randint(2, 9),
        subject.random.randint(1, 5),
    )
    setup = [
        ["warehouse", "receive", key + "-goods", sku, start],
        ["shop", "reserve", key + "-held", sku, less],
    ]
    goods_in = ["warehouse", "receive", key + "-in", sku, more]
    pairs: dict[str, tuple[Any, set[int]]] = {
        "ship, receive": (["warehouse", "ship", key + "-parcel", 1], {start - less + more}),
        "write-off, receive": (["warehouse", "write_off", key, sku, less], {start - less + more}),
        "recount, receive": (["warehouse", "recount", key, sku, start + 1], {start + 1, start + 1 + more}),
    }
    found = race(subject, [scenario(setup, first, goods_in) for first, _ in pairs.values()])
    for (where, (_, allowed)), outcomes in zip(pairs.items(), found, strict=True):
        for outcome in outcomes:
            require(granted(outcome["first"]) and granted(outcome["second"]), f"{where}: both fit: {outcome}")
            require_sound(outcome, where)
            line = counts_of(outcome, sku, where)
            require(line["on_hand"] in allowed, f"{where}: on_hand {line}")


@check("one-key-one-effect")
def one_key_one_effect(subject: Subject) -> None:
    """The same request twice at the same moment: one effect, and both are told of the same one."""
    sku, key = names(subject)
    amount = subject.random.randint(1, 4)
    setup = [["warehouse", "receive", key + "-goods", sku, 5 * amount]]
    order = {"order_no": key + "-order", "sku": sku, "quantity": amount}
    requests: dict[str, Any] = {
        "reserve": ["shop", "reserve", key + "-cart", sku, amount],
        "receive": ["warehouse", "receive", key + "-in", sku, amount],
        "import": ["marketplace", "import_orders", [order]],
    }
    found = race(subject, [scenario(setup, request, request) for request in requests.values()])
    for where, outcomes in zip(requests, found, strict=True):
        for outcome in outcomes:
            require_sound(outcome, where)
            for side in ("first", "second"):
                require("answer" in outcome[side], f"{where} twice at once ended with {outcome[side]}")
            one, two = outcome["first"]["answer"], outcome["second"]["answer"]
            for answer in (one, two):
                number = "movement_id" if where == "receive" else "reservation_id"
                require_shape(answer, FEED if where == "import" else {number: int}, f"{where}: answer")
            if where == "import":
                require_equal(sorted(one["accepted"] + two["accepted"]), [key + "-order"], "accepted by both")
                require_equal(sorted(one["repeated"] + two["repeated"]), [key + "-order"], "repeated by both")
            else:
                require_equal(two[number], one[number], f"{where}: number told to both")
            require_equal(
                len(outcome["reservations"]), 0 if where == "receive" else 1, f"{where}: reservations"
            )
            require_equal(len(outcome["movements"]), 2 if where == "receive" else 1, f"{where}: movements")


@check("closed-only-once")
def closed_only_once(subject: Subject) -> None:
    """A reservation that is shipped and cancelled, or shipped twice, at the same moment is closed once."""
    sku, key = names(subject)
    amount = subject.random.randint(1, 4)
    setup = [
        ["warehouse", "receive", key + "-goods", sku, 3 * amount],
        ["shop", "reserve", key + "-held", sku, amount],
    ]
    ship = ["warehouse", "ship", key + "-parcel", 1]
    pairs = [(["shop", "cancel", key + "-back", 1], ship), (["warehouse", "ship", key + "-other", 1], ship)]
    for outcomes in race(subject, [scenario(setup, *pair) for pair in pairs]):
        for outcome in outcomes:
            require_sound(outcome, "closing")
            require_equal(
                [granted(outcome["first"]), granted(outcome["second"])].count(True),
                1,
                "granted of two closings",
            )
            for side in ("first", "second"):
                require_refusal(outcome[side], ("WrongState",), "closing")
            require_equal(len(outcome["reservations"]), 1, "reservations")
            shipped = outcome["reservations"][0]["status"] == "shipped"
            on_hand = counts_of(outcome, sku, "closing")["on_hand"]
            require_equal(on_hand, (2 if shipped else 3) * amount, "on_hand")


def requests_to_disturb(sku: str, key: str, amount: int) -> dict[str, Any]:
    """One request of each kind with what it has to leave behind: (on_hand, held) in units of `amount`."""
    setup = [
        ["warehouse", "receive", key + "-goods", sku, 9 * amount],
        ["shop", "reserve", key + "-held", sku, amount],
    ]
    orders = [{"order_no": f"{key}-{number}", "sku": sku, "quantity": amount} for number in (1, 2)]
    return {
        "reserve": (scenario(setup, ["shop", "reserve", key + "-cart", sku, amount]), 9, 2),
        "import": (scenario(setup, ["marketplace", "import_orders", orders]), 9, 3),
        "ship": (scenario(setup, ["warehouse", "ship", key + "-parcel", 1]), 8, 0),
        "receive": (scenario(setup, ["warehouse", "receive", key + "-in", sku, amount]), 10, 1),
        "cancel": (scenario(setup, ["shop", "cancel", key + "-back", 1]), 9, 0),
    }


def require_exactly_once(subject: Subject, how: str, kinds: tuple[str, ...]) -> None:
    """Each request, disturbed at each place and then sent again, has its effect exactly once."""
    sku, key = names(subject)
    amount = subject.random.randint(1, 4)
    requests = {kind: it for kind, it in requests_to_disturb(sku, key, amount).items() if kind in kinds}
    found = hurt(subject, how, [one for one, _, _ in requests.values()])
    for (kind, (_, on_hand, held)), outcomes in zip(requests.items(), found, strict=True):
        # A submission with a connection class of its own shows no writes; kills need none of ours.
        require(len(outcomes) >= 1 or how == "fail_at", f"{kind}: no place to disturb")
        for outcome in outcomes:
            require("answer" in outcome["again"], f"{kind} sent again ended with {outcome['again']}")
            require_sound(outcome, kind)
            line = counts_of(outcome, sku, kind)
            require_equal(line["on_hand"], on_hand * amount, f"{kind}: on_hand")
            require_equal(line["held"], held * amount, f"{kind}: held")


@check("retries-apply-once")
def retries_apply_once(subject: Subject) -> None:
    """A write that fails once as busy: after the retries and one more request, exactly one effect."""
    require_exactly_once(subject, "fail_at", ("reserve", "import", "ship", "receive", "cancel"))


@check("killed-worker-leaves-no-half")
def killed_worker_leaves_no_half(subject: Subject) -> None:
    """A worker killed at any statement: the request that comes again has its effect exactly once."""
    require_exactly_once(subject, "kill_at", ("reserve", "import", "ship", "receive"))


# The harm of the old version: double keys (KEY) and a double promise (of SKU).
OLD_DOUBLES = """
INSERT INTO items VALUES ('SKU', 1), ('plenty', 50);
INSERT INTO movements (operation, request_key, sku, delta) VALUES
    ('opening', 'SKU', 'SKU', 1), ('receive', 'KEY', 'plenty', 30), ('receive', 'KEY', 'plenty', 30),
    ('write_off', 'KEY', 'plenty', -10);
INSERT INTO reservations (channel, request_key, sku, quantity, status, closed_by) VALUES
    ('shop', 'KEY-ana', 'SKU', 1, 'open', NULL), ('shop', 'KEY-ben', 'SKU', 1, 'open', NULL),
    ('shop', 'KEY', 'plenty', 2, 'open', NULL), ('shop', 'KEY', 'plenty', 2, 'open', NULL),
    ('marketplace', 'KEY', 'plenty', 3, 'open', NULL), ('marketplace', 'KEY', 'plenty', 3, 'open', NULL);
INSERT INTO feed_seen VALUES ('KEY'), ('KEY');
INSERT INTO outbox (topic, about) VALUES ('received', 'movement:2'), ('received', 'movement:3'),
    ('written-off', 'movement:4'), ('reserved', 'reservation:1'), ('reserved', 'reservation:2'),
    ('reserved', 'reservation:3'), ('reserved', 'reservation:4'), ('reserved', 'reservation:5'),
    ('reserved', 'reservation:6');
"""

# A worker of the old version died between a reservation and its row in feed_seen.
OLD_HALF_ORDER = """
INSERT INTO items VALUES ('SKU', 20);
INSERT INTO movements (operation, request_key, sku, delta) VALUES ('receive', 'KEY', 'SKU', 20);
INSERT INTO reservations (channel, request_key, sku, quantity) VALUES ('marketplace', 'KEY', 'SKU', 2);
INSERT INTO outbox (topic, about) VALUES ('received', 'movement:1'), ('reserved', 'reservation:1');
"""


def old_file(rows: str, sku: str, key: str) -> str:
    """A script that makes a database of the released version with rows in it."""
    return OLD_SCHEMA + rows.replace("SKU", sku).replace("KEY", key)


@check("old-file-with-doubles-opens")
def old_file_with_doubles_opens(subject: Subject) -> None:
    """A released file with double keys and a double promise opens, keeps its rows and goes on working."""
    sku, key = names(subject)
    state = play(
        subject,
        [
            ["shop", "reserve", key, "plenty", 2],
            ["marketplace", "import_orders", [{"order_no": key, "sku": "plenty", "quantity": 3}]],
            ["warehouse", "receive", key, "plenty", 30],
            ["shop", "reserve", key + "-new", "plenty", 4],
            ["shop", "reserve", key + "-new", sku, 1],
            ["shop", "cancel", key + "-ben", 2],
        ],
        old_file(OLD_DOUBLES, sku, key),
    )
    told = answers(state)
    require_shape(told[0], {"reservation_id": int}, "the old cart asked again")
    require_equal(told[0]["reservation_id"], 3, "the reservation that the old cart was told about")
    require_equal(told[1], {"accepted": [], "repeated": [key], "refused": []}, "the old order sent again")
    require_shape(told[2], {"movement_id": int}, "the old delivery sent again")
    require_equal(told[2]["movement_id"], 2, "the movement that the old delivery was told about")
    require_status(told[3], "open", "a new cart")
    require(told[4] in ("KeyReused", "OutOfStock"), f"a key with other content ended with {told[4]}")
    require_status(told[5], "released", "cancelling Ben's")
    rows = {row["id"]: row for row in state["reservations"]}
    kept = [[number, rows[number]["quantity"]] for number in range(1, 7) if number in rows]
    require_equal(kept, [[1, 1], [2, 1], [3, 2], [4, 2], [5, 3], [6, 3]], "the old reservations")
    # The later row of a double may be marked in any way; the ones that were answered keep their keys.
    keys = [rows[number]["request_key"] for number in (1, 2, 3, 5)]
    require_equal(keys, [key + "-ana", key + "-ben", key, key], "keys of the old reservations")
    require_equal(
        [row["delta"] for row in state["movements"] if row["id"] <= 4], [1, 30, 30, -10], "old movements"
    )
    firsts = [rows[number]["status"] for number in (1, 3, 5)]
    require_equal(firsts, ["open"] * 3, "the reservations that customers were told about")


@check("half-done-order-is-repeated")
def half_done_order_is_repeated(subject: Subject) -> None:
    """A worker of the old version died between reservation and `feed_seen`; the feed comes again."""
    sku, key = names(subject)
    orders = [{"order_no": number, "sku": sku, "quantity": 2} for number in (key, key + "-next")]
    state = play(subject, [["marketplace", "import_orders", orders]], old_file(OLD_HALF_ORDER, sku, key))
    told = answers(state)
    require_equal(
        told, [{"accepted": [key + "-next"], "repeated": [key], "refused": []}], "the feed that came again"
    )
    require_equal(counts_of(state, sku, "the feed that came again")["held"], 4, "held")


@check("refusals-are-not-remembered")
def refusals_are_not_remembered(subject: Subject) -> None:
    """A cart, an order, a breakage and a parcel that were refused succeed later under the same key."""
    sku, key = names(subject)
    amount = subject.random.randint(2, 5)
    order = {"order_no": key, "sku": sku, "quantity": amount}
    state = play(
        subject,
        [
            ["shop", "reserve", key, sku, amount],
            ["warehouse", "receive", key + "-goods", sku, 1],
            ["shop", "reserve", key, sku, amount],
            ["marketplace", "import_orders", [order]],
            ["warehouse", "write_off", key, sku, amount],
            ["warehouse", "receive", key + "-more", sku, 3 * amount],
            ["shop", "reserve", key, sku, amount],
            ["marketplace", "import_orders", [order]],
            ["warehouse", "write_off", key, sku, amount],
            ["warehouse", "recount", key, sku, 0],
            ["warehouse", "ship", key, 1],
            ["warehouse", "recount", key + "-found", sku, 2 * amount],
            ["warehouse", "ship", key, 1],
        ],
    )
    told = answers(state)
    require_equal([told[0], told[2], told[4]], ["UnknownSku", "OutOfStock", "OutOfStock"], "refusals")
    for number in (3, 7):
        require_shape(told[number], FEED, "answer to a feed")
    require_equal(told[3]["refused"], [key], "an order beyond the shelf")
    require_equal(
        told[6], {"reservation_id": 1, "sku": sku, "quantity": amount, "status": "open"}, "later cart"
    )
    require_equal(told[7]["accepted"], [key], "the order, later")
    require_shape(told[8], {"delta": int}, "the breakage, later")
    require_equal(told[8]["delta"], -amount, "the breakage, later")
    require_equal(told[10], "OutOfStock", "shipping from an empty shelf")
    require_status(told[12], "shipped", "the parcel, later")
    require_sound(state, "after refusals")


@check("keys-belong-to-operation-and-channel")
def keys_belong_to_operation_and_channel(subject: Subject) -> None:
    """One text as the key of everything: each operation has its effect; other content is KeyReused."""
    sku, key = names(subject)
    amount = subject.random.randint(2, 5)
    order = {"order_no": key, "sku": sku, "quantity": amount}
    requests: list[Any] = [
        ["warehouse", "receive", key, sku, 10 * amount],
        ["shop", "reserve", key, sku, amount],
        ["marketplace", "import_orders", [order]],
        ["warehouse", "write_off", key, sku, amount],
        ["warehouse", "recount", key, sku, 8 * amount],
        ["warehouse", "ship", key, 2],
        ["shop", "cancel", key, 1],
    ]
    other: list[Any] = [
        ["shop", "reserve", key, sku, amount + 1],
        ["warehouse", "receive", key, sku, amount],
        ["warehouse", "write_off", key, sku, 1],
    ]
    state = play(subject, [*requests, *other])
    told = answers(state)
    require_equal(told[1], {"reservation_id": 1, "sku": sku, "quantity": amount, "status": "open"}, "cart")
    require_equal(told[2], {"accepted": [key], "repeated": [], "refused": []}, "order")
    require_equal(
        [told[0], told[3], told[4]],
        [
            {"movement_id": number, "sku": sku, "delta": delta * amount}
            for number, delta in ((1, 10), (2, -1), (3, -1))
        ],
        "movements",
    )
    require_equal(told[5], {"reservation_id": 2, "sku": sku, "quantity": amount, "status": "shipped"}, "ship")
    require_equal(
        told[6], {"reservation_id": 1, "sku": sku, "quantity": amount, "status": "released"}, "cancel"
    )
    require_equal(told[7:], ["KeyReused"] * 3, "other content")
    require_equal(state["stock"], {sku: {"on_hand": 7 * amount, "held": 0, "available": 7 * amount}}, "stock")
    require_sound(state, "one text as every key")


@check("recount-states-a-fact")
def recount_states_a_fact(subject: Subject) -> None:
    """A recount goes through below what is held; the short SKU refuses more, and recovers."""
    sku, key = names(subject)
    held = subject.random.randint(4, 9)
    counted = subject.random.randint(1, held - 2)
    state = play(
        subject,
        [
            ["warehouse", "receive", key + "-goods", sku, held + 2],
            ["shop", "reserve", key + "-held", sku, held],
            ["warehouse", "recount", key + "-count", sku, counted],
            ["report", "stock"],
            ["shop", "reserve", key + "-late", sku, 1],
            ["warehouse", "write_off", key, sku, 1],
            ["warehouse", "ship", key + "-parcel", 1],
            ["warehouse", "receive", key + "-more", sku, held],
            ["warehouse", "ship", key + "-later", 1],
        ],
    )
    told = answers(state)
    require_equal(told[2], {"movement_id": 2, "sku": sku, "delta": counted - held - 2}, "recount")
    short = {"on_hand": counted, "held": held, "available": counted - held}
    require_equal(told[3], {sku: short}, "stock that is short")
    require_equal(told[4:7], ["OutOfStock"] * 3, "requests to a short SKU")
    require_status(told[8], "shipped", "after goods arrived")
    end = {"on_hand": counted, "held": 0, "available": counted}
    require_equal(counts_of(state, sku, "at the end"), end, "stock at the end")
    require_sound(state, "after a recount")


@check("orders-stand-for-themselves")
def orders_stand_for_themselves(subject: Subject) -> None:
    """A feed with good, refused and repeated orders: each as if it were alone, also by command."""
    sku, key = names(subject)
    amount = subject.random.randint(1, 4)

    def order(number: int, what: str, quantity: int) -> dict[str, Any]:
        return {"order_no": f"{key}-{number}", "sku": what, "quantity": quantity}

    feed = [
        order(1, sku, amount),
        order(2, "never-received", 1),
        order(3, sku, 3 * amount),
        order(1, sku, amount),
        order(4, sku, 0),
        order(5, sku, amount),
    ]
    state = play(
        subject,
        [["warehouse", "receive", key + "-goods", sku, 3 * amount], ["marketplace", "import_orders", feed]],
    )
    require_equal(
        answers(state)[1],
        {
            "accepted": [f"{key}-1", f"{key}-5"],
            "repeated": [f"{key}-1"],
            "refused": [f"{key}-2", f"{key}-3", f"{key}-4"],
        },
        "the feed",
    )
    require_sound(state, "after the feed")
    command = ["python3", "-m", "stockroom", "--db", f"{subject.scratch}/play.db", "reserve", key, sku]
    done = subject.run([*command, str(amount)])
    require_equal(done.exit_code, 0, "exit code of a granted command")
    require(b'"reservation_id": 3' in done.stdout, "the answer is JSON on standard output")
    refused = subject.run([*command[:-2], key + "-late", sku, "1"])
    require_equal(refused.exit_code, 1, "exit code of a refusal")
    require(b"OutOfStock" in refused.stderr, "a refusal is named on standard error")


@check("change-is-noted")
def change_is_noted(subject: Subject) -> None:
    """CHANGELOG.md has a line under "Unreleased", and the released sections stand as they were."""
    before = subject.snapshot_read("CHANGELOG.md").decode("utf-8")
    after = subject.read_text("CHANGELOG.md")
    _, _, released = before.partition("## 1.3.0")
    head, _, tail = after.partition("## 1.3.0")
    require_equal(tail.strip(), released.strip(), "the released sections")
    lines = head.partition("## Unreleased")[2].splitlines()
    # A heading or a bullet alone says nothing.
    noted = [line for line in lines if not line.startswith("#") and any(map(str.isalpha, line))]
    require(bool(noted), "nothing stands under Unreleased")
