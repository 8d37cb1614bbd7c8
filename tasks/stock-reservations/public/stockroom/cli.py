"""Commands for the terminals and for cron."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from stockroom import marketplace, report, shop, warehouse
from stockroom.errors import StockroomError

WITH_QUANTITY = {
    "reserve": shop.reserve,
    "receive": warehouse.receive,
    "write-off": warehouse.write_off,
    "recount": warehouse.recount,
}
WITH_RESERVATION = {"cancel": shop.cancel, "ship": warehouse.ship}


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="stockroom")
    top.add_argument("--db", required=True, help="database file")
    commands = top.add_subparsers(dest="command", required=True)
    for name in WITH_QUANTITY:
        command = commands.add_parser(name)
        command.add_argument("key")
        command.add_argument("sku")
        command.add_argument("quantity", type=int)
    for name in WITH_RESERVATION:
        command = commands.add_parser(name)
        command.add_argument("key")
        command.add_argument("reservation", type=int)
    commands.add_parser("import").add_argument("feed", help="JSON file: a list of orders")
    commands.add_parser("stock")
    return top


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0 when granted, 1 when refused."""
    options = parser().parse_args(argv)
    try:
        answer = _answer(options)
    except (StockroomError, ValueError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    sys.stdout.write(json.dumps(answer, sort_keys=True) + "\n")
    return 0


def _answer(options: argparse.Namespace) -> Any:
    if options.command in WITH_QUANTITY:
        return WITH_QUANTITY[options.command](options.db, options.key, options.sku, options.quantity)
    if options.command in WITH_RESERVATION:
        return WITH_RESERVATION[options.command](options.db, options.key, options.reservation)
    if options.command == "import":
        return marketplace.import_orders(options.db, json.loads(Path(options.feed).read_text("utf-8")))
    return report.stock(options.db)
