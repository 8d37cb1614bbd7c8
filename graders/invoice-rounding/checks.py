"""Hidden checks of invoice-rounding: VAT follows the tax office, everything else the ledger.

Expected figures are computed here with exact fractions, from inputs drawn at grading time; the
submission only ever sees inputs.
"""

from __future__ import annotations

import ast
import copy
import json
import re
import sys
import tomllib
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import floor
from random import Random  # noqa: TID251  (the type only; every check draws from its own stream)
from typing import Any, TypeGuard

from esac_checks import CheckFailed, Subject, check, require, require_equal

DIGITS = {"EUR": 2, "GBP": 2, "USD": 2, "JPY": 0, "KWD": 3}
PACKAGE = "billing"
PYTEST_SETTINGS = {"testpaths": ["tests"]}
LARGEST_BYTES = 200_000
REPORTED_FILE = "tests/test_invoices.py"
PACKAGE = "billing"
PYTEST_SETTINGS = {"testpaths": ["tests"]}
LARGEST_BYTES = 200_000
"""Largest file that is parsed."""
CONFTESTS = ("conftest.py", "tests/conftest.py")
# Words that end a test early, or change what it tests.
EVASIONS = {"skip", "xfail", "importorskip", "exit", "_exit", "setattr", "exec", "eval", "patch"}
REPORTED_FILE = "tests/test_invoices.py"
REPORTED_TEST = "test_the_invoice_of_van_dijk_shows_the_vat_that_they_expect"
HALF = Fraction(1, 2)

INVOICE_TAXES = """
def main(args):
    from billing.invoices import build_invoice
    return [str(build_invoice(order).tax) for order in args]
"""


# --- exact arithmetic in minor units ---------------------------------------------------------


def away_from_zero(value: Fraction) -> int:
    """The commercial rule of contract section 3."""
    size = floor(abs(value) + HALF)
    return size if value >= 0 else -size


def to_even(value: Fraction) -> int:
    """The ledger's rule of contract section 1."""
    return round(value)


def money(minor: int, currency: str) -> str:
    """An amount in minor units as a decimal string with the currency's digits."""
    digits = DIGITS[currency]
    sign, size = ("-" if minor < 0 else ""), abs(minor)
    if digits == 0:
        return f"{sign}{size}"
    return f"{sign}{size // 10**digits}.{size % 10**digits:0{digits}d}"


def minor_units(answer: object, currency: str, what: str) -> Fraction:
    """What the submission answered, in minor units; anything but a plain number fails the check."""
    text = answer if isinstance(answer, str) else type(answer).__name__
    # Decimal writes 0.00000000 as 0E-8 and may write 500 as 5E+2.
    plain = re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]{1,18})?(E[+-]?[0-9]{1,2})?", text) is not None
    require(plain, f"{what}: not a plain decimal number: {text[:60]!r}")
    return Fraction(text) * 10 ** DIGITS[currency]


def require_amounts(answers: object, expected: Sequence[tuple[str, int]], what: str) -> None:
    """`answers` are decimal strings, `expected` pairs of currency and minor units."""
    given = answers if isinstance(answers, list) else []
    require(len(given) == len(expected), f"{what}: wrong shape")
    for index, (answer, (currency, minor)) in enumerate(zip(given, expected, strict=True)):
        got = minor_units(answer, currency, what)
        require(
            got == minor,
            f"{what}, case {index}: {answer} {currency}, expected {money(minor, currency)}",
        )


def draw(random: Random, fits: Callable[[int], bool], low: int = 1, high: int = 900_000) -> int:
    """A whole number in the range that `fits`; the callers' conditions hold for at least 1 in 1600."""
    for _ in range(500_000):
        number = random.randint(low, high)
        if fits(number):
            return number
    raise RuntimeError("no input fits; the condition is wrong")


def tie_down(random: Random, rate: Fraction, high: int = 900_000) -> int:
    """Minor units whose product with `rate` is a tie that the two rules round differently."""

    def fits(minor: int) -> bool:
        product = minor * rate
        return product - floor(product) == HALF and floor(product) % 2 == 0

    return draw(random, fits, high=high)


def item(minor: int, currency: str, rate: str) -> dict[str, str]:
    return {"description": "Item", "unit_price": money(minor, currency), "tax_rate": rate}


