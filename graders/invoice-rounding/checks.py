"""Hidden checks of invoice-rounding: VAT follows the tax office, everything else the ledger.

Expected figures are computed here with exact fractions, from inputs drawn at grading time; the
submission only ever sees inputs.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import floor
from random import Random  # noqa: TID251  (the type only; every check draws from its own stream)
from typing import Any

from esac_checks import Subject, check, require, require_equal

DIGITS = {"EUR": 2, "GBP": 2, "USD": 2, "JPY": 0, "KWD": 3}
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
    plain = re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]{1,18})?", text) is not None
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
            orders.append(order([item(part, "EUR", rate) for part in parts], country=country))
            expected.append(("EUR", away_from_zero(net * Fraction(rate))))
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


@check("public-tests")
def public_tests(subject: Subject) -> None:
    """The public tests as they were delivered pass, the reported one included."""
    for path in subject.snapshot_files():
        if path.startswith("tests/"):
            subject.write(path, subject.snapshot_read(path))
    ran = subject.run(["python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"], timeout_s=40)
    require_equal(ran.exit_code, 0, "exit code of the delivered public tests")


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


# --- guards ----------------------------------------------------------------------------------


def parsed(data: bytes, path: str) -> ast.Module:
    """Python source of the submission as a tree; what cannot be parsed fails the check."""
    require(len(data) <= 1_000_000, f"{path} is too large to be source")
    try:
        return ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        require(False, f"{path} cannot be parsed: {type(error).__name__}")
        raise  # not reached: require has raised


def test_functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


@check("reported-test-kept")
def reported_test_kept(subject: Subject) -> None:
    """The reported test, as submitted, is still red on the untouched package: it can still catch the defect."""
    for path in subject.snapshot_files():
        if path.startswith("billing/"):
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
    sources = [
        path
        for path in subject.files()
        if path.endswith(".py") and not path.startswith("tests/") and path != "conftest.py"
    ]
    own = {path.split("/")[0].removesuffix(".py") for path in sources}
    for path in sources:
        for node in ast.walk(parsed(subject.read(path), path)):
            modules: list[str] = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                modules = [node.module or ""]
            for module in modules:
                top = module.split(".")[0]
                known = top in sys.stdlib_module_names or top in own or top == "tests"
                require(known, f"{path} imports {module}")
    try:
        project = tomllib.loads(subject.read("pyproject.toml").decode("utf-8"))
    except ValueError:  # TOMLDecodeError and UnicodeDecodeError
        require(False, "pyproject.toml cannot be read")
        raise
    table = project.get("project")
    require(isinstance(table, dict), "pyproject.toml has no project table")
    require_equal(table.get("dependencies", []), [], "declared dependencies")