def order(lines: list[dict[str, Any]], currency: str = "EUR", country: str = "PT") -> dict[str, Any]:
    return {
        "number": "2024-0200",
        "issued_on": "2024-04-30",
        "currency": currency,
        "customer": {"name": "Acme", "country": country},
        "lines": lines,
    }


# --- what has to work now --------------------------------------------------------------------


@check("vat-tie")
def vat_tie(subject: Subject) -> None:
    """A tie in the VAT goes away from zero, whatever the rate and country, with one line or more."""
    orders, expected = [], []
    for rate in ("0.21", "0.23", "0.05", "0.06", "0.075", "0.19", "0.25"):
        for _ in range(4):
            net = tie_down(subject.random, Fraction(rate))
            first = subject.random.randint(0, net)
            parts = [net] if subject.random.random() < 0.5 else [first, net - first]
            country = subject.random.choice(["NL", "BE", "PT", "DE", "ES"])
            currency = subject.random.choice(["EUR", "EUR", "GBP", "USD"])
            orders.append(order([item(part, currency, rate) for part in parts], currency, country))
            expected.append((currency, away_from_zero(net * Fraction(rate))))
    require_amounts(subject.drive(INVOICE_TAXES, orders), expected, "VAT of an invoice")


@check("vat-tie-minor-unit")
def vat_tie_minor_unit(subject: Subject) -> None:
    """The same in currencies without a minor unit and with three digits."""
    orders, expected = [], []
    for currency, rates in (("JPY", ("0.10", "0.05", "0.25")), ("KWD", ("0.05", "0.075"))):
        for rate in rates:
            for _ in range(3):
                net = tie_down(subject.random, Fraction(rate))
                orders.append(order([item(net, currency, rate)], currency, "JP"))
                expected.append((currency, away_from_zero(net * Fraction(rate))))
    require_amounts(subject.drive(INVOICE_TAXES, orders), expected, "VAT in minor units")


@check("partial-credit-vat")
def partial_credit_vat(subject: Subject) -> None:
    """A partial credit note's VAT mirrors what the invoice of the same lines would charge."""
    cases, expected = [], []
    for rate in ("0.21", "0.06", "0.25"):
        for _ in range(4):
            net = tie_down(subject.random, Fraction(rate))
            other = subject.random.randint(100, 90_000)
            cases.append(order([item(other, "EUR", rate), item(net, "EUR", rate)]))
            expected.append(("EUR", -away_from_zero(net * Fraction(rate))))
    source = """
def main(args):
    from billing.credits import partial_credit
    from billing.invoices import build_invoice
    return [str(partial_credit(build_invoice(o), "C-9", "2024-05-02", [2]).tax) for o in args]
"""
    require_amounts(subject.drive(source, cases), expected, "VAT of a partial credit")


@check("printed-documents")
def printed_documents(subject: Subject) -> None:
    """The commands print the same right VAT and total on the invoice and on the quote."""
    net = tie_down(subject.random, Fraction("0.21"))
    tax = away_from_zero(net * Fraction("0.21"))
    stdin = json.dumps(order([item(net, "EUR", "0.21")])).encode()
    printed = subject.run(["python3", "-m", "billing", "invoice"], stdin=stdin)
    require_equal(printed.exit_code, 0, "exit code of the invoice command")
    rows = printed.stdout.decode("utf-8", "replace").splitlines()
    for label, minor in (("Net", net), ("VAT 21 %", tax), ("Total", net + tax)):
        pattern = rf"{re.escape(label)}\s+{re.escape(money(minor, 'EUR'))} EUR\s*"
        require(
            any(re.fullmatch(pattern, row) for row in rows),
            f"the printed invoice has no row {label} with {money(minor, 'EUR')}",
        )
    offer = subject.run(["python3", "-m", "billing", "quote"], stdin=stdin)
    require_equal(
        offer.stdout.decode("utf-8", "replace").strip(),
        f"net {money(net, 'EUR')} tax {money(tax, 'EUR')} total {money(net + tax, 'EUR')} EUR",
        "the printed quote",
    )


@check("reported-case")
def reported_case(subject: Subject) -> None:
    """The invoice that was reported shows the VAT and the total that the customer and the portal get."""
    source = """
def main(args):
    from billing.invoices import build_invoice
    invoice = build_invoice(args)
    return [str(invoice.tax), str(invoice.gross)]
"""
    figures = subject.drive(source, order([item(1050, "EUR", "0.21")], country="NL"))
    require_amounts(figures, [("EUR", 221), ("EUR", 1271)], "VAT and total of the reported invoice")


# --- what has to go on working ---------------------------------------------------------------


@check("vat-near-tie")
def vat_near_tie(subject: Subject) -> None:
    """Products just beside a tie are rounded to the nearer side, once, from the exact value."""
    orders, expected = [], []
    rate = Fraction("0.08875")
    for numerator in (399, 401, 397, 403):
        for _ in range(4):
            beside = Fraction(numerator, 800)
            net = draw(subject.random, lambda n, b=beside: n * rate - floor(n * rate) == b)
            orders.append(order([item(net, "EUR", "0.08875")]))
            expected.append(("EUR", away_from_zero(net * rate)))
    for _ in range(20):
        net = draw(subject.random, lambda n: n * Fraction("0.21") % 1 != HALF)
        orders.append(order([item(net, "EUR", "0.21")]))
        expected.append(("EUR", away_from_zero(net * Fraction("0.21"))))
    require_amounts(subject.drive(INVOICE_TAXES, orders), expected, "VAT beside a tie")


@check("vat-once-per-rate")
def vat_once_per_rate(subject: Subject) -> None:
    """VAT is rounded once per rate, on the sum, also where rounding line by line differs."""
    orders, expected = [], []
    for _ in range(12):
        lines, tax = [], 0
        for rate in ("0.21", "0.06"):
            exact = Fraction(rate)

            def differs(net: int, exact: Fraction = exact) -> bool:
                whole = 3 * net * exact
                return whole % 1 != HALF and away_from_zero(whole) != 3 * away_from_zero(net * exact)

            net = draw(subject.random, differs)
            lines += [item(net, "EUR", rate)] * 3
            tax += away_from_zero(3 * net * exact)
        subject.random.shuffle(lines)
        orders.append(order(lines))
        expected.append(("EUR", tax))
    require_amounts(subject.drive(INVOICE_TAXES, orders), expected, "VAT of several lines")


@check("prices-by-ledger-rule")
def prices_by_ledger_rule(subject: Subject) -> None:
    """Usage charges and line prices stay rounded to even, in every currency."""
    cases, expected = [], []
    for plan, price, base, included in (
        ("metered", "1.5", 0, 0),
        ("solo", "1.25", 900, 1_000),
        ("team", "0.75", 4_900, 10_000),
    ):
        for _ in range(4):
            beyond = tie_down(subject.random, Fraction(price), high=60_000)
            line = {"plan": plan, "units": included + beyond, "tax_rate": "0"}
            cases.append(order([line]))
            expected.append(("EUR", base + to_even(beyond * Fraction(price))))
    for currency in ("EUR", "JPY", "KWD"):
        for _ in range(4):
            quantity = tie_down(subject.random, Fraction("12.5"), high=4_000)
            unit = {"EUR": "0.125", "JPY": "12.5", "KWD": "0.0125"}[currency]
            line = {"quantity": str(quantity), "unit_price": unit, "tax_rate": "0"}
            cases.append(order([line], currency))
            expected.append((currency, to_even(quantity * Fraction("12.5"))))
    source = """
def main(args):
    from billing.quotes import quote
    return [str(quote(order).net) for order in args]
"""
    require_amounts(subject.drive(source, cases), expected, "net price")


@check("shared-rounding-kept")
def shared_rounding_kept(subject: Subject) -> None:
    """`round_amount`, `discount_on` and `allocate`, which others import, keep their rule."""
    rounding, discounts, expected = [], [], []
    for currency in ("EUR", "JPY", "KWD"):
        for _ in range(5):
            minor = 2 * subject.random.randint(0, 40_000)
            sign = subject.random.choice([1, -1])
            exact = sign * (minor + HALF)
            rounding.append([money(sign * (minor * 10 + 5), currency), currency])
            # sent ten times too large, because money() has no digit for the half
            expected.append((currency, to_even(exact)))
    for _ in range(6):
        gross = tie_down(subject.random, Fraction("0.15"))
        discounts.append([money(gross, "EUR"), "0.15", "EUR"])
    expected += [("EUR", to_even(Fraction(gross) * 100 * Fraction(share))) for gross, share, _ in discounts]
    total = subject.random.randint(1_000, 90_000)
    source = """
def main(args):
    from decimal import Decimal
    from billing.discounts import discount_on
    from billing.money import allocate, round_amount
    figures = [str(round_amount(Decimal(v).scaleb(-1), c)) for v, c in args["rounding"]]
    figures += [str(discount_on(Decimal(g), Decimal(s), c)) for g, s, c in args["discounts"]]
    shares = allocate(Decimal(args["total"]), [Decimal(1), Decimal(2), Decimal(4)], "EUR")
    return {"figures": figures, "shares": [str(share) for share in shares]}
"""
    answer = subject.drive(
        source, {"rounding": rounding, "discounts": discounts, "total": money(total, "EUR")}
    )
    require(isinstance(answer, dict), "the shared functions gave no answer")
    require_amounts(answer.get("figures"), expected, "shared rounding")
    shares = answer.get("shares")
    require(isinstance(shares, list) and len(shares) == 3, "allocate: three shares expected")
    parts = [minor_units(share, "EUR", "a share") for share in shares]
    require(sum(parts) == total, "allocated shares do not add up to the total")


@check("payout-by-ledger-rule")
def payout_by_ledger_rule(subject: Subject) -> None:
    """A partner's share and the tax withheld from it stay rounded to even."""
    months, expected = [], []
    for _ in range(8):
        base = tie_down(subject.random, Fraction("0.15"))
        months.append([order([item(base, "EUR", "0.21")]), "0.15", "0"])
        expected += [("EUR", to_even(base * Fraction("0.15"))), ("EUR", 0)]
    for _ in range(8):
        base = tie_down(subject.random, Fraction("0.25"))
        months.append([order([item(base, "EUR", "0.21")]), "1", "0.25"])
        expected += [("EUR", base), ("EUR", to_even(base * Fraction("0.25")))]
    source = """
def main(args):
    from decimal import Decimal
    from billing.invoices import build_invoice
    from billing.payouts import Agreement, payout
    figures = []
    for order, share, withheld in args:
        agreement = Agreement("Noord", "EUR", Decimal(share), Decimal(withheld))
        result = payout(agreement, [build_invoice(order)])
        figures += [str(result.earned), str(result.withheld)]
    return figures
"""
    require_amounts(subject.drive(source, months), expected, "payout")


@check("archive-unchanged")
def archive_unchanged(subject: Subject) -> None:
    """Documents from the archive, and full credits of them, keep the figures they were issued with."""
    records, expected = [], []
    for _ in range(6):
        net = tie_down(subject.random, Fraction("0.21"))
        issued = floor(net * Fraction("0.21"))
        records.append(
            {
                "number": "2023-0042",
                "customer": {"name": "Acme", "country": "NL"},
                "currency": "EUR",
                "issued_on": "2023-11-30",
                "lines": [{"description": "Item", "net": money(net, "EUR"), "tax_rate": "0.21"}],
                "taxes": [{"rate": "0.21", "net": money(net, "EUR"), "tax": money(issued, "EUR")}],
            }
        )
        expected += [("EUR", issued), ("EUR", net + issued), ("EUR", -issued), ("EUR", -net - issued)]
    source = """
def main(args):
    from billing.credits import full_credit
    from billing.invoices import from_record, to_record
    figures, again = [], []
    for record in args:
        invoice = from_record(record)
        credit = full_credit(invoice, "C-1", "2024-05-02")
        figures += [str(x) for x in (invoice.tax, invoice.gross, credit.tax, credit.gross)]
        again.append(to_record(invoice)["taxes"][0]["tax"])
    return {"figures": figures, "again": again}
"""
    answer = subject.drive(source, records)
    require(isinstance(answer, dict), "the archive gave no answer")
    require_amounts(answer.get("figures"), expected, "archived document")
    wanted = [("EUR", expected[index][1]) for index in range(0, len(expected), 4)]
    require_amounts(answer.get("again"), wanted, "archived again")


@check("postings-balance")
def postings_balance(subject: Subject) -> None:
    """Postings of invoices and partial credits add up to zero and carry the document's totals."""
    cases = []
    for _ in range(10):
        nets = [tie_down(subject.random, Fraction("0.21")), subject.random.randint(1, 90_000)]
        cases.append(order([item(nets[0], "EUR", "0.21"), item(nets[1], "EUR", "0.06")]))
    source = """
def main(args):
    from billing.credits import partial_credit
    from billing.invoices import build_invoice
    from billing.ledger import postings
    figures = []
    for order in args:
        invoice = build_invoice(order)
        for document in (invoice, partial_credit(invoice, "C-2", "2024-05-02", [1])):
            entries = postings(document)
            figures.append(str(sum(entry.amount for entry in entries)))
            figures.append(str(entries[0].amount - document.net - document.tax))
    return figures
"""
    require_amounts(subject.drive(source, cases), [("EUR", 0)] * 40, "sum of postings")


# What the delivered tests promise beside the rounding; the expected answers are below.
PROMISES = """
def main(args):
    from decimal import Decimal
    from billing.credits import full_credit, partial_credit
    from billing.invoices import build_invoice, from_record, to_record
    from billing.money import allocate, minor_unit, round_amount
    from billing.orders import price_line
    from billing.payouts import Agreement, payout
    from billing.quotes import quote
    from billing.statement import render

    def refusal(work):
        try:
            work()
        except Exception as error:
            return [kind.__name__ for kind in type(error).__mro__]
        return []

    invoice = build_invoice(args["order"])
    credit = full_credit(invoice, "C-1", "2024-05-02")
    offer = quote(args["order"])
    agreement = Agreement("Noord", "EUR", Decimal("0.20"), Decimal("0.15"))
    yen = build_invoice(args["yen"])
    return {
        "figures": [str(x) for x in (invoice.net, invoice.tax, offer.net, offer.tax, credit.net, credit.tax)],
        "survives": from_record(to_record(invoice)) == invoice,
        "text": render(invoice),
        "units": [str(minor_unit(currency)) for currency in ("EUR", "JPY", "KWD")],
        "shares": [str(x) for x in allocate(Decimal(args["total"]), [Decimal(1), Decimal(2)], "EUR")],
        "refusals": {
            "currency": refusal(lambda: round_amount(Decimal("1"), "XXX")),
            "position": refusal(lambda: partial_credit(invoice, "C-2", "2024-05-02", [9])),
            "float": refusal(lambda: price_line({"unit_price": 1.1, "tax_rate": "0.21"}, "EUR")),
            "payout": refusal(lambda: payout(agreement, [yen])),
        },
    }
"""


@check("delivered-promises")
def delivered_promises(subject: Subject) -> None:
    """What the delivered tests assert beside ties: totals agree, records survive, nonsense is refused."""
    high, low = 100 * subject.random.randint(10, 900), 100 * subject.random.randint(10, 900)
    total = -subject.random.randint(1_000, 90_000)
    answer = subject.drive(
        PROMISES,
        {
            # Whole units at 9 and 21 %: the VAT is a whole number of cents, so no rule of rounding matters.
            "order": order([item(high, "EUR", "0.21"), item(low, "EUR", "0.09")]),
            "yen": order([item(100, "JPY", "0.10")], "JPY", "JP"),
            "total": money(total, "EUR"),
        },
    )
    net, tax = high + low, high * 21 // 100 + low * 9 // 100
    wanted = [("EUR", minor) for minor in (net, tax, net, tax, -net, -tax)]
    require_amounts(table(answer).get("figures"), wanted, "totals of invoice, quote and full credit")
    require_equal(table(answer).get("survives"), True, "an invoice read back from the archive")
    text = table(answer).get("text")
    rows = text.splitlines() if isinstance(text, str) else []
    for ending in ("VAT 9 %", "VAT 21 %"):
        require(any(row.startswith(ending + " ") for row in rows), f"the text has no row {ending}")
    require(bool(rows) and rows[-1].endswith(f" {money(net + tax, 'EUR')} EUR"), "the last row of the text")
    require_equal(table(answer).get("units"), ["0.01", "1", "0.001"], "minor units")
    shares = table(answer).get("shares")
    require(isinstance(shares, list) and len(shares) == 2, "two shares expected")
    require(
        sum(minor_units(one, "EUR", "a share") for one in shares or []) == total, "shares of a negative total"
    )
    kinds = {
        "currency": "UnknownCurrency",
        "position": "ValueError",
        "float": "OrderError",
        "payout": "ValueError",
    }
    for what, kind in kinds.items():
        names = table(answer, "refusals").get(what)
        require(isinstance(names, list) and kind in names, f"{what}: refused with {names}, not {kind}")


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
